//! What the engine counts.

use crate::metrics::{Counter, EVENTS, Family, Gauge, Histogram, SECONDS};

crate::metrics! {
/// Every metric of the engine.
SessionMetrics {
    events_appended: Family<Counter> = Family::new(&["source"]),
        "riverrun_events_appended_total", "Events made durable.";
    append_seconds: Histogram = Histogram::new(SECONDS),
        "riverrun_log_append_seconds", "From the call of an append to its durable answer.";
    fsync_seconds: Histogram = Histogram::new(SECONDS),
        "riverrun_log_fsync_seconds", "One commit of the log.";
    log_bytes: Gauge = Gauge::default(),
        "riverrun_log_bytes", "The size of the log on disk.";
    streams: Family<Gauge> = Family::new(&["dialect", "transport"]),
        "riverrun_streams_active", "Open streams.";
    resumes: Family<Counter> = Family::new(&["dialect", "result"]),
        "riverrun_stream_resumes_total", "Streams opened with a cursor, by outcome.";
    resume_gap: Histogram = Histogram::new(EVENTS),
        "riverrun_stream_resume_gap_events", "Events between a resumed cursor and the head.";
    turns_started: Counter = Counter::default(),
        "riverrun_turns_started_total", "Turns that this server submitted to its runner.";
    turns: Family<Counter> = Family::new(&["outcome"]),
        "riverrun_turns_total", "Turns of the runner that reached a terminal event.";
    turns_active: Gauge = Gauge::default(),
        "riverrun_turns_active", "Turns of the runner without a terminal event.";
    sessions_in_memory: Gauge = Gauge::default(),
        "riverrun_sessions_in_memory", "Sessions that are in use, or were a moment ago.";
}
}
