//! A new run of a turn that has ended.

use riverrun_event::{AgentChanged, EventType, RunId, Sequence, TurnId};
use riverrun_fold::Status;

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::actor::turn::rollback::{Ended, handed_to, write_again, write_output, write_rollback};
use crate::event_batch::turn_scope;
use crate::{CommandError, RequestKey, Submitted};

impl Actor {
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
}

impl SessionHistory {
    /// A turn that can be tried again, wherever it is kept.
    pub(crate) async fn ended_turn(
        &mut self,
        session: &HostedSession,
        turn: &TurnId,
    ) -> Result<Ended, Refusal> {
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
}
