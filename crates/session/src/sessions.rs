//! All sessions that one process owns, and what they share.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use riverrun_event::Timestamp;
use riverrun_log::{
    Clock, DurableAppend, Epoch, Log, LogError, LogTicket, SessionHead, SessionKey, TurnRecord, WorkScope,
};

use crate::drain::Drain;
use crate::due::DueSessions;
use crate::hubs::{Batch, Hub, Hubs, Landed};
use crate::metrics::Counter;
use crate::ownership::{Ownership, RENEW_EVERY};
use crate::retention::Retention;
use crate::{AppendError, SessionMetrics, Settings};

/// Clones share everything.
#[derive(Clone)]
pub struct Sessions(Arc<Shared>);

struct Shared {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    ownership: Arc<Ownership>,
    hubs: Arc<Hubs>,
    settings: RwLock<Settings>,
    metrics: Arc<SessionMetrics>,
    drain: Drain,
    due: DueSessions,
    retention: OnceLock<Retention>,
    worker: OnceLock<Arc<dyn Worker>>,
    /// Events that were appended, by their source.
    ingested: Arc<Counter>,
    run: Arc<Counter>,
}

/// What sessions are made over.
pub struct Parts {
    /// The store.
    pub log: Arc<dyn Log>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The shards that this process owns.
    pub ownership: Arc<Ownership>,
    /// Limits and intervals.
    pub settings: Settings,
    /// Where it counts.
    pub metrics: Arc<SessionMetrics>,
    /// How it learns that the process goes down.
    pub drain: Drain,
}

/// Who appends, in the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A producer outside.
    Ingest,
    /// The agent loop.
    Runner,
}

/// Works inside sessions and must stop when one goes: the runner.
pub trait Worker: Send + Sync {
    /// The session is about to be deleted: everything that is done in it ends at once.
    fn end(&self, session: &SessionKey);
    /// The session is still there, because deleting it failed: its open turns go on.
    fn wake(&self, session: &SessionKey);
}

impl Sessions {
    /// Listens to the log's commits from here on. Must be called inside a tokio runtime.
    pub fn new(parts: Parts) -> Self {
        let Parts { log, clock, ownership, settings, metrics, drain } = parts;
        Self(Arc::new(Shared {
            hubs: Hubs::new(log.clone(), clock.clone()),
            log,
            clock,
            ownership,
            settings: RwLock::new(settings),
            ingested: metrics.events_appended.with(&["ingest"]),
            run: metrics.events_appended.with(&["runner"]),
            metrics,
            drain,
            due: DueSessions::default(),
            retention: OnceLock::new(),
            worker: OnceLock::new(),
        }))
    }

    /// The store.
    pub fn log(&self) -> &Arc<dyn Log> {
        &self.0.log
    }

    /// The shards that this process owns.
    pub fn ownership(&self) -> &Arc<Ownership> {
        &self.0.ownership
    }

    fn epoch_of(&self, hub: &Hub) -> Epoch {
        self.0.ownership.epoch(self.0.log.shard_of(&hub.key))
    }

    /// Renews the leases until the drain. `after_each` is called after each round.
    pub async fn renew_leases(&self, after_each: impl Fn()) {
        loop {
            tokio::select! {
                () = self.0.drain.started() => return,
                () = tokio::time::sleep(RENEW_EVERY) => {}
            }
            self.0.ownership.renew(&*self.0.log).await;
            after_each();
        }
    }

    /// The turns without a terminal event in the shards that this process owns.
    pub async fn open_turns(&self) -> Result<Vec<TurnRecord>, LogError> {
        let mut open = Vec::new();
        for shard in self.0.ownership.shards() {
            open.extend(self.0.log.open_turns(WorkScope::Shard(shard)).await?);
        }
        Ok(open)
    }

    /// The source of time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.0.clock.now().millis()).unwrap_or(i64::MAX))
    }

    /// The sessions in use.
    pub fn hubs(&self) -> &Arc<Hubs> {
        &self.0.hubs
    }

    /// Where it counts.
    pub fn metrics(&self) -> &Arc<SessionMetrics> {
        &self.0.metrics
    }

    /// Limits and intervals.
    pub fn settings(&self) -> Settings {
        *self.0.settings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces limits and intervals.
    pub fn set_settings(&self, settings: Settings) {
        *self.0.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Once it has started, streams say goodbye and upkeep ends.
    pub fn drain(&self) -> &Drain {
        &self.0.drain
    }

    pub(crate) fn due(&self) -> &DueSessions {
        &self.0.due
    }

    /// How long events are stored. None: for ever, or upkeep has not begun.
    pub fn retention(&self) -> Option<&Retention> {
        self.0.retention.get()
    }

    pub(crate) fn set_retention(&self, retention: Retention) {
        self.0.retention.get_or_init(|| retention);
    }

    /// From here on the worker is stopped in sessions that are deleted. The first one stays.
    pub fn set_worker(&self, worker: Arc<dyn Worker>) {
        self.0.worker.get_or_init(|| worker);
    }

    /// Appends and resolves when durable.
    pub async fn append(&self, source: Source, hub: &Hub, batch: &Batch) -> Result<Landed, AppendError> {
        let landed = hub.append(&self.0.log, self.epoch_of(hub), self.now(), batch).await?;
        self.appended(source, hub, batch);
        Ok(landed)
    }

    /// Hands over a batch that ends no turn. Whoever gets the answer calls [`Sessions::appended`].
    pub async fn begin(
        &self,
        hub: &Hub,
        batch: &Batch,
    ) -> Result<(LogTicket<DurableAppend>, SessionHead), AppendError> {
        hub.submit(&self.0.log, self.epoch_of(hub), self.now(), batch, &[]).await
    }

    /// What [`Sessions::begin`] handed over was not taken: if somebody else wrote just then, it goes behind that.
    pub async fn append_again(
        &self,
        source: Source,
        hub: &Hub,
        batch: &Batch,
        built_on: SessionHead,
        refusal: LogError,
    ) -> Result<Landed, AppendError> {
        hub.reset(built_on).await;
        match refusal {
            LogError::Conflict { .. } => self.append(source, hub, batch).await,
            error => Err(error.into()),
        }
    }

    /// Appends batches in order, each of which stands for itself. A failure comes with what was appended before it.
    pub async fn append_run(
        &self,
        source: Source,
        hub: &Hub,
        batches: &[Batch],
    ) -> (Vec<Landed>, Option<AppendError>) {
        let (landed, error) = hub.append_run(&self.0.log, self.epoch_of(hub), self.now(), batches).await;
        for batch in &batches[..landed.len()] {
            self.appended(source, hub, batch);
        }
        (landed, error)
    }

    /// Counts a batch that became durable, and notes it for upkeep.
    pub fn appended(&self, source: Source, hub: &Hub, batch: &Batch) {
        let counter = match source {
            Source::Ingest => &self.0.ingested,
            Source::Runner => &self.0.run,
        };
        counter.add(batch.events.len() as u64);
        self.0.due.appended(hub, batch);
    }

    /// Notes that somebody deletes the session, before it goes.
    pub async fn note_deletion(&self, hub: &Hub) {
        if self.settings().deletions.is_zero() {
            return;
        }
        // A delete must work where nothing can be noted any more; then the session is only absent.
        if let Err(error) = self.0.log.note_deletion(&hub.key, self.0.clock.now()).await {
            tracing::warn!(code = %error.code(), session = %hub.key.session, "a deletion was not noted");
        }
    }

    /// When the session was deleted, if it was and that is still to be known.
    pub async fn deleted_at(&self, key: &SessionKey) -> Result<Option<riverrun_log::UnixMillis>, LogError> {
        if self.settings().deletions.is_zero() {
            return Ok(None);
        }
        let forgotten = self.deletions_before();
        Ok(self.0.log.deleted_at(key).await?.filter(|at| *at >= forgotten))
    }

    /// Deletions from before this time are forgotten.
    pub(crate) fn deletions_before(&self) -> riverrun_log::UnixMillis {
        let age = u64::try_from(self.settings().deletions.as_millis()).unwrap_or(u64::MAX);
        riverrun_log::UnixMillis::from_millis(self.0.clock.now().millis().saturating_sub(age))
    }

    /// The one way in which a session goes. Its readers are cut, its runner and all that it does end at once, and
    /// nothing of it comes into a session that is made with the same id. False if it was gone before.
    ///
    /// It goes on though the caller does not wait: half a delete would leave a session that nobody can open.
    pub async fn delete(&self, hub: &Arc<Hub>) -> Result<bool, LogError> {
        if !self.hubs().close(hub) {
            return Ok(false);
        }
        let (sessions, hub) = (self.clone(), hub.clone());
        let deleting = tokio::spawn(async move {
            let worker = sessions.0.worker.get();
            worker.inspect(|worker| worker.end(&hub.key));
            let not_tended = hub.tending.lock().await;
            let deleted = sessions.log().delete_session(&hub.key).await;
            drop(not_tended);
            sessions.hubs().forget(&hub);
            if deleted.is_err() {
                // It is still there, with the turns that were open.
                worker.inspect(|worker| worker.wake(&hub.key));
            }
            deleted
        });
        deleting.await.unwrap_or_else(|error| Err(LogError::Failed(error.to_string())))
    }
}
