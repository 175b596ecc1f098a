//! The methods there are. A new one is a variant, an entry here, and an arm in `carry.rs`.

use riverrun_event::ErrorCode;
use serde_json::{Value, json};

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

pub struct Param {
    pub name: &'static str,
    pub kind: &'static str,
    pub required: bool,
}

const fn must(name: &'static str, kind: &'static str) -> Param {
    Param { name, kind, required: true }
}

const fn may(name: &'static str, kind: &'static str) -> Param {
    Param { name, kind, required: false }
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

use Method::*;
const READ: Option<Scope> = Some(Scope::Read);
const WRITE: Option<Scope> = Some(Scope::Write);
const SESSION: Param = must("sessionId", "string");
const SOME_SESSION: Param = may("sessionId", "string");
const LIMIT: Param = may("limit", "integer");
const CURSOR: Param = may("cursor", "string");

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
    entry(SessionFollow, "session.follow", READ,
        &[SESSION, may("after", "cursor"), may("dialect", "string"), may("turn", "string"), may("task", "string"),
          may("types", "array"), may("catchup", "string"), may("follow", "boolean"), may("indexUnit", "string")],
        "follows a session: events come as `session.event`, words about the stream as `session.stream`"),
    entry(SessionUnfollow, "session.unfollow", None, &[must("subscription", "string")],
        "ends a subscription; nothing of it comes after the answer"),
    entry(SessionAck, "session.ack", READ, &[SESSION, must("sequence", "integer")],
        "notes how far the client is, for as long as the connection lives"),
    entry(TaskGet, "task.get", READ,
        &[must("taskId", "string"), SOME_SESSION, may("indexUnit", "string")],
        "shows a task with its output"),
    entry(ActionList, "action.list", READ,
        &[SOME_SESSION, may("status", "string"), LIMIT, CURSOR],
        "lists what waits for a decision"),
];

/// The method of this name; otherwise the nearest one is named.
pub fn find(name: &str) -> Result<&'static Entry, Problem> {
    METHODS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
        let hint = match nearest(name, METHODS.iter().map(|entry| entry.name)) {
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
        "methods": METHODS.iter().map(describe).collect::<Vec<_>>(),
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

fn schema(kind: &str) -> Value {
    match kind {
        "cursor" => json!({"type": ["string", "integer"]}),
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
