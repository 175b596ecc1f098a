//! From the configuration to what a server runs.

mod build;
mod builtin;
mod demo;
mod failure;
mod file;
mod guardrail;
mod hook;
mod keyless;
mod mcp;
mod notes;
mod playground;
mod provider;
mod rules;
mod tool;

pub use build::Checked;
pub use provider::build as provider;
pub use tool::server as mcp_server;

use std::sync::Arc;

use riverrun_runner::Options;
use riverrun_server::Agents;

use super::config::Effective;
use super::exit::Outcome;

/// Whether everybody may run scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    ForAll,
    /// Only agents that name one.
    ForAgents,
}

/// Checks what the configuration declares without starting it. Answers what is not there yet.
pub fn check(effective: &Effective) -> Outcome<Checked> {
    effective
        .declared
        .as_ref()
        .map_or(Ok(Checked::default()), |declared| build::check(declared, &effective.read))
}

/// Everything that the configuration declares, ready to run. A file that declares no agent has the demo too.
pub async fn load(effective: &Effective, scripts: Scripts) -> Outcome<Agents> {
    let declared = effective.declared.clone().unwrap_or_default();
    let mut registry = build::registry(&declared, &effective.read).await?;
    let keyless = build::keyless(&declared, &effective.read);
    for note in notes::unused(&declared, &effective.read).into_iter().chain(keyless) {
        eprintln!("warning: {note}");
    }
    let is_bare = registry.agents.is_empty();
    if is_bare {
        demo::add(&mut registry);
    }
    if scripts == Scripts::ForAll {
        playground::add(&mut registry);
    }
    hook::give(&declared, &effective.read, &mut registry)?;
    guardrail::give(&declared, &effective.read, &mut registry)?;
    let count = |key| usize::try_from(effective.integer("limits", key)).unwrap_or(usize::MAX).max(1);
    Ok(Agents {
        registry: Arc::new(registry),
        runner: Options {
            running: count("running_calls"),
            per_session: count("calls_per_session"),
            files: file::options(effective),
            ..Options::default()
        },
        scripts_for_all: scripts == Scripts::ForAll,
        chat_agent: (is_bare && scripts == Scripts::ForAll).then(|| playground::DEFAULT.to_owned()),
    })
}
