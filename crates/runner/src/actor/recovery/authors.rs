//! Who wrote what the state tells. The state itself does not know; the log does.

use riverrun_event::{Author, Event, EventType, Record, Sequence, TurnId};
use riverrun_fold::{State, TurnState};
use riverrun_log::{LogError, SessionKey};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::Stop;
use crate::actor::session::HostedSession;
use crate::approve::Rules;
use crate::copied::{CopiedTurns, CopyReason};
use crate::event_batch::EventBatch;
use crate::shared::RunnerShared;
use crate::{CommandError, JournalError};

/// The rules that hold in a session.
pub(crate) async fn load_rules(
    shared: &RunnerShared,
    key: &SessionKey,
    state: &State,
) -> Result<Rules, Stop> {
    for (sequence, rules) in Rules::candidates(state) {
        if author_at(shared, key, sequence).await?.is_some_and(Author::may_decide) {
            return Ok(rules);
        }
    }
    Ok(Rules::default())
}

/// Who wrote an event. None if the log has it no more.
pub(crate) async fn author_at(
    shared: &RunnerShared,
    key: &SessionKey,
    sequence: Sequence,
) -> Result<Option<Author>, Stop> {
    let chunks = match shared.journal.log().read(key, sequence.previous(), 1).await {
        Ok(chunks) => chunks,
        Err(LogError::Retired { .. }) => return Ok(None),
        Err(error) => return Err(Stop::Unavailable(error.to_string())),
    };
    let mut records = chunks.iter().flat_map(|chunk| chunk.records_after(sequence.previous()));
    let found = records.find(|(at, _)| *at == sequence);
    Ok(found.and_then(|(_, bytes)| Record::read(bytes).ok()).map(|record| record.author))
}

/// What was told about the conversation that the model reads. A copy goes on with that of its source; what a producer
/// told does not count.
#[derive(Debug, Default)]
pub(crate) struct OwnContext {
    /// Of the newest `context.resolved`.
    pub resolved: Value,
    /// Of the newest `context.compaction.completed`.
    pub summary: Value,
}

impl OwnContext {
    pub async fn load(shared: &RunnerShared, key: &SessionKey, state: &State) -> Result<Self, Stop> {
        let mut context = Self::default();
        let entries = state.ledger.family("context").map(|family| family.entries.as_slice());
        for entry in entries.unwrap_or_default() {
            let kind = EventType::parse(&entry.kind);
            let Some(value) = context.value_of(&kind) else { continue };
            let author = author_at(shared, key, entry.sequence).await?;
            if !author.is_some_and(Author::is_producer) {
                *value = entry.payload.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
            }
        }
        Ok(context)
    }

    pub fn apply(&mut self, event: &Event) {
        if event.author.is_producer() {
            return;
        }
        if let Some(value) = self.value_of(&event.kind) {
            *value = event.raw_payload.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
        }
    }

    fn value_of(&mut self, kind: &EventType) -> Option<&mut Value> {
        match kind {
            EventType::ContextResolved => Some(&mut self.resolved),
            EventType::ContextCompactionCompleted => Some(&mut self.summary),
            _ => None,
        }
    }
}

impl HostedSession {
    /// Refuses to run a turn of which a producer told first: it is run elsewhere.
    pub(crate) async fn check_hosted(&self, turn: &TurnId, first: Sequence) -> Result<(), CommandError> {
        let author = author_at(&self.shared, &self.key, first).await?;
        if !author.is_some_and(Author::is_producer) {
            return Ok(());
        }
        let detail = format!("turn `{turn}` was ingested and is run by its producer; it cannot be run here");
        Err(CommandError::Invalid { field: "turn".to_owned(), detail })
    }
}

impl Actor {
    /// Ends hosted turns that are open in the log though the runner's own events do not tell of them: an older version
    /// left them, which did not store who wrote what. A retry goes on with them.
    pub(crate) async fn end_unproven(&mut self) -> Result<(), Stop> {
        let is_left = |turn: &&TurnState| {
            let is_ours = self.session.view.turns.get(&turn.turn_id).is_some_and(|view| view.ours);
            !turn.status.is_terminal() && !is_ours && !self.session.view.queued.contains(&turn.turn_id)
        };
        let open: Vec<(TurnId, Sequence)> = self
            .session
            .state
            .turns
            .iter()
            .filter(is_left)
            .map(|turn| (turn.turn_id.clone(), turn.first_sequence))
            .collect();
        let mut left = Vec::new();
        for (turn, first) in open {
            let author = author_at(&self.session.shared, &self.session.key, first).await?;
            if author.is_some_and(|author| matches!(author, Author::Unknown | Author::Copied)) {
                left.push((turn, first));
            }
        }
        let Some(first) = left.iter().map(|(_, first)| *first).min() else { return Ok(()) };
        let mut copy = CopiedTurns::new(self.session.shared.clone(), CopyReason::Unproven);
        let mut after = first.previous();
        while after < self.session.state.sequence {
            let chunks =
                self.session.shared.journal.read(&self.session.key, after).await.map_err(Stop::of)?;
            let Some(last) = chunks.last().map(|chunk| chunk.last()) else { break };
            for (sequence, bytes) in chunks.iter().flat_map(|chunk| chunk.records_after(after)) {
                let event = Record::read(bytes).and_then(|record| record.to_event(sequence));
                if let Ok(event) = event {
                    copy.follow_event(&event);
                }
            }
            after = last;
        }
        let is_left = |turn: &TurnId| left.iter().any(|(known, _)| known == turn);
        let mut batch = self.session.new_batch();
        copy.end_into(&mut batch, is_left);
        self.append_ending(batch).await
    }

    async fn append_ending(&mut self, mut batch: EventBatch) -> Result<(), Stop> {
        match self.append_once(&mut batch).await {
            Ok(_) => Ok(()),
            Err(JournalError::Full) => Ok(()),
            Err(error) => Err(Stop::of(error)),
        }
    }
}
