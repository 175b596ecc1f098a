//! Several decisions that a client gives together: the log has pauses between them, and the client hears of none.

use riverrun_dialect::{Dialect, ReaderOptions};
use riverrun_event::Sequence;
use serde_json::{Value, json};

use crate::log::Log;

/// Two calls wait; they are decided one behind the other, and the first has its result before the second is decided.
fn log() -> (Log, usize, usize) {
    let event = |kind: &str, call: Option<&str>, payload: Value| {
        let mut event =
            json!({"type": kind, "threadId": "main", "turnId": "r1", "taskId": "k1", "payload": payload});
        if let Some(call) = call {
            event["toolCallId"] = call.into();
            event["actionId"] = format!("act_{call}").into();
        }
        event.to_string()
    };
    let call = |id: &str, place: u32| {
        let item = json!({"type": "tool_call", "id": format!("i_{id}"), "callId": id, "name": "f", "arguments": "{}", "status": "completed"});
        event("item.completed", None, json!({"item": item, "outputIndex": place}))
    };
    let result = |id: &str, place: u32| {
        let block = json!([{"type": "text", "text": "done"}]);
        let item = json!({"type": "tool_result", "id": format!("r_{id}"), "callId": id, "blockList": block, "status": "completed"});
        event("item.completed", None, json!({"item": item, "outputIndex": place}))
    };
    let asks = |id: &str| event("action.required", Some(id), json!({"actionType": "client_tool"}));
    let answers = |id: &str| event("action.resolved", Some(id), json!({"decision": "respond"}));
    let lines = [
        event("turn.submitted", None, json!({"input": "x", "status": "accepted"})),
        event("turn.started", None, json!({})),
        event("task.created", None, json!({"kind": "turn"})),
        call("c1", 0),
        call("c2", 1),
        asks("c1"),
        asks("c2"),
        answers("c1"),
        result("c1", 2),
        answers("c2"),
        result("c2", 3),
        event("turn.completed", None, json!({})),
    ];
    (Log::of(lines.iter().map(String::as_str)), 7, 10)
}

#[test]
fn who_decided_several_at_once_hears_no_pause_between_them() {
    let (log, paused, last) = log();
    let first = log.turns()[0];
    for (dialect, end) in [
        (Dialect::AgUi, "RUN_FINISHED"),
        (Dialect::AiSdk, "\"finish\""),
        (Dialect::LangGraph, "values"),
        (Dialect::A2a, "TASK_STATE_INPUT_REQUIRED"),
    ] {
        let ends = |decided: Option<u64>| {
            let decided = decided.and_then(Sequence::new);
            let options = ReaderOptions { turn: Some(first), decided, ..ReaderOptions::default() };
            let told = log.tail_with(dialect, paused, options);
            told.iter().filter(|frame| frame.text.contains(end) || frame.name == end).count()
        };
        // A task is asked about while it pauses, and told to have ended by another word.
        let wanted = usize::from(!end.ends_with("REQUIRED"));
        assert!(ends(None) > wanted, "{}: others hear the pauses", dialect.name());
        assert_eq!(ends(Some(last as u64)), wanted, "{}", dialect.name());
    }
}
