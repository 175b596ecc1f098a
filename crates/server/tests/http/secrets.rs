//! Keys, tickets and what people say stay out of logs, errors and metrics; keys and tickets stay off the disk too.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::harness::{JSON, NDJSON, Server};
use crate::stream::Stream;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics in here").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Every file below a directory that holds these bytes.
fn holding(directory: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, needle));
        } else if std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(needle.len()).any(|part| part == needle))
        {
            found.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    found
}

#[tokio::test]
async fn no_secret_is_written_down() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE);
    let subscriber = subscriber.with_writer(move || writer.clone()).finish();
    // For the whole process: the server may log from any thread. Other tests log too, but not our canaries.
    tracing::subscriber::set_global_default(subscriber).expect("no other test listens");
    let server = Server::on_disk().await;
    let (reader, _) = server.key("default", &["read", "write"]).await;
    let ticket = reader.call("POST /v1/tickets", &[], "").await.json()["ticket"]
        .as_str()
        .expect("a ticket")
        .to_owned();
    reader.make("s1").await;
    let said = "CANARY-said-by-a-person";
    reader.tell("s1", &[json!({"type": "model.delta", "payload": {"delta": said}})]).await;
    let mut answers = String::new();
    for (line, headers, body) in [
        (
            "POST /v1/sessions/s1/events",
            JSON,
            format!(r#"{{"type":"model.delta","payload":{{"delta":7,"x":"{said}"}}}}"#),
        ),
        ("POST /v1/sessions/s1/events", JSON, format!(r#"{{"type":"x","payload":"{said}"#)),
        ("POST /v1/sessions/s1/events", NDJSON, format!("{said}\n")),
        ("POST /v1/sessions", JSON, format!(r#"{{"title":"{said}"#)),
        ("POST /v1/import", NDJSON, format!("{{\"x\":\"{said}\"}}")),
    ] {
        answers.push_str(&reader.call(line, &[headers], body).await.text());
    }
    let key = &reader.key;
    for path in
        [format!("?token={key}"), format!("?ticket={key}"), format!("?after={key}"), format!("/{key}/state")]
    {
        answers.push_str(&reader.call(&format!("GET /v1/sessions/s1/events{path}"), &[], "").await.text());
    }
    for header in ["last-event-id", "idempotency-key", "producer-id"] {
        answers
            .push_str(&reader.call("POST /v1/sessions/s1/events", &[JSON, (header, key)], "{").await.text());
    }
    let path = format!("/v1/sessions/s1/events?follow=false&ticket={ticket}");
    Stream::open(&reader, &path, &[("authorization", "")]).await.rest().await;
    let metrics = server.call("GET /metrics", &[], "").await.text();
    let admin = server.key.clone();
    let (log, directory) = server.stop().await;
    log.close().await.expect("the log closes");
    let lines = String::from_utf8_lossy(&captured.0.lock().expect("nobody panics in here")).into_owned();
    assert!(lines.contains("/v1/sessions/{session}/events"), "the access log is there: {lines}");
    let secret = |key: &str| key.rsplit('_').next().unwrap_or_default().to_owned();
    for (name, canary) in [
        ("key", secret(key)),
        ("ticket", secret(&ticket)),
        ("admin key", secret(&admin)),
        ("words", said.to_owned()),
    ] {
        assert!(!lines.contains(&canary), "{name} in the log");
        assert!(!metrics.contains(&canary), "{name} in the metrics");
        if name == "words" {
            assert!(!answers.contains(&canary), "{name} in an error: {answers}");
            continue;
        }
        let files = holding(directory.path(), canary.as_bytes());
        let allowed: &[&str] = if name == "admin key" { &["admin.key"] } else { &[] };
        assert_eq!(files, allowed, "{name} on the disk");
    }
    // What a caller sent as its own request id, cursor or producer comes back to that caller alone.
}
