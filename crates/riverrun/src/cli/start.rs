//! The process around a server: its store, its log lines, its signals, its exit code.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use riverrun_log::Maintenance;
use riverrun_server::edge::Limits;
use riverrun_server::{Agents, Options, Ready, StartError, serve};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use super::exit::{Exit, Failure, Outcome};
use super::reload::{self, Configuration};
use super::serve::{LogFormat, ServeOptions};
use super::store;

/// Serves until a signal. `ready` is told the options with the real address. The configuration is read again at SIGHUP.
pub async fn start(
    configuration: Configuration,
    agents: Agents,
    ready: impl FnOnce(&ServeOptions, &Ready),
) -> Outcome {
    let options = configuration.options.clone();
    write_logs(options.log_format);
    let hangups = signal(SignalKind::hangup())
        .map_err(|error| Failure::new(Exit::Io, format_args!("cannot listen for SIGHUP: {error}")))?;
    let (gone, terminal_gone) = tokio::sync::oneshot::channel();
    let reloading = |options: &ServeOptions, server: &Ready| {
        ready(options, server);
        let reloader = server.reloader.clone();
        tokio::spawn(async move {
            reload::at_hangups(hangups, configuration, reloader).await;
            // Nobody waits for it any more if the server stops already.
            let _ = gone.send(());
        });
    };
    let stop = async {
        tokio::select! {
            () = stopped() => {}
            Ok(()) = terminal_gone => {}
        }
    };
    serve_until(options, agents, reloading, stop).await
}

/// Serves until `stop` resolves.
pub async fn serve_until(
    options: ServeOptions,
    agents: Agents,
    ready: impl FnOnce(&ServeOptions, &Ready),
    stop: impl Future<Output = ()>,
) -> Outcome {
    refuse_open_bind(&options)?;
    let log = store::open_with(riverrun_log_sqlite::SqliteOptions {
        on_fatal: Some(Arc::new(fatal)),
        accept_loss: options.accept_loss,
        ..riverrun_log_sqlite::SqliteOptions::new(&options.data_dir)
    })?;
    let reserve = log.reserve_bytes();
    if reserve < riverrun_log_sqlite::SqliteOptions::new(&options.data_dir).reserve_bytes {
        eprintln!(
            "warning: the disk is small: {} KiB of it are kept back for when it is full, instead of 64 MiB",
            reserve / 1024
        );
        eprintln!("  hint: deletes of large sessions may need more; put the data directory on a larger disk");
    }
    if let Some(what) = log.lost() {
        eprintln!("warning: events that were stored are lost, as accepted: {what}");
        eprintln!("  hint: readers are told to begin anew; `riverrun doctor` says what is left");
    }
    if let Some(what) = log.recovered() {
        eprintln!("warning: the last commit was not whole and was dropped: {what}");
        eprintln!(
            "  hint: after a kill or a power loss nothing acknowledged was in it; otherwise check the disk"
        );
    }
    let served = serve(
        log.clone(),
        server_options(&options, agents),
        |listening| ready(&ServeOptions { listen: listening.address, ..options.clone() }, listening),
        stop,
    )
    .await;
    // What was acknowledged is durable already; this only makes the next start quick.
    let _ = log.close().await;
    served.map_err(|error| failure(&error))
}

/// A store that failed cannot be trusted in memory: the next start reads what the disk has.
fn fatal(reason: &str) {
    eprintln!("error: the store failed: {reason}");
    eprintln!("  hint: nothing acknowledged is lost; check the disk, then start again   [storage_failed]");
    std::process::exit(74);
}

fn failure(error: &StartError) -> Failure {
    let failure = Failure::new(Exit::Io, error);
    match error {
        StartError::Listen { address, error } if error.kind() == std::io::ErrorKind::AddrInUse => {
            let hint =
                format!("another process listens on {address}; use `--listen 127.0.0.1:0` for a free port");
            Failure { exit: Exit::Config, ..failure }.hint(hint)
        }
        StartError::Listen { .. } => {
            Failure { exit: Exit::Config, ..failure }.hint("give an address of this machine with --listen")
        }
        StartError::Store(_)
        | StartError::Keys(_)
        | StartError::Recover(_)
        | StartError::Uploads(_)
        | StartError::Serve(_) => failure,
    }
}

/// There is no TLS here: beyond loopback somebody else must provide it.
fn refuse_open_bind(options: &ServeOptions) -> Outcome {
    if options.listen.ip().is_loopback() || options.behind_proxy {
        return Ok(());
    }
    Err(Failure::new(Exit::Config, format_args!("{} is not loopback, and there is no TLS here", options.listen))
        .hint("listen on 127.0.0.1 behind a proxy with TLS, or say --behind-proxy if one stands before this address"))
}

pub fn server_options(options: &ServeOptions, agents: Agents) -> Options {
    let given = &options.limits;
    let count =
        |limit: Option<u64>| limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let limits = Limits {
        body_bytes: given.body_bytes,
        event_bytes: given.event_bytes,
        blob_bytes: given.blob_bytes,
        body_bytes_in_flight: given.body_bytes_in_flight,
        upload_bytes_in_flight: given.upload_bytes_in_flight,
        connections: given.connections,
        connections_per_ip: given.connections_per_ip,
        connections_per_loopback: given.connections,
        streams_per_tenant: given.streams_per_tenant,
        events_per_second: given.events_per_second.map(|rate| rate as f64),
        new_sessions_per_second: given.new_sessions_per_second,
        upload_bytes_per_second: given.upload_bytes_per_second,
        sessions_per_tenant: given.sessions_per_tenant,
        stored_bytes_per_tenant: given.stored_bytes_per_tenant,
        running_turns_per_tenant: given.running_turns_per_tenant,
        tenants: given.tenants.clone(),
        tickets_per_tenant: count(given.tickets_per_tenant),
        browser_credentials_per_tenant: count(given.browser_credentials_per_tenant),
        failed_auth_per_minute: given.failed_auth_per_minute,
        share_reads_per_ip: given.share_reads_per_ip,
        share_reads_per_share: given.share_reads_per_share,
        ping_every: options.heartbeat,
        dead_after: options.heartbeat * 3,
        drain_time: options.drain,
        deletions: options.deletions,
        ..Limits::default()
    };
    Options {
        listen: options.listen,
        hosts: options.allowed_hosts.clone(),
        behind_proxy: options.behind_proxy,
        origins: options.allowed_origins.clone(),
        limits,
        dev: options.dev,
        retention: options.retention,
        admin_key: options.data_dir.join("admin.key"),
        backups: None,
        agents,
        open_metrics: options.open_metrics,
        config_schema: Some(super::config::schema().to_string()),
    }
}

/// Resolves at the first SIGTERM or SIGINT; the second one ends the process at once.
async fn stopped() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    eprintln!(
        "draining: calls that are open may end, and the next start goes on; press Ctrl-C again to leave at once"
    );
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(130);
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn write_logs(format: LogFormat) {
    let filter = EnvFilter::try_from_env("RIVERRUN_LOG")
        .unwrap_or_else(|_| EnvFilter::new("info,riverrun::access=warn"));
    let layer = tracing_subscriber::fmt::layer().with_writer(Redacted::stderr).with_target(false);
    // Libraries log messages and headers as they come; what matters of it the server says itself.
    let ours = filter_fn(|metadata| metadata.target().starts_with("riverrun"));
    let registry = tracing_subscriber::registry();
    // A second server in one process keeps the first one's log.
    let _ = match format {
        LogFormat::Text => registry.with(layer.with_ansi(false).with_filter(ours)).with(filter).try_init(),
        LogFormat::Json => registry.with(layer.json().with_filter(ours)).with(filter).try_init(),
    };
}

/// Standard error without the secrets that this process knows. A log line is one write.
struct Redacted(std::io::Stderr);

impl Redacted {
    fn stderr() -> Self {
        Self(std::io::stderr())
    }
}

impl Write for Redacted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(&riverrun_secret::known().bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
