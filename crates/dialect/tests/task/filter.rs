//! What is delivered is right without the rest.

use riverrun_dialect::task::reference_client::ReferenceClient;
use riverrun_dialect::{OffsetUnit, task};
use riverrun_fold::{Change, State};
use serde_json::{Value, json};

use crate::log::{Delivered, Log, assert_same, objects, recordings, take_all};
use crate::vectors;

fn client_of<'a>(frames: impl IntoIterator<Item = &'a Delivered>) -> ReferenceClient {
    let mut client = ReferenceClient::default();
    frames.into_iter().for_each(|frame| take_all(&mut client, std::slice::from_ref(frame)));
    client
}

/// A coarse reader that is not sent the deltas has every item when it is done.
#[test]
fn a_client_without_deltas_ends_with_the_object() {
    for (name, log) in recordings() {
        let kind = |frame: &Delivered| log.event(frame.sequence as usize).kind.as_str();
        let is_delta =
            |frame: &&Delivered| ["model.delta", "reasoning.delta", "tool.args"].contains(&kind(frame));
        let client = client_of(log.frames(OffsetUnit::CodePoint).iter().filter(|frame| !is_delta(frame)));
        assert_same(&client, log.state(log.len()), OffsetUnit::CodePoint, &name);
    }
}

fn forget_children(object: &mut Value) {
    for item in object["output"].as_array_mut().into_iter().flatten() {
        if let Some(blocks) = item.get_mut("block_list").and_then(Value::as_array_mut) {
            blocks.retain(|block| block.get("task_id").is_none());
        }
    }
}

/// A reader of one task and of its turn's end holds that task, as if it had no children.
#[test]
fn a_client_of_one_task_holds_it() {
    for (name, log) in recordings() {
        let whole = log.frames(OffsetUnit::CodePoint);
        for (task, mut object) in objects(log.state(log.len()), OffsetUnit::CodePoint) {
            let is_wanted = |frame: &&Delivered| frame.json.contains(&format!("\"task_id\":\"{task}\""));
            let client = client_of(whole.iter().filter(is_wanted));
            let mut seen = client.object(task.as_str()).unwrap_or_default();
            forget_children(&mut object);
            forget_children(&mut seen);
            assert_eq!(seen, object, "{name}, task {task} alone");
        }
    }
}

/// The lifecycle is an addition: AgentLin's own words are enough to put every child where it belongs.
#[test]
fn a_client_without_lifecycle_frames_nests_children_by_their_call() {
    let nested = recordings()
        .into_iter()
        .chain(vectors::logs("dialect/task"))
        .filter(|(name, _)| name.contains("sub"));
    for (name, log) in nested {
        let is_lifecycle = |frame: &&Delivered| frame.json.contains("\"task\":{");
        let client = client_of(log.frames(OffsetUnit::CodePoint).iter().filter(|frame| !is_lifecycle(frame)));
        for (task, object) in objects(log.state(log.len()), OffsetUnit::CodePoint) {
            let seen = client.object(task.as_str()).unwrap_or_default();
            assert_eq!(seen["output"], object["output"], "{name}, task {task}");
        }
    }
}

/// A sealed turn gives the object that its task had in the window.
#[test]
fn the_object_of_a_sealed_task_is_what_it_was() {
    let event = |kind: &str, number: usize, payload: Value| {
        let (turn, task) = (format!("turn_{number}"), format!("task_{number}"));
        json!({"type": kind, "turnId": turn, "taskId": task, "payload": payload}).to_string()
    };
    let turn = |number: usize| {
        let item = json!({"type": "message", "id": "m", "blockList": [{"type": "text", "text": "hi"}]});
        let message = event("item.completed", number, json!({"item": item, "outputIndex": 0}));
        [message, event("turn.completed", number, json!({}))]
    };
    let lines: Vec<String> = (0..10).flat_map(turn).collect();
    let log = Log::of(lines.iter().map(String::as_str));
    let (mut state, mut changes) = (State::new(log.session.clone()), Vec::new());
    let mut sealed = 0;
    for sequence in 1..=log.len() {
        let before = state.clone();
        changes.clear();
        let _ = state.apply(log.event(sequence), &mut changes);
        for change in &changes {
            let Change::TurnSealed(turn) = change else { continue };
            let id = &turn.tasks[0].task_id;
            let kept = task::object_of_sealed(turn, id, OffsetUnit::CodePoint);
            assert!(kept.is_some());
            assert_eq!(kept, task::object(&before, id, OffsetUnit::CodePoint));
            assert_eq!(task::object(&state, id, OffsetUnit::CodePoint), None);
            sealed += 1;
        }
    }
    assert!(sealed > 0, "ten turns do not fit the window");
}
