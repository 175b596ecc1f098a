//! Every recorded stream of `spec/vectors/provider`: whole, in every split, and cut at every byte.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::collections::BTreeMap;

use riverrun_provider::{ItemKind, ModelEvent};
use serde_json::{Value, json};
use support::{Vector, to_json, vectors};

#[test]
fn every_stream_is_read_as_in_its_vector() {
    let bless = std::env::var_os("RIVERRUN_BLESS").is_some();
    let mut wrong = Vec::new();
    for vector in vectors() {
        let text = std::fs::read_to_string(&vector.expected).unwrap_or_else(|_| "{}".to_owned());
        let expected: Value = serde_json::from_str(&text).unwrap();
        let events: Vec<Value> = vector.decode([vector.bytes.as_slice()]).iter().map(to_json).collect();
        if bless {
            let lines: Vec<String> = events.iter().map(|event| format!("    {event}")).collect();
            let text = format!(
                "{{\n  \"why\": {},\n  \"events\": [\n{}\n  ]\n}}\n",
                expected["why"],
                lines.join(",\n")
            );
            std::fs::write(&vector.expected, text).unwrap();
        } else if json!(events) != expected["events"] {
            wrong.push(format!("{}:\n{events:#?}", vector.name));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_split_gives_the_same_events() {
    for vector in vectors() {
        let bytes = vector.bytes.as_slice();
        let whole = vector.decode([bytes]);
        assert_eq!(vector.decode(bytes.chunks(1)), whole, "{}: byte by byte", vector.name);
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(vector.decode([a, b]), whole, "{}: split at {at}", vector.name);
        }
    }
}

#[test]
fn a_stream_cut_at_any_byte_never_completes_and_keeps_what_came() {
    let mut cuts = 0;
    for vector in vectors() {
        let whole = vector.decode([vector.bytes.as_slice()]);
        let calls = arguments(&whole);
        let terminal = end_of_terminal_frame(&vector);
        for at in 0..vector.bytes.len() {
            let events = vector.decode([&vector.bytes[..at]]);
            check_cut(&vector, at, &events, &whole, &calls, at >= terminal);
            cuts += 1;
        }
    }
    assert!(cuts > 20_000, "only {cuts} cuts were tried");
}

fn check_cut(
    vector: &Vector,
    at: usize,
    events: &[ModelEvent],
    whole: &[ModelEvent],
    calls: &BTreeMap<u32, String>,
    may_complete: bool,
) {
    let place = format!("{} cut at {at}", vector.name);
    let (last, before) = events.split_last().unwrap_or_else(|| panic!("{place}: nothing came"));
    let is_terminal =
        |event: &ModelEvent| matches!(event, ModelEvent::Completed { .. } | ModelEvent::Failed(_));
    assert!(is_terminal(last) && !before.iter().any(is_terminal), "{place}: not one terminal at the end");
    assert!(may_complete || matches!(last, ModelEvent::Failed(_)), "{place}: completed");
    assert!(
        may_complete || before.len() <= whole.len() && before == &whole[..before.len()],
        "{place}: not a prefix"
    );
    let cut_calls = arguments(events);
    for event in before {
        if let ModelEvent::ItemDone { index, .. } = event {
            assert_eq!(cut_calls.get(index), calls.get(index), "{place}: call {index} is done but not whole");
        }
    }
}

/// The arguments of each tool call.
fn arguments(events: &[ModelEvent]) -> BTreeMap<u32, String> {
    let mut calls = BTreeMap::new();
    for event in events {
        match event {
            ModelEvent::ItemStarted { index, kind: ItemKind::ToolCall { .. } } => {
                calls.insert(*index, String::new());
            }
            ModelEvent::Arguments { index, delta } => calls.entry(*index).or_default().push_str(delta),
            _ => {}
        }
    }
    calls
}

/// Where the frame ends that says the answer is complete, found in the bytes and not by the code under test.
fn end_of_terminal_frame(vector: &Vector) -> usize {
    let marks: &[&str] = match vector.api {
        "openai" => &["\"type\":\"response.completed\"", "\"type\":\"response.incomplete\""],
        "chat" => &["\"finish_reason\":\""],
        "anthropic" => &["\"type\":\"message_stop\""],
        "gemini" => &["\"finishReason\":"],
        other => panic!("{other}"),
    };
    let find = |mark: &&str| vector.bytes.windows(mark.len()).position(|window| window == mark.as_bytes());
    let Some(start) = marks.iter().filter_map(find).min() else { return usize::MAX };
    let rest = &vector.bytes[start..];
    // The blank line: the second line end in a row. A CR alone ends a line, so its LF need not have come.
    let ends = |window: &[u8]| matches!(window, b"\n\n" | b"\r\r") || window == b"\n\r";
    start + rest.windows(2).position(ends).map_or(usize::MAX - start, |at| at + 2)
}
