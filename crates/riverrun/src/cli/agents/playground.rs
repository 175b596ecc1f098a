//! Agents of dev mode: one for each script that needs tools, so that any client can be tried without a key.

use std::sync::Arc;

use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_runner::{AgentSpec, Registry};

use super::builtin;

/// The agent that answers chats which name nobody.
pub const DEFAULT: &str = "scenario-text";

const SCENARIOS: &[&str] =
    &["text", "tool", "slow", "error", "approval", "subagent", "parallel", "echo", "long"];

pub fn add(registry: &mut Registry) {
    let weather = AgentSpec {
        name: "weather".to_owned(),
        description: "Knows the weather.".to_owned(),
        models: vec!["scripted/text".to_owned()],
        ..AgentSpec::default()
    };
    registry.agents.entry(weather.name.clone()).or_insert_with(|| Arc::new(weather.clone()));
    for scenario in SCENARIOS {
        let agent = AgentSpec {
            name: format!("scenario-{scenario}"),
            description: format!("Plays the script `{scenario}`."),
            models: vec![format!("scripted/{scenario}")],
            tools: vec![
                ToolUse { tool: builtin::get_weather(), approval: Approval::Never },
                ToolUse { tool: builtin::delete_file(), approval: Approval::Always },
            ],
            subagents: vec!["weather".to_owned()],
            ..AgentSpec::default()
        };
        registry.agents.insert(agent.name.clone(), Arc::new(agent));
    }
}
