//! The frames of the vectors as input: what AgentLin's server publishes comes to the task that it tells.

use std::path::Path;

use riverrun_dialect::OffsetUnit;
use riverrun_dialect::task::{FrameError, FrameReader};
use serde_json::{Value, json};

use crate::log::{Log, root};
use crate::vectors::{check_file, objects, vectors};

/// Vectors whose frames are vectors of the fold too, so that every language folds what was ingested.
const FOLDED: [&str; 6] = ["message", "reasoning", "retraction", "sub_agent", "tool_call", "tool_result"];

fn ingested(folder: &Path) -> Vec<String> {
    let frames = std::fs::read_to_string(folder.join("frames.ndjson")).expect("a vector has frames");
    let mut reader = FrameReader::default();
    let event = |frame| reader.event(frame).unwrap_or_else(|error| panic!("{frame}: {error}"));
    frames.lines().map(event).collect()
}

fn event_of(frame: &str) -> Result<String, FrameError> {
    FrameReader::default().event(frame)
}

/// The task's object without what a frame cannot say.
fn told(line: &str) -> Value {
    let mut object: Value = serde_json::from_str(line).expect("an object is JSON");
    without(&mut object, &["content", "input_required_call_ids"]);
    object
}

fn without(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !names.contains(&name.as_str()));
            members.values_mut().for_each(|value| without(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| without(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_frames_of_every_vector_give_its_object_back() {
    for vector in vectors("dialect/task") {
        let events = ingested(&vector.folder);
        let log = Log::of(events.iter().map(String::as_str));
        assert_eq!(log.len(), events.len(), "{}: every frame is an event that ingest takes", vector.name);
        let given: Vec<Value> = objects(&log, OffsetUnit::CodePoint).lines().map(told).collect();
        let expected: Vec<Value> = objects(&vector.log, OffsetUnit::CodePoint).lines().map(told).collect();
        assert_eq!(given, expected, "{}", vector.name);
    }
}

/// Frames, ingested and projected again, are the same frames, but for their numbers.
#[test]
fn what_was_ingested_is_published_as_it_came() {
    for vector in vectors("dialect/task").into_iter().filter(|vector| FOLDED.contains(&vector.name.as_str()))
    {
        let numberless = |json: &str| {
            let mut frame: Value = serde_json::from_str(json).expect("a frame is JSON");
            without(&mut frame, &["sequence_number"]);
            frame
        };
        let log = Log::of(ingested(&vector.folder).iter().map(String::as_str));
        let again: Vec<Value> =
            log.frames(OffsetUnit::CodePoint).iter().map(|frame| numberless(&frame.json)).collect();
        let first: Vec<Value> =
            vector.log.frames(OffsetUnit::CodePoint).iter().map(|frame| numberless(&frame.json)).collect();
        let kinds = |frames: &[Value]| -> Vec<String> {
            frames.iter().map(|frame| frame["type"].to_string()).collect()
        };
        assert_eq!(again, first, "{}: {:?} / {:?}", vector.name, kinds(&again), kinds(&first));
    }
}

#[test]
fn ingested_vectors_are_vectors_of_the_fold() {
    for vector in vectors("dialect/task").into_iter().filter(|vector| FOLDED.contains(&vector.name.as_str()))
    {
        is_folded(&format!("agentlin_{}", vector.name), ingested(&vector.folder));
    }
}

/// Every language folds what was ingested.
fn is_folded(name: &str, events: Vec<String>) {
    let line = |(event, sequence): (String, u64)| {
        let mut event: Value = serde_json::from_str(&event).expect("an event is JSON");
        event["sequence"] = sequence.into();
        event["sessionId"] = json!("ses_1");
        format!("{event}\n")
    };
    let lines: String = events.into_iter().zip(1..).map(line).collect();
    check_file(&root().join("spec/vectors/fold").join(name).join("events.ndjson"), &lines);
}

#[test]
fn frames_of_the_released_server_come_to_the_same_object() {
    let folder = root().join("spec/vectors/ingest/agentlin_released");
    let events = ingested(&folder);
    let log = Log::of(events.iter().map(String::as_str));
    assert_eq!(log.len(), events.len(), "every frame is an event that ingest takes");
    let problems = &log.state(log.len()).problems;
    assert_eq!(problems.count, 0, "{problems:?}");
    check_file(&folder.join("object.json"), &objects(&log, OffsetUnit::CodePoint));
    is_folded("agentlin_released", events);
}

/// A publisher may send its frames in several requests.
#[test]
fn a_reader_resumes_at_the_head_of_the_session() {
    let folder = root().join("spec/vectors/ingest/agentlin_released");
    let frames = std::fs::read_to_string(folder.join("frames.ndjson")).expect("a vector has frames");
    let whole = ingested(&folder);
    for (at, frame) in frames.lines().enumerate() {
        let log = Log::of(whole[..at].iter().map(String::as_str));
        let event = FrameReader::new(log.state(at)).event(frame).expect("a frame");
        assert_eq!(event, whole[at]);
    }
}

#[test]
fn a_released_frame_without_native_form_is_stored() {
    for kind in ["audio.delta", "file.done", "image.done", "block.done", "tool_result.delta", "of_next_year"]
    {
        let frame =
            json!({"type": format!("task.{kind}"), "task_id": "t", "item_id": "tr_1", "agent_step": 0});
        let event: Value =
            serde_json::from_str(&event_of(&frame.to_string()).expect("it is kept")).expect("JSON");
        let expected = json!({"type": format!("x.agentlin.{kind}"), "taskId": "t", "payload": frame});
        assert_eq!(event, expected);
    }
}

#[test]
fn a_frame_without_its_members_is_refused_by_name() {
    let refused = |frame: &str| event_of(frame).expect_err("it lacks something").field();
    assert_eq!(refused("[]"), None);
    assert_eq!(refused(r#"{"type":"task.working"}"#), Some("task_id"));
    assert_eq!(refused(r#"{"task_id":"t"}"#), Some("type"));
    let delta = r#"{"type":"task.text.delta","task_id":"t","item_id":"msg_1","output_index":0,"delta":"x"}"#;
    assert_eq!(refused(delta), Some("block_index"));
}

#[test]
fn an_agentlin_rpc_answer_is_unwrapped_and_unknown_frames_are_stored() {
    let event = |frame: &str| -> Value {
        serde_json::from_str(&event_of(frame).expect("a frame")).expect("an event is JSON")
    };
    let wrapped = event(r#"{"jsonrpc":"2.0","id":"r","result":{"type":"task.working","task_id":"t"}}"#);
    assert_eq!(wrapped, json!({"type": "task.started", "taskId": "t", "payload": {}}));
    let rollout = event(r#"{"type":"task.rollout","task_id":"t","turn":1}"#);
    let payload = json!({"type": "task.rollout", "task_id": "t", "turn": 1});
    assert_eq!(rollout, json!({"type": "x.agentlin.rollout", "taskId": "t", "payload": payload}));
}
