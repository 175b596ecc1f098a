//! What every route shares.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, RwLock, Weak};

use axum::extract::FromRef;
use bytes::Bytes;
use riverrun_event::{Sequence, SessionId, TenantId, Timestamp};
use riverrun_fold::{Change, State};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    Appended, Clock, Epoch, Error, Log, SealedTurn, SessionHead, SessionKey, Snapshot, SnapshotFound, Ticket,
};
use riverrun_runner::Runner;

use crate::edge::{Caller, Edge, Problem, Scope, not_found, session_deleted};
use crate::metrics::Counter;
use crate::retention::Retention;
use crate::route::{InFlight, Uploads};
use crate::runner::{Agents, ServerJournal, SystemRandom};
use crate::session::{AppendError, Batch, Hub, Hubs, Landed};
use crate::upkeep::Upkeep;

/// How much of a log is read at once.
pub const READ_BYTES: usize = 256 * 1024;

#[derive(Clone)]
pub struct App(Arc<Inner>);

/// Who appends, in the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Ingest,
    Runner,
}

struct Inner {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    edge: Edge,
    hubs: Arc<Hubs>,
    epoch: Epoch,
    upkeep: Upkeep,
    /// Events that were appended, by their source.
    ingested: Arc<Counter>,
    run: Arc<Counter>,
    idempotency: InFlight,
    backups: OnceLock<PathBuf>,
    uploads: Uploads,
    uploads_directory: OnceLock<PathBuf>,
    config_schema: OnceLock<String>,
    agents: RwLock<Arc<Agents>>,
    retention: OnceLock<Retention>,
    runner: Runner,
    /// From the end of the recovery to the begin of the drain.
    takes_work: AtomicBool,
}

/// Reads a stored state; None if it cannot be read. A large one is read on a thread for long work, so that its worker
/// serves others meanwhile.
pub(crate) async fn read_state(bytes: Bytes) -> Option<State> {
    const LARGE: usize = 256 * 1024;
    let read = |bytes: &[u8]| State::from_json(std::str::from_utf8(bytes).ok()?).ok();
    if bytes.len() < LARGE {
        return read(&bytes);
    }
    tokio::task::spawn_blocking(move || read(&bytes)).await.ok().flatten()
}

/// An app that may be gone.
#[derive(Clone)]
pub(crate) struct WeakApp(Weak<Inner>);

impl WeakApp {
    pub fn upgrade(&self) -> Option<App> {
        self.0.upgrade().map(App)
    }
}

impl App {
    pub fn new(log: Arc<dyn Log>, clock: Arc<dyn Clock>, edge: Edge, epoch: Epoch, agents: Agents) -> Self {
        let hubs = Hubs::new(log.clone(), clock.clone());
        log.set_quotas(edge.limits().storage_quotas());
        let options =
            riverrun_runner::Options { turns: edge.limits().turn_quotas(), ..agents.runner.clone() };
        Self(Arc::new_cyclic(|this| Inner {
            runner: Runner::new(
                Arc::new(ServerJournal::new(WeakApp(this.clone()), log.clone())),
                agents.registry.clone(),
                clock.clone(),
                Arc::new(SystemRandom),
                options,
            ),
            agents: RwLock::new(Arc::new(agents)),
            takes_work: AtomicBool::new(false),
            log,
            clock,
            ingested: edge.metrics().events_appended.with(&["ingest"]),
            run: edge.metrics().events_appended.with(&["runner"]),
            edge,
            hubs,
            epoch,
            upkeep: Upkeep::default(),
            idempotency: InFlight::default(),
            backups: OnceLock::new(),
            uploads: Uploads::default(),
            uploads_directory: OnceLock::new(),
            config_schema: OnceLock::new(),
            retention: OnceLock::new(),
        }))
    }

    /// Backups go into this directory.
    pub fn with_backups(self, directory: PathBuf) -> Self {
        self.0.backups.get_or_init(|| directory);
        self
    }

    /// Uploads that are under way have their bytes in this directory, which is emptied now. Without one they have them
    /// in memory.
    pub fn with_uploads(self, directory: PathBuf) -> std::io::Result<Self> {
        std::fs::create_dir_all(&directory)?;
        // A system without nameless files may have left some.
        for left in std::fs::read_dir(&directory)? {
            let left = left?;
            if left.file_type()?.is_file() {
                std::fs::remove_file(left.path())?;
            }
        }
        self.0.uploads_directory.get_or_init(|| directory);
        Ok(self)
    }

    pub(crate) fn uploads(&self) -> &Uploads {
        &self.0.uploads
    }

    pub(crate) fn uploads_directory(&self) -> Option<&Path> {
        self.0.uploads_directory.get().map(PathBuf::as_path)
    }

    pub fn with_config_schema(self, schema: Option<String>) -> Self {
        if let Some(schema) = schema {
            self.0.config_schema.get_or_init(|| schema);
        }
        self
    }

    /// The JSON Schema of the configuration, if this server has one.
    pub fn config_schema(&self) -> Option<&str> {
        self.0.config_schema.get().map(String::as_str)
    }

    /// How long events are kept. None: for ever, or the reckoning has not begun.
    pub(crate) fn retention(&self) -> Option<&Retention> {
        self.0.retention.get()
    }

    pub(crate) fn set_retention(&self, retention: Retention) {
        self.0.retention.get_or_init(|| retention);
    }

    /// None if this server was not told where backups go.
    pub fn backups(&self) -> Option<&Path> {
        self.0.backups.get().map(PathBuf::as_path)
    }

    /// What this server runs, and for whom.
    pub fn agents(&self) -> Arc<Agents> {
        self.0.agents.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Takes another set of agents. Turns that run go on with what they began with.
    pub fn set_agents(&self, agents: Agents) {
        self.0.runner.set_registry(agents.registry.clone());
        *self.0.agents.write().unwrap_or_else(|poison| poison.into_inner()) = Arc::new(agents);
    }

    pub fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub(crate) fn takes_work(&self) -> bool {
        self.0.takes_work.load(Ordering::Acquire)
    }

    pub(crate) fn set_takes_work(&self, takes: bool) {
        self.0.takes_work.store(takes, Ordering::Release);
    }

    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.0.idempotency
    }

    pub fn log(&self) -> &Arc<dyn Log> {
        &self.0.log
    }

    pub fn edge(&self) -> &Edge {
        &self.0.edge
    }

    pub fn hubs(&self) -> &Arc<Hubs> {
        &self.0.hubs
    }

    pub fn upkeep(&self) -> &Upkeep {
        &self.0.upkeep
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.0.clock.now().millis()).unwrap_or(i64::MAX))
    }

    /// The session, if the caller may know of it. Absent, foreign and malformed answer alike.
    pub async fn hub(&self, caller: &Caller, session: &str) -> Result<Arc<Hub>, Problem> {
        let id = SessionId::new(session).map_err(|_| not_found())?;
        caller.require_session(&id)?;
        let tenant = match seeded::is_on(Bug::TenantBlind) {
            true => TenantId::new(crate::edge::DEFAULT_TENANT).map_err(|_| not_found())?,
            false => caller.tenant().clone(),
        };
        let key = SessionKey::new(tenant, id);
        match self.0.hubs.get(&key).await? {
            Some(hub) => Ok(hub),
            None => Err(self.absence(caller, &key).await?),
        }
    }

    /// What a caller is told of a session that is not there: that it was deleted, if the caller could have read it.
    async fn absence(&self, caller: &Caller, key: &SessionKey) -> Result<Problem, Error> {
        if self.0.edge.limits().deletions.is_zero() || !caller.has(Scope::Read) {
            return Ok(not_found());
        }
        let forgotten = self.deletions_before();
        let deleted = self.0.log.deleted_at(key).await?.filter(|at| *at >= forgotten);
        Ok(deleted.map_or_else(not_found, session_deleted))
    }

    /// Deletions from before this time are not told any more.
    pub(crate) fn deletions_before(&self) -> riverrun_log::Timestamp {
        let age = u64::try_from(self.0.edge.limits().deletions.as_millis()).unwrap_or(u64::MAX);
        riverrun_log::Timestamp::from_millis(self.0.clock.now().millis().saturating_sub(age))
    }

    /// Notes that a caller deletes the session, before it goes.
    pub(crate) async fn note_deletion(&self, hub: &Hub) {
        if self.0.edge.limits().deletions.is_zero() {
            return;
        }
        // A delete must work where nothing can be noted any more; then the session is only absent.
        if let Err(error) = self.0.log.note_deletion(&hub.key, self.0.clock.now()).await {
            tracing::warn!(code = %error.code(), session = %hub.key.session, "a deletion was not noted");
        }
    }

    /// The one way in which a session goes. Its readers are cut, its runner and all that it does end at once, and
    /// nothing of it comes into a session that is made with the same id. False if it was gone before.
    ///
    /// It goes on though who asked for it does not wait: half a delete would leave a session that nobody can open.
    pub async fn delete(&self, hub: &Arc<Hub>) -> Result<bool, Error> {
        if !self.hubs().close(hub) {
            return Ok(false);
        }
        let (app, hub) = (self.clone(), hub.clone());
        let deleting = tokio::spawn(async move {
            app.runner().end(&hub.key);
            let not_tended = hub.tending.lock().await;
            let deleted = app.log().delete_session(&hub.key).await;
            drop(not_tended);
            app.hubs().forget(&hub);
            if deleted.is_err() {
                // It is still there, with the turns that were open.
                app.runner().wake(&hub.key);
            }
            deleted
        });
        deleting.await.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
    }

    /// Appends and resolves when durable.
    pub async fn append(&self, hub: &Hub, batch: &Batch) -> Result<Landed, Problem> {
        self.append_from(Source::Ingest, hub, batch).await.map_err(refusal)
    }

    /// The same, for those who read the errors themselves.
    pub(crate) async fn append_from(
        &self,
        source: Source,
        hub: &Hub,
        batch: &Batch,
    ) -> Result<Landed, AppendError> {
        let landed = hub.append(&self.0.log, self.0.epoch, self.now(), batch).await?;
        self.appended(source, hub, batch);
        Ok(landed)
    }

    /// Hands over a batch that ends no turn. Who gets the answer says so with [`App::appended`].
    pub(crate) async fn begin(
        &self,
        hub: &Hub,
        batch: &Batch,
    ) -> Result<(Ticket<Appended>, SessionHead), AppendError> {
        hub.submit(&self.0.log, self.0.epoch, self.now(), batch, &[]).await
    }

    /// Appends batches that stand each for itself, in order. A failure comes with what was appended before it.
    pub async fn append_run(&self, hub: &Hub, batches: &[Batch]) -> (Vec<Landed>, Option<Problem>) {
        let (landed, error) = hub.append_run(&self.0.log, self.0.epoch, self.now(), batches).await;
        for batch in &batches[..landed.len()] {
            self.appended(Source::Ingest, hub, batch);
        }
        (landed, error.map(refusal))
    }

    pub(crate) fn appended(&self, source: Source, hub: &Hub, batch: &Batch) {
        let counter = match source {
            Source::Ingest => &self.0.ingested,
            Source::Runner => &self.0.run,
        };
        counter.add(batch.events.len() as u64);
        self.0.upkeep.appended(hub, batch);
    }

    /// The state after event `at`, from the nearest snapshot on. `at` is at most the head.
    pub async fn state_at(&self, key: &SessionKey, at: Sequence) -> Result<State, Problem> {
        let SnapshotFound { snapshot, .. } = self.0.log.snapshot(key, at).await?;
        self.state_from(key, at, snapshot).await
    }

    async fn state_from(
        &self,
        key: &SessionKey,
        at: Sequence,
        snapshot: Option<Snapshot>,
    ) -> Result<State, Problem> {
        // A snapshot that cannot be read is worth nothing; the log is worth everything.
        let state = match snapshot {
            Some(snapshot) => read_state(snapshot.bytes).await,
            None => None,
        };
        let mut state = state.unwrap_or_else(|| State::new(key.session.clone()));
        self.fold_to(key, at, &mut state, |_| {}).await?;
        Ok(state)
    }

    /// The JSON of the state after event `at`: the snapshot as it is stored, if there is one just there.
    pub async fn state_json_at(&self, hub: &Hub, at: Sequence) -> Result<String, Problem> {
        let SnapshotFound { snapshot, .. } = self.0.log.snapshot(&hub.key, at).await?;
        if let Some(Snapshot { sequence, bytes }) = &snapshot
            && *sequence == at
            && let Ok(text) = String::from_utf8(Vec::from(bytes.clone()))
        {
            return Ok(text);
        }
        let from = snapshot.as_ref().map_or(Sequence::ZERO, |snapshot| snapshot.sequence);
        let json = self.state_from(&hub.key, at, snapshot).await?.to_json();
        self.0.upkeep.folded(hub, at.get() - from.get().min(at.get()), json.len());
        Ok(json)
    }

    /// Applies the events up to `at`, and hands out the turns that leave the window.
    pub async fn fold_to(
        &self,
        key: &SessionKey,
        at: Sequence,
        state: &mut State,
        mut sealed: impl FnMut(riverrun_fold::SealedTurn),
    ) -> Result<(), Problem> {
        let mut changes = Vec::new();
        while state.sequence < at {
            let chunks = match self.0.log.read(key, state.sequence, READ_BYTES).await {
                Ok(chunks) => chunks,
                // The beginning is gone and no snapshot stands for it: fold what is left.
                Err(Error::Retired { first_available })
                    if state.sequence.get() == 0 && first_available.previous() <= at =>
                {
                    state.sequence = first_available.previous();
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if chunks.is_empty() {
                return Ok(());
            }
            for chunk in &chunks {
                crate::deliver::fold_chunk(state, chunk, at, &mut changes);
                for change in changes.drain(..) {
                    if let Change::TurnSealed(turn) = change {
                        sealed(*turn);
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// A turn that left the window of its session's state.
    pub fn sealed_turn(&self, stored: Option<SealedTurn>) -> Option<riverrun_fold::SealedTurn> {
        stored.and_then(|turn| serde_json::from_slice(&turn.bytes).ok())
    }
}

fn refusal(error: AppendError) -> Problem {
    match error {
        AppendError::Log(error) => Problem::from(error),
        AppendError::TooLarge => Problem::new(error.code(), error.to_string()),
        AppendError::RunnerOnly { index, .. } => {
            Problem::new(error.code(), error.to_string()).field("type").with("index", index)
        }
    }
}

impl FromRef<App> for Edge {
    fn from_ref(app: &App) -> Edge {
        app.0.edge.clone()
    }
}
