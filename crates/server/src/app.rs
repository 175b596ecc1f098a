//! What every route shares.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

use axum::extract::FromRef;
use riverrun_event::{SessionId, TenantId, Timestamp};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Clock, Error, Log, SessionKey};
use riverrun_runner::Runner;
use riverrun_session::{Batch, Hub, Hubs, Landed, Ownership, Parts, Sessions, Source, SystemRandom};

use crate::edge::{Caller, Edge, Limits, Problem, Scope, not_found, session_deleted};
use crate::in_flight::InFlight;
use tokio::sync::Semaphore;

use crate::agents::Agents;

/// Uploads that are stored at the same time.
const STORED_TOGETHER: usize = 2;

#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    sessions: Sessions,
    edge: Edge,
    idempotency: InFlight,
    backups: OnceLock<PathBuf>,
    /// Uploads that are stored now; each is in memory while it is.
    upload_permits: Arc<Semaphore>,
    uploads_directory: OnceLock<PathBuf>,
    config_schema: OnceLock<String>,
    agents: RwLock<Arc<Agents>>,
    runner: Runner,
    /// From the end of the recovery to the begin of the drain.
    takes_work: AtomicBool,
}

impl App {
    pub fn new(
        log: Arc<dyn Log>,
        clock: Arc<dyn Clock>,
        edge: Edge,
        ownership: Arc<Ownership>,
        agents: Agents,
    ) -> Self {
        log.set_quotas(edge.limits().storage_quotas());
        let sessions = Sessions::new(Parts {
            log,
            clock,
            ownership,
            settings: edge.limits().session_settings(),
            metrics: edge.metrics().session.clone(),
            drain: edge.drain().clone(),
        });
        let options =
            riverrun_runner::Options { turns: edge.limits().turn_quotas(), ..agents.runner.clone() };
        let runner = Runner::over(&sessions, agents.registry.clone(), Arc::new(SystemRandom), options);
        Self(Arc::new(Inner {
            runner,
            agents: RwLock::new(Arc::new(agents)),
            takes_work: AtomicBool::new(false),
            sessions,
            edge,
            idempotency: InFlight::default(),
            backups: OnceLock::new(),
            upload_permits: Arc::new(Semaphore::new(STORED_TOGETHER)),
            uploads_directory: OnceLock::new(),
            config_schema: OnceLock::new(),
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

    pub(crate) fn upload_permits(&self) -> &Arc<Semaphore> {
        &self.0.upload_permits
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

    /// The engine.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub fn log(&self) -> &Arc<dyn Log> {
        self.0.sessions.log()
    }

    pub fn edge(&self) -> &Edge {
        &self.0.edge
    }

    pub fn hubs(&self) -> &Arc<Hubs> {
        self.0.sessions.hubs()
    }

    pub fn now(&self) -> Timestamp {
        self.0.sessions.now()
    }

    /// Takes other hosts, origins and limits.
    pub fn reload(&self, hosts: &[String], origins: &[String], limits: Limits) {
        self.0.sessions.set_settings(limits.session_settings());
        self.0.edge.reload(hosts, origins, limits);
    }

    /// Appends what a caller sent.
    pub async fn append(&self, hub: &Hub, batch: &Batch) -> Result<Landed, Problem> {
        Ok(self.0.sessions.append(Source::Ingest, hub, batch).await?)
    }

    /// Appends batches that stand each for itself, in order. A failure comes with what was appended before it.
    pub async fn append_run(&self, hub: &Hub, batches: &[Batch]) -> (Vec<Landed>, Option<Problem>) {
        let (landed, error) = self.0.sessions.append_run(Source::Ingest, hub, batches).await;
        (landed, error.map(Problem::from))
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
        match self.hubs().get(&key).await? {
            Some(hub) => Ok(hub),
            None => Err(self.absence(caller, &key).await?),
        }
    }

    /// What a caller is told of a session that is not there: that it was deleted, if the caller could have read it.
    async fn absence(&self, caller: &Caller, key: &SessionKey) -> Result<Problem, Error> {
        if !caller.has(Scope::Read) {
            return Ok(not_found());
        }
        let deleted = self.0.sessions.deleted_at(key).await?;
        Ok(deleted.map_or_else(not_found, session_deleted))
    }
}

impl FromRef<App> for Edge {
    fn from_ref(app: &App) -> Edge {
        app.0.edge.clone()
    }
}
