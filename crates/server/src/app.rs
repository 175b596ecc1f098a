//! What every route shares.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::extract::FromRef;
use riverrun_api::{Agents, RunnerCommand, Services, TenantServices};
use riverrun_event::Timestamp;
use riverrun_log::{Clock, Log};
use riverrun_runner::{CommandError, Runner};
use riverrun_session::{Batch, Hub, Hubs, Landed, Ownership, Parts, Sessions, Source, SystemRandom};

use crate::edge::{Caller, Edge, Limits, Problem};
use tokio::sync::Semaphore;

/// Uploads that are stored at the same time.
const STORED_TOGETHER: usize = 2;

#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    services: Services,
    edge: Edge,
    backups: OnceLock<PathBuf>,
    /// Uploads that are stored now; each is in memory while it is.
    upload_permits: Arc<Semaphore>,
    uploads_directory: OnceLock<PathBuf>,
    config_schema: OnceLock<String>,
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
        let commands = edge.metrics().commands.clone();
        let services = Services::new(sessions, runner, agents, commands, TenantServices::of(&edge));
        Self(Arc::new(Inner {
            takes_work: AtomicBool::new(false),
            services,
            edge,
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

    /// What operations work with.
    pub fn services(&self) -> &Services {
        &self.0.services
    }

    /// What this server runs, and for whom.
    pub fn agents(&self) -> Arc<Agents> {
        self.0.services.agents()
    }

    /// Takes another set of agents. Running turns continue with the set that they began with.
    pub fn set_agents(&self, agents: Agents) {
        self.0.services.set_agents(agents);
    }

    pub fn runner(&self) -> &Runner {
        self.0.services.runner()
    }

    pub(crate) fn takes_work(&self) -> bool {
        self.0.takes_work.load(Ordering::Acquire)
    }

    pub(crate) fn set_takes_work(&self, takes: bool) {
        self.0.takes_work.store(takes, Ordering::Release);
    }

    /// The engine.
    pub fn sessions(&self) -> &Sessions {
        self.0.services.sessions()
    }

    pub fn log(&self) -> &Arc<dyn Log> {
        self.0.services.sessions().log()
    }

    pub fn edge(&self) -> &Edge {
        &self.0.edge
    }

    pub fn hubs(&self) -> &Arc<Hubs> {
        self.0.services.sessions().hubs()
    }

    pub fn now(&self) -> Timestamp {
        self.0.services.sessions().now()
    }

    /// Takes other hosts, origins and limits.
    pub fn reload(&self, hosts: &[String], origins: &[String], limits: Limits) {
        self.0.services.sessions().set_settings(limits.session_settings());
        self.0.edge.reload(hosts, origins, limits);
    }

    /// Appends what a caller sent.
    pub async fn append(&self, hub: &Hub, batch: &Batch) -> Result<Landed, Problem> {
        Ok(self.0.services.sessions().append(Source::Ingest, hub, batch).await?)
    }

    /// Appends batches that stand each for itself, in order. A failure comes with what was appended before it.
    pub async fn append_run(&self, hub: &Hub, batches: &[Batch]) -> (Vec<Landed>, Option<Problem>) {
        let (landed, error) = self.0.services.sessions().append_run(Source::Ingest, hub, batches).await;
        (landed, error.map(Problem::from))
    }

    /// The session, if the caller may know of it. Absent, foreign and malformed answer alike.
    pub async fn hub(&self, caller: &Caller, session: &str) -> Result<Arc<Hub>, Problem> {
        Ok(self.0.services.hub(caller, session).await?)
    }

    /// Counts what was asked of the runner, and turns its error into a problem.
    pub(crate) fn answered<T>(
        &self,
        command: RunnerCommand,
        result: Result<T, CommandError>,
    ) -> Result<T, Problem> {
        Ok(self.0.services.answered(command, result)?)
    }
}

impl FromRef<App> for Edge {
    fn from_ref(app: &App) -> Edge {
        app.0.edge.clone()
    }
}
