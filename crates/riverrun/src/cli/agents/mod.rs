//! From the configuration to what a server runs.

mod build;
mod builtin;
mod demo;
mod failure;
mod provider;
mod rules;
mod tool;

pub use provider::build as provider;
pub use tool::server as mcp_server;

use std::path::Path;
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

/// Everything that the configuration declares, ready to run. A file that declares no agent has the demo too.
pub async fn load(effective: &Effective, file: Option<&Path>, scripts: Scripts) -> Outcome<Agents> {
    let declared = effective.declared.clone().unwrap_or_default();
    let directory = file.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
    let mut registry = build::registry(&declared, &directory).await?;
    if registry.agents.is_empty() {
        demo::add(&mut registry);
    }
    Ok(Agents {
        registry: Arc::new(registry),
        runner: Options::default(),
        scripts_for_all: scripts == Scripts::ForAll,
    })
}
