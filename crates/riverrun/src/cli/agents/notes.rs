//! What a good file may still have wrong on this machine, or does without effect.

use std::path::Path;

use crate::cli::config::{Agent, Declared, FileRead, Name, ToolKind};
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
    notes
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
