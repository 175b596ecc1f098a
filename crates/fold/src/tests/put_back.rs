//! Turns that left the window and are put back.

use riverrun_event::{Event, SessionId};
use serde_json::json;

use super::derived::assert_same;
use super::event;
use crate::{ApplyOutcome, Change, SealedTurn, State};

/// Twelve turns that were asked and completed.
fn twelve_turns() -> Vec<Event> {
    let mut events = Vec::new();
    for turn in 0..12 {
        let ids =
            json!({"turnId": format!("turn_{turn}"), "threadId": "main", "taskId": format!("task_{turn}")});
        let payloads = [
            ("turn.submitted", json!({"input": format!("question {turn}")})),
            ("turn.started", json!({})),
            ("turn.completed", json!({})),
        ];
        for (kind, payload) in payloads {
            let mut envelope = ids.clone();
            envelope["type"] = json!(kind);
            envelope["payload"] = payload;
            events.push(event(events.len() as u64 + 1, envelope));
        }
    }
    events
}

fn apply(state: &mut State, events: &[Event]) -> Vec<SealedTurn> {
    let mut changes = Vec::new();
    for event in events {
        assert_eq!(state.apply(event, &mut changes), ApplyOutcome::Applied);
    }
    let sealed = |change| match change {
        Change::TurnSealed(sealed) => Some(*sealed),
        _ => None,
    };
    changes.into_iter().filter_map(sealed).collect()
}

fn new() -> State {
    State::new(SessionId::new("s").expect("an id"))
}

#[test]
fn a_state_with_its_turns_put_back_is_one_that_never_let_them_go() {
    let events = twelve_turns();
    for cut in 0..=events.len() {
        let mut state = new();
        let sealed = apply(&mut state, &events[..cut]);
        state.put_back(sealed, 100);
        apply(&mut state, &events[cut..]);
        let mut whole = new();
        whole.put_back(Vec::new(), 100);
        apply(&mut whole, &events);
        assert_eq!((state.turns.len(), state.sealed_turns), (12, 0));
        // That a turn left was a change, too.
        whole.revision = state.revision;
        assert_same(&state, &whole);
    }
}

#[test]
fn what_is_not_put_back_is_still_counted() {
    let mut state = new();
    let sealed = apply(&mut state, &twelve_turns());
    let away = sealed.len();
    let newest: Vec<SealedTurn> = sealed[away - 2..].to_vec();
    state.put_back([newest.clone(), newest].concat(), 100);
    assert_eq!((state.turns.len(), state.sealed_turns), (12 - away + 2, away as u64 - 2));
}
