//! What the server counts, besides what its engine counts.

use std::fmt::Write;
use std::sync::Arc;

use riverrun_session::SessionMetrics;
pub use riverrun_session::metrics::{Counter, Family, Gauge, Held, Histogram};
use riverrun_session::metrics::{SECONDS, head};

riverrun_session::metrics! {
/// Metrics of the edge and the runner.
ServerMetrics {
    requests: Family<Counter> = Family::new(&["method", "route", "status"]),
        "riverrun_http_requests_total", "Requests answered, by route template.";
    request_seconds: Histogram = Histogram::new(SECONDS),
        "riverrun_http_request_seconds", "From the head of a request to the head of its answer.";
    connections: Gauge = Gauge::default(),
        "riverrun_connections_active", "Open connections.";
    connections_refused: Family<Counter> = Family::new(&["reason"]),
        "riverrun_connections_refused_total", "Connections turned away.";
    auth_failures: Counter = Counter::default(),
        "riverrun_auth_failures_total", "Wrong keys and tickets.";
    panics: Counter = Counter::default(),
        "riverrun_panic_total", "Panics that were contained.";
    slow_consumers: Family<Counter> = Family::new(&["action"]),
        "riverrun_slow_consumers_total", "Streams that fell behind, by what was done.";
    delivery_lag: Histogram = Histogram::new(SECONDS),
        "riverrun_delivery_lag_seconds", "From durable to handed to the socket.";
    first_event_seconds: Histogram = Histogram::new(SECONDS),
        "riverrun_time_to_first_event_seconds", "From the opening of a stream to its first event.";
    commands: Family<Counter> = Family::new(&["command", "result"]),
        "riverrun_commands_total", "What was asked of the runner, by what it answered.";
    actions_pending: Gauge = Gauge::default(),
        "riverrun_actions_pending", "Actions that wait for a decision.";
    recovery_seconds: Histogram = Histogram::new(SECONDS),
        "riverrun_recovery_seconds", "From start to ready.";
}
}

/// Every metric of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    pub server: ServerMetrics,
    pub session: Arc<SessionMetrics>,
}

impl Metrics {
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of `GET /metrics`.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.server.render(&mut out);
        self.session.render(&mut out);
        let version = env!("CARGO_PKG_VERSION");
        head(&mut out, "riverrun_build_info", "The version that runs.", "gauge");
        let _ = writeln!(out, "riverrun_build_info{{version=\"{version}\"}} 1");
        out
    }
}

impl std::ops::Deref for Metrics {
    type Target = ServerMetrics;

    fn deref(&self) -> &ServerMetrics {
        &self.server
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_head() {
        let text = Metrics::new().render();
        assert!(text.contains("# TYPE riverrun_log_append_seconds histogram"));
        assert!(text.contains("riverrun_build_info{version="));
    }
}
