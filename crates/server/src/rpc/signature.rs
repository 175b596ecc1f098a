//! What the methods take, as `rpc.discover` and the guide tell it.

/// A parameter, by name.
pub struct Param {
    pub name: &'static str,
    pub kind: &'static str,
    pub required: bool,
}

pub(super) const fn must(name: &'static str, kind: &'static str) -> Param {
    Param { name, kind, required: true }
}

pub(super) const fn may(name: &'static str, kind: &'static str) -> Param {
    Param { name, kind, required: false }
}

pub(super) const SESSION: Param = must("sessionId", "string");
pub(super) const LIMIT: Param = may("limit", "integer");
pub(super) const INPUT: Param = must("input", "input");
pub(super) const REASON: Param = may("reason", "string");
/// Names the command: the same again answers the first.
pub(super) const COMMAND: Param = may("commandId", "string");
pub(super) const SUBMIT: &[Param] = &[
    SESSION,
    INPUT,
    may("turnId", "string"),
    may("threadId", "string"),
    may("agent", "string"),
    may("busy", "string"),
    may("history", "array"),
    may("settings", "object"),
    may("source", "string"),
    may("metadata", "object"),
    COMMAND,
];
pub(super) const FOLLOW: &[Param] = &[
    SESSION,
    may("after", "cursor"),
    may("dialect", "string"),
    may("turn", "string"),
    may("task", "string"),
    may("types", "array"),
    may("catchup", "string"),
    may("follow", "boolean"),
    may("indexUnit", "string"),
];
pub(super) const ACK: &[Param] = &[SESSION, must("sequence", "integer")];
pub(super) const EXPORT: &[Param] = &[SESSION, may("after", "cursor"), may("dialect", "string"), LIMIT];
pub(super) const LIN_TASK: &[Param] = &[must("task_id", "string"), may("session_id", "string"), REASON];
pub(super) const LIN_CREATE: &[Param] = &[
    INPUT,
    may("session_id", "string"),
    may("agent", "string"),
    may("request_id", "string"),
    may("metadata", "object"),
];
