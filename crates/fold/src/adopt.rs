//! A reader that holds a state gets a snapshot. The snapshot wins, but nothing that still needs somebody is lost.

use crate::state::{ActionState, ActionStatus, State, ToolCall};
use crate::status::Status;

/// The outcome of adopting a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a stale snapshot leaves the state as it was"]
pub enum AdoptOutcome {
    /// The state took it over.
    Taken,
    /// The state has seen more than the snapshot; nothing changed.
    Stale,
}

impl State {
    /// Goes on from the snapshot. Pending actions and failed calls that only this state knows are kept.
    pub fn adopt(&mut self, snapshot: State) -> AdoptOutcome {
        if snapshot.sequence < self.sequence {
            return AdoptOutcome::Stale;
        }
        let before = std::mem::replace(self, snapshot);
        self.keep_actions(&before);
        self.keep_failures(&before);
        self.rebuild_index();
        AdoptOutcome::Taken
    }

    fn keep_actions(&mut self, before: &State) {
        let pending = before.actions.iter().filter(|action| action.status == ActionStatus::Pending);
        let unknown = pending.filter(|action| !self.index.actions.contains_key(&action.action_id));
        let unresolved: Vec<ActionState> =
            unknown.map(|action| self.unresolved_action(before, action)).collect();
        self.actions.extend(unresolved);
    }

    /// A turn is sealed only when nothing of it is pending: then the action can no longer be decided.
    fn unresolved_action(&self, before: &State, action: &ActionState) -> ActionState {
        let mut action = action.clone();
        if action.turn_id.as_ref().is_some_and(|turn| self.was_sealed_since(before, turn)) {
            action.status = ActionStatus::Abandoned;
            action.resolved_at = self.updated_at;
        }
        action
    }

    fn keep_failures(&mut self, before: &State) {
        for call in before.tool_calls.iter().filter(|call| call.status == Status::Failed) {
            let key = (call.tool_call_id.clone(), call.task_id.clone());
            match self.index.calls_of_tasks.get(&key).copied() {
                Some(known) if !was_restarted(&self.tool_calls[known], call) => {
                    self.tool_calls[known] = call.clone()
                }
                // It was tried again since, and the snapshot says how that went.
                Some(_) => {}
                // A sealed turn took its calls with it; they are stored there.
                None if call.turn_id.as_ref().is_some_and(|turn| self.was_sealed_since(before, turn)) => {}
                None => self.tool_calls.push(call.clone()),
            }
        }
    }

    fn was_sealed_since(&self, before: &State, turn: &riverrun_event::TurnId) -> bool {
        self.sealed_turns > before.sealed_turns && !self.index.turns.contains_key(turn)
    }
}

fn was_restarted(now: &ToolCall, before: &ToolCall) -> bool {
    now.started_at > before.ended_at
}

#[cfg(test)]
mod tests {
    use riverrun_event::SessionId;
    use serde_json::json;

    use super::*;
    use crate::tests::event;

    fn fold(envelopes: &[serde_json::Value]) -> State {
        let mut state = State::new(SessionId::new("ses_1").expect("an id"));
        for (envelope, sequence) in envelopes.iter().zip(1..) {
            let _ = state.apply(&event(sequence, envelope.clone()), &mut Vec::new());
        }
        state
    }

    fn required(action: &str) -> serde_json::Value {
        json!({"type": "action.required", "turnId": "turn_1", "actionId": action, "payload": {"actionType": "question"}})
    }

    fn failed(call: &str) -> serde_json::Value {
        json!({"type": "tool.failed", "turnId": "turn_1", "toolCallId": call, "payload": {"error": {"message": "no"}}})
    }

    fn idle() -> serde_json::Value {
        json!({"type": "session.updated", "payload": {}})
    }

    #[test]
    fn pending_actions_and_failed_calls_of_both_sides_survive() {
        let mut local = fold(&[required("mine"), failed("mine")]);
        let snapshot = fold(&[required("theirs"), failed("theirs"), idle()]);
        assert_eq!(local.adopt(snapshot), AdoptOutcome::Taken);
        let actions: Vec<&str> = local.actions.iter().map(|action| action.action_id.as_str()).collect();
        let calls: Vec<&str> = local.tool_calls.iter().map(|call| call.tool_call_id.as_str()).collect();
        assert_eq!((actions, calls), (vec!["theirs", "mine"], vec!["theirs", "mine"]));
        assert!(local.actions.iter().all(|action| action.status == ActionStatus::Pending));
        assert!(local.tool_calls.iter().all(|call| call.status == Status::Failed));
        assert_eq!(local.sequence.get(), 3);
    }

    #[test]
    fn a_decision_in_the_snapshot_wins() {
        let mut local = fold(&[required("a")]);
        let resolved =
            json!({"type": "action.resolved", "actionId": "a", "payload": {"decision": "approve"}});
        assert_eq!(local.adopt(fold(&[required("a"), resolved])), AdoptOutcome::Taken);
        assert_eq!(local.actions[0].status, ActionStatus::Resolved);
    }

    #[test]
    fn an_older_snapshot_changes_nothing() {
        let mut local = fold(&[required("a"), idle()]);
        let before = local.clone();
        assert_eq!(local.adopt(fold(&[required("b")])), AdoptOutcome::Stale);
        assert_eq!(local, before);
    }

    #[test]
    fn the_adopted_state_goes_on_like_one_that_was_read() {
        let mut local = fold(&[required("mine"), failed("mine")]);
        let _ = local.adopt(fold(&[required("theirs"), idle()]));
        let read = State::from_json(&local.to_json()).expect("a state reads back");
        crate::tests::derived::assert_same(&local, &read);
    }
}
