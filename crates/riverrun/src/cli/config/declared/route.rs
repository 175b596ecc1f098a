//! `[routes]`: names under which models and agents can be asked for.

use super::read::Wrong;
use super::references::{check_provider, unknown};
use super::types::{Declared, Name};

/// A route must have a name of its own and lead somewhere.
pub fn check(declared: &Declared, name: &Name, wrong: &mut Vec<Wrong>) {
    if let Some(what) = conflict(declared, &name.text) {
        wrong.push((name.span.clone(), what, None));
    }
    let targets = declared.routes.get(&name.text).map(Vec::as_slice).unwrap_or_default();
    for target in targets {
        match target.text.strip_prefix("agent/") {
            Some(agent) => check_agent(declared, target, agent, targets, wrong),
            None => check_model(declared, name, target, wrong),
        }
    }
}

/// Why a name cannot be a route's.
fn conflict(declared: &Declared, name: &str) -> Option<String> {
    if name.trim() != name || name.is_empty() || name.chars().any(char::is_control) {
        return Some(format!("`{}` is no name for a route", name.escape_debug()));
    }
    if name.trim_end_matches('*').contains('*') || name.ends_with("**") {
        return Some(format!("`{name}`: a `*` stands once, at the end of a route's name"));
    }
    let agent = name.strip_prefix("agent/").unwrap_or(name);
    if declared.agents.iter().any(|known| known.name.text == agent) {
        let what = "is the name of an agent too, which would hide the route; rename one of them";
        return Some(format!("`{name}` {what}"));
    }
    if name.starts_with("agent/") {
        return Some(format!(
            "`{name}`: names that begin with `agent/` are those of agents; leave `agent/` out"
        ));
    }
    let (provider, _) = name.split_once('/')?;
    let is_provider =
        provider == "scripted" || declared.providers.iter().any(|known| known.name.text == provider);
    is_provider.then(|| {
        format!("`{name}`: names that begin with `{provider}/` are models of the provider `{provider}`; leave it out")
    })
}

fn check_agent(declared: &Declared, target: &Name, agent: &str, targets: &[Name], wrong: &mut Vec<Wrong>) {
    let agents: Vec<&str> = declared.agents.iter().map(|known| known.name.text.as_str()).collect();
    if !agents.contains(&agent) {
        unknown(wrong, &target.span, "agent", agent, &agents);
    } else if targets.len() > 1 {
        let what = format!("`{}` has models and fallbacks of its own; name it alone", target.text);
        wrong.push((target.span.clone(), what, None));
    }
}

/// `PROVIDER/*` is the model that was asked for, which only a route for many names leaves open.
fn check_model(declared: &Declared, name: &Name, target: &Name, wrong: &mut Vec<Wrong>) {
    if target.text.ends_with("/*") && !name.text.ends_with('*') {
        let what = format!(
            "`{}` stands for the model that is asked for; name the model, or end the route's name with `*`",
            target.text
        );
        return wrong.push((target.span.clone(), what, None));
    }
    check_provider(declared, target, wrong);
}

/// What an agent's `model` may name: a route to models, under its whole name.
pub fn check_as_model(model: &Name, targets: &[Name], wrong: &mut Vec<Wrong>) {
    if model.text.ends_with('*') {
        let what = format!("`{}` is a route for many names; name one model", model.text);
        wrong.push((model.span.clone(), what, None));
    } else if targets.iter().any(|target| target.text.starts_with("agent/")) {
        let what = format!("the route `{}` leads to an agent; an agent needs a model", model.text);
        wrong.push((model.span.clone(), what, None));
    }
}
