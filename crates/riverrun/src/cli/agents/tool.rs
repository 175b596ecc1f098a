//! Tools as the configuration declares them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use riverrun_tool::{
    AddressGuard, ClientTool, CommandConfig, CommandTool, Endpoint, Flags, HttpConfig, HttpTool, McpConfig,
    McpServer, ProcessLimits, Program, Tool, ValueSource,
};
use serde_json::{Value, json};

use super::builtin::{self, Builtin};
use super::failure::wrong;
use crate::cli::config::{Mcp, ProcessLimitsDeclared, SecretText, ToolKind, ToolTable as Declaration};
use crate::cli::exit::Outcome;

/// Bytes of each stream of a process that are kept; a blob may have 20 MiB.
const KEPT_OF_PROCESS: usize = 16 << 20;
const TIMEOUT: Duration = Duration::from_secs(60);

/// `given` is the schema of the arguments, if the declaration has one.
pub fn build(declaration: &Declaration, given: Option<Value>, directory: &Path) -> Outcome<Arc<dyn Tool>> {
    let name = declaration.name.text.clone();
    let (description, timeout) = (declaration.description.clone(), declaration.timeout.unwrap_or(TIMEOUT));
    let parameters = |used: Vec<String>| given.clone().unwrap_or_else(|| texts(used));
    let flags = flags(declaration);
    match &declaration.kind {
        ToolKind::Function(function) => match builtin::find(&function.text) {
            Some(found) => Ok(Arc::new(as_declared(found, declaration))),
            None => Err(wrong("tools", &name, format_args!("there is no function `{}`", function.text))),
        },
        ToolKind::Client => {
            let parameters = given.unwrap_or_else(|| json!({"type": "object"}));
            let built = ClientTool::new(name, description, parameters).flags(flags);
            Ok(Arc::new(built))
        }
        ToolKind::Command { argv, env, cwd, interactive, limits } => {
            let parameters = parameters(argv.iter().flat_map(|word| placeholders(word)).collect());
            let program = program(argv, env, cwd.as_deref(), limits, directory);
            let name = name.clone();
            let mut config = CommandConfig {
                name,
                description,
                parameters,
                flags,
                timeout,
                program,
                ..Default::default()
            };
            if *interactive {
                (config.interactive, config.output_limit) = (true, KEPT_OF_PROCESS);
            }
            let built = CommandTool::new(config);
            Ok(Arc::new(built.map_err(|error| wrong("tools", &declaration.name.text, error))?))
        }
        ToolKind::Http { url, method, headers, allow_hosts } => {
            let config = HttpConfig {
                name: name.clone(),
                description,
                parameters: parameters(placeholders(url)),
                flags,
                timeout,
                method: method.clone(),
                url: url.clone(),
                headers: secrets(headers, directory).into_iter().collect(),
                outbound: AddressGuard { allow: allow_hosts.clone() },
                ..HttpConfig::default()
            };
            Ok(Arc::new(HttpTool::new(config).map_err(|error| wrong("tools", &name, error))?))
        }
    }
}

/// What the file says goes before what the function says of itself.
fn as_declared(mut found: Builtin, declaration: &Declaration) -> Builtin {
    let definition = &mut found.definition;
    definition.name.clone_from(&declaration.name.text);
    if !declaration.description.is_empty() {
        definition.description.clone_from(&declaration.description);
    }
    definition.timeout = declaration.timeout.unwrap_or(definition.timeout);
    let own = definition.flags;
    definition.flags = Flags {
        read_only: declaration.read_only.unwrap_or(own.read_only),
        destructive: declaration.destructive.unwrap_or(own.destructive),
        idempotent: declaration.idempotent.unwrap_or(own.idempotent),
        open_world: declaration.open_world.unwrap_or(own.open_world),
    };
    found
}

/// What is not said is the dangerous case.
fn flags(declaration: &Declaration) -> Flags {
    let default = Flags::default();
    let read_only = declaration.read_only.unwrap_or(default.read_only);
    Flags {
        read_only,
        destructive: declaration.destructive.unwrap_or(default.destructive && !read_only),
        idempotent: declaration.idempotent.unwrap_or(default.idempotent),
        open_world: declaration.open_world.unwrap_or(default.open_world),
    }
}

pub(super) fn program(
    argv: &[String],
    env: &BTreeMap<String, SecretText>,
    cwd: Option<&str>,
    limits: &ProcessLimitsDeclared,
    directory: &Path,
) -> Program {
    let cwd = cwd.map_or_else(|| directory.to_owned(), |cwd| directory.join(cwd));
    Program {
        argv: argv.to_vec(),
        cwd: Some(cwd).filter(|cwd: &PathBuf| !cwd.as_os_str().is_empty()),
        env: secrets(env, directory),
        limits: process_limits(limits),
        ..Program::default()
    }
}

fn process_limits(declared: &ProcessLimitsDeclared) -> ProcessLimits {
    let usual = ProcessLimits::default();
    ProcessLimits {
        memory: declared.memory.or(usual.memory),
        cpu: declared.cpu.or(usual.cpu),
        open_files: declared.open_files.or(usual.open_files),
        processes: declared.processes.or(usual.processes),
        file_size: declared.file_size.or(usual.file_size),
    }
}

pub(super) fn secrets(
    texts: &BTreeMap<String, SecretText>,
    directory: &Path,
) -> BTreeMap<String, ValueSource> {
    let secret = |(name, text): (&String, &SecretText)| {
        let secret = match text {
            SecretText::Plain(text) => ValueSource::Plain(text.clone()),
            SecretText::Env(name) => ValueSource::Env(name.clone()),
            SecretText::File(path) => ValueSource::File(directory.join(path)),
        };
        (name.clone(), secret)
    };
    texts.iter().map(secret).collect()
}

/// The names in braces.
fn placeholders(text: &str) -> Vec<String> {
    let parts = text.split('{').skip(1).filter_map(|part| part.split_once('}'));
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    parts.map(|(name, _)| name.to_owned()).filter(|name| is_name(name)).collect()
}

/// A tool that does not say what it takes takes the texts that it uses.
fn texts(names: Vec<String>) -> Value {
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// A server that is started with the first look at what it offers.
pub fn server(declaration: &Mcp, directory: &Path) -> Arc<McpServer> {
    let endpoint = match &declaration.url {
        Some(url) => Endpoint::Http {
            url: url.clone(),
            headers: secrets(&declaration.headers, directory).into_iter().collect(),
            outbound: AddressGuard { allow: declaration.allow_hosts.clone() },
        },
        None => {
            let cwd = declaration.cwd.as_deref();
            Endpoint::Stdio(program(
                &declaration.command,
                &declaration.env,
                cwd,
                &declaration.limits,
                directory,
            ))
        }
    };
    let mut config = McpConfig::new(declaration.name.text.clone(), endpoint);
    config.trust_hints = declaration.trust_hints;
    config.timeout = declaration.timeout.unwrap_or(config.timeout);
    McpServer::new(config)
}
