//! SIGHUP: reads the configuration again, and takes up what a running server can change.
//!
//! A file that cannot be used changes nothing. What needs a restart is named in the log and stays as it was.

use std::fmt::Debug;
use std::io::IsTerminal;
use std::path::PathBuf;

use riverrun_server::{Reload, Reloader};
use tokio::signal::unix::Signal;

use super::agents::{self, Scripts};
use super::config::{Effective, FlagValue};
use super::exit::{Exit, Failure, Outcome};
use super::serve::{self, ServeOptions};
use super::start;

/// Settings that a reload takes up. The others need a restart.
const RELOADED: &[(&str, &str)] = &[
    ("server", "allowed_hosts"),
    ("server", "allowed_origins"),
    ("stream", "heartbeat"),
    ("limits", "body_bytes"),
    ("limits", "event_bytes"),
    ("limits", "blob_bytes"),
];

/// Where the configuration comes from, and what is in force.
pub struct Configuration {
    pub path: Option<PathBuf>,
    pub flags: Vec<FlagValue>,
    pub effective: Effective,
    pub options: ServeOptions,
}

/// Reloads at every SIGHUP. Resolves when one says that the terminal of this process is gone.
pub async fn at_hangups(mut hangups: Signal, mut current: Configuration, reloader: Reloader) {
    let had_terminal = std::io::stdin().is_terminal();
    while hangups.recv().await.is_some() {
        if had_terminal && !std::io::stdin().is_terminal() {
            return;
        }
        match reload(&current, &reloader).await {
            Ok((effective, options)) => {
                let changes = Changes::between(&current.effective, &effective);
                tracing::info!(
                    applied = changes.applied.join("; "),
                    "configuration reloaded; agents, providers and tools were loaded again, keys were read again"
                );
                if !changes.needs_restart.is_empty() {
                    tracing::warn!(
                        settings = changes.needs_restart.join("; "),
                        "these changes need a restart"
                    );
                }
                current.options = options;
                // What needs a restart is named again at the next reload, until it is in force.
                current.effective =
                    effective.with_old(&current.effective, |section, key| !is_reloaded(section, key));
            }
            Err(failure) => {
                let hint = failure.hint.unwrap_or_default();
                tracing::error!(
                    reason = failure.what,
                    hint,
                    "configuration not reloaded; the running one stays"
                );
            }
        }
    }
}

async fn reload(current: &Configuration, reloader: &Reloader) -> Outcome<(Effective, ServeOptions)> {
    let effective = Effective::load(current.path.as_deref(), std::env::vars(), &current.flags)?;
    let dev = current.options.dev;
    let new = serve::options(&effective, dev)?;
    let agents = agents::load(&effective, if dev { Scripts::ForAll } else { Scripts::ForAgents }).await?;
    let options = merged(&current.options, &new);
    let served = start::server_options(&options, agents);
    let reload =
        Reload { hosts: served.hosts, origins: served.origins, limits: served.limits, agents: served.agents };
    reloader.reload(reload).await.map_err(|problem| Failure::new(Exit::Io, problem.detail()))?;
    Ok((effective, options))
}

/// The running options with what a reload takes up.
fn merged(old: &ServeOptions, new: &ServeOptions) -> ServeOptions {
    let mut options = old.clone();
    options.allowed_hosts = new.allowed_hosts.clone();
    options.allowed_origins = new.allowed_origins.clone();
    options.heartbeat = new.heartbeat;
    options.limits.body_bytes = new.limits.body_bytes;
    options.limits.event_bytes = new.limits.event_bytes;
    options.limits.blob_bytes = new.limits.blob_bytes;
    options
}

fn is_reloaded(section: &str, key: &str) -> bool {
    RELOADED.contains(&(section, key))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    applied: Vec<String>,
    needs_restart: Vec<String>,
}

impl Changes {
    fn between(old: &Effective, new: &Effective) -> Self {
        let mut changes = Self::default();
        for (before, after) in old.entries.iter().zip(&new.entries) {
            if before.value == after.value {
                continue;
            }
            let setting = after.setting;
            match is_reloaded(setting.section, setting.key) {
                true => changes.applied.push(setting.name()),
                false => changes.needs_restart.push(setting.name()),
            }
        }
        let nothing = Default::default();
        let (before, after) =
            (old.declared.as_ref().unwrap_or(&nothing), new.declared.as_ref().unwrap_or(&nothing));
        changes.declared("agents", &before.agents, &after.agents, |agent| agent.name.text.clone());
        changes.declared("providers", &before.providers, &after.providers, |_| String::new());
        changes.declared("tools", &before.tools, &after.tools, |_| String::new());
        changes.declared("mcp", &before.mcp, &after.mcp, |server| server.name.text.clone());
        changes.declared("hooks", &before.hooks, &after.hooks, |_| String::new());
        changes.declared("guardrails", &before.guardrails, &after.guardrails, |_| String::new());
        changes.declared(
            "routes",
            std::slice::from_ref(&before.routes),
            std::slice::from_ref(&after.routes),
            |_| String::new(),
        );
        changes.declared(
            "policy",
            std::slice::from_ref(&before.policy),
            std::slice::from_ref(&after.policy),
            |_| String::new(),
        );
        changes
    }

    /// Notes a section whose declarations differ, with the names of those that do.
    fn declared<T: Debug>(&mut self, section: &str, old: &[T], new: &[T], name: impl Fn(&T) -> String) {
        let text = |one: &T| without_spans(&format!("{one:?}"));
        let (before, after): (Vec<_>, Vec<_>) =
            (old.iter().map(text).collect(), new.iter().map(text).collect());
        if before == after {
            return;
        }
        let differs = |one: &&T, others: &[String]| !others.contains(&text(one));
        let gone = old.iter().filter(|one| differs(one, &after));
        let come = new.iter().filter(|one| differs(one, &before));
        let mut names: Vec<String> = gone.chain(come).map(name).filter(|name| !name.is_empty()).collect();
        names.sort();
        names.dedup();
        self.applied.push(match names.is_empty() {
            true => section.to_owned(),
            false => format!("{section}: {}", names.join(", ")),
        });
    }
}

/// Where in the file something is said is no change of it.
fn without_spans(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("span: ") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 6..];
        let end = tail.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tail.len());
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(text: &str) -> Effective {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("riverrun.toml");
        std::fs::write(&path, text).expect("our directory");
        Effective::load(Some(&path), [], &[]).expect("a valid file")
    }

    #[test]
    fn a_reload_tells_what_it_took_up_and_what_needs_a_restart() {
        let agent = "[agents.one]\nmodel = \"scripted/hello\"\n[agents.two]\nmodel = \"scripted/hello\"\n";
        let old = effective(&format!("[limits]\nbody_bytes = \"1MiB\"\n{agent}"));
        let changed = agent.replacen("hello\"\n[", "other\"\n[", 1);
        let new = effective(&format!(
            "# a comment\n[server]\ndrain = \"5s\"\n[limits]\nbody_bytes = \"2MiB\"\n{changed}"
        ));
        let changes = Changes::between(&old, &new);
        assert_eq!(changes.applied, ["limits.body_bytes", "agents: one"]);
        assert_eq!(changes.needs_restart, ["server.drain"]);
        assert_eq!(
            Changes::between(&old, &effective(&format!("\n\n[limits]\nbody_bytes = \"1MiB\"\n{agent}"))),
            Changes::default()
        );
    }
}
