//! Transcripts that official clients accepted, against what a dialect makes of an equivalent log.

use riverrun_dialect::Dialect;
use serde_json::Value;

use crate::log::{Delivered, scenario, shared};

/// The frames of a transcript, each with its event name if it has one.
pub fn transcript(name: &str) -> Option<Vec<(String, String)>> {
    let path = shared()?.join("spec/golden").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut frames = Vec::new();
    for frame in text.split("\n\n").filter(|frame| !frame.trim().is_empty()) {
        let member = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        frames.push((member("event: ").to_owned(), member("data: ").to_owned()));
    }
    Some(frames)
}

/// What is compared of a frame: its name and the names of its members, at any depth.
fn shape(name: &str, text: &str, adapt: &impl Fn(&mut Value)) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            adapt(&mut value);
            format!("{name} {}", members(&value))
        }
        Err(_) => text.to_owned(),
    }
}

fn members(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let member = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("type", Value::String(word)) => format!("type={word}"),
                (name, value) => format!("{name}{}", members(value)),
            };
            let mut all: Vec<String> = object.iter().map(member).collect();
            all.sort();
            format!("{{{}}}", all.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(members).collect::<Vec<_>>().join(",")),
        _ => String::new(),
    }
}

/// Compares names, order and members. `skips` says which frames have no counterpart on the other side, `adapt` takes
/// away members that one side alone has.
pub fn check(
    dialect: Dialect,
    golden: &str,
    name: &str,
    skips: impl Fn(&str) -> bool,
    adapt: impl Fn(&mut Value),
) {
    let Some(expected) = transcript(golden) else { return };
    let log = scenario(name);
    let frames = log.tail(dialect, 0, log.turns().first().copied());
    let ours = |frame: &Delivered| shape(&frame.name, &frame.text, &adapt);
    let ours: Vec<String> = frames.iter().map(ours).filter(|shape| !skips(shape)).collect();
    let theirs = expected.iter().map(|(name, text)| shape(name, text, &adapt));
    let theirs: Vec<String> = theirs.filter(|shape| !skips(shape)).collect();
    assert_eq!(ours, theirs, "{golden}");
}
