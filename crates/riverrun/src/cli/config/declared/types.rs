//! The declarations, read and checked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use riverrun_event::TenantId;
use riverrun_provider::Price;
use riverrun_server::edge::TenantQuotas;
use serde_json::Value;

/// A name with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Declared {
    pub agents: Vec<Agent>,
    pub tools: Vec<ToolTable>,
    pub mcp: Vec<Mcp>,
    /// In the order of the file.
    pub hooks: Vec<Hook>,
    pub guardrails: Vec<Guardrail>,
    pub providers: Vec<ProviderTable>,
    pub routes: BTreeMap<String, Vec<Name>>,
    /// The names of the routes with their places.
    pub route_names: Vec<Name>,
    pub policy: Policy,
    pub scripts: Vec<Name>,
    pub tenants: BTreeMap<TenantId, TenantQuotas>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub name: Name,
    pub models: Vec<Name>,
    pub description: String,
    /// By language.
    pub label: BTreeMap<String, String>,
    pub instructions: Option<Source<String>>,
    pub tools: Vec<Name>,
    pub subagents: Vec<Name>,
    pub handoffs: Vec<Name>,
    pub approval: Option<Approval>,
    pub limits: LimitsDeclared,
    pub references: ReferencesDeclared,
    /// By language and name.
    pub texts: BTreeMap<String, BTreeMap<String, String>>,
    pub output_schema: Option<Source<Value>>,
    pub reasoning_effort: Option<String>,
    /// `joined` or `as_sent`.
    pub deltas: Option<String>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u64>,
    pub compact_at_tokens: Option<u64>,
    pub keep_raw: bool,
    /// `tell` or `fail`.
    pub unknown_tool: Option<String>,
    pub is_default: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LimitsDeclared {
    pub steps: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub time: Option<Duration>,
    pub depth: Option<u64>,
    pub children: Option<u64>,
    pub calls: Option<u64>,
    pub action_timeout: Option<Duration>,
    pub on_action_timeout: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReferencesDeclared {
    /// `off`, `cited` or `all`.
    pub mode: Option<String>,
    /// `item` or `result`.
    pub marker: Option<String>,
    /// `cited` or `all`.
    pub subagents: Option<String>,
    pub explain: bool,
}

/// What a program may use of the machine; what is not said is as the tool has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessLimitsDeclared {
    pub memory: Option<u64>,
    pub cpu: Option<Duration>,
    pub open_files: Option<u64>,
    pub processes: Option<u64>,
    pub file_size: Option<u64>,
}

/// Something in the file itself, or in a file beside it.
#[derive(Debug, Clone, PartialEq)]
pub enum Source<T> {
    Here(T),
    File(Name),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Policy,
    Never,
    Always,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolTable {
    pub name: Name,
    pub description: String,
    /// By language.
    pub label: BTreeMap<String, String>,
    pub kind: ToolKind,
    pub parameters: Option<Source<Value>>,
    pub timeout: Option<Duration>,
    pub approval: Option<Approval>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
    /// `off`, `cited` or `all`.
    pub references: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    Command {
        argv: Vec<String>,
        env: BTreeMap<String, SecretText>,
        cwd: Option<String>,
        /// Its process is told, and can be written to.
        interactive: bool,
        limits: ProcessLimitsDeclared,
    },
    Http {
        url: String,
        method: String,
        headers: BTreeMap<String, SecretText>,
        allow_hosts: Vec<String>,
    },
    Function(Name),
    /// The caller runs it.
    Client,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    pub name: Name,
    pub points: Vec<String>,
    /// Empty: all.
    pub agents: Vec<Name>,
    /// Empty: all.
    pub tools: Vec<Name>,
    /// A command or a request, never a function.
    pub kind: ToolKind,
    pub timeout: Option<Duration>,
    pub output_bytes: Option<u64>,
    /// `block` or `allow`.
    pub on_failure: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Guardrail {
    pub name: Name,
    /// `input`, `output`, `tool_call`, `tool_result`.
    pub checks: Vec<String>,
    /// Empty: all.
    pub agents: Vec<Name>,
    /// Empty: all.
    pub tools: Vec<Name>,
    /// Regular expressions that were tried.
    pub deny: Vec<String>,
    pub max_characters: Option<u64>,
    pub reason: Option<String>,
    /// A command or a request, never a function.
    pub asks: Option<ToolKind>,
    pub timeout: Option<Duration>,
    pub output_bytes: Option<u64>,
}

/// A text, or where a secret is. It never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretText {
    Plain(String),
    Env(String),
    File(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Mcp {
    pub name: Name,
    /// Empty for a server over HTTP.
    pub command: Vec<String>,
    pub url: Option<String>,
    pub env: BTreeMap<String, SecretText>,
    pub cwd: Option<String>,
    pub limits: ProcessLimitsDeclared,
    pub headers: BTreeMap<String, SecretText>,
    pub timeout: Option<Duration>,
    pub approval: Option<Approval>,
    pub allow_hosts: Vec<String>,
    pub trust_hints: bool,
    /// By tool and language.
    pub labels: BTreeMap<String, BTreeMap<String, String>>,
    /// `off`, `cited` or `all`.
    pub references: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProviderTable {
    pub name: Name,
    pub kind: String,
    pub base_url: Option<String>,
    pub key: Option<SecretText>,
    /// Where the key is said, to point at it.
    pub key_place: Option<Name>,
    pub headers: BTreeMap<String, SecretText>,
    /// Model, input, cached input, output.
    pub prices: Vec<(String, Price)>,
    pub patience: Patience,
    pub ca_file: Option<String>,
    pub threads: Option<bool>,
}

/// How long a service may take, each as the provider has it if it is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patience {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub idle: Option<Duration>,
    pub total: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    pub allow: Vec<Name>,
    pub ask: Vec<Name>,
    pub deny: Vec<Name>,
}
