//! The events of a Responses service, given along and recorded: what is read back is what the service sent.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use riverrun_event::{Growth, ServiceStream};
use riverrun_net::SseParser;
use riverrun_provider::ModelEvent;
use serde_json::Value;
use support::{Vector, vectors};

/// The frames of a recorded stream up to its terminal event.
fn frames(vector: &Vector) -> Vec<Value> {
    let mut frames = Vec::new();
    let _ = SseParser::new(1 << 20).push(&vector.bytes, &mut frames);
    let values = frames.iter().filter_map(|frame| serde_json::from_str::<Value>(&frame.data).ok());
    let name = |value: &Value| value["type"].as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for value in values.filter(|value| name(value).starts_with("response.") || name(value) == "error") {
        let name = name(&value);
        found.push(value);
        if matches!(name.as_str(), "response.completed" | "response.incomplete" | "response.failed" | "error")
        {
            break;
        }
    }
    found
}

fn growth(event: &ModelEvent) -> Growth {
    match event {
        ModelEvent::Arguments { .. } => Growth::Arguments,
        ModelEvent::Reasoning { summary_index: Some(_), .. } => Growth::Summary,
        ModelEvent::Reasoning { .. } => Growth::Reasoning,
        _ => Growth::Text,
    }
}

/// What a reader of the log gets.
fn read_back(events: Vec<ModelEvent>) -> Vec<Value> {
    let (mut writer, mut reader) = (ServiceStream::default(), ServiceStream::default());
    let mut read = Vec::new();
    for event in events {
        match event {
            ModelEvent::Original(event) => {
                read.extend(writer.record(&event).iter().filter_map(|payload| reader.read(payload)));
            }
            ModelEvent::Sent { text, events } => {
                let (growth, said) = (growth(&text), text.text().unwrap());
                let sent = writer.record_text(growth, said, Some(events));
                read.extend(reader.read_text(growth, said, sent.as_deref()));
            }
            _ => {}
        }
    }
    read
}

#[test]
fn every_event_of_a_recorded_stream_is_given_along_unchanged() {
    let mut checked = 0;
    for vector in vectors().iter().filter(|vector| vector.api == "openai") {
        // Half a character is no text, so an event that has one cannot be recorded.
        if vector.name.ends_with("surrogates") {
            continue;
        }
        let mut decoder = (vector.decoder)(vector.api, "seed");
        decoder.keep_events();
        let events = decoder.push(&vector.bytes);
        let is_good = matches!(events.last(), Some(ModelEvent::Completed { .. }));
        let (sent, read) = (frames(vector), read_back(events));
        assert_eq!(read, sent[..read.len()], "{}", vector.name);
        assert!(!is_good || read.len() == sent.len(), "{}: {} of {}", vector.name, read.len(), sent.len());
        checked += usize::from(is_good);
    }
    assert!(checked > 5, "{checked} streams ended well");
}

#[test]
fn a_failure_is_given_along_before_it_fails_the_call() {
    let all = vectors();
    for name in ["openai/failed", "openai/error_flat"] {
        let vector = all.iter().find(|vector| vector.name == name).unwrap();
        let mut decoder = (vector.decoder)(vector.api, "seed");
        decoder.keep_events();
        let events = decoder.push(&vector.bytes);
        assert!(matches!(events.last(), Some(ModelEvent::Failed(_))), "{name}");
        assert_eq!(read_back(events), frames(vector), "{name}");
    }
}
