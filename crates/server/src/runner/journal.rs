//! The runner's journal over the hubs: its events take the one path that all events take.

use std::sync::Arc;

use riverrun_event::{EventType, Sequence};
use riverrun_fold::State;
use riverrun_log::{Chunk, Error, Log, SessionKey};
use riverrun_runner::{Entry, Journal, JournalError, JournalFuture, Landed};

use crate::app::{App, READ_BYTES, WeakApp};
use crate::edge::Problem;
use crate::route::put_large;
use crate::session::{AppendError, Batch, Hub};

pub(crate) struct ServerJournal {
    /// The app has the runner, and the runner this: a strong reference would keep both for ever.
    app: WeakApp,
    log: Arc<dyn Log>,
}

impl ServerJournal {
    pub fn new(app: WeakApp, log: Arc<dyn Log>) -> Self {
        Self { app, log }
    }

    fn app(&self) -> Result<App, JournalError> {
        self.app.upgrade().ok_or_else(|| JournalError::Unavailable("the server is gone".to_owned()))
    }

    async fn store(&self, key: &SessionKey, entry: &mut Entry) -> Result<Landed, JournalError> {
        let app = self.app()?;
        let hub = hub(&app, key).await?;
        if entry.events.is_empty() {
            return Err(JournalError::Invalid("it has no events".to_owned()));
        }
        let Entry { mut events, mut facts, commands, idempotency } = std::mem::take(entry);
        // Large texts are taken out of their events: who tries again needs them whole.
        let limit = app.edge().limits().event_bytes;
        let whole = events.iter().any(|event| event.draft.size() > limit).then(|| events.clone());
        let large = put_large(&app, &hub, &mut events).await.map_err(|problem| from_problem(&problem));
        let own_facts = facts.len();
        let is_stored = large.map(|large| facts.extend(large));
        let batch = Batch { events, producer: None, idempotency, facts, commands };
        let landed = match is_stored {
            Ok(()) => app.append_from("runner", &hub, &batch).await.map_err(from_append),
            Err(error) => Err(error),
        };
        let landed = match landed {
            Ok(landed) => landed,
            Err(error) => {
                let Batch { events, idempotency, mut facts, commands, .. } = batch;
                facts.truncate(own_facts);
                *entry = Entry { events: whole.unwrap_or(events), facts, commands, idempotency };
                return Err(error);
            }
        };
        count(&app, &batch);
        // Only a producer's repeat has no place, and the runner is no producer.
        let place = landed.place.ok_or_else(|| JournalError::Invalid("it was stored before".to_owned()));
        place.map(|(first, last)| Landed { first, last, events: batch.events })
    }

    async fn read_all(&self, key: &SessionKey, mut after: Sequence) -> Result<Vec<Chunk>, JournalError> {
        let mut all = Vec::new();
        loop {
            let chunks = self.log.read(key, after, READ_BYTES).await.map_err(from_log)?;
            let Some(last) = chunks.last() else { return Ok(all) };
            after = last.last();
            all.extend(chunks);
        }
    }
}

impl Journal for ServerJournal {
    fn append<'a>(&'a self, key: &'a SessionKey, entry: &'a mut Entry) -> JournalFuture<'a, Landed> {
        Box::pin(self.store(key, entry))
    }

    fn state<'a>(&'a self, key: &'a SessionKey) -> JournalFuture<'a, State> {
        Box::pin(async move {
            let app = self.app()?;
            let hub = hub(&app, key).await?;
            app.state_at(key, hub.head()).await.map_err(|problem| from_problem(&problem))
        })
    }

    fn read<'a>(&'a self, key: &'a SessionKey, after: Sequence) -> JournalFuture<'a, Vec<Chunk>> {
        Box::pin(self.read_all(key, after))
    }

    fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }
}

async fn hub(app: &App, key: &SessionKey) -> Result<Arc<Hub>, JournalError> {
    app.hubs().get(key).await.map_err(from_log)?.ok_or(JournalError::NoSession)
}

fn count(app: &App, batch: &Batch) {
    let metrics = app.edge().metrics();
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
        AppendError::TooLarge => JournalError::Invalid(error.to_string()),
    }
}

fn from_log(error: Error) -> JournalError {
    match error {
        Error::NoSession(_) => JournalError::NoSession,
        Error::Fenced { .. } | Error::LeaseHeld { .. } => JournalError::Fenced,
        Error::CommandExists(_) | Error::IdempotencyExists(_) => JournalError::CommandExists,
        Error::Full => JournalError::Full,
        Error::Failed(_)
        | Error::Closed
        | Error::Conflict { .. }
        | Error::Corrupt { .. }
        | Error::Retired { .. } => JournalError::Unavailable(error.to_string()),
        Error::NotFound { .. }
        | Error::SequenceExhausted(_)
        | Error::ProducerStale { .. }
        | Error::ProducerGap { .. }
        | Error::ProducerDuplicate { .. }
        | Error::Immutable { .. }
        | Error::Invalid { .. } => JournalError::Invalid(error.to_string()),
    }
}

fn from_problem(problem: &Problem) -> JournalError {
    use riverrun_event::ErrorCode;
    match problem.code() {
        ErrorCode::NotFound => JournalError::NoSession,
        ErrorCode::StorageFull => JournalError::Full,
        ErrorCode::NotOwner => JournalError::Fenced,
        code if code.is_retryable() => JournalError::Unavailable(problem.detail().to_owned()),
        _ => JournalError::Invalid(problem.detail().to_owned()),
    }
}
