//! Turns that left the state, read from the store or folded again from their events.

use std::sync::Arc;

use riverrun_event::{Record, Sequence, TurnId};
use riverrun_fold::{Density, SealedTurn, State};

use crate::actor::model::history::SessionHistory;
use crate::actor::recovery::spilled_text::{is_cut_output, is_cut_turn};
use crate::actor::session::HostedSession;

impl SessionHistory {
    pub(crate) async fn sealed_turn(
        &mut self,
        session: &HostedSession,
        turn: &TurnId,
    ) -> Option<Arc<SealedTurn>> {
        if let Some(known) = self.sealed.get(turn) {
            return Some(known.clone());
        }
        let stored = session.shared.journal.log().sealed_turn(&session.key, turn).await.ok().flatten();
        let stored = stored.and_then(|stored| serde_json::from_slice::<SealedTurn>(&stored.bytes).ok());
        let is_whole = |sealed: &SealedTurn| {
            !is_cut_turn(&sealed.turn) && !sealed.tasks.iter().any(|task| is_cut_output(&task.output))
        };
        let sealed = match stored {
            Some(sealed) if is_whole(&sealed) => sealed,
            // What is left of it, if its events are gone.
            stored => {
                let last = stored.as_ref().map(|stored| stored.turn.last_sequence);
                session.fold_turn(turn, last).await.or(stored)?
            }
        };
        let sealed: Arc<SealedTurn> = Arc::new(sealed);
        self.sealed.insert(turn.clone(), sealed.clone());
        Some(sealed)
    }
}

impl HostedSession {
    /// A turn that left the state and is not stored by itself yet, or not whole, from its events: those of all its
    /// runs, up to `last` if that is known.
    pub(crate) async fn fold_turn(&self, turn: &TurnId, last: Option<Sequence>) -> Option<SealedTurn> {
        let record = self.shared.journal.log().turn(&self.key, turn).await.ok().flatten()?;
        // What a producer wrote into a hosted turn is no part of it.
        let is_ingested = self.check_hosted(turn, record.fact.first).await.is_err();
        let end = last.unwrap_or(self.state.sequence);
        let mut after = record.fact.first.previous();
        let mut state = State::new(self.key.session.clone());
        while after < end {
            let chunks = self.shared.journal.read(&self.key, after).await.ok()?;
            let last = chunks.last()?.last();
            for (sequence, bytes) in chunks.iter().flat_map(|chunk| chunk.records_after(after)) {
                let event = Record::read(bytes).ok()?.to_event(sequence).ok()?;
                let counts = is_ingested || !event.author.is_producer();
                if counts && sequence <= end && event.scope.turn_id.as_ref() == Some(turn) {
                    let event = self.whole_event(bytes, sequence).await?;
                    let _ = state.apply_as(Density::Filtered, &event, &mut Vec::new());
                    tokio::task::consume_budget().await;
                }
            }
            after = last;
        }
        let position =
            state.turns.iter().position(|known| known.turn_id == *turn && known.status.is_terminal())?;
        let turn = state.turns.swap_remove(position);
        Some(SealedTurn { turn, tasks: state.tasks, tool_calls: Vec::new(), actions: Vec::new() })
    }
}
