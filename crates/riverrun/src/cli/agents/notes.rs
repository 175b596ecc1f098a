//! What a good file may still have wrong on this machine, or does without effect.

use std::path::Path;

use riverrun_event::nearest;
use riverrun_runner::hook::fits;

use crate::cli::config::{Agent, Declared, FileRead, Name, ToolKind, callable};
use crate::cli::doctor::is_there;
use crate::cli::exit::{Exit, Failure};

pub fn of(declared: &Declared, read: &FileRead) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |at: &Name, what: String| notes.push(read.at(at, Failure::new(Exit::Config, what)).what);
    let programs = programs(declared);
    for (at, whose, program, cwd) in programs {
        let beside = cwd.map_or_else(|| read.directory().to_owned(), |cwd| read.directory().join(cwd));
        if !is_fixed(program) || is_there(program, &beside) {
            continue;
        }
        note(
            at,
            format!("{whose} `{program}` is not there, or may not be run; install it, or mend `command`"),
        );
    }
    for agent in declared.agents.iter().filter(|agent| agent.limits.cost.is_some()) {
        if let Some(model) = unpriced(agent, declared) {
            let (provider, name) = model.split_once('/').unwrap_or((model, ""));
            note(
                &agent.name,
                format!(
                    "[agents.{}] has a limit of cost, which does nothing for `{model}`: it has no price; \
                 add it to [providers.{provider}.prices]: \"{name}\" = {{ input = …, output = … }}",
                    agent.name.text
                ),
            );
        }
    }
    notes.extend(unused(declared, read));
    notes
}

/// Patterns of the policy that no tool's name fits: a tool that was to be denied may have another name.
pub fn unused(declared: &Declared, read: &FileRead) -> Vec<String> {
    let callable = callable(declared);
    let servers: Vec<String> = declared.mcp.iter().map(|server| format!("{}__", server.name.text)).collect();
    let is_used = |pattern: &Name| {
        callable.iter().any(|name| fits(&pattern.text, name))
            || servers.iter().any(|prefix| may_fit(&pattern.text, prefix))
    };
    let policy = &declared.policy;
    let lists = [("allow", &policy.allow), ("ask", &policy.ask), ("deny", &policy.deny)];
    let patterns = lists.iter().flat_map(|(key, list)| list.iter().map(move |pattern| (*key, pattern)));
    let note = |(key, pattern): (&str, &Name)| {
        let near = nearest(&pattern.text, callable.iter().chain(&servers).map(String::as_str));
        let meant = match near {
            Some(near) if near.ends_with("__") => format!("did you mean `{near}*`?"),
            Some(near) => format!("did you mean `{near}`?"),
            None if callable.is_empty() && servers.is_empty() => "no tool is declared".to_owned(),
            None => format!("there are: {}", known(&callable, &servers)),
        };
        let what = format!("[policy] {key}: `{}` fits no tool and does nothing; {meant}", pattern.text);
        read.at(pattern, Failure::new(Exit::Config, what)).what
    };
    patterns.filter(|(_, pattern)| !is_used(pattern)).map(note).collect()
}

fn known(callable: &[String], servers: &[String]) -> String {
    let servers = servers.iter().map(|prefix| format!("{prefix}*"));
    let all: Vec<String> = callable.iter().cloned().chain(servers).collect();
    all.join(", ")
}

/// What a server offers is not known here: a pattern may fit one of its tools if it fits the beginning of their names.
fn may_fit(pattern: &str, prefix: &str) -> bool {
    match pattern.split_once('*') {
        Some((beginning, _)) => beginning.starts_with(prefix) || prefix.starts_with(beginning),
        None => pattern.len() > prefix.len() && pattern.starts_with(prefix),
    }
}

/// Every program that is named: where, whose, what, and its working directory.
fn programs(declared: &Declared) -> Vec<(&Name, String, &str, Option<&Path>)> {
    let mut found = Vec::new();
    for tool in &declared.tools {
        if let ToolKind::Command { argv, cwd, .. } = &tool.kind
            && let Some(program) = argv.first()
        {
            found.push((
                &tool.name,
                format!("[tools.{}]", tool.name.text),
                program.as_str(),
                cwd.as_deref().map(Path::new),
            ));
        }
    }
    let asked = declared.guardrails.iter().filter_map(|guard| Some((&guard.name, guard.asks.as_ref()?)));
    for (name, kind) in asked {
        if let ToolKind::Command { argv, cwd, .. } = kind
            && let Some(program) = argv.first()
        {
            let whose = format!("guardrail `{}`", name.text);
            found.push((name, whose, program.as_str(), cwd.as_deref().map(Path::new)));
        }
    }
    for server in &declared.mcp {
        if let Some(program) = server.command.first() {
            found.push((
                &server.name,
                format!("[mcp.{}]", server.name.text),
                program.as_str(),
                server.cwd.as_deref().map(Path::new),
            ));
        }
    }
    found
}

/// A program that the model chooses is not known before the call.
fn is_fixed(program: &str) -> bool {
    !program.contains('{')
}

/// The first model of the agent that costs something nobody knows.
fn unpriced<'a>(agent: &'a Agent, declared: &'a Declared) -> Option<&'a str> {
    let models = agent.models.iter().flat_map(|model| match declared.routes.get(&model.text) {
        Some(route) => route.iter().collect::<Vec<_>>(),
        None => vec![model],
    });
    let mut models = models.map(|model| model.text.as_str());
    models.find(|model| {
        let Some((provider, name)) = model.split_once('/') else { return false };
        let Some(provider) = declared.providers.iter().find(|known| known.name.text == provider) else {
            return false;
        };
        let is_priced = |price: &str| match price.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == price,
        };
        !provider.prices.iter().any(|(price, ..)| is_priced(price))
    })
}

#[cfg(test)]
mod tests {
    use super::may_fit;

    #[test]
    fn a_pattern_may_fit_tools_that_are_not_known_yet() {
        for (pattern, expected) in [
            ("files__read", true),
            ("files__*", true),
            ("file*", true),
            ("*_delete", true),
            ("files__", false),
            ("web__*", false),
            ("delete", false),
        ] {
            assert_eq!(may_fit(pattern, "files__"), expected, "{pattern}");
        }
    }
}
