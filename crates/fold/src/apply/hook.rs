//! What hooks did: to a turn's input, and to calls of tools.

use riverrun_event::HookRun;

use super::Step;
use crate::change::Change;
use crate::state::HookOutcome;
use crate::status::Status;

impl Step<'_> {
    pub(super) fn hook(&mut self, status: Status, run: &HookRun) {
        if status == Status::Completed {
            self.updated_prompt(run);
        }
        if self.event.scope.tool_call_id.is_some() {
            self.hook_of_call(status, run);
        }
        self.ledger();
    }

    /// From now on the turn is asked this; `turn.submitted` keeps what it was asked first.
    fn updated_prompt(&mut self, run: &HookRun) {
        let turn = self.event.scope.turn_id.as_ref().and_then(|turn| self.find_turn(turn));
        if let (Some(turn), Some(prompt)) = (turn, &run.updated_prompt) {
            self.state.turns[turn].input = Some(prompt.clone());
            self.change(Change::Turn { turn });
        }
    }

    /// The last word of each hook at each point.
    fn hook_of_call(&mut self, status: Status, run: &HookRun) {
        let Some(call) = self.call() else { return };
        let outcome = HookOutcome {
            hook_name: run.hook_name.clone(),
            point: run.point.clone(),
            status,
            outcome: run.outcome.clone(),
            reason: run.reason.clone(),
            updated_input_ref: run.updated_input_ref.clone(),
            updated_tool_output_ref: run.updated_tool_output_ref.clone(),
        };
        let hooks = &mut self.state.tool_calls[call].hooks;
        let known = hooks
            .iter_mut()
            .find(|known| known.hook_name == outcome.hook_name && known.point == outcome.point);
        match known {
            Some(known) => *known = outcome,
            None => hooks.push(outcome),
        }
    }
}
