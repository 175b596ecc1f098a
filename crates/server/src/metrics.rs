//! What the server counts, besides what its engine counts.

use std::sync::Arc;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use riverrun_api::CommandLabels;
use riverrun_session::SessionMetrics;
pub use riverrun_session::metrics::{Counter, Family, Gauge, GaugeGuard, Histogram};
use riverrun_session::metrics::{Registry, SECONDS, register, register_histogram};

/// What was requested, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    method: &'static str,
    /// The template of the route, never the path.
    route: String,
    status: u16,
}

impl RequestLabels {
    /// A method that no route has is `other`: a client can invent as many as it likes.
    pub fn new(method: &Method, route: &str, status: StatusCode) -> Self {
        let method = match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            Method::OPTIONS => "OPTIONS",
            _ => "other",
        };
        Self { method, route: route.to_owned(), status: status.as_u16() }
    }
}

/// Why a connection was turned away.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RefusalLabels {
    pub reason: &'static str,
}

/// What was done about a reader that fell behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct SlowConsumerLabels {
    pub action: &'static str,
}

/// Metrics of the edge and the runner.
#[derive(Debug)]
pub struct ServerMetrics {
    pub requests: Family<RequestLabels, Counter>,
    pub request_seconds: Histogram,
    pub connections: Gauge,
    pub connections_refused: Family<RefusalLabels, Counter>,
    pub auth_failures: Counter,
    pub panics: Counter,
    pub slow_consumers: Family<SlowConsumerLabels, Counter>,
    pub delivery_lag: Histogram,
    pub first_event_seconds: Histogram,
    pub commands: Family<CommandLabels, Counter>,
    pub actions_pending: Gauge,
    pub recovery_seconds: Histogram,
}

impl ServerMetrics {
    fn registered(r: &mut Registry) -> Self {
        let seconds = |r: &mut Registry, name, help| register_histogram(r, name, help, SECONDS);
        Self {
            requests: register(r, "riverrun_http_requests", "Requests answered, by route template"),
            request_seconds: seconds(
                r,
                "riverrun_http_request_seconds",
                "From the head of a request to the head of its answer",
            ),
            connections: register(r, "riverrun_connections_active", "Open connections"),
            connections_refused: register(r, "riverrun_connections_refused", "Connections turned away"),
            auth_failures: register(r, "riverrun_auth_failures", "Wrong keys and tickets"),
            panics: register(r, "riverrun_panic", "Panics that were contained"),
            slow_consumers: register(
                r,
                "riverrun_slow_consumers",
                "Streams that fell behind, by what was done",
            ),
            delivery_lag: seconds(r, "riverrun_delivery_lag_seconds", "From durable to handed to the socket"),
            first_event_seconds: seconds(
                r,
                "riverrun_time_to_first_event_seconds",
                "From the opening of a stream to its first event",
            ),
            commands: register(r, "riverrun_commands", "Commands to the runner, by what it answered"),
            actions_pending: register(r, "riverrun_actions_pending", "Actions that wait for a decision"),
            recovery_seconds: seconds(r, "riverrun_recovery_seconds", "From start to ready"),
        }
    }
}

/// Every metric of the process.
#[derive(Debug)]
pub struct Metrics {
    pub server: ServerMetrics,
    pub session: Arc<SessionMetrics>,
    registry: Registry,
}

impl Metrics {
    /// The media type of `render`.
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    pub fn new() -> Self {
        let mut registry = Registry::default();
        let server = ServerMetrics::registered(&mut registry);
        let session = Arc::new(SessionMetrics::registered(&mut registry));
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("riverrun_build", "The version that runs", version);
        Self { server, session, registry }
    }

    /// The text of `GET /metrics`.
    pub fn render(&self) -> String {
        let mut out = String::new();
        encode(&mut out, &self.registry).expect("a string takes everything");
        out
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
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
    use riverrun_session::{AppendLabels, ResumeLabels, StreamLabels, TurnLabels};

    use super::*;

    /// One member in each family: an empty family is not shown.
    fn fill(metrics: &Metrics) {
        let request = RequestLabels::new(&Method::GET, "/livez", StatusCode::OK);
        metrics.requests.get_or_create(&request).inc();
        metrics.connections_refused.get_or_create(&RefusalLabels { reason: "total" }).inc();
        metrics.slow_consumers.get_or_create(&SlowConsumerLabels { action: "cut" }).inc();
        metrics.commands.get_or_create(&CommandLabels { command: "submit", result: "ok" }).inc();
        let session = &metrics.session;
        session.events_appended.get_or_create(&AppendLabels { source: "ingest" }).inc();
        session.streams.get_or_create(&StreamLabels { dialect: "native", transport: "sse" }).inc();
        session.resumes.get_or_create(&ResumeLabels { dialect: "native", result: "replayed" }).inc();
        session.turns.get_or_create(&TurnLabels { outcome: "completed" }).inc();
    }

    #[test]
    fn every_metric_has_its_name_and_type() {
        let metrics = Metrics::new();
        fill(&metrics);
        let text = metrics.render();
        let mut types: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        types.sort_unstable();
        let expected = [
            "riverrun_actions_pending gauge",
            "riverrun_auth_failures counter",
            "riverrun_build info",
            "riverrun_commands counter",
            "riverrun_connections_active gauge",
            "riverrun_connections_refused counter",
            "riverrun_delivery_lag_seconds histogram",
            "riverrun_events_appended counter",
            "riverrun_http_request_seconds histogram",
            "riverrun_http_requests counter",
            "riverrun_log_append_seconds histogram",
            "riverrun_log_bytes gauge",
            "riverrun_log_fsync_seconds histogram",
            "riverrun_panic counter",
            "riverrun_recovery_seconds histogram",
            "riverrun_sessions_in_memory gauge",
            "riverrun_slow_consumers counter",
            "riverrun_stream_resume_gap_events histogram",
            "riverrun_stream_resumes counter",
            "riverrun_streams_active gauge",
            "riverrun_time_to_first_event_seconds histogram",
            "riverrun_turns counter",
            "riverrun_turns_active gauge",
            "riverrun_turns_started counter",
        ];
        assert_eq!(types, expected);
        let version = concat!("riverrun_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1");
        for line in [
            version,
            "riverrun_panic_total 0",
            "riverrun_http_requests_total{method=\"GET\",route=\"/livez\",status=\"200\"} 1",
            "riverrun_connections_refused_total{reason=\"total\"} 1",
            "riverrun_slow_consumers_total{action=\"cut\"} 1",
            "riverrun_commands_total{command=\"submit\",result=\"ok\"} 1",
            "riverrun_events_appended_total{source=\"ingest\"} 1",
            "riverrun_streams_active{dialect=\"native\",transport=\"sse\"} 1",
            "riverrun_stream_resumes_total{dialect=\"native\",result=\"replayed\"} 1",
            "riverrun_turns_total{outcome=\"completed\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn label_values_are_escaped_and_no_client_invents_them() {
        let metrics = Metrics::new();
        for method in ["GET", "ODD", "ODDER"] {
            let method = method.parse().expect("a method");
            metrics.requests.get_or_create(&RequestLabels::new(&method, "a\"b", StatusCode::OK)).inc();
        }
        let text = metrics.render();
        for line in [
            "riverrun_http_requests_total{method=\"GET\",route=\"a\\\"b\",status=\"200\"} 1",
            "riverrun_http_requests_total{method=\"other\",route=\"a\\\"b\",status=\"200\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
