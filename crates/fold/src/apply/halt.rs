//! Turns that are halted with their root task, and what that makes of the session.

use super::Step;
use super::plain::session_status;
use crate::change::Change;
use crate::status::Status;

impl Step<'_> {
    /// A turn that is at work is halted with its root task, and goes on with it.
    pub(super) fn halt_turn(&mut self, task: usize, before: Status) {
        let (state, halted) = (&self.state.tasks[task], Status::Paused);
        let Some(turn) = state.turn_id.as_ref().and_then(|turn| self.find_turn(turn)) else { return };
        let known = &self.state.turns[turn];
        if known.task_id.as_ref() != Some(&state.task_id) || (before == halted) == (state.status == halted) {
            return;
        }
        let reported = match (known.status, state.status) {
            (Status::Running | Status::WaitingPermission, Status::Paused) => Status::Paused,
            (Status::Paused, _) if self.state.index.turn_waits(&known.turn_id) => Status::WaitingPermission,
            (Status::Paused, _) => Status::Running,
            (_, _) => return,
        };
        self.set_turn_status(turn, reported);
        self.weigh_session(reported);
    }

    pub(super) fn session_status(&mut self) {
        if let Some(reported) = session_status(&self.event.kind) {
            self.weigh_session(reported);
        }
    }

    /// The session's status is that of the newest word on a turn or an action, unless somebody must decide, another
    /// thread is at work, or what is halted is all that is left. The catalogue weighs the same.
    fn weigh_session(&mut self, reported: Status) {
        let index = &self.state.index;
        let (mut waiting, mut active, mut is_halted) = (index.pending, index.active_threads, false);
        for turn in self.state.turns.iter().filter(|turn| turn.status == Status::Paused) {
            is_halted = true;
            waiting -= index.waits_in(&turn.turn_id);
            let thread = index.threads.get(&turn.thread_id).map(|thread| &self.state.threads[*thread]);
            active -= usize::from(
                thread.is_some_and(|thread| thread.active_turn_id.as_ref() == Some(&turn.turn_id)),
            );
        }
        let status = if waiting > 0 {
            Status::WaitingPermission
        } else if active > 0 && (is_halted || reported.is_terminal()) {
            Status::Running
        } else if is_halted {
            Status::Paused
        } else {
            reported
        };
        if self.state.session.status != status {
            self.state.session.status = status;
            self.change(Change::Session);
        }
    }
}
