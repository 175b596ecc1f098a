//! Old turns leave the state, so that the thousandth costs what the first did.

use riverrun_event::TurnId;

use super::Step;
use crate::change::Change;
use crate::state::{SealedTurn, State, TurnState, WINDOW};

impl Step<'_> {
    /// Called when a turn begins: finished turns beyond the window go, oldest first. A turn with a pending action
    /// stays, whatever its age.
    pub(super) fn seal_old_turns(&mut self) {
        loop {
            let finished = self.state.turns.iter().filter(|turn| turn.status.is_terminal()).count();
            if finished < WINDOW + self.state.room {
                return;
            }
            let can_seal =
                |turn: &TurnState| turn.status.is_terminal() && !self.state.index.turn_waits(&turn.turn_id);
            let Some(oldest) = self.state.turns.iter().position(can_seal) else { return };
            let sealed = take_turn(self.state, oldest);
            self.state.sealed_turns += 1;
            self.change(Change::TurnSealed(Box::new(sealed)));
        }
    }
}

fn take_turn(state: &mut State, turn: usize) -> SealedTurn {
    let turn = state.turns.remove(turn);
    let of_turn = |id: &Option<TurnId>| id.as_ref() == Some(&turn.turn_id);
    let tasks = state.tasks.extract_if(.., |task| of_turn(&task.turn_id)).collect();
    let tool_calls = state.tool_calls.extract_if(.., |call| of_turn(&call.turn_id)).collect();
    let actions = state.actions.extract_if(.., |action| of_turn(&action.turn_id)).collect();
    state.rebuild_index();
    SealedTurn { turn, tasks, tool_calls, actions }
}
