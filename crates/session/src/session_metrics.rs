//! What the engine counts.

use prometheus_client::encoding::EncodeLabelSet;

use crate::metrics::{
    Counter, EVENTS, Family, Gauge, Histogram, Registry, SECONDS, register, register_histogram,
};

/// Who appended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct AppendLabels {
    /// `ingest` or `runner`.
    pub source: &'static str,
}

/// What kind of stream is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StreamLabels {
    /// The name of its dialect.
    pub dialect: &'static str,
    /// How its frames are carried.
    pub transport: &'static str,
}

/// How a resume went.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResumeLabels {
    /// The name of its dialect.
    pub dialect: &'static str,
    /// The outcome.
    pub result: &'static str,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TurnLabels {
    /// `completed`, `failed` or `cancelled`.
    pub outcome: &'static str,
}

/// Every metric of the engine.
#[derive(Debug)]
pub struct SessionMetrics {
    /// Events made durable.
    pub events_appended: Family<AppendLabels, Counter>,
    /// From the call of an append to its durable answer.
    pub append_seconds: Histogram,
    /// One commit of the log.
    pub fsync_seconds: Histogram,
    /// The size of the log on disk.
    pub log_bytes: Gauge,
    /// Open streams.
    pub streams: Family<StreamLabels, Gauge>,
    /// Streams opened with a cursor, by outcome.
    pub resumes: Family<ResumeLabels, Counter>,
    /// Events between a resumed cursor and the head.
    pub resume_gap: Histogram,
    /// Turns that this server submitted to its runner.
    pub turns_started: Counter,
    /// Turns of the runner that reached a terminal event.
    pub turns: Family<TurnLabels, Counter>,
    /// Turns of the runner without a terminal event.
    pub turns_active: Gauge,
    /// Sessions that are in use, or were a moment ago.
    pub sessions_in_memory: Gauge,
}

impl SessionMetrics {
    /// Every metric at zero, for an engine whose numbers nobody reads.
    pub fn new() -> Self {
        Self::registered(&mut Registry::default())
    }

    /// Every metric at zero, shown by this registry.
    pub fn registered(registry: &mut Registry) -> Self {
        let r = registry;
        Self {
            events_appended: register(r, "riverrun_events_appended", "Events made durable"),
            append_seconds: register_histogram(
                r,
                "riverrun_log_append_seconds",
                "From the call of an append to its durable answer",
                SECONDS,
            ),
            fsync_seconds: register_histogram(
                r,
                "riverrun_log_fsync_seconds",
                "One commit of the log",
                SECONDS,
            ),
            log_bytes: register(r, "riverrun_log_bytes", "The size of the log on disk"),
            streams: register(r, "riverrun_streams_active", "Open streams"),
            resumes: register(r, "riverrun_stream_resumes", "Streams opened with a cursor, by outcome"),
            resume_gap: register_histogram(
                r,
                "riverrun_stream_resume_gap_events",
                "Events between a resumed cursor and the head",
                EVENTS,
            ),
            turns_started: register(
                r,
                "riverrun_turns_started",
                "Turns that this server submitted to its runner",
            ),
            turns: register(r, "riverrun_turns", "Turns of the runner that reached a terminal event"),
            turns_active: register(
                r,
                "riverrun_turns_active",
                "Turns of the runner without a terminal event",
            ),
            sessions_in_memory: register(
                r,
                "riverrun_sessions_in_memory",
                "Sessions that are in use, or were a moment ago",
            ),
        }
    }
}

impl Default for SessionMetrics {
    fn default() -> Self {
        Self::new()
    }
}
