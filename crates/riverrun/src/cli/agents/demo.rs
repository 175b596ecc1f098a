//! What a server without a configuration runs: an agent with a tool, a sub-agent, citations and an approval.

use std::sync::Arc;

use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_runner::{AgentSpec, Registry};

use super::builtin;

const MODEL: &str = "scripted/research";

pub fn add(registry: &mut Registry) {
    let search = ToolUse { tool: builtin::search(), approval: Approval::Never };
    let publish = ToolUse { tool: builtin::publish_report(), approval: Approval::Always };
    let analyst = AgentSpec {
        name: "analyst".to_owned(),
        description: "Weighs sources.".to_owned(),
        models: vec![MODEL.to_owned()],
        tools: vec![search.clone()],
        ..AgentSpec::default()
    };
    let demo = AgentSpec {
        name: "demo".to_owned(),
        description: "Plays a script: searches, asks a sub-agent, wants an approval, cites its sources."
            .to_owned(),
        models: vec![MODEL.to_owned()],
        tools: vec![search, publish],
        subagents: vec!["analyst".to_owned()],
        ..AgentSpec::default()
    };
    for agent in [analyst, demo] {
        registry.agents.insert(agent.name.clone(), Arc::new(agent));
    }
    registry.default_agent = Some("demo".to_owned());
}
