//! Old turns leave the state, so that the thousandth costs what the first did.

use std::collections::HashSet;

use riverrun_event::TurnId;

use super::Step;
use crate::change::Change;
use crate::state::{ActionStatus, SealedTurn, State, WINDOW};

impl Step<'_> {
    /// Called when a turn begins: finished turns beyond the window go, oldest first. A turn with a pending action
    /// stays, whatever its age.
    pub(super) fn seal_old_turns(&mut self) {
        loop {
            let finished = self.state.turns.iter().filter(|turn| turn.status.is_terminal()).count();
            if finished < WINDOW {
                return;
            }
            let Some(oldest) = self.state.turns.iter().position(|turn| can_seal(self.state, &turn.turn_id)) else { return };
            let sealed = take_turn(self.state, oldest);
            self.state.sealed_turns += 1;
            self.change(Change::TurnSealed(Box::new(sealed)));
        }
    }
}

fn can_seal(state: &State, turn_id: &TurnId) -> bool {
    let ended = state.turns.iter().any(|turn| turn.turn_id == *turn_id && turn.status.is_terminal());
    let pending = |action: &crate::state::Action| {
        action.turn_id.as_ref() == Some(turn_id) && action.status == ActionStatus::Pending
    };
    ended && !state.actions.iter().any(pending)
}

fn take_turn(state: &mut State, turn: usize) -> SealedTurn {
    let turn = state.turns.remove(turn);
    let of_turn = |id: &Option<TurnId>| id.as_ref() == Some(&turn.turn_id);
    let tasks: Vec<_> = state.tasks.extract_if(.., |task| of_turn(&task.turn_id)).collect();
    let tool_calls = state.tool_calls.extract_if(.., |call| of_turn(&call.turn_id)).collect();
    let actions = state.actions.extract_if(.., |action| of_turn(&action.turn_id)).collect();
    let gone: HashSet<_> = tasks.iter().map(|task| task.task_id.clone()).collect();
    for task in &mut state.tasks {
        // A child of another turn keeps its parent's name, which now is a sealed task's.
        debug_assert!(!gone.contains(&task.task_id));
    }
    state.rebuild_index();
    SealedTurn { turn, tasks, tool_calls, actions }
}
