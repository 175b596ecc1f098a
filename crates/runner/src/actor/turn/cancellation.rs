//! Commands to turns that are there: cancel, steer, retry, and word to their sub-agents.

use riverrun_event::{EventType, TaskChange, TurnId};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::actor::turn::end::mode_word;
use crate::event_batch::EventBatch;
use crate::{CancelMode, Cancelled, CommandError, RequestKey};

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
}
