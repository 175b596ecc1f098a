//! Hooks as the configuration declares them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use riverrun_runner::Registry;
use riverrun_runner::hook::{HookPoint, HookUse, OnFailure, ToolHook};
use riverrun_tool::{AddressGuard, CommandConfig, CommandTool, HttpConfig, HttpTool, Tool};

use super::tool::{program, secrets};
use crate::cli::config::{Declared, FileRead, Hook, ToolKind};
use crate::cli::exit::{Exit, Failure, Outcome};

pub const TIMEOUT: Duration = Duration::from_secs(10);
const OUTPUT: u64 = 1 << 20;

/// Every hook with its declaration, in the order of the file.
type Hooks<'a> = Vec<(&'a Hook, HookUse)>;

/// Gives every agent its hooks, also those that nobody declared.
pub fn give(declared: &Declared, read: &FileRead, registry: &mut Registry) -> Outcome {
    let hooks = all(declared, read)?;
    for (name, agent) in registry.agents.iter_mut().filter(|_| !hooks.is_empty()) {
        Arc::make_mut(agent).hooks = of_agent(name, &hooks);
    }
    Ok(())
}

pub fn all<'a>(declared: &'a Declared, read: &FileRead) -> Outcome<Hooks<'a>> {
    let one = |hook: &'a Hook| match build(hook, read.directory()) {
        Ok(built) => Ok((hook, built)),
        Err(failure) => Err(read.at(&hook.name, failure)),
    };
    declared.hooks.iter().map(one).collect()
}

fn of_agent(agent: &str, hooks: &Hooks<'_>) -> Vec<HookUse> {
    let is_of = |hook: &Hook| hook.agents.is_empty() || hook.agents.iter().any(|name| name.text == agent);
    hooks.iter().filter(|(hook, _)| is_of(hook)).map(|(_, built)| built.clone()).collect()
}

fn build(hook: &Hook, directory: &Path) -> Outcome<HookUse> {
    let asked = Arc::new(ToolHook::new(tool(&hook.name.text, &hook.kind, hook.output_bytes, directory)?));
    let points: Vec<HookPoint> = hook.points.iter().filter_map(|point| HookPoint::parse(point)).collect();
    let on_failure = hook.on_failure.as_deref().map(|word| match word {
        "allow" => OnFailure::Allow,
        _ => OnFailure::Block,
    });
    Ok(HookUse {
        tools: hook.tools.iter().map(|name| name.text.clone()).collect(),
        timeout: hook.timeout.unwrap_or(TIMEOUT),
        on_failure,
        ..HookUse::of(hook.name.text.clone(), points, asked)
    })
}

/// Who is asked is called as a tool is, within the same walls.
pub fn tool(
    name: &str,
    kind: &ToolKind,
    output_bytes: Option<u64>,
    directory: &Path,
) -> Outcome<Arc<dyn Tool>> {
    let limit = usize::try_from(output_bytes.unwrap_or(OUTPUT)).unwrap_or(usize::MAX);
    let built: Result<Arc<dyn Tool>, String> = match kind {
        ToolKind::Command { argv, env, cwd, interactive: _, limits } => {
            let argv: Vec<String> = argv.iter().map(|word| literal(word)).collect();
            let program = program(&argv, env, cwd.as_deref(), limits, directory);
            let name = name.to_owned();
            let config = CommandConfig { name, program, output_limit: limit, ..CommandConfig::default() };
            CommandTool::new(config).map(|tool| Arc::new(tool) as Arc<dyn Tool>)
        }
        ToolKind::Http { url, method, headers, allow_hosts } => {
            let config = HttpConfig {
                name: name.to_owned(),
                method: method.clone(),
                url: literal(url),
                headers: secrets(headers, directory).into_iter().collect(),
                outbound: AddressGuard { allow: allow_hosts.clone() },
                response_limit: limit,
                ..HttpConfig::default()
            };
            HttpTool::new(config).map(|tool| Arc::new(tool) as Arc<dyn Tool>)
        }
        ToolKind::Function(function) => Err(format!("cannot be the function `{}`", function.text)),
        ToolKind::Client => Err("cannot be run by the caller".to_owned()),
    };
    built.map_err(|error| {
        Failure::new(Exit::Config, format_args!("`{name}`: {error}"))
            .hint("`riverrun config check` checks the file; `riverrun config schema` describes it")
    })
}

/// In the words of a tool braces stand for arguments; who is asked has none, and means its braces.
fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
