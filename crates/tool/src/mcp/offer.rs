//! What a server offers, as far as it can be offered on.

use std::collections::HashSet;

use rmcp::model::{Tool as Listed, ToolAnnotations};
use serde_json::Value;

use super::{Endpoint, McpConfig, McpTool};
use crate::name::{is_valid_name, shown};
use crate::{Arguments, Flags, Runs, ToolDefinition};

/// Longer descriptions are cut: they are read by the model with every step.
const MAX_DESCRIPTION: usize = 8 * 1024;

pub struct Offer {
    pub tools: Vec<McpTool>,
    pub refused: Vec<Refused>,
}

/// A tool that is not offered, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub name: String,
    pub reason: String,
}

/// The tools that can be offered, with the server's own name for each.
pub(super) fn sort(config: &McpConfig, listed: Vec<Value>) -> (Vec<(ToolDefinition, String)>, Vec<Refused>) {
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    for entry in listed {
        let called = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let checked = define(config, entry).and_then(|definition| {
            if names.insert(definition.name.clone()) {
                Ok(definition)
            } else {
                Err(format!("the server has two tools that would be `{}`", definition.name))
            }
        });
        match checked {
            Ok(definition) => taken.push((definition, called)),
            Err(reason) => refused.push(Refused { name: shown(&called), reason }),
        }
    }
    (taken, refused)
}

/// The name by which models call a tool of a server. They take neither `.` nor `/`; the server gets its own name back.
pub fn mcp_tool_name(server: &str, tool: &str) -> String {
    format!("{server}__{}", tool.replace(['.', '/'], "_"))
}

fn define(config: &McpConfig, entry: Value) -> Result<ToolDefinition, String> {
    let tool: Listed = serde_json::from_value(entry).map_err(|error| format!("it is no tool: {error}"))?;
    if tool.name.is_empty() {
        return Err("it has no name".to_owned());
    }
    let name = mcp_tool_name(&config.name, &tool.name);
    if !is_valid_name(&name) {
        return Err(format!("`{}` is not usable: letters, digits, `_` and `-`, at most 64", shown(&name)));
    }
    let parameters = Value::Object((*tool.input_schema).clone());
    Arguments::new(&name, &parameters).map_err(|detail| format!("its schema is not usable: {detail}"))?;
    let mut description = tool.description.as_deref().unwrap_or_default().to_owned();
    if let Some((at, _)) = description.char_indices().nth(MAX_DESCRIPTION) {
        description.truncate(at);
        description.push('…');
    }
    let flags = flags(config.trust_hints, tool.annotations.as_ref());
    let source = format!("mcp:{}", config.name);
    let runs = runs(&config.endpoint).of_server(&config.name, &tool.name, &description);
    Ok(ToolDefinition { name, description, parameters, flags, timeout: config.timeout, source, runs })
}

fn runs(endpoint: &Endpoint) -> Runs {
    match endpoint {
        Endpoint::Stdio(program) => Runs::program(program),
        Endpoint::Http { url, headers, .. } => {
            Runs::request(None, url, headers.iter().map(|(name, value)| (name.as_str(), value)))
        }
    }
}

/// Hints are a claim. Without trust every tool counts as one that may destroy something.
fn flags(trusted: bool, hints: Option<&ToolAnnotations>) -> Flags {
    let Some(hints) = hints.filter(|_| trusted) else { return Flags::default() };
    let read_only = hints.read_only_hint.unwrap_or(false);
    Flags {
        read_only,
        destructive: !read_only && hints.destructive_hint.unwrap_or(true),
        idempotent: read_only || hints.idempotent_hint.unwrap_or(false),
        open_world: hints.open_world_hint.unwrap_or(true),
    }
}
