//! Sessions, threads and turns.

use riverrun_event::{
    HistoryRollback, SessionInfo, ThreadInfo, TurnCancelled, TurnCompleted, TurnFailed, TurnId, TurnStarted,
    TurnSubmitted, Usage,
};

use super::Step;
use super::plain::add_usage;
use super::resolve::main_thread;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::status::Status;

impl Step<'_> {
    pub(super) fn session(&mut self, info: &SessionInfo) {
        let session = &mut self.state.session;
        session.created_at.get_or_insert(self.event.timestamp);
        session.title = info.title.clone().or(session.title.take());
        session.agent = info.agent.clone().or(session.agent.take());
        session.metadata = info.metadata.clone().or(session.metadata.take());
        if let Some(tags) = &info.tags {
            session.tags.clone_from(tags);
        }
        session.status = match (info.status.as_deref(), session.status) {
            (Some("closed"), _) => Status::Archived,
            (Some("open"), Status::Archived) | (None, Status::Unknown) => Status::Idle,
            (declared, before) => declared.and_then(Status::parse).unwrap_or(before),
        };
        if session.status == Status::Unknown {
            session.status = Status::Idle;
        }
        self.change(Change::Session);
    }

    pub(super) fn thread(&mut self, info: &ThreadInfo) {
        let thread = self.thread_of(self.event.scope.thread_id.clone().unwrap_or_else(main_thread));
        let state = &mut self.state.threads[thread];
        state.title = info.title.clone().or(state.title.take());
        if let Some(status) = info.status.as_deref().and_then(Status::parse) {
            state.status = status;
        }
        self.change(Change::Thread { thread });
    }

    pub(super) fn turn_submitted(&mut self, submitted: &TurnSubmitted) {
        let Some(turn) = self.named_turn() else { return };
        let state = &mut self.state.turns[turn];
        if state.submitted_at.is_some() {
            let run = &self.event.scope.run_id;
            // A turn that left another reader's state is told again before it is tried again.
            if state.status.is_terminal() && run.is_some() && *run != state.run_id {
                return;
            }
            let detail = format!("turn `{}` was submitted before", state.turn_id);
            return self.problem(ProblemCode::AlreadyEnded, detail);
        }
        state.submitted_at = Some(self.event.timestamp);
        state.input.clone_from(&submitted.input);
        state.input_ref.clone_from(&submitted.input_ref);
        state.history = submitted.history.clone().unwrap_or_default();
        state.settings.clone_from(&submitted.settings);
        state.request.clone_from(&submitted.request);
        state.agent = submitted.agent.clone().or(state.agent.take());
        state.task_id = self.event.scope.task_id.clone().or(state.task_id.take());
        state.run_id = self.event.scope.run_id.clone().or(state.run_id.take());
        if state.status == Status::Unknown {
            state.status =
                if submitted.status.as_deref() == Some("queued") { Status::Queued } else { Status::Accepted };
        }
        let status = state.status;
        let thread = self.thread_of(self.state.turns[turn].thread_id.clone());
        if self.state.threads[thread].active_turn_id.is_none() {
            self.state.threads[thread].status =
                if status == Status::Queued { Status::Queued } else { Status::Preparing };
        }
        self.change(Change::Turn { turn });
    }

    pub(super) fn turn_started(&mut self, started: &TurnStarted) {
        let Some(turn) = self.named_turn() else { return };
        let run_id = self.event.scope.run_id.clone();
        let state = &self.state.turns[turn];
        if state.status.is_terminal() {
            if run_id.is_none() || run_id == state.run_id {
                let detail = format!("turn `{}` had ended", state.turn_id);
                return self.problem(ProblemCode::AfterTerminal, detail);
            }
            self.retry_turn(turn);
        }
        let state = &mut self.state.turns[turn];
        state.status = Status::Running;
        state.started_at.get_or_insert(self.event.timestamp);
        state.run_id = run_id.or(state.run_id.take());
        state.agent = started.agent.clone().or(state.agent.take());
        state.texts.clone_from(&started.texts);
        state.task_id = self.event.scope.task_id.clone().or(state.task_id.take());
        let (turn_id, thread_id, agent) =
            (state.turn_id.clone(), state.thread_id.clone(), state.agent.clone());
        let thread = self.thread_of(thread_id);
        self.state.threads[thread].status = Status::Running;
        self.set_active_turn(thread, Some(turn_id));
        self.state.agent = agent.or(self.state.agent.take());
        self.change(Change::Turn { turn });
    }

    /// Another run of an ended turn is a retry: the turn and its root task are open again.
    fn retry_turn(&mut self, turn: usize) {
        let state = &mut self.state.turns[turn];
        state.ended_at = None;
        state.error = None;
        state.final_output = None;
        state.stop_reason = None;
        state.removed = false;
        // What could not be read is tried again.
        state.files.retain(|file| file.status == Status::Completed);
        let root = state.task_id.clone().and_then(|task| self.state.index.tasks.get(&task).copied());
        if let Some(task) = root {
            self.reopen_task(task, self.event.scope.run_id.clone());
            self.change(Change::TaskStatus { task });
        }
    }

    pub(super) fn turn_completed(&mut self, completed: &TurnCompleted) {
        let Some(turn) = self.ending_turn() else { return };
        self.state.turns[turn].final_output.clone_from(&completed.final_output);
        self.state.turns[turn].stop_reason.clone_from(&completed.stop_reason);
        self.set_usage(turn, &completed.usage);
        self.end_turn(turn, Status::Completed);
    }

    pub(super) fn turn_failed(&mut self, failed: &TurnFailed) {
        let Some(turn) = self.ending_turn() else { return };
        self.state.turns[turn].error = Some(failed.error.clone());
        self.set_usage(turn, &failed.usage);
        self.end_turn(turn, Status::Failed);
    }

    pub(super) fn turn_cancelled(&mut self, cancelled: &TurnCancelled) {
        let Some(turn) = self.ending_turn() else { return };
        self.set_usage(turn, &cancelled.usage);
        self.end_turn(turn, Status::Cancelled);
    }

    /// Turns that are taken out of the conversation stay, marked. Those that left the state before are only named.
    pub(super) fn history_rolled_back(&mut self, rollback: &HistoryRollback) {
        for removed in rollback.removed_turns.iter().flatten() {
            let Some(turn) = TurnId::new(removed).ok().and_then(|id| self.find_turn(&id)) else { continue };
            if !std::mem::replace(&mut self.state.turns[turn].removed, true) {
                self.change(Change::Turn { turn });
            }
        }
        self.ledger();
    }

    /// The usage in the turn's terminal event counts only if no model call reported it.
    fn set_usage(&mut self, turn: usize, usage: &Option<Usage>) {
        let known = &mut self.state.turns[turn].usage;
        if let Some(usage) = usage.as_ref().filter(|_| *known == Usage::default()) {
            add_usage(known, usage);
            add_usage(&mut self.state.usage, usage);
        }
    }

    fn named_turn(&mut self) -> Option<usize> {
        let turn = self.turn();
        if turn.is_none() {
            self.problem(
                ProblemCode::MissingCorrelation,
                format!("{} without a turnId", self.event.kind.as_str()),
            );
        }
        turn
    }

    /// The turn that a terminal event ends; the first terminal event wins.
    fn ending_turn(&mut self) -> Option<usize> {
        let turn = self.named_turn()?;
        let state = &self.state.turns[turn];
        if state.status.is_terminal() {
            let detail = format!("turn `{}` was {} before", state.turn_id, state.status.as_str());
            self.problem(ProblemCode::AlreadyEnded, detail);
            return None;
        }
        Some(turn)
    }
}
