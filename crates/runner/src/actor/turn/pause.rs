//! Tasks that are halted at the next boundary, and go on later.

use riverrun_event::{EventType, TaskChange, TaskId, TurnId};
use riverrun_fold::{ActionStatus, Status};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::{CommandError, Pause, Paused, RequestKey};

impl Actor {
    /// Halts a task with all that is under it, or lets it go on. What runs now comes to its end and is recorded;
    /// nothing new begins while the task is halted.
    pub(crate) async fn halt(
        &mut self,
        turn: &TurnId,
        task: &TaskId,
        pause: Pause,
        request: Option<RequestKey>,
    ) -> Result<Paused, Refusal> {
        if let Some(first) = self.session.answered_before(request).await? {
            return Ok(first);
        }
        let cannot = |why: String| CommandError::NotPausable { task: task.to_string(), why };
        let Some(view) = self.session.view.turns.get(turn) else {
            let mut open = self.session.state.turns.iter().filter(|known| !known.status.is_terminal());
            let is_queued = open.any(|known| known.turn_id == *turn);
            return Err(match is_queued {
                true => cannot("its turn waits in the queue".to_owned()).into(),
                false => cannot(format!(
                    "it has ended: {}",
                    self.history.ended_task(&self.session, turn, task).await?
                ))
                .into(),
            });
        };
        if !view.ours {
            return Err(cannot("it is run elsewhere and only told here".to_owned()).into());
        }
        let known = view.task(task).ok_or_else(|| CommandError::NoSubagent(task.to_string()))?;
        if let Some(status) = known.ended {
            return Err(cannot(format!("it has ended: {}", status.as_str())).into());
        }
        if view.is_cancelling() || known.is_closing.is_some() {
            return Err(cannot("it is being cancelled".to_owned()).into());
        }
        let (was, scope) = (known.paused_at.is_some(), known.scope.clone());
        let mut paused =
            Paused { task_id: task.clone(), status: Status::Paused, duplicate: was == pause.halts };
        if !pause.halts {
            paused.status = self.session.status_without_pause(task);
        }
        if paused.duplicate {
            return Ok(paused);
        }
        let mut batch = self.session.new_batch();
        let change = TaskChange { reason: pause.reason, ..TaskChange::default() };
        if pause.halts {
            batch.push(EventType::TaskPaused, &scope, &change);
        } else {
            batch.push(EventType::TaskResumed, &scope, &change);
            if paused.status.is_waiting() {
                let status = Some(paused.status.as_str().to_owned());
                batch.push(EventType::TaskWaiting, &scope, &TaskChange { status, ..TaskChange::default() });
            }
        }
        self.session.remember_answer(request, &paused, &mut batch);
        self.append_once(&mut batch).await?;
        Ok(paused)
    }
}

impl HostedSession {
    /// A task whose calls wait for decisions goes on waiting for them.
    fn status_without_pause(&self, task: &TaskId) -> Status {
        let pending = self.state.actions.iter().filter(|action| action.status == ActionStatus::Pending);
        let mut waited_for = pending.flat_map(|action| [&action.task_id, &action.root_task_id]);
        let waits = waited_for.any(|waiting| waiting.as_ref() == Some(task));
        if waits { Status::WaitingPermission } else { Status::Running }
    }
}
