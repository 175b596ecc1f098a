//! Commands to sub-agents: more input, and their end.

use riverrun_event::{EventType, Input, Sequence, SubagentInput, TaskChange, TaskId, TurnId};
use riverrun_fold::{Status, TaskState};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::actor::turn::end::subagent;
use crate::view::TaskView;
use crate::{CommandError, RequestKey, Submitted};

impl Actor {
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
    /// A sub-agent that is at work.
    pub(crate) fn open_child(&self, task: &TaskId) -> Option<&TaskView> {
        let open = self.view.task(task).filter(|(_, view)| view.parent.is_some() && view.ended.is_none());
        open.map(|(_, view)| view)
    }
}

impl SessionHistory {
    /// How a sub-agent ended, however long ago.
    pub(crate) async fn ended_child(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
    ) -> Result<Status, Refusal> {
        let is_it = |known: &&TaskState| known.task_id == *task && known.parent_task_id.is_some();
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
        let is_it = |known: &&TaskState| known.task_id == *task;
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
