//! The methods there are. A new one is a variant, an entry here, and an arm in `carry.rs`.

use riverrun_api::{OPERATIONS, operation};
use riverrun_event::ErrorCode;
use serde_json::{Value, json};

use super::control::Control;
use super::standard;
use super::task_control::Tasks;
use crate::edge::{Problem, Scope, nearest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Auth,
    Ping,
    Discover,
    SessionCreate,
    SessionList,
    SessionGet,
    SessionDelete,
    SessionState,
    SessionAppend,
    SessionFollow,
    SessionUnfollow,
    SessionAck,
    TaskGet,
    ActionList,
    Control(Control),
    Tasks(Tasks),
}

/// What a caller is told of a method.
pub struct Entry {
    pub method: Method,
    pub name: &'static str,
    pub summary: &'static str,
    /// What the key must allow.
    pub scope: Option<Scope>,
    pub params: &'static [Param],
}

impl Entry {
    /// Whether a page with a browser credential may call it: what it reads of its own sessions, and what a person does
    /// to a turn, a queue or an action. Everything else takes a key.
    pub fn is_for_pages(&self) -> bool {
        match self.method {
            Auth | Ping | Discover | SessionCreate | SessionGet | SessionState | SessionFollow
            | SessionUnfollow | SessionAck | TaskGet | ActionList => true,
            SessionList | SessionDelete | SessionAppend | Tasks(_) => false,
            Control(control) => matches!(control, TurnSubmit | ActionDecide | ThreadGet),
        }
    }
}

const fn entry(
    method: Method,
    name: &'static str,
    scope: Option<Scope>,
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
const READ: Option<Scope> = Some(Scope::Read);
const WRITE: Option<Scope> = Some(Scope::Write);
const APPROVE: Option<Scope> = Some(Scope::Approve);
#[rustfmt::skip]
pub const METHODS: &[Entry] = &[
    entry(Auth, "auth", None, &[must("key", "string")], "names the key of a connection that was opened without one"),
    entry(Ping, "ping", None, &[], "answers an empty object"),
    entry(Discover, "rpc.discover", None, &[], "lists the methods, as an OpenRPC document"),
    entry(SessionCreate, "session.create", WRITE,
        &[SOME_SESSION, may("agent", "string"), may("title", "string"), may("metadata", "object"), may("tags", "array")],
        "makes a session, or finds the one that was made with the same words"),
    entry(SessionList, "session.list", READ,
        &[may("status", "string"), may("tag", "string"), may("since", "string"), LIMIT, CURSOR],
        "lists sessions, page by page"),
    entry(SessionGet, "session.get", READ, &[SESSION], "shows a session"),
    entry(SessionDelete, "session.delete", WRITE, &[SESSION], "deletes a session with its log"),
    entry(SessionState, "session.state", READ, &[SESSION, may("at", "cursor")], "folds the state, now or after any event"),
    entry(SessionAppend, "session.append", WRITE,
        &[SESSION, must("events", "array"), may("producer", "object")],
        "appends events; answers when they are durable"),
    entry(SessionFollow, "session.follow", READ, FOLLOW,
        "follows a session: events come as `session.event`, words about the stream as `session.stream`"),
    entry(SessionUnfollow, "session.unfollow", None, &[must("subscription", "string")],
        "ends a subscription; nothing of it comes after the answer"),
    entry(SessionAck, "session.ack", READ, ACK,
        "notes how far the client is, for as long as the connection lives"),
    entry(TaskGet, "task.get", READ, TASK,
        "shows a task with its output"),
    entry(ActionList, "action.list", READ,
        &[SOME_SESSION, may("status", "string"), LIMIT, CURSOR],
        "lists what waits for a decision"),
    entry(Control(TurnSubmit), "turn.submit", WRITE, SUBMIT, "submits a turn; answers when it is durable"),
    entry(Control(ActionDecide), "action.decide", APPROVE, DECIDE, "decides; the first decision wins"),
    entry(Control(AgentList), "agent.list", READ, &[], "lists agents, their tools and policies"),
    entry(Control(ThreadGet), "thread.get", READ, OF_THREAD, "tells what is happening in a thread now"),
    entry(Control(EnvironmentGet), "environment.get", READ, &[SESSION], "tells where the session's work runs, and its processes"),
    entry(Control(ProcessList), "process.list", READ, &[SESSION], "lists the processes that tools run or ran"),
    entry(Control(ProcessGet), "process.get", READ, OF_PROCESS, "shows a process: how it stands, and where its output is"),
    entry(Control(ProcessWrite), "process.write", WRITE, WRITE_PROCESS, "gives a running process something to read; answers when that is durable"),
    entry(Control(ProcessTerminate), "process.terminate", WRITE, END_PROCESS, "ends a running process; answers when its end is durable"),
    // Who knows a link may read by it, so who lists them may share.
    entry(Control(ShareCreate), "share.create", WRITE, NEW_SHARE, "makes a link by which anybody may read the session up to now"),
    entry(Control(ShareList), "share.list", WRITE, &[SESSION], "lists the session's links"),
    entry(Control(ShareGet), "share.get", WRITE, OF_SHARE, "shows a link"),
    entry(Control(ShareRevoke), "share.revoke", WRITE, REVOKE_SHARE, "revokes a link: nobody can read by it any more"),
    entry(Control(SessionExport), "session.export", READ, EXPORT, "reads events, page by page"),
    entry(Control(SessionEvidence), "session.evidence", READ, &[SESSION], "what the session can prove: its read models, and what is not known"),
    // The Agent Runtime standard's names for the same; `standard.rs` lists those that are not here.
    entry(Control(TurnSubmit), "submit_turn", WRITE, SUBMIT, "as `turn.submit`"),
    entry(Control(ThreadGet), "resume_thread", READ, OF_THREAD, "as `thread.get`: the runner goes on by itself after a restart"),
    entry(TaskGet, "get_task", READ, TASK, "as `task.get`"),
    entry(Control(ActionDecide), "respond_action", APPROVE, DECIDE, "as `action.decide`"),
    entry(SessionGet, "get_session", READ, &[SESSION], "as `session.get`"),
    entry(Control(ThreadGet), "get_thread_read", READ, OF_THREAD, "as `thread.get`"),
    entry(Control(AgentList), "get_tool_inventory", READ, &[], "as `agent.list`"),
    entry(Control(EnvironmentGet), "get_execution_environment", READ, &[SESSION], "as `environment.get`"),
    entry(Control(ProcessWrite), "write_process_stdin", WRITE, WRITE_PROCESS, "as `process.write`"),
    entry(Control(ProcessTerminate), "terminate_process", WRITE, END_PROCESS, "as `process.terminate`"),
    entry(SessionFollow, "reconnect_channel", READ, FOLLOW, "as `session.follow`"),
    entry(SessionAck, "ack_events", READ, ACK, "as `session.ack`"),
    entry(Control(SessionExport), "export_replay", READ, EXPORT, "as `session.export`"),
    entry(Control(SessionEvidence), "export_evidence", READ, &[SESSION], "as `session.evidence`"),
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
pub enum Found {
    Listed(&'static Entry),
    Operation(&'static riverrun_api::Entry),
}

impl Found {
    /// What the key must allow.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Found::Listed(entry) => entry.scope,
            Found::Operation(entry) => Some(entry.about.scope),
        }
    }

    pub fn is_for_pages(self) -> bool {
        match self {
            Found::Listed(entry) => entry.is_for_pages(),
            Found::Operation(entry) => entry.about.pages,
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
pub fn find(name: &str) -> Result<Found, Problem> {
    let listed = || METHODS.iter().find(|entry| entry.name == name).map(Found::Listed);
    operation(name).map(Found::Operation).or_else(listed).ok_or_else(|| {
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
