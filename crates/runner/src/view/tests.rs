use riverrun_event::{Author, Event, Sequence, Timestamp, decode};
use serde_json::{Value, json};

use super::{CallView, View};

/// A hosted turn `t` whose call `c` waits for the decision `a`.
const HOSTED: &[(&str, &str)] = &[
    ("turn.submitted", "{}"),
    ("turn.started", r#"{"agent":"purger"}"#),
    (
        "item.started",
        r#"{"item":{"type":"tool_call","id":"i","callId":"c","name":"purge","arguments":"{}"},"outputIndex":0}"#,
    ),
    ("item.completed", r#"{"item":{"type":"tool_call","id":"i","status":"completed"},"outputIndex":0}"#),
    ("action.required", r#"{"actionType":"tool_permission","digest":"real"}"#),
];

#[derive(Default)]
struct Recording {
    view: View,
    sequence: u64,
}

impl Recording {
    fn hosted() -> Self {
        let mut recording = Self::default();
        for (kind, payload) in HOSTED {
            recording.record(Author::Runner, kind, serde_json::from_str(payload).expect("JSON"));
        }
        recording
    }

    fn event(&mut self, author: Author, mut event: Value) -> Event {
        self.sequence += 1;
        for (name, id) in
            [("turnId", "t"), ("taskId", "k"), ("runId", "r"), ("toolCallId", "c"), ("actionId", "a")]
        {
            if event[name].is_null() {
                event[name] = json!(id);
            }
        }
        let decoded = decode(&event.to_string()).expect("an event").by(author);
        decoded.into_event(Sequence::new(self.sequence).expect("small"), Timestamp::from_millis(1))
    }

    fn record(&mut self, author: Author, kind: &str, payload: Value) {
        let event = self.event(author, json!({"type": kind, "payload": payload}));
        self.view.apply(&event);
    }

    fn call(&self) -> &CallView {
        let turn = self.view.turns.values().find(|turn| turn.ours).expect("a hosted turn");
        turn.tasks[0].call("c").expect("the call")
    }
}

const OTHERS: [Author; 4] = [Author::Unknown, Author::Writer, Author::Approver, Author::Copied];

#[test]
fn of_a_hosted_turn_only_the_runner_tells() {
    let forged = [
        ("tool.started", json!({"toolName": "purge"})),
        ("permission.evaluated", json!({"decision": "allow"})),
        ("action.required", json!({"actionType": "tool_permission", "digest": "forged"})),
        (
            "item.completed",
            json!({"item": {"type": "tool_call", "id": "i", "status": "incomplete"}, "outputIndex": 0}),
        ),
        ("item.retracted", json!({"itemId": "i", "outputIndex": 0, "reason": "x"})),
        ("tool.result", json!({"toolName": "purge"})),
        ("turn.started", json!({"agent": "another"})),
        ("turn.completed", json!({})),
        ("task.cancel_requested", json!({})),
        ("runtime.warning", json!({"code": "too_many_calls", "message": "the call was made"})),
        ("runtime.warning", json!({"code": "output_mismatch", "message": "say it again"})),
    ];
    for author in OTHERS {
        let mut recording = Recording::hosted();
        for (kind, payload) in &forged {
            recording.record(author, kind, payload.clone());
        }
        let (turn, call) = (&recording.view.turns.values().next().expect("the turn"), recording.call());
        assert!(turn.ours && turn.cancel.is_none(), "{author:?}");
        assert!(turn.tasks[0].excess.is_none() && turn.tasks[0].repairs == 0, "{author:?}");
        assert!(call.is_complete && !call.is_started && !call.is_allowed && !call.is_ended, "{author:?}");
        let action = call.pending().expect("the question waits");
        assert_eq!(action.digest.as_deref(), Some("real"), "{author:?}");
    }
}

#[test]
fn a_decision_counts_if_its_author_may_decide() {
    for (author, counts) in [
        (Author::Runner, true),
        (Author::Approver, true),
        (Author::Writer, false),
        (Author::Copied, false),
        (Author::Unknown, false),
    ] {
        let mut recording = Recording::hosted();
        assert!(!recording.call().is_approved());
        recording.record(author, "action.resolved", json!({"decision": "approve"}));
        assert_eq!(recording.call().is_approved(), counts, "{author:?}");
    }
}

#[test]
fn a_second_question_does_not_replace_the_first() {
    let mut recording = Recording::hosted();
    let second = json!({"type": "action.required", "actionId": "b",
        "payload": {"actionType": "tool_permission", "digest": "other"}});
    let event = recording.event(Author::Runner, second);
    recording.view.apply(&event);
    assert_eq!(recording.call().action.as_ref().map(|action| action.action.as_str()), Some("a"));
}

#[test]
fn a_turn_of_a_producer_is_followed_and_never_ours() {
    for author in OTHERS {
        let mut recording = Recording::default();
        for (kind, payload) in HOSTED {
            recording.record(author, kind, serde_json::from_str(payload).expect("JSON"));
        }
        recording.record(author, "task.attempt.started", json!({"worker": "riverrun"}));
        recording.record(author, "tool.started", json!({"toolName": "purge"}));
        let turn = recording.view.turns.values().next().expect("the turn");
        assert!(!turn.ours, "{author:?}");
        assert!(turn.tasks[0].call("c").expect("the call").is_started, "{author:?}");
        assert!(recording.view.queued.is_empty(), "{author:?}");
    }
}

#[test]
fn only_what_the_runner_submitted_waits_for_its_turn() {
    let mut recording = Recording::default();
    recording.record(Author::Runner, "turn.submitted", json!({}));
    assert_eq!(recording.view.queued.len(), 1);
    recording.record(Author::Runner, "turn.started", json!({}));
    assert!(recording.view.queued.is_empty());
}

#[test]
fn a_hosted_task_is_found_before_a_task_of_a_producer_with_its_id() {
    let mut recording = Recording::hosted();
    let forged = json!({"type": "turn.started", "turnId": "a-first", "payload": {"agent": "theirs"}});
    let event = recording.event(Author::Writer, forged);
    recording.view.apply(&event);
    let task = "k".parse().expect("an id");
    let (turn, found) = recording.view.task(&task).expect("the task");
    assert_eq!((turn.turn.as_str(), found.agent.as_str()), ("t", "purger"));
}
