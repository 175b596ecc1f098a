//! Commands to turns that are there: cancel, steer, retry, and word to their sub-agents.

use riverrun_event::{
    AgentChanged, EventType, Input, InputSteered, RunId, Sequence, SubagentInput, TaskChange, TaskId, TurnId,
};
use riverrun_fold::{Status, Task};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::actor::turn::end::{mode_word, subagent};
use crate::actor::turn::retry::{Ended, handed_to, write_again, write_output, write_rollback};
use crate::event_batch::{EventBatch, turn_scope};
use crate::view::TaskView;
use crate::{CancelMode, Cancelled, CommandError, RequestKey, Submitted};

impl Actor {
    pub(crate) async fn cancel(
        &mut self,
        turn: &TurnId,
        mode: CancelMode,
        reason: Option<String>,
        request: Option<RequestKey>,
    ) -> Result<Cancelled, Refusal> {
        if let Some(first) = self.session.answered_before(request).await? {
            return Ok(first);
        }
        let Some(view) = self.session.view.turns.get(turn) else {
            return match self.session.state.turns.iter().find(|known| known.turn_id == *turn) {
                Some(known) if !known.status.is_terminal() => self.unqueue(turn, request).await,
                Some(_) | None => Ok(self.session.ended(turn).await?),
            };
        };
        let is_requested = view
            .cancel
            .as_ref()
            .is_some_and(|cancel| cancel.mode == CancelMode::Immediate || cancel.mode == mode);
        let (turn_id, sequence) = (turn.clone(), self.session.state.sequence);
        let mut cancelled = Cancelled { turn_id, status: "cancelling".to_owned(), sequence };
        if !is_requested {
            let mut batch = self.session.new_batch();
            self.session.write_cancel(turn, mode, reason, &mut batch);
            self.session.remember_answer(request, &cancelled, &mut batch);
            cancelled.sequence =
                self.append_once(&mut batch).await?.map_or(sequence, |appended| appended.first);
        }
        Ok(cancelled)
    }

    pub(crate) async fn steer(
        &mut self,
        turn: &TurnId,
        input: Input,
        request: Option<RequestKey>,
    ) -> Result<Submitted, Refusal> {
        if let Some(first) = self.session.done_before(request).await? {
            return Ok(first);
        }
        let mut batch = self.session.new_batch();
        let mut submitted = self.session.write_steer(turn, input, &mut batch)?;
        self.session.remember_request(request, &submitted, &mut batch);
        if let Some(appended) = self.append_once(&mut batch).await? {
            submitted.first = appended.first;
        }
        Ok(submitted)
    }

    /// A new run of an ended turn. One that went well begins anew; another goes on behind its last result or input.
    pub(crate) async fn retry(
        &mut self,
        turn: &TurnId,
        request: Option<RequestKey>,
    ) -> Result<Submitted, Refusal> {
        if let Some(first) = self.session.done_before(request).await? {
            return Ok(first);
        }
        if self.session.shared.is_draining() {
            return Err(CommandError::Draining.into());
        }
        let ended = self.history.ended_turn(&self.session, turn).await?;
        let absent = || CommandError::NoTurn(turn.to_string());
        let task = ended.turn.task_id.clone().ok_or_else(absent)?;
        let agent = ended.turn.agent.clone().ok_or_else(absent)?;
        let share = self.session.admit_turn()?;
        let run = RunId::from_bytes(self.session.shared.fresh());
        let scope = turn_scope(&ended.turn.thread_id, turn, &task, &run);
        let mut batch = self.session.new_batch();
        if ended.is_sealed {
            write_again(&ended.turn, &scope, &mut batch);
        }
        let attempts = ended.root.as_ref().map_or(0, |root| root.attempts.len());
        self.history.write_start(
            &self.session,
            &mut batch,
            &scope,
            &agent,
            u32::try_from(attempts).unwrap_or(0) + 1,
        );
        if let Some(root) = &ended.root {
            if ended.is_sealed {
                write_output(root, &scope, &mut batch);
            }
            let begins_anew = ended.turn.status == Status::Completed;
            write_rollback(root, begins_anew, &scope, &mut batch);
            if !begins_anew {
                // Who had the conversation goes on with it.
                if let Some(to) = handed_to(root).filter(|to| *to != agent) {
                    let changed = AgentChanged { agent: to.to_owned(), from: Some(agent) };
                    batch.push(EventType::AgentChanged, &scope, &changed);
                }
            }
        }
        let (turn_id, status, first) = (turn.clone(), "accepted".to_owned(), Sequence::ZERO);
        let submitted = Submitted { turn_id, task_id: task, run_id: run, status, first, duplicate: false };
        self.session.remember_request(request, &submitted, &mut batch);
        let appended = self.append_once(&mut batch).await?;
        self.turns.count_turns(&self.session);
        drop(share);
        Ok(Submitted { first: appended.map_or(first, |appended| appended.first), ..submitted })
    }

    pub(crate) async fn steer_subagent(
        &mut self,
        task: &TaskId,
        input: Input,
        request: Option<RequestKey>,
    ) -> Result<(), Refusal> {
        if self.session.done_before(request).await?.is_some() {
            return Ok(());
        }
        let Some(scope) = self.session.open_child(task).map(|view| view.scope.clone()) else {
            let status = self.history.ended_child(&self.session, task).await?.as_str().to_owned();
            return Err(CommandError::SubagentEnded { subagent: task.to_string(), status }.into());
        };
        let mut batch = self.session.new_batch();
        if let (Some((turn, view)), Some(_)) = (self.session.view.task(task), request) {
            let (turn_id, task_id, run_id) = (turn.turn.clone(), task.clone(), view.run.clone());
            let (status, first, duplicate) = ("steered".to_owned(), Sequence::ZERO, false);
            let submitted = Submitted { turn_id, task_id, run_id, status, first, duplicate };
            self.session.remember_request(request, &submitted, &mut batch);
        }
        let submitted = SubagentInput { input: Some(input), input_ref: None };
        batch.push(EventType::SubagentInput, &subagent(&scope, task), &submitted);
        self.append_once(&mut batch).await?;
        Ok(())
    }

    pub(crate) async fn close_subagent(
        &mut self,
        task: &TaskId,
        reason: Option<String>,
        request: Option<RequestKey>,
    ) -> Result<Option<Status>, Refusal> {
        if self.session.answered_before::<()>(request).await?.is_some() {
            return Ok(None);
        }
        let Some(view) = self.session.open_child(task) else {
            return Ok(Some(self.history.ended_child(&self.session, task).await?));
        };
        if view.is_closing.is_some() {
            return Ok(None);
        }
        let scope = view.scope.clone();
        let mut batch = self.session.new_batch();
        self.session.remember_answer(request, &(), &mut batch);
        let change =
            TaskChange { reason, native_status: Some("immediate".to_owned()), ..TaskChange::default() };
        batch.push(EventType::TaskCancelRequested, &scope, &change);
        self.append_once(&mut batch).await?;
        Ok(None)
    }
}

impl HostedSession {
    /// The intent, before any effect of it.
    pub(crate) fn write_cancel(
        &self,
        turn: &TurnId,
        mode: CancelMode,
        reason: Option<String>,
        batch: &mut EventBatch,
    ) {
        let Some((_, root)) = self.view.turns.get(turn).and_then(|view| self.view.task(&view.root)) else {
            return;
        };
        let change =
            TaskChange { reason, native_status: Some(mode_word(mode).to_owned()), ..TaskChange::default() };
        batch.push(EventType::TaskCancelRequested, &root.scope, &change);
    }

    /// How a turn ended that is not running.
    pub(crate) async fn ended(&self, turn: &TurnId) -> Result<Cancelled, Refusal> {
        let record = self.shared.journal.log().turn(&self.key, turn).await?;
        let record = record.ok_or_else(|| CommandError::NoTurn(turn.to_string()))?;
        Ok(Cancelled { turn_id: turn.clone(), status: record.fact.status, sequence: self.state.sequence })
    }

    /// More input for a running turn.
    pub(crate) fn write_steer(
        &self,
        turn: &TurnId,
        input: Input,
        batch: &mut EventBatch,
    ) -> Result<Submitted, CommandError> {
        let name = || turn.to_string();
        let Some(view) = self.view.turns.get(turn) else {
            let known = self.state.turns.iter().find(|known| known.turn_id == *turn);
            let Some(known) = known else { return Err(CommandError::NoTurn(name())) };
            let status = known.status.as_str().to_owned();
            return Err(match known.status.is_terminal() {
                true => CommandError::TurnEnded { turn: name(), status },
                false => CommandError::Invalid {
                    field: "turn".to_owned(),
                    detail: format!("turn `{turn}` waits in the queue"),
                },
            });
        };
        if view.cancel.is_some() {
            return Err(CommandError::TurnEnded { turn: name(), status: "cancelling".to_owned() });
        }
        let Some((_, root)) = self.view.task(&view.root) else { return Err(CommandError::NoTurn(name())) };
        batch.push(EventType::InputSteered, &root.scope, &InputSteered { input, source: None });
        Ok(Submitted {
            turn_id: turn.clone(),
            task_id: root.task.clone(),
            run_id: root.run.clone(),
            status: "steered".to_owned(),
            first: Sequence::ZERO,
            duplicate: false,
        })
    }

    /// A sub-agent that is at work.
    fn open_child(&self, task: &TaskId) -> Option<&TaskView> {
        let open = self.view.task(task).filter(|(_, view)| view.parent.is_some() && view.ended.is_none());
        open.map(|(_, view)| view)
    }
}

impl SessionHistory {
    /// A turn that can be tried again, wherever it is kept.
    async fn ended_turn(&mut self, session: &HostedSession, turn: &TurnId) -> Result<Ended, Refusal> {
        let known = session.state.turns.iter().find(|known| known.turn_id == *turn).cloned();
        let ended = match known {
            Some(turn) => {
                let root =
                    session.state.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref());
                Ended { root: root.cloned(), turn, is_sealed: false }
            }
            None => {
                let status = session.ended(turn).await?.status;
                let sealed = self.sealed_turn(session, turn).await;
                let too_old = || CommandError::TooOld { turn: turn.to_string(), status };
                Ended::sealed(&*sealed.ok_or_else(too_old)?)
            }
        };
        if !ended.turn.status.is_terminal() {
            let (turn, status) = (turn.to_string(), ended.turn.status.as_str().to_owned());
            return Err(CommandError::TurnRunning { turn, status }.into());
        }
        session.check_hosted(turn, ended.turn.first_sequence).await?;
        if session.is_busy(&ended.turn.thread_id) {
            return Err(CommandError::ThreadAtWork(ended.turn.thread_id.to_string()).into());
        }
        Ok(ended)
    }

    /// How a sub-agent ended, however long ago.
    async fn ended_child(&mut self, session: &HostedSession, task: &TaskId) -> Result<Status, Refusal> {
        let is_it = |known: &&Task| known.task_id == *task && known.parent_task_id.is_some();
        let here = session.state.tasks.iter().filter(is_it).find(|known| known.status.is_terminal());
        if let Some(known) = here {
            return Ok(known.status);
        }
        let absent = || CommandError::NoSubagent(task.to_string());
        let found = session.shared.journal.log().find_task(&session.key.tenant, task).await?;
        let mut found = found.into_iter().filter(|record| record.key == session.key);
        let fact = found.next().map(|record| record.fact).filter(|fact| fact.parent.is_some());
        let turn = fact.ok_or_else(absent)?.turn;
        let sealed = self.sealed_turn(session, &turn).await.ok_or_else(absent)?;
        Ok(sealed.tasks.iter().find(is_it).ok_or_else(absent)?.status)
    }

    /// How a task of a turn ended that is not running: a sub-agent may have ended otherwise than its turn.
    pub(crate) async fn ended_task(
        &mut self,
        session: &HostedSession,
        turn: &TurnId,
        task: &TaskId,
    ) -> Result<String, Refusal> {
        let of_turn = session.ended(turn).await?;
        let is_it = |known: &&Task| known.task_id == *task;
        let here = session.state.tasks.iter().find(is_it).map(|known| known.status);
        let status = match here {
            Some(status) => Some(status),
            None => self
                .sealed_turn(session, turn)
                .await
                .and_then(|old| old.tasks.iter().find(is_it).map(|it| it.status)),
        };
        Ok(status.map_or(of_turn.status, |status| status.as_str().to_owned()))
    }
}
