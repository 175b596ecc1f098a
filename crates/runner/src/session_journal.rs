//! The journal over the engine: the runner's events take the one path that all events take.

use std::sync::Arc;

use riverrun_event::{Author, BlobRef, Decoded, EventFamily, EventType, OutputChanged, Sequence};
use riverrun_fold::State;
use riverrun_log::{Chunk, DurableAppend, Log, LogError, LogTicket, SessionHead, SessionKey};
use riverrun_session::{AppendError, Batch, Hub, READ_BYTES, Sessions, Source, draft_of, spill_large};
use serde_json::Value;

use crate::{
    AppendOutcome, AppendedEvents, Entry, Incarnation, Journal, JournalError, JournalFuture, PendingAppend,
};

pub(crate) struct SessionJournal(Sessions);

impl SessionJournal {
    pub fn new(sessions: Sessions) -> Self {
        Self(sessions)
    }

    async fn store(&self, of: &Incarnation, entry: &mut Entry) -> Result<AppendedEvents, JournalError> {
        let sessions = &self.0;
        let hub = hub_of(sessions, of).await?;
        if entry.events.is_empty() {
            return Err(JournalError::Invalid("it has no events".to_owned()));
        }
        let Entry { mut events, mut facts, commands, idempotency, urgency } = std::mem::take(entry);
        // Large texts are taken out of their events: who tries again needs them whole.
        let limit = sessions.settings().event_bytes;
        let whole = events.iter().any(|event| event.draft.size() > limit).then(|| events.clone());
        let large = spill_large(sessions, &hub, &mut events).await.map_err(from_append);
        let own_facts = facts.len();
        let is_stored = large.map(|large| facts.extend(large));
        if let Some(whole) = &whole {
            events = with_spilled(events, whole, limit);
        }
        let batch = into_batch(Entry { events, facts, commands, idempotency, urgency });
        let appended = match is_stored {
            Ok(()) => sessions.append(Source::Runner, &hub, &batch).await.map_err(from_append),
            Err(error) => Err(error),
        };
        let appended = match appended {
            Ok(appended) => appended,
            Err(error) => {
                *entry = into_entry(batch);
                entry.facts.truncate(own_facts);
                if let Some(whole) = whole {
                    entry.events = whole;
                }
                return Err(error);
            }
        };
        count(sessions, &batch);
        // Only a producer's repeat has no place, and the runner is no producer.
        let range = appended.place.ok_or_else(|| JournalError::Invalid("it was stored before".to_owned()));
        range.map(|(first, last)| AppendedEvents { first, last, events: batch.events })
    }

    async fn hand_over(
        &self,
        of: &Incarnation,
        entry: &mut Entry,
    ) -> Result<Option<Box<dyn PendingAppend>>, JournalError> {
        let sessions = self.0.clone();
        let hub = hub_of(&sessions, of).await?;
        let limit = sessions.settings().event_bytes;
        let is_plain = |event: &Decoded| event.draft.size() <= limit && !event.draft.kind.is_turn_terminal();
        if entry.events.is_empty() || !entry.events.iter().all(is_plain) {
            return Ok(None);
        }
        let batch = into_batch(std::mem::take(entry));
        match sessions.begin(&hub, &batch).await {
            Ok((ticket, built_on)) => {
                Ok(Some(Box::new(HandedOver { sessions, hub, batch, built_on, ticket })))
            }
            Err(error) => {
                *entry = into_entry(batch);
                Err(from_append(error))
            }
        }
    }

    async fn read_all(&self, key: &SessionKey, mut after: Sequence) -> Result<Vec<Chunk>, JournalError> {
        let mut all = Vec::new();
        loop {
            let chunks = self.0.log().read(key, after, READ_BYTES).await.map_err(from_log)?;
            let Some(last) = chunks.last() else { return Ok(all) };
            after = last.last();
            all.extend(chunks);
        }
    }
}

/// A batch of which the log has not said yet whether it is durable.
struct HandedOver {
    sessions: Sessions,
    hub: Arc<Hub>,
    batch: Batch,
    built_on: SessionHead,
    ticket: LogTicket<DurableAppend>,
}

impl PendingAppend for HandedOver {
    fn ticket(&mut self) -> &mut LogTicket<DurableAppend> {
        &mut self.ticket
    }

    fn complete(self: Box<Self>, answer: Result<DurableAppend, LogError>) -> AppendOutcome {
        let Self { sessions, hub, batch, built_on, .. } = *self;
        match answer {
            Ok(DurableAppend { first, last, .. }) => {
                sessions.appended(Source::Runner, &hub, &batch);
                AppendOutcome::Durable(AppendedEvents { first, last, events: batch.events })
            }
            Err(error) => AppendOutcome::Retrying(Box::pin(async move {
                let appended = sessions.append_again(Source::Runner, &hub, &batch, built_on, error).await;
                let appended = appended.map_err(from_append);
                match appended.map(|appended| appended.place) {
                    Ok(Some((first, last))) => Ok(AppendedEvents { first, last, events: batch.events }),
                    Ok(None) => {
                        Err((JournalError::Invalid("it was stored before".to_owned()), into_entry(batch)))
                    }
                    Err(error) => Err((error, into_entry(batch))),
                }
            })),
        }
    }
}

fn into_batch(entry: Entry) -> Batch {
    let Entry { events, facts, commands, idempotency, urgency } = entry;
    Batch { events, idempotency, facts, commands, urgency, ..Batch::default() }
}

fn into_entry(batch: Batch) -> Entry {
    let Batch { events, idempotency, facts, commands, urgency, .. } = batch;
    Entry { events, facts, commands, idempotency, urgency }
}

impl Journal for SessionJournal {
    fn open<'a>(&'a self, key: &'a SessionKey) -> JournalFuture<'a, Incarnation> {
        Box::pin(async move {
            let hub = hub(&self.0, key).await?;
            Ok(Incarnation { key: key.clone(), number: hub.incarnation() })
        })
    }

    fn append<'a>(&'a self, of: &'a Incarnation, entry: &'a mut Entry) -> JournalFuture<'a, AppendedEvents> {
        Box::pin(self.store(of, entry))
    }

    fn begin<'a>(
        &'a self,
        of: &'a Incarnation,
        entry: &'a mut Entry,
    ) -> JournalFuture<'a, Option<Box<dyn PendingAppend>>> {
        Box::pin(self.hand_over(of, entry))
    }

    fn state<'a>(&'a self, of: &'a Incarnation) -> JournalFuture<'a, State> {
        Box::pin(async move {
            let hub = hub_of(&self.0, of).await?;
            self.0.state_at(&of.key, hub.head()).await.map_err(from_log)
        })
    }

    fn read<'a>(&'a self, key: &'a SessionKey, after: Sequence) -> JournalFuture<'a, Vec<Chunk>> {
        Box::pin(self.read_all(key, after))
    }

    fn log(&self) -> &Arc<dyn Log> {
        self.0.log()
    }
}

/// Puts `output.spilled` behind every event of whose output a text went to the blob store.
fn with_spilled(events: Vec<Decoded>, whole: &[Decoded], limit: usize) -> Vec<Decoded> {
    let mut all = Vec::with_capacity(events.len() + 1);
    for (event, before) in events.into_iter().zip(whole) {
        let is_output = matches!(
            before.draft.kind.family(),
            EventFamily::Item | EventFamily::Tool | EventFamily::Subagent
        );
        let spilled =
            if is_output && before.draft.size() > limit { spilled_outputs(&event) } else { Vec::new() };
        let scope = event.scope.clone();
        all.push(event);
        let facts =
            spilled.iter().filter_map(|output| draft_of(EventType::OutputSpilled, &scope, output).ok());
        all.extend(facts.map(|fact| fact.by(Author::Runner)));
    }
    all
}

/// What `refs.spilled` of an event lists, each text once.
fn spilled_outputs(event: &Decoded) -> Vec<OutputChanged> {
    let members: Value = serde_json::from_str(event.draft.members()).unwrap_or_default();
    let mut found: Vec<OutputChanged> = Vec::new();
    for one in members["refs"]["spilled"].as_array().into_iter().flatten() {
        let Some(reference) = one["ref"].as_str().map(|name| BlobRef::Bare(name.to_owned())) else {
            continue;
        };
        if found.iter().all(|known| known.output_ref.as_ref() != Some(&reference)) {
            found.push(OutputChanged {
                output_ref: Some(reference),
                owner: Some(event.draft.kind.as_str().to_owned()),
                media_type: one["mediaType"].as_str().map(str::to_owned),
                size: one["size"].as_u64(),
                reason: Some("event_limit".to_owned()),
                ..OutputChanged::default()
            });
        }
    }
    found
}

async fn hub(sessions: &Sessions, key: &SessionKey) -> Result<Arc<Hub>, JournalError> {
    sessions.hubs().get(key).await.map_err(from_log)?.ok_or(JournalError::NoSession)
}

/// The hub of this very session. One that was made with the same id since is another.
async fn hub_of(sessions: &Sessions, of: &Incarnation) -> Result<Arc<Hub>, JournalError> {
    let found = hub(sessions, &of.key).await?;
    if found.incarnation() == of.number { Ok(found) } else { Err(JournalError::NoSession) }
}

fn count(sessions: &Sessions, batch: &Batch) {
    let metrics = sessions.metrics();
    for event in &batch.events {
        let outcome = match event.draft.kind {
            EventType::TurnSubmitted => {
                metrics.turns_started.increment();
                metrics.turns_active.add(1);
                continue;
            }
            EventType::TurnCompleted => "completed",
            EventType::TurnFailed => "failed",
            EventType::TurnCancelled => "cancelled",
            _ => continue,
        };
        metrics.turns.with(&[outcome]).increment();
        metrics.turns_active.add(-1);
    }
}

fn from_append(error: AppendError) -> JournalError {
    match error {
        AppendError::Log(error) => from_log(error),
        AppendError::TooLarge | AppendError::EventTooLarge { .. } | AppendError::RunnerOnly { .. } => {
            JournalError::Invalid(error.to_string())
        }
    }
}

fn from_log(error: LogError) -> JournalError {
    match error {
        LogError::NoSession(_) => JournalError::NoSession,
        LogError::Fenced { .. } | LogError::LeaseHeld { .. } => JournalError::Fenced,
        LogError::CommandExists(_) | LogError::IdempotencyExists(_) => JournalError::CommandExists,
        LogError::Full => JournalError::Full,
        LogError::Quota { quota, limit, used } => JournalError::Quota { quota, limit, used },
        LogError::Failed(_)
        | LogError::OutcomeUnknown(_)
        | LogError::Closed
        | LogError::Conflict { .. }
        | LogError::Corrupt { .. }
        | LogError::Retired { .. } => JournalError::Unavailable(error.to_string()),
        LogError::NotFound { .. }
        | LogError::SequenceExhausted(_)
        | LogError::ProducerStale { .. }
        | LogError::ProducerGap { .. }
        | LogError::ProducerDuplicate { .. }
        | LogError::Immutable { .. }
        | LogError::Invalid { .. } => JournalError::Invalid(error.to_string()),
    }
}
