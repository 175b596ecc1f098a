//! Checks of what the configuration declares: keys are there, services can be reached, MCP servers answer.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::{Check, Told};
use crate::cli::agents::{check, mcp_server, provider};
use crate::cli::config::{Declared, Effective, Mcp, ProviderTable, SecretText, ToolKind, find_file};
use crate::cli::exit::Outcome;

/// A service that does not take a connection in this time is not reached.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn checks(told: &mut Told) -> Outcome {
    let Some(path) = find_file(None) else { return Ok(()) };
    let loaded = Effective::load(Some(&path), riverrun_secret::variables(), &[]);
    let checked = loaded.and_then(|effective| check(&effective).map(|_| effective));
    let effective = match checked {
        Ok(effective) => effective,
        Err(failure) => {
            let fix = "mend the file; `riverrun config check` checks it again";
            return told.one(Check::bad("config", failure.what, fix));
        }
    };
    told.one(Check::good("config", format!("{} is good", path.display())))?;
    let declared = effective.declared.unwrap_or_default();
    let directory = path.parent().unwrap_or(Path::new(""));
    let services = declared.providers.iter().filter(|provider| provider.kind != "scripted");
    told.each(services.map(|provider| reach(provider, directory)).collect()).await?;
    told.each(declared.mcp.iter().map(|server| ask(server, directory)).collect()).await?;
    told.all(programs(&declared, directory))
}

/// What tools, hooks and guardrails need on this machine.
fn programs(declared: &Declared, directory: &Path) -> Vec<Check> {
    let mut checks = Vec::new();
    for tool in &declared.tools {
        let place = format!("[tools.{}]", tool.name.text);
        checks.extend(program("tool", &tool.name.text, &tool.kind, &place, directory));
        checks.extend(secrets("tool", &tool.name.text, &tool.kind, directory));
    }
    for hook in &declared.hooks {
        let place = format!("hook `{}`", hook.name.text);
        checks.extend(program("hook", &hook.name.text, &hook.kind, &place, directory));
        checks.extend(secrets("hook", &hook.name.text, &hook.kind, directory));
    }
    for guardrail in &declared.guardrails {
        let Some(kind) = &guardrail.asks else { continue };
        let place = format!("guardrail `{}`", guardrail.name.text);
        checks.extend(program("guardrail", &guardrail.name.text, kind, &place, directory));
        checks.extend(secrets("guardrail", &guardrail.name.text, kind, directory));
    }
    checks
}

async fn reach(declaration: &ProviderTable, directory: &Path) -> Check {
    let name = &declaration.name.text;
    let key = match &declaration.key {
        Some(SecretText::Env(name)) => format!("set {name}"),
        Some(SecretText::File(path)) => format!("put the key into {path}"),
        Some(SecretText::Plain(_)) | None => format!("give [providers.{name}] a `key`"),
    };
    let service = match provider(declaration, directory) {
        Ok(service) => service,
        Err(failure) => return Check::bad("provider", failure.what, key),
    };
    let keyed = if declaration.key.is_some() { "takes its key" } else { "can be reached without a key" };
    match timeout(PATIENCE, service.probe()).await {
        Ok(Ok(401 | 403)) => {
            let detail = format!("{name}: the service refuses the key, or wants one");
            Check::bad("provider", detail, format!("{key} to a key that is valid there"))
        }
        Ok(Ok(status @ 500..)) => {
            let detail = format!("{name}: the service answers {status}");
            Check::bad("provider", detail, "wait, or ask those who run it")
        }
        Ok(Ok(200..300)) => Check::good("provider", format!("{name}: the service {keyed}")),
        // Some servers of models have no list of them.
        Ok(Ok(status)) => {
            Check::good("provider", format!("{name}: the service answers ({status} for /models)"))
        }
        Ok(Err(error)) => {
            let detail = format!("{name}: {}", error.message);
            Check::bad("provider", detail, "check `base_url`, that the service runs, and the network")
        }
        Err(_) => {
            let detail = format!("{name}: no answer in {} seconds", PATIENCE.as_secs());
            Check::bad("provider", detail, "check `base_url` and the network")
        }
    }
}

/// Whether the program is there. One that is not there is found out in the middle of a turn.
fn program(what: &'static str, name: &str, kind: &ToolKind, place: &str, directory: &Path) -> Option<Check> {
    let ToolKind::Command { argv, cwd, .. } = kind else { return None };
    // A program that the model chooses is not known before the call.
    let program = argv.first().filter(|program| what != "tool" || !program.contains('{'))?;
    let beside = cwd.as_ref().map_or_else(|| directory.to_owned(), |cwd| directory.join(cwd));
    if super::program::is_there(program, &beside) {
        return Some(Check::good(what, format!("{name}: `{program}` can be run")));
    }
    let detail = format!("{name}: `{program}` is not there, or may not be run");
    Some(Check::bad(what, detail, format!("install it, make it executable, or mend `command` of {place}")))
}

/// The secrets that are not where the file says. What they hold is not looked at.
fn secrets(what: &'static str, name: &str, kind: &ToolKind, directory: &Path) -> Vec<Check> {
    let (ToolKind::Command { env: texts, .. } | ToolKind::Http { headers: texts, .. }) = kind else {
        return Vec::new();
    };
    let absent = |(key, text): (&String, &SecretText)| match text {
        SecretText::Env(variable) if riverrun_secret::variable(variable).is_none() => {
            let detail = format!("{name}: `{key}` comes from the variable {variable}, which is not set");
            Some(Check::bad(what, detail, format!("set {variable}")))
        }
        SecretText::File(file) => {
            let error = std::fs::File::open(directory.join(file)).err()?;
            let detail = format!("{name}: `{key}` comes from {file}, which cannot be read: {error}");
            Some(Check::bad(what, detail, format!("put the value into {file}")))
        }
        SecretText::Env(_) | SecretText::Plain(_) => None,
    };
    texts.iter().filter_map(absent).collect()
}

async fn ask(declaration: &Mcp, directory: &Path) -> Check {
    let name = &declaration.name.text;
    let server = mcp_server(declaration, directory);
    // A server that has to answer calls in this time has to greet in it too.
    let patience = declaration.timeout.unwrap_or(Duration::MAX);
    let offer = timeout(patience, server.offer()).await;
    server.stop().await;
    let Ok(offer) = offer else {
        let detail = format!("{name}: no answer within its `timeout` of {} ms", patience.as_millis());
        return Check::bad("mcp", detail, by_hand(declaration));
    };
    match offer {
        Err(error) => Check::bad("mcp", format!("{name}: {error}"), by_hand(declaration)),
        Ok(offer) if offer.refused.is_empty() => {
            let count = offer.tools.len();
            Check::good("mcp", format!("{name} offers {count} tool{}", if count == 1 { "" } else { "s" }))
        }
        Ok(offer) => {
            let refused: Vec<String> = offer
                .refused
                .iter()
                .map(|refused| format!("`{}` ({})", refused.name, refused.reason))
                .collect();
            let count = offer.tools.len();
            let detail = format!("{name} offers {count} tools; not usable: {}", refused.join(", "));
            Check::bad("mcp", detail, "mend these tools in the server; the others work")
        }
    }
}

fn by_hand(declaration: &Mcp) -> String {
    match &declaration.url {
        Some(url) => format!("check that {url} is an MCP server, and `headers`"),
        None => format!("run `{}` by hand and see what it says", declaration.command.join(" ")),
    }
}
