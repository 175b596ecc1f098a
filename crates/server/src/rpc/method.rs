//! The methods there are. A new one is a variant, an entry here, and an arm in `carry.rs`.

use riverrun_api::{OPERATIONS, operation};
use riverrun_event::ErrorCode;
use serde_json::{Value, json};

use super::control::Control;
use super::standard;
use super::task_control::Tasks;
use crate::edge::{KeyScope, Problem, nearest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Auth,
    Ping,
    Discover,
    SessionAppend,
    SessionFollow,
    SessionUnfollow,
    SessionAck,
    Control(Control),
    Tasks(Tasks),
}

/// What a caller is told of a method.
pub struct Entry {
    pub method: Method,
    pub name: &'static str,
    pub summary: &'static str,
    /// What the key must allow.
    pub scope: Option<KeyScope>,
    pub params: &'static [Param],
}

impl Entry {
    /// Whether a page with a browser credential may call it: what it reads of its own sessions, and what a person does
    /// to a turn, a queue or an action. Everything else takes a key.
    pub fn is_for_pages(&self) -> bool {
        match self.method {
            Auth | Ping | Discover | SessionFollow | SessionUnfollow | SessionAck => true,
            SessionAppend | Tasks(_) => false,
            Control(control) => matches!(control, TurnSubmit),
        }
    }
}

const fn entry(
    method: Method,
    name: &'static str,
    scope: Option<KeyScope>,
    params: &'static [Param],
    summary: &'static str,
) -> Entry {
    Entry { method, name, summary, scope, params }
}

use super::control::Control::*;
use super::signature::*;
use super::task_control::Tasks::{
    Cancel, Create, CreateSubscribe, Get, List, Pause, PushGet, PushSet, Resubscribe, Resume,
};
use Method::*;
const READ: Option<KeyScope> = Some(KeyScope::Read);
const WRITE: Option<KeyScope> = Some(KeyScope::Write);
#[rustfmt::skip]
pub const METHODS: &[Entry] = &[
    entry(Auth, "auth", None, &[must("key", "string")], "names the key of a connection that was opened without one"),
    entry(Ping, "ping", None, &[], "answers an empty object"),
    entry(Discover, "rpc.discover", None, &[], "lists the methods, as an OpenRPC document"),
    entry(SessionAppend, "session.append", WRITE,
        &[SESSION, must("events", "array"), may("producer", "object")],
        "appends events; answers when they are durable"),
    entry(SessionFollow, "session.follow", READ, FOLLOW,
        "follows a session: events come as `session.event`, words about the stream as `session.stream`"),
    entry(SessionUnfollow, "session.unfollow", None, &[must("subscription", "string")],
        "ends a subscription; nothing of it comes after the answer"),
    entry(SessionAck, "session.ack", READ, ACK,
        "notes how far the client is, for as long as the connection lives"),
    entry(Control(TurnSubmit), "turn.submit", WRITE, SUBMIT, "submits a turn; answers when it is durable"),
    entry(Control(SessionExport), "session.export", READ, EXPORT, "reads events, page by page"),
    // The Agent Runtime standard's names for the same; `standard.rs` lists those that are not here.
    entry(Control(TurnSubmit), "submit_turn", WRITE, SUBMIT, "as `turn.submit`"),
    entry(SessionFollow, "reconnect_channel", READ, FOLLOW, "as `session.follow`"),
    entry(SessionAck, "ack_events", READ, ACK, "as `session.ack`"),
    entry(Control(SessionExport), "export_replay", READ, EXPORT, "as `session.export`"),
    // AgentLin's.
    entry(Tasks(Create), "tasks/create", WRITE, LIN_CREATE, "makes a task, and a session for it unless one is named"),
    entry(Tasks(CreateSubscribe), "tasks/createSubscribe", WRITE, LIN_CREATE, "the same, and follows it in the `task` dialect"),
    entry(Tasks(List), "tasks/list", READ, &[must("session_id", "string"), may("status", "string")], "as `task.list`"),
    entry(Tasks(Get), "tasks/get", READ, LIN_TASK, "shows a task with its output"),
    entry(Tasks(Cancel), "tasks/cancel", WRITE, LIN_TASK, "`{task_id, status}`, which is `canceled`; -32002 if the task has ended"),
    entry(Tasks(Pause), "tasks/pause", WRITE, LIN_TASK, "halts a task at its next boundary and shows it; -32009 if it cannot be halted"),
    entry(Tasks(Resume), "tasks/resume", WRITE, LIN_TASK, "lets a halted task go on and shows it; -32009 if it cannot"),
    entry(Tasks(Resubscribe), "tasks/resubscribe", READ,
        &[must("task_id", "string"), may("session_id", "string"), may("after", "cursor")],
        "follows a task again, from the start or from a cursor"),
    entry(Tasks(PushSet), "tasks/pushNotification/set", WRITE, LIN_TASK, "-32003: nothing is pushed"),
    entry(Tasks(PushGet), "tasks/pushNotification/get", READ, LIN_TASK, "-32003: nothing is pushed"),
];

/// A method of this connection, or an operation of the table.
#[derive(Clone, Copy)]
pub enum FoundMethod {
    Listed(&'static Entry),
    Operation(&'static riverrun_api::OperationEntry),
}

impl FoundMethod {
    /// What the key must allow.
    pub fn scope(self) -> Option<KeyScope> {
        match self {
            FoundMethod::Listed(entry) => entry.scope,
            FoundMethod::Operation(entry) => Some(entry.about.scope),
        }
    }

    pub fn is_for_pages(self) -> bool {
        match self {
            FoundMethod::Listed(entry) => entry.is_for_pages(),
            FoundMethod::Operation(entry) => entry.about.pages,
        }
    }
}

/// The names of all methods.
fn names() -> impl Iterator<Item = &'static str> {
    let operations =
        OPERATIONS.iter().flat_map(|entry| entry.about.aliases.iter().chain([&entry.about.name]));
    METHODS.iter().map(|entry| entry.name).chain(operations.copied())
}

/// The method of this name; otherwise the nearest one is named.
pub fn find(name: &str) -> Result<FoundMethod, Problem> {
    let listed = || METHODS.iter().find(|entry| entry.name == name).map(FoundMethod::Listed);
    operation(name).map(FoundMethod::Operation).or_else(listed).ok_or_else(|| {
        if let Some(problem) = standard::not_provided(name) {
            return problem;
        }
        let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`rpc.discover` lists them".to_owned(),
        };
        Problem::new(ErrorCode::MethodUnknown, format!("there is no method `{shown}`; {hint}"))
            .field("method")
    })
}

/// The answer to `rpc.discover`.
pub fn document() -> Value {
    json!({
        "openrpc": "1.3.2",
        "info": {"title": "Riverrun", "version": env!("CARGO_PKG_VERSION")},
        "x-agent-runtime": standard::document(),
        "methods": METHODS.iter().map(describe).chain(operations()).collect::<Vec<_>>(),
    })
}

fn describe(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "paramStructure": "by-name",
        "params": entry.params.iter().map(|param| json!({
            "name": param.name,
            "required": param.required,
            "schema": schema(param.kind),
        })).collect::<Vec<_>>(),
        "result": {"name": "result", "schema": {"type": "object"}},
    })
}

/// The operations, under each of their names.
fn operations() -> impl Iterator<Item = Value> {
    let description = riverrun_api::description();
    let operations = description["operations"].as_array().cloned().unwrap_or_default();
    operations.into_iter().flat_map(|operation| {
        let aliases = operation["aliases"].as_array().cloned().unwrap_or_default();
        let names: Vec<Value> = [operation["name"].clone()].into_iter().chain(aliases).collect();
        names.into_iter().map(move |name| describe_operation(&name, &operation)).collect::<Vec<_>>()
    })
}

fn describe_operation(name: &Value, operation: &Value) -> Value {
    let required = operation["request"]["required"].as_array().cloned().unwrap_or_default();
    let members = operation["request"]["properties"].as_object().into_iter().flatten();
    let param = |(name, schema): (&String, &Value)| json!({ "name": name, "required": required.contains(&name.as_str().into()), "schema": schema });
    let mut params: Vec<Value> = members.map(param).collect();
    if operation["idempotencyKey"] == true {
        params.push(json!({ "name": "commandId", "required": false, "schema": { "type": "string" } }));
    }
    json!({
        "name": name,
        "summary": operation["summary"],
        "paramStructure": "by-name",
        "params": params,
        "result": { "name": "result", "schema": operation["response"] },
    })
}

fn schema(kind: &str) -> Value {
    match kind {
        "cursor" => json!({"type": ["string", "integer"]}),
        "input" => json!({"type": ["string", "array"]}),
        "any" => json!({}),
        kind => json!({"type": kind}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_names_every_method_and_parameter() {
        let guide = include_str!("../../../../docs/json-rpc.md");
        for entry in METHODS {
            let row = guide.lines().find(|line| line.starts_with(&format!("| `{}` |", entry.name)));
            let row = row.unwrap_or_else(|| panic!("docs/json-rpc.md has no row for `{}`", entry.name));
            for param in entry.params {
                let name =
                    if param.required { format!("`{}`", param.name) } else { format!("`{}?`", param.name) };
                assert!(row.contains(&name), "{row} does not name {name}");
            }
        }
    }
}
