//! A server from start to drain.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use riverrun_log::{Clock, Log, LogHealth, SystemClock};
use tokio::net::TcpListener;

use crate::app::App;
use crate::edge::{Config, Edge, Keys, Limits, NotReady, Problem};
use crate::metrics::Metrics;
use crate::router::router;
use riverrun_api::Agents;
use riverrun_session::{Ownership, SystemRandom, run_upkeep};

/// For what is being written when everything stops.
const LAST_APPENDS: Duration = Duration::from_secs(5);
/// Readers are told and requests end in this time, however long the calls took.
const GOODBYE: Duration = Duration::from_secs(2);

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// Host names that are served besides loopback.
    pub hosts: Vec<String>,
    /// Web origins whose pages may call.
    pub origins: Vec<String>,
    /// A proxy stands in front, and its forwarding headers are believed.
    pub behind_proxy: bool,
    /// `/metrics` needs no key, wherever the server is reached.
    pub open_metrics: bool,
    pub limits: Limits,
    /// Faults on request, scripted models for all, dialect routes without a key. Loopback only.
    pub dev: bool,
    /// How long events are kept; None is for ever.
    pub retention: Option<Duration>,
    /// Where the first key is written.
    pub admin_key: PathBuf,
    /// Where backups go; None is `backups` beside the admin key.
    pub backups: Option<PathBuf>,
    /// What this server runs.
    pub agents: Agents,
    /// What `GET /schemas/config.json` answers.
    pub config_schema: Option<String>,
}

/// Told once the server answers.
#[derive(Debug, Clone)]
pub struct Ready {
    pub address: SocketAddr,
    /// True if the admin key was made just now.
    pub first_start: bool,
    pub admin_key: AdminKeyFile,
    /// Changes what the running server works with.
    pub reloader: Reloader,
}

/// What is in the file of the admin key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminKeyFile {
    /// A key that works.
    Works,
    /// Nothing: the store came from elsewhere, such as a backup, or the file was removed.
    Absent,
    /// A key of another store, or one that was revoked or rotated.
    Useless,
}

/// What a reload brings. The rest needs a restart.
#[derive(Debug, Clone)]
pub struct Reload {
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub limits: Limits,
    pub agents: Agents,
}

/// A handle on a running server.
#[derive(Clone)]
pub struct Reloader(App);

impl Reloader {
    /// Takes up another configuration and reads the keys again. Streams and running turns go on.
    pub async fn reload(&self, reload: Reload) -> Result<(), Problem> {
        self.0.edge().keys().refresh().await?;
        self.0.reload(&reload.hosts, &reload.origins, reload.limits);
        self.0.set_agents(reload.agents);
        Ok(())
    }
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reloader")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error("{0}")]
    Store(#[from] riverrun_log::LogError),
    #[error("{0}")]
    Keys(String),
    #[error("what was under way could not be taken up again: {0}")]
    Recover(String),
    #[error("the directory for uploads cannot be prepared: {0}")]
    Uploads(std::io::Error),
    #[error("the connections could not be served: {0}")]
    Serve(std::io::Error),
}

/// Serves until `stop` resolves, then drains: no work is taken, calls that are open end or are cut, streams are told and
/// cut so that no reader takes the end for the end, and what was acknowledged is in the log.
pub async fn serve(
    log: Arc<dyn Log>,
    options: Options,
    ready: impl FnOnce(&Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let listener = TcpListener::bind(options.listen).await;
    let listener = listener.map_err(|error| StartError::Listen { address: options.listen, error })?;
    let address = listener.local_addr().map_err(StartError::Serve)?;
    let ownership = Arc::new(Ownership::acquire(&*log, &SystemRandom).await?);
    let keys = Keys::load(log.clone(), clock.clone()).await.map_err(|problem| keys_error(&problem))?;
    let first_start = keys.ensure_admin(&options.admin_key).await.map_err(|problem| keys_error(&problem))?;
    let admin_key = admin_key_file(&keys, &options.admin_key);
    let config = Config {
        hosts: options.hosts,
        origins: options.origins,
        behind_proxy: options.behind_proxy,
        open_metrics: options.open_metrics,
        limits: options.limits,
        dev: options.dev,
        ..Config::new(address)
    };
    let edge = Edge::new(config, keys, Arc::new(Metrics::new()), clock.clone());
    let uploads = options.admin_key.with_file_name("uploads");
    let backups = options.backups.unwrap_or_else(|| options.admin_key.with_file_name("backups"));
    let drain_time = edge.limits().drain_time;
    let app =
        App::new(log.clone(), clock, edge.clone(), ownership.clone(), options.agents).with_backups(backups);
    let app = app.with_config_schema(options.config_schema);
    let app = app.with_uploads(uploads).map_err(StartError::Uploads)?;
    let server = tokio::spawn(crate::edge::serve(listener, router(app.clone()), edge.clone()));
    let behind = [
        tokio::spawn(run_upkeep(app.sessions().clone(), options.retention)),
        tokio::spawn({
            let app = app.clone();
            async move { app.sessions().renew_leases(|| show_health(&app)).await }
        }),
        tokio::spawn(cut_revoked(app.clone())),
        tokio::spawn({
            let edge = edge.clone();
            async move { edge.keep_keys().await }
        }),
    ];
    let recovered = recover(&app).await;
    if recovered.is_ok() {
        app.set_takes_work(true);
        edge.readiness().set(None);
        ready(&Ready { address, first_start, admin_key, reloader: Reloader(app.clone()) });
        stop.await;
    }
    app.set_takes_work(false);
    edge.readiness().set(Some(NotReady::Draining));
    let began = tokio::time::Instant::now();
    hand_over(&app, drain_time).await;
    edge.drain().start_for(drain_time.saturating_sub(began.elapsed()).max(GOODBYE));
    app.hubs().wake_all();
    let served = server.await;
    for task in behind {
        task.abort();
    }
    // The store is closed by its owner; a lease that is not released only makes the next start wait.
    ownership.release(&*log).await;
    recovered?;
    match served {
        Ok(result) => result.map_err(StartError::Serve),
        Err(error) => Err(StartError::Serve(std::io::Error::other(error))),
    }
}

fn admin_key_file(keys: &Keys, path: &Path) -> AdminKeyFile {
    match std::fs::read_to_string(path) {
        Ok(text) if keys.is_admin(text.trim()) => AdminKeyFile::Works,
        Ok(_) => AdminKeyFile::Useless,
        Err(_) => AdminKeyFile::Absent,
    }
}

fn keys_error(problem: &Problem) -> StartError {
    StartError::Keys(problem.detail().to_owned())
}

/// Goes on with what a former owner left.
async fn recover(app: &App) -> Result<(), StartError> {
    app.edge().readiness().set(Some(NotReady::Recovering));
    let started = tokio::time::Instant::now();
    let turns = app.runner().recover().await.map_err(|error| StartError::Recover(error.to_string()))?;
    let metrics = app.edge().metrics();
    metrics.recovery_seconds.observe(started.elapsed().as_secs_f64());
    metrics.session.turns_active.add(i64::try_from(turns).unwrap_or(i64::MAX));
    if turns > 0 {
        tracing::info!(turns, "went on with open turns");
    }
    Ok(())
}

/// Lets the calls that are open end, while readers still see it, and then cuts what is left.
async fn hand_over(app: &App, drain_time: Duration) {
    if !app.runner().hand_over(drain_time).await {
        let sessions = app.runner().resident();
        tracing::warn!(sessions, "calls that did not end in time are cut; the next start goes on with them");
    }
    app.runner().drain(LAST_APPENDS).await;
}

/// Wakes every reader when a key is revoked, so that those who came in with it are cut at once.
async fn cut_revoked(app: App) {
    loop {
        app.edge().keys().revoked().await;
        app.hubs().wake_all();
    }
}

/// Tells whether the store takes appends.
fn show_health(app: &App) {
    let state = match app.log().health() {
        LogHealth::Ready => None,
        LogHealth::Full => Some(NotReady::StorageFull),
        LogHealth::Failed(_) => Some(NotReady::StorageFailed),
    };
    if app.takes_work() {
        app.edge().readiness().set(state);
    }
}
