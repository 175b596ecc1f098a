//! The registry: agents with their tools, and the providers of their models.

use std::collections::BTreeMap;
use std::sync::Arc;

use riverrun_provider::Provider as Service;
use riverrun_runner::agent::{Approval as Rule, Limits, OnTimeout, TRANSFER, Texts, ToolUse};
use riverrun_runner::reference::{Keep, ReferenceMode, References, Wrapper};
use riverrun_runner::{AgentSpec, Deltas, Registry};
use riverrun_tool::Tool;

use super::failure::wrong;
use super::keyless::Keyless;
use super::{guardrail, hook, mcp, notes, provider, rules, tool};
use crate::cli::config::{
    Agent, Approval, Declared, FileRead, LimitsDeclared, Name, Policy, ProviderTable, ReferencesDeclared,
    Source,
};
use crate::cli::exit::{Exit, Failure, Outcome};

/// Tools by the name that agents give, with what they say of approvals.
type Tools = BTreeMap<String, Vec<(Arc<dyn Tool>, Option<Approval>)>>;

pub async fn registry(declared: &Declared, read: &FileRead) -> Outcome<Registry> {
    let mut registry = Registry::default();
    registry.providers.insert("scripted".to_owned(), Arc::new(provider::scripted(declared, read)?));
    for declaration in &declared.providers {
        registry.providers.insert(declaration.name.text.clone(), service(declaration, declared, read)?);
    }
    for (name, targets) in &declared.routes {
        registry.routes.insert(name, targets.iter().map(|target| target.text.clone()).collect());
    }
    let tools = own_tools(declared, read)?;
    let servers = mcp::keep(&declared.mcp, read.directory()).await;
    registry.agents = agents(declared, &tools, &servers, read)?;
    let marked = declared.agents.iter().find(|agent| agent.is_default);
    registry.default_agent = marked.or(declared.agents.first()).map(|agent| agent.name.text.clone());
    Ok(registry)
}

/// A provider that nothing declared uses may lack its key: it fails when it is called.
fn service(declaration: &ProviderTable, declared: &Declared, read: &FileRead) -> Outcome<Arc<dyn Service>> {
    let at = |failure| read.at(&declaration.name, failure);
    let Some(absent) = provider::absent_secret(declaration, read) else {
        return provider::build(declaration, read.directory()).map_err(at);
    };
    if provider::is_used(declaration, declared) {
        return Err(absent);
    }
    let keyless = provider::without_absent_keys(declaration);
    let service = provider::build(&keyless, read.directory()).map_err(at)?;
    Ok(Arc::new(Keyless { service, why: absent.what }))
}

/// What a check found beside mistakes, which end it.
#[derive(Debug, Default)]
pub struct Checked {
    pub notes: Vec<String>,
    /// What a start would be refused for on this machine.
    pub absent: Vec<Failure>,
}

/// Everything that can be built without asking anybody, to see whether it can. Answers what is not there yet.
pub fn check(declared: &Declared, read: &FileRead) -> Outcome<Checked> {
    provider::scripted(declared, read)?;
    let mut checked = Checked::default();
    for declaration in &declared.providers {
        let keyless = provider::without_absent_keys(declaration);
        let at = |failure| read.at(&declaration.name, failure);
        provider::build(&keyless, read.directory()).map_err(at)?;
        match provider::absent_secret(declaration, read) {
            Some(failure) if provider::is_used(declaration, declared) => checked.absent.push(failure),
            Some(failure) => checked.notes.push(unused_without_key(&failure)),
            None => {}
        }
    }
    checked.notes.extend(notes::of(declared, read));
    let tools = own_tools(declared, read)?;
    agents(declared, &tools, &mcp::Servers::new(), read)?;
    hook::all(declared, read)?;
    guardrail::all(declared, read)?;
    Ok(checked)
}

/// What is told of the providers that fail when they are called.
pub fn keyless(declared: &Declared, read: &FileRead) -> Vec<String> {
    let absent = declared.providers.iter().filter_map(|provider| provider::absent_secret(provider, read));
    absent.map(|failure| unused_without_key(&failure)).collect()
}

fn unused_without_key(failure: &Failure) -> String {
    format!("{}; no agent uses the provider, and who calls it is told so", failure.what)
}

fn own_tools(declared: &Declared, read: &FileRead) -> Outcome<Tools> {
    let mut tools = Tools::new();
    for declaration in &declared.tools {
        let given = declaration.parameters.as_ref();
        let given = given.map(|source| json(source, read, "tools", &declaration.name.text)).transpose()?;
        let built = tool::build(declaration, given, read.directory());
        let built = built.map_err(|failure| read.at(&declaration.name, failure))?;
        tools.insert(declaration.name.text.clone(), vec![(built, declaration.approval)]);
    }
    Ok(tools)
}

fn agents(
    declared: &Declared,
    tools: &Tools,
    servers: &mcp::Servers,
    read: &FileRead,
) -> Outcome<BTreeMap<String, Arc<AgentSpec>>> {
    let mut agents = BTreeMap::new();
    for agent in &declared.agents {
        let spec = spec(agent, declared, tools, servers, read)?;
        agents.insert(agent.name.text.clone(), Arc::new(spec));
    }
    Ok(agents)
}

fn spec(
    agent: &Agent,
    declared: &Declared,
    tools: &Tools,
    servers: &mcp::Servers,
    read: &FileRead,
) -> Outcome<AgentSpec> {
    let texts = |names: &[Name]| names.iter().map(|name| name.text.clone()).collect();
    let mut used = Vec::new();
    for name in &agent.tools {
        for (tool, approval) in tools.get(&name.text).into_iter().flatten() {
            let approval = rules::rule(&declared.policy, &tool.definition().name, *approval, agent.approval);
            used.push(ToolUse { tool: tool.clone(), approval });
        }
    }
    Ok(AgentSpec {
        name: agent.name.text.clone(),
        description: agent.description.clone(),
        instructions: agent.instructions.as_ref().map(|source| text(source, read)).transpose()?,
        models: models(agent, declared),
        tools: used,
        toolboxes: mcp::toolboxes(agent, declared, servers),
        subagents: texts(&agent.subagents),
        handoffs: texts(&agent.handoffs),
        agent_approvals: agent_approvals(agent, &declared.policy),
        rejection: None,
        fails_on_unknown_tool: agent.unknown_tool.as_deref() == Some("fail"),
        guardrails: Vec::new(),
        hooks: Vec::new(),
        merge: None,
        limits: limits(&agent.limits),
        references: references(&agent.references),
        tool_references: tool_references(declared),
        texts: person_texts(agent, declared),
        output_schema: agent
            .output_schema
            .as_ref()
            .map(|source| json(source, read, "agents", &agent.name.text))
            .transpose()?,
        reasoning_effort: agent.reasoning_effort.clone(),
        deltas: agent.deltas.as_deref().and_then(Deltas::parse).unwrap_or_default(),
        temperature: agent.temperature,
        max_output_tokens: agent.max_output_tokens,
        compact_at_tokens: agent.compact_at_tokens,
        keep_raw: agent.keep_raw,
    })
}

/// The agent's texts, with the labels of what it and the agents below it may call: tools and other agents.
fn person_texts(agent: &Agent, declared: &Declared) -> Texts {
    let mut texts = agent.texts.clone();
    let (mut known, mut open) = (Vec::new(), vec![agent]);
    while let Some(agent) = open.pop() {
        if known.contains(&agent.name.text.as_str()) {
            continue;
        }
        known.push(agent.name.text.as_str());
        let own = agent.tools.iter().flat_map(|name| {
            let tool = declared.tools.iter().find(|tool| tool.name.text == name.text);
            tool.map(|tool| (name.text.clone(), &tool.label))
        });
        let of_servers = agent.tools.iter().flat_map(|name| mcp::labels(&name.text, &declared.mcp));
        let declared_agent = |name: &Name| declared.agents.iter().find(|it| it.name.text == name.text);
        let called =
            agent.subagents.iter().filter_map(declared_agent).map(|it| (it.name.text.clone(), &it.label));
        let handed = agent.handoffs.iter().filter_map(declared_agent);
        let handed = handed.map(|it| (format!("{TRANSFER}{}", it.name.text), &it.label));
        for (tool, label) in own.chain(of_servers).chain(called).chain(handed) {
            for (language, label) in label {
                texts.entry(language.clone()).or_default().insert(format!("tool.{tool}"), label.clone());
            }
        }
        let below = agent.subagents.iter().chain(&agent.handoffs).filter_map(declared_agent);
        open.extend(below.filter(|it| !known.contains(&it.name.text.as_str())));
    }
    texts
}

/// What tools and MCP servers say of their own results.
fn tool_references(declared: &Declared) -> BTreeMap<String, ReferenceMode> {
    let tools = declared.tools.iter().map(|tool| (&tool.name, &tool.references));
    let servers = declared.mcp.iter().map(|server| (&server.name, &server.references));
    let mode = |(name, word): (&Name, &Option<String>)| {
        Some((name.text.clone(), ReferenceMode::parse(word.as_deref()?)?))
    };
    tools.chain(servers).filter_map(mode).collect()
}

fn references(declared: &ReferencesDeclared) -> References {
    References {
        mode: declared.mode.as_deref().and_then(ReferenceMode::parse),
        wrapper: match declared.marker.as_deref() {
            Some("result") => Wrapper::Result,
            Some(_) | None => Wrapper::Item,
        },
        keep: match declared.subagents.as_deref() {
            Some("all") => Keep::All,
            Some(_) | None => Keep::Cited,
        },
        explain: declared.explain,
    }
}

/// Other agents are called by a name as tools are, and the policy speaks of them by that name.
fn agent_approvals(agent: &Agent, policy: &Policy) -> BTreeMap<String, Rule> {
    let subagents = agent.subagents.iter().map(|name| name.text.clone());
    let handoffs = agent.handoffs.iter().map(|name| format!("{TRANSFER}{}", name.text));
    let judged = subagents.chain(handoffs).map(|name| (rules::rule(policy, &name, None, None), name));
    let said = judged.filter_map(|(rule, name)| match rule {
        Rule::Denied(_) | Rule::Asked(_) | Rule::Always => Some((name, rule)),
        Rule::Policy | Rule::Never | Rule::Predicate(_) => None,
    });
    said.collect()
}

/// A route stands for its models.
fn models(agent: &Agent, declared: &Declared) -> Vec<String> {
    let models = agent.models.iter().flat_map(|model| match declared.routes.get(&model.text) {
        Some(route) => route.iter().map(|name| name.text.clone()).collect(),
        None => vec![model.text.clone()],
    });
    models.collect()
}

fn limits(declared: &LimitsDeclared) -> Limits {
    let default = Limits::default();
    let small = |number: Option<u64>, default| {
        number.map_or(default, |number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    Limits {
        steps: small(declared.steps, default.steps),
        tokens: declared.tokens,
        cost: declared.cost,
        time: declared.time,
        depth: small(declared.depth, default.depth),
        children: small(declared.children, default.children),
        calls: small(declared.calls, default.calls),
        action_timeout: declared.action_timeout.unwrap_or(default.action_timeout),
        on_action_timeout: match declared.on_action_timeout.as_deref() {
            Some("fail") => OnTimeout::Fail,
            Some(_) | None => OnTimeout::Reject,
        },
    }
}

fn text(source: &Source<String>, read: &FileRead) -> Outcome<String> {
    match source {
        Source::Here(text) => Ok(text.clone()),
        Source::File(file) => contents(file, read),
    }
}

/// What is in a file that the configuration names.
fn contents(file: &Name, read: &FileRead) -> Outcome<String> {
    let path = read.directory().join(&file.text);
    std::fs::read_to_string(&path)
        .map_err(|error| read.at(file, Failure { exit: Exit::Config, ..Failure::file(&path, &error) }))
}

/// A JSON Schema in the file itself or beside it.
pub fn json(
    source: &Source<serde_json::Value>,
    read: &FileRead,
    section: &str,
    name: &str,
) -> Outcome<serde_json::Value> {
    match source {
        Source::Here(value) => Ok(value.clone()),
        Source::File(file) => {
            let said = |error: &dyn std::fmt::Display| {
                read.at(file, wrong(section, name, format_args!("{}: {error}", file.text)))
            };
            let schema = serde_json::from_str(&contents(file, read)?).map_err(|error| said(&error))?;
            riverrun_tool::check_schema(&schema).map_err(|error| said(&error))?;
            Ok(schema)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::read_text;

    #[test]
    fn the_texts_of_an_agent_have_the_labels_of_all_that_is_called_below_it() {
        let read = read_text(
            "[tools.weather]\ncommand = [\"true\"]\nlabel = \"Weather in {city}\"\n\
             [agents.guide]\nmodel = \"scripted/text\"\nsubagents = [\"scout\"]\nhandoffs = [\"clerk\"]\n\
             [agents.scout]\nmodel = \"scripted/text\"\ntools = [\"weather\"]\nlabel = { vi = \"Hỏi {input}\" }\n\
             [agents.clerk]\nmodel = \"scripted/text\"\nlabel = \"To the clerk\"\n",
        );
        let declared = read.expect("it is right").declared;
        let guide = declared.agents.iter().find(|agent| agent.name.text == "guide").expect("it is declared");
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let common =
            [text("tool.transfer_to_clerk", "To the clerk"), text("tool.weather", "Weather in {city}")];
        let expected = [("default", common.to_vec()), ("vi", vec![text("tool.scout", "Hỏi {input}")])];
        let expected: Texts =
            expected.map(|(language, texts)| (language.to_owned(), texts.into_iter().collect())).into();
        assert_eq!(person_texts(guide, &declared), expected);
    }
}
