//! Recorded transcripts that official clients accepted: ours have the same events in the same order, and at least
//! their members. The transcripts are not part of the repository; without them this says so and checks nothing.

use std::path::PathBuf;

use riverrun_dialect::Dialect;
use serde_json::Value;

use crate::log::{Got, parse_sse, root, turn};

fn transcripts() -> Option<PathBuf> {
    let beside = root().join("../shared");
    let named = std::env::var_os("RIVERRUN_SHARED").map(PathBuf::from);
    let found = named.into_iter().chain([beside]).map(|shared| shared.join("spec/golden"));
    let found = found.into_iter().find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: there are no recorded transcripts in ../shared or RIVERRUN_SHARED");
    }
    found
}

/// The paths of all members, lists as one.
fn members(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = format!("{path}.{name}");
                members(value, &path, out);
                out.push(path);
            }
        }
        Value::Array(list) => list.iter().for_each(|entry| members(entry, &format!("{path}[]"), out)),
        _ => {}
    }
}

/// What a frame is, without its values: its name, or what its delta adds.
fn kind(frame: &Got) -> String {
    if frame.data == "[DONE]" {
        return frame.data.clone();
    }
    let json = frame.json();
    let delta = json["delta"]["type"].as_str().unwrap_or_default();
    let block = json["content_block"]["type"].as_str().or(json["item"]["type"].as_str()).unwrap_or_default();
    let choice = match json["choices"][0]["delta"].as_object() {
        Some(delta) => delta.keys().cloned().collect::<Vec<_>>().join("+"),
        None => String::new(),
    };
    format!("{} {delta}{block}{choice}{}", frame.name, json["choices"][0]["finish_reason"])
}

/// One frame of each run of equal kinds; heartbeats and empty deltas say nothing.
fn runs(frames: Vec<Got>) -> Vec<(String, Got)> {
    let mut runs: Vec<(String, Got)> = Vec::new();
    for frame in frames {
        let is_noise = frame.name == "ping" || frame.data.contains("\"partial_json\": \"\"");
        if !is_noise && runs.last().is_none_or(|(last, _)| *last != kind(&frame)) {
            runs.push((kind(&frame), frame));
        }
    }
    runs
}

fn check(file: &str, dialect: Dialect, name: &str) {
    let Some(folder) = transcripts() else { return };
    let golden = std::fs::read_to_string(folder.join(file)).expect("the transcript is there");
    let (golden, ours) = (runs(parse_sse(&golden)), runs(parse_sse(&turn(name).body(dialect))));
    let kinds = |runs: &[(String, Got)]| runs.iter().map(|(kind, _)| kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&ours), kinds(&golden), "{file}");
    for ((kind, golden), (_, ours)) in golden.iter().zip(&ours).filter(|((kind, _), _)| kind != "[DONE]") {
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        members(&golden.json(), "", &mut theirs);
        members(&ours.json(), "", &mut own);
        theirs.retain(|member| !own.contains(member));
        assert_eq!(theirs, Vec::<String>::new(), "{file}: {kind} lacks members");
    }
}

#[test]
fn responses_are_shaped_like_the_recorded_ones() {
    check("openai_responses_text.sse", Dialect::Responses, "text");
    check("openai_responses_tool.sse", Dialect::Responses, "tool");
    check("openai_responses_background.sse", Dialect::Responses, "background");
}

#[test]
fn chat_chunks_are_shaped_like_the_recorded_ones() {
    check("openai_chat_text.sse", Dialect::Chat, "text");
    check("openai_chat_tool.sse", Dialect::Chat, "tool");
}

#[test]
fn messages_are_shaped_like_the_recorded_ones() {
    check("anthropic_text.sse", Dialect::Anthropic, "text");
    check("anthropic_tool.sse", Dialect::Anthropic, "tool");
}

/// The recorded failures stop before what was open is closed; the terminal event is what counts.
#[test]
fn failures_end_like_the_recorded_ones() {
    let Some(folder) = transcripts() else { return };
    for (file, dialect) in
        [("openai_responses_failed.sse", Dialect::Responses), ("anthropic_error.sse", Dialect::Anthropic)]
    {
        let golden = std::fs::read_to_string(folder.join(file)).expect("the transcript is there");
        let golden = parse_sse(&golden).pop().expect("it has frames");
        let ours = parse_sse(&turn("failed").body(dialect)).pop().expect("it has frames");
        assert_eq!(ours.name, golden.name);
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        members(&golden.json(), "", &mut theirs);
        members(&ours.json(), "", &mut own);
        theirs.retain(|member| !own.contains(member));
        assert_eq!(theirs, Vec::<String>::new(), "{file}");
    }
}

/// The recorded stream ends with its call; ours has an end of its own, with the same members.
#[test]
fn gemini_responses_have_the_recorded_members() {
    let Some(folder) = transcripts() else { return };
    let golden = std::fs::read_to_string(folder.join("gemini.sse")).expect("the transcript is there");
    let (mut theirs, mut own) = (Vec::new(), Vec::new());
    parse_sse(&golden).iter().for_each(|frame| members(&frame.json(), "", &mut theirs));
    let body = turn("text_and_tool").body(Dialect::Gemini);
    parse_sse(&body).iter().for_each(|frame| members(&frame.json(), "", &mut own));
    theirs.retain(|member| !own.contains(member));
    assert_eq!(theirs, Vec::<String>::new());
}
