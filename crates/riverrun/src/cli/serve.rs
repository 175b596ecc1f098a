//! `riverrun serve`, and `riverrun` alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use riverrun_event::TenantId;
use riverrun_server::AdminKeyFile;
use riverrun_server::edge::TenantQuotas;

use super::Context;
use super::agents::{self, Scripts};
use super::config::{Effective, FlagValue, find_file};
use super::exit::{Exit, Failure, Outcome};
use super::reload::Configuration;
use super::terminal::{Style, Tone};

#[derive(Debug, Default, Args)]
pub struct ServeArgs {
    /// Where everything is stored.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The configuration; RIVERRUN_CONFIG or ./riverrun.toml without it.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Scripted models for all, the fault header and the console's fault bar. Loopback only.
    #[arg(long)]
    dev: bool,
    /// Believe the forwarding headers of a proxy in front.
    #[arg(long)]
    behind_proxy: bool,
    /// A web origin that may call; may be given more than once.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// A host name that is served besides loopback; may be given more than once.
    #[arg(long = "allow-host", value_name = "HOST")]
    allow_host: Vec<String>,
    /// How the server writes its own log, on stderr.
    #[arg(long, value_enum)]
    log_format: Option<LogFormat>,
    /// Start although events that were stored are missing, without them.
    #[arg(long)]
    accept_loss: bool,
}

const LEAVING: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// What a server is started with: flags, environment, file and defaults resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeOptions {
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    pub dev: bool,
    pub behind_proxy: bool,
    pub open_metrics: bool,
    pub allowed_origins: Vec<String>,
    pub allowed_hosts: Vec<String>,
    pub log_format: LogFormat,
    /// For one start: it is no setting.
    pub accept_loss: bool,
    pub drain: Duration,
    /// None keeps finished sessions for ever.
    pub retention: Option<Duration>,
    /// How long it is known that a session was deleted.
    pub deletions: Duration,
    pub heartbeat: Duration,
    pub limits: ServeLimits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeLimits {
    pub body_bytes: usize,
    pub event_bytes: usize,
    pub blob_bytes: usize,
    pub body_bytes_in_flight: usize,
    pub upload_bytes_in_flight: usize,
    pub connections: usize,
    pub connections_per_ip: usize,
    /// None is no limit, as for the other quotas of a tenant.
    pub streams_per_tenant: Option<u64>,
    pub events_per_second: Option<u64>,
    pub new_sessions_per_second: Option<u64>,
    pub upload_bytes_per_second: Option<u64>,
    pub sessions_per_tenant: Option<u64>,
    pub stored_bytes_per_tenant: Option<u64>,
    pub running_turns_per_tenant: Option<u64>,
    /// Other quotas for some tenants.
    pub tenants: BTreeMap<TenantId, TenantQuotas>,
    pub tickets_per_tenant: Option<u64>,
    pub browser_credentials_per_tenant: Option<u64>,
    pub failed_auth_per_minute: u32,
    pub share_reads_per_ip: u32,
    pub share_reads_per_share: u32,
}

pub async fn run(args: ServeArgs, context: &Context) -> Outcome {
    let path = find_file(args.config.as_deref());
    let effective = Effective::load(path.as_deref(), riverrun_secret::variables(), &flags(&args))?;
    let options = ServeOptions { accept_loss: args.accept_loss, ..options(&effective, args.dev)? };
    if options.dev && !options.listen.ip().is_loopback() {
        return Err(Failure::new(Exit::Config, format_args!("--dev does not listen on {}", options.listen))
            .hint("dev mode runs scripts and faults for anybody who asks; listen on 127.0.0.1"));
    }
    let scripts = if options.dev { Scripts::ForAll } else { Scripts::ForAgents };
    let agents = agents::load(&effective, scripts).await?;
    let example = agents.registry.default_agent.clone().unwrap_or_default();
    let style = context.output.style_of_notes();
    let configuration = Configuration { path, flags: flags(&args), effective, options };
    super::start::start(configuration, agents, |options, server| {
        context.output.note(&banner(options, server.admin_key, &example, style));
    })
    .await
}

/// What a server in this process is started with, on a free port of loopback.
pub async fn private(
    config: Option<&std::path::Path>,
    data_dir: Option<&std::path::Path>,
) -> Outcome<(ServeOptions, riverrun_server::Agents)> {
    let path = find_file(config);
    let args = ServeArgs {
        listen: Some(([127, 0, 0, 1], 0).into()),
        data_dir: data_dir.map(std::path::Path::to_owned),
        ..ServeArgs::default()
    };
    let effective = Effective::load(path.as_deref(), riverrun_secret::variables(), &flags(&args))?;
    // Who leaves a command does not wait for a model: a call that is cut is made again by the next server.
    let options = ServeOptions { drain: LEAVING, ..options(&effective, true)? };
    let agents = agents::load(&effective, Scripts::ForAll).await?;
    Ok((options, agents))
}

fn flags(args: &ServeArgs) -> Vec<FlagValue> {
    let mut flags: Vec<FlagValue> = Vec::new();
    if let Some(dir) = &args.data_dir {
        flags.push(("--data-dir", "server", "data_dir", dir.to_string_lossy().into_owned()));
    }
    if let Some(listen) = &args.listen {
        flags.push(("--listen", "server", "listen", listen.to_string()));
    }
    if args.behind_proxy {
        flags.push(("--behind-proxy", "server", "behind_proxy", "true".into()));
    }
    if !args.allow_origin.is_empty() {
        flags.push(("--allow-origin", "server", "allowed_origins", args.allow_origin.join(",")));
    }
    if !args.allow_host.is_empty() {
        flags.push(("--allow-host", "server", "allowed_hosts", args.allow_host.join(",")));
    }
    if let Some(format) = args.log_format {
        let word = if format == LogFormat::Json { "json" } else { "text" };
        flags.push(("--log-format", "server", "log_format", word.into()));
    }
    flags
}

pub fn options(config: &Effective, dev: bool) -> Outcome<ServeOptions> {
    let listen = config.text("server", "listen");
    let listen =
        listen.parse().map_err(|_| Failure::new(Exit::Config, format_args!("server.listen: `{listen}`")))?;
    let size = |key| usize::try_from(config.integer("limits", key)).unwrap_or(usize::MAX);
    let retention = config.duration("log", "retention");
    let per_minute = |key| u32::try_from(size(key)).unwrap_or(u32::MAX);
    let share_reads = |key| if size(key) == 0 { u32::MAX } else { per_minute(key) };
    let quota = |key| Some(config.integer("limits", key)).filter(|limit| *limit > 0);
    Ok(ServeOptions {
        data_dir: config.text("server", "data_dir").into(),
        listen,
        dev,
        behind_proxy: config.flag("server", "behind_proxy"),
        open_metrics: config.flag("server", "open_metrics"),
        allowed_origins: config.list("server", "allowed_origins"),
        allowed_hosts: config.list("server", "allowed_hosts"),
        log_format: if config.text("server", "log_format") == "json" {
            LogFormat::Json
        } else {
            LogFormat::Text
        },
        accept_loss: false,
        drain: config.duration("server", "drain"),
        retention: (!retention.is_zero()).then_some(retention),
        deletions: config.duration("log", "deletions"),
        heartbeat: config.duration("stream", "heartbeat"),
        limits: ServeLimits {
            body_bytes: size("body_bytes"),
            event_bytes: size("event_bytes"),
            blob_bytes: size("blob_bytes"),
            body_bytes_in_flight: size("body_bytes_in_flight"),
            upload_bytes_in_flight: size("upload_bytes_in_flight"),
            connections: size("connections"),
            connections_per_ip: size("connections_per_ip"),
            streams_per_tenant: quota("streams_per_tenant"),
            events_per_second: quota("events_per_second"),
            new_sessions_per_second: quota("new_sessions_per_second"),
            upload_bytes_per_second: quota("upload_bytes_per_second"),
            sessions_per_tenant: quota("sessions_per_tenant"),
            stored_bytes_per_tenant: quota("stored_bytes_per_tenant"),
            running_turns_per_tenant: quota("running_turns_per_tenant"),
            tenants: config.declared.as_ref().map(|declared| declared.tenants.clone()).unwrap_or_default(),
            tickets_per_tenant: quota("tickets_per_tenant"),
            browser_credentials_per_tenant: quota("browser_credentials_per_tenant"),
            failed_auth_per_minute: per_minute("failed_auth_per_minute"),
            share_reads_per_ip: share_reads("share_reads_per_ip"),
            share_reads_per_share: share_reads("share_reads_per_share"),
        },
    })
}

/// What a newcomer needs next.
fn banner(options: &ServeOptions, admin_key: AdminKeyFile, agent: &str, style: Style) -> String {
    let url = format!("http://{}", options.listen);
    let mode = if options.dev { "dev mode" } else { "ready" };
    let label = |text: &str| style.paint(Tone::Dim, &format!("{text:9}"));
    let link = |text: &str| style.paint(Tone::Id, text);
    let key = options.data_dir.join("admin.key");
    let mut lines = vec![
        format!("riverrun {}   {mode}", env!("CARGO_PKG_VERSION")),
        String::new(),
        format!("{} {}", label("API"), link(&format!("{url}/v1"))),
        format!("{} {}", label("Data"), options.data_dir.display()),
        format!("{} {}", label("Key"), key_line(admin_key, &key, &options.data_dir)),
        String::new(),
        "Next, in another terminal:".to_owned(),
    ];
    let defaults = url == super::connect::DEFAULT_URL
        && options.data_dir == std::path::Path::new(super::connect::DEFAULT_DATA_DIR);
    // Whoever uses the defaults, in the same directory, needs no environment.
    match admin_key {
        AdminKeyFile::Works if defaults => {}
        AdminKeyFile::Works => {
            lines.push(format!("  export RIVERRUN_URL={url} RIVERRUN_KEY=$(cat {})", key.display()));
        }
        AdminKeyFile::Absent | AdminKeyFile::Useless => {
            lines.push(format!("  export RIVERRUN_URL={url} RIVERRUN_KEY=…"));
        }
    }
    lines.extend([
        format!("  riverrun run {agent} \"what is known about tides\""),
        "Stop this server in the middle and start it again: the run goes on, and nothing is lost.".to_owned(),
    ]);
    for line in &mut lines {
        line.insert_str(0, if line.is_empty() { "" } else { "  " });
    }
    lines.join("\n")
}

/// Where the admin key is, or what to do without it: a store from a backup comes with its keys, not with their texts.
fn key_line(admin_key: AdminKeyFile, file: &std::path::Path, data_dir: &std::path::Path) -> String {
    let recover = format!(
        "use a key of this store; lost? stop the server, then `riverrun keys recover-admin --data-dir {}`",
        data_dir.display()
    );
    match admin_key {
        AdminKeyFile::Works => file.display().to_string(),
        AdminKeyFile::Absent => format!("there is no {}: {recover}", file.display()),
        AdminKeyFile::Useless => format!("{} does not open this store: {recover}", file.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_defaults_make_the_options() {
        let args = ServeArgs {
            listen: Some(([127, 0, 0, 1], 0).into()),
            allow_host: vec!["a".into(), "b".into()],
            ..ServeArgs::default()
        };
        let effective = Effective::load(None, [], &flags(&args)).expect("valid");
        let options = options(&effective, true).expect("valid");
        assert_eq!((options.listen.port(), options.dev), (0, true));
        assert_eq!(options.allowed_hosts, ["a", "b"]);
        assert_eq!(options.retention, Some(Duration::from_secs(30 * 86_400)));
        assert_eq!((options.limits.event_bytes, options.limits.events_per_second), (262_144, None));
        let works = banner(&options, AdminKeyFile::Works, "demo", Style::PLAIN);
        assert!(works.contains("riverrun run demo") && works.contains("RIVERRUN_KEY=$(cat"));
        for lost in [AdminKeyFile::Absent, AdminKeyFile::Useless] {
            let text = banner(&options, lost, "demo", Style::PLAIN);
            assert!(text.contains("keys recover-admin") && !text.contains("$(cat"), "{text}");
        }
    }
}
