//! Names that stand for something must stand for something.

use std::ops::Range;

use riverrun_event::nearest;

use super::read::Wrong;
use super::types::{Agent, Declared, Name, ToolKind};

/// Functions that come with the server.
pub const FUNCTIONS: &[&str] = &["search", "publish_report"];

pub fn check(declared: &Declared, wrong: &mut Vec<Wrong>) {
    let agents: Vec<&str> = declared.agents.iter().map(|agent| agent.name.text.as_str()).collect();
    let tools: Vec<&str> = declared.tools.iter().map(|tool| tool.name.text.as_str()).collect();
    for agent in &declared.agents {
        for model in &agent.models {
            check_model(declared, model, wrong);
        }
        for tool in &agent.tools {
            check_tool(declared, tool, &tools, wrong);
        }
        for list in [&agent.tools, &agent.subagents, &agent.handoffs] {
            check_twice(list, wrong);
        }
        check_clashes(agent, wrong);
        check_callable(agent, wrong);
        for other in agent.subagents.iter().chain(&agent.handoffs) {
            if !agents.contains(&other.text.as_str()) {
                unknown(wrong, &other.span, "agent", &other.text, &agents);
            } else if other.text == agent.name.text {
                let what = format!("agent `{}` names itself", other.text);
                wrong.push((other.span.clone(), what, None));
            }
        }
    }
    for name in &declared.route_names {
        super::route::check(declared, name, wrong);
    }
    for tool in &declared.tools {
        if let ToolKind::Function(function) = &tool.kind
            && !FUNCTIONS.contains(&function.text.as_str())
        {
            unknown(wrong, &function.span, "built-in function", &function.text, FUNCTIONS);
        }
    }
    let callable = callable(declared);
    let hooks = declared.hooks.iter().map(|hook| (&hook.name, &hook.agents[..], &hook.tools[..]));
    check_listed("hook", &hooks.collect::<Vec<_>>(), &agents, &callable, wrong);
    let guards = declared.guardrails.iter().map(|guard| (&guard.name, &guard.agents[..], &guard.tools[..]));
    check_listed("guardrail", &guards.collect::<Vec<_>>(), &agents, &callable, wrong);
    let defaults: Vec<_> = declared.agents.iter().filter(|agent| agent.is_default).collect();
    if let [_, second, ..] = defaults.as_slice() {
        let what = format!("`{}` is a second default agent; one is enough", second.name.text);
        wrong.push((second.name.span.clone(), what, None));
    }
}

/// What a hook and a guardrail have in common: a name of its own, and for whom it is.
type Listed<'a> = (&'a Name, &'a [Name], &'a [Name]);

fn check_listed(
    kind: &str,
    listed: &[Listed<'_>],
    agents: &[&str],
    callable: &[String],
    wrong: &mut Vec<Wrong>,
) {
    let callable: Vec<&str> = callable.iter().map(String::as_str).collect();
    for (place, (name, of_agents, of_tools)) in listed.iter().enumerate() {
        if listed[..place].iter().any(|(before, ..)| before.text == name.text) {
            let what = format!("there are two {kind}s `{}`; give one of them another name", name.text);
            wrong.push((name.span.clone(), what, None));
        }
        check_twice(of_agents, wrong);
        check_twice(of_tools, wrong);
        for agent in of_agents.iter().filter(|agent| !agents.contains(&agent.text.as_str())) {
            unknown(wrong, &agent.span, "agent", &agent.text, agents);
        }
        // What MCP servers offer is not known before they are asked.
        let is_open = |tool: &&Name| tool.text.contains('*') || tool.text.contains("__");
        for tool in of_tools.iter().filter(|tool| !is_open(tool)) {
            if !callable.contains(&tool.text.as_str()) {
                unknown(wrong, &tool.span, "tool", &tool.text, &callable);
            }
        }
    }
}

/// Everything that a model may call by a name that the file has: tools, sub-agents, hand-offs.
pub fn callable(declared: &Declared) -> Vec<String> {
    let tools = declared.tools.iter().map(|tool| tool.name.text.clone());
    let agents = declared.agents.iter().map(|agent| agent.name.text.clone());
    let transfers = declared.agents.iter().map(|agent| format!("transfer_to_{}", agent.name.text));
    tools.chain(agents).chain(transfers).collect()
}

/// What the model calls by one name must be one thing.
fn check_clashes(agent: &Agent, wrong: &mut Vec<Wrong>) {
    let is_tool = |name: &str| agent.tools.iter().any(|tool| tool.text == name);
    for other in agent.subagents.iter().filter(|other| is_tool(&other.text)) {
        let what =
            format!("`{}` is a tool of this agent too, and would hide the agent; rename one", other.text);
        wrong.push((other.span.clone(), what, None));
    }
    for other in agent.handoffs.iter().filter(|other| is_tool(&format!("transfer_to_{}", other.text))) {
        let what = format!(
            "`transfer_to_{}` is a tool of this agent too, and would hide the hand-off; rename one",
            other.text
        );
        wrong.push((other.span.clone(), what, None));
    }
}

/// Models call other agents by their names, and no service takes a tool whose name has a dot.
fn check_callable(agent: &Agent, wrong: &mut Vec<Wrong>) {
    for other in agent.subagents.iter().chain(&agent.handoffs).filter(|other| other.text.contains('.')) {
        let what = format!(
            "`{}` has a dot in its name, so that no model can call it; name the agent without one and give it the \
             other name under [routes]",
            other.text
        );
        wrong.push((other.span.clone(), what, None));
    }
}

fn check_twice(names: &[Name], wrong: &mut Vec<Wrong>) {
    for (place, name) in names.iter().enumerate() {
        if names[..place].iter().any(|before| before.text == name.text) {
            wrong.push((
                name.span.clone(),
                format!("`{}` is in this list twice; once is enough", name.text),
                None,
            ));
        }
    }
}

/// A route, or a provider and a model.
fn check_model(declared: &Declared, model: &Name, wrong: &mut Vec<Wrong>) {
    if let Some(targets) = declared.routes.get(&model.text) {
        return super::route::check_as_model(model, targets, wrong);
    }
    if model.text.contains('/') {
        return check_provider(declared, model, wrong);
    }
    let routes: Vec<&str> = declared.routes.keys().map(String::as_str).collect();
    let near = nearest(&model.text, routes.iter().copied()).map(str::to_owned);
    let what = format!("`{}` is no route and no model; write PROVIDER/MODEL", model.text);
    wrong.push((model.span.clone(), what, near));
}

pub(super) fn check_provider(declared: &Declared, model: &Name, wrong: &mut Vec<Wrong>) {
    let mut known: Vec<&str> =
        declared.providers.iter().map(|provider| provider.name.text.as_str()).collect();
    known.push("scripted");
    match model.text.split_once('/') {
        Some((provider, name)) if known.contains(&provider) && !name.is_empty() => {}
        Some((provider, _)) if !known.contains(&provider) => {
            let near = nearest(provider, known.iter().copied());
            let what = match near {
                Some(_) => format!("there is no provider `{provider}`"),
                None => format!("there is no provider `{provider}`; declare it: [providers.{provider}]"),
            };
            wrong.push((model.span.clone(), what, near.map(str::to_owned)));
        }
        Some(_) | None => {
            let what = format!("`{}` names no model; write PROVIDER/MODEL", model.text);
            wrong.push((model.span.clone(), what, None));
        }
    }
}

fn check_tool(declared: &Declared, tool: &Name, tools: &[&str], wrong: &mut Vec<Wrong>) {
    match tool.text.strip_prefix("mcp:") {
        Some(rest) => {
            let server = rest.split_once('/').map_or(rest, |(server, _)| server);
            let servers: Vec<&str> = declared.mcp.iter().map(|mcp| mcp.name.text.as_str()).collect();
            if !servers.contains(&server) {
                unknown(wrong, &tool.span, "MCP server", server, &servers);
            }
        }
        None if tools.contains(&tool.text.as_str()) => {}
        None => unknown(wrong, &tool.span, "tool", &tool.text, tools),
    }
}

pub(super) fn unknown(wrong: &mut Vec<Wrong>, span: &Range<usize>, kind: &str, name: &str, known: &[&str]) {
    let near = nearest(name, known.iter().copied()).map(str::to_owned);
    let what = match (&near, known.is_empty()) {
        (Some(_), _) => format!("there is no {kind} `{name}`"),
        (None, true) => format!("there is no {kind} `{name}`; none is declared"),
        (None, false) => format!("there is no {kind} `{name}`; there are: {}", known.join(", ")),
    };
    wrong.push((span.clone(), what, near));
}
