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
pub(super) const SOME_SESSION: Param = may("sessionId", "string");
pub(super) const LIMIT: Param = may("limit", "integer");
pub(super) const CURSOR: Param = may("cursor", "string");
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
pub(super) const OF_THREAD: &[Param] = &[SESSION, may("threadId", "string")];
pub(super) const DECIDE: &[Param] = &[
    SESSION,
    must("actionId", "string"),
    must("decision", "string"),
    may("digest", "string"),
    may("arguments", "object"),
    may("message", "string"),
    may("response", "any"),
    may("always", "boolean"),
    COMMAND,
];
pub(super) const NEW_SHARE: &[Param] =
    &[SESSION, may("title", "string"), may("expiresIn", "integer"), COMMAND];
pub(super) const OF_SHARE: &[Param] = &[SESSION, must("shareId", "string")];
pub(super) const REVOKE_SHARE: &[Param] = &[SESSION, must("shareId", "string"), COMMAND];
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
pub(super) const TASK: &[Param] = &[must("taskId", "string"), SOME_SESSION, may("indexUnit", "string")];
pub(super) const EXPORT: &[Param] = &[SESSION, may("after", "cursor"), may("dialect", "string"), LIMIT];
pub(super) const LIN_TASK: &[Param] = &[must("task_id", "string"), may("session_id", "string"), REASON];
pub(super) const LIN_CREATE: &[Param] = &[
    INPUT,
    may("session_id", "string"),
    may("agent", "string"),
    may("request_id", "string"),
    may("metadata", "object"),
];
pub(super) const PROCESS: Param = must("processId", "string");
pub(super) const OF_PROCESS: &[Param] = &[SESSION, PROCESS];
pub(super) const WRITE_PROCESS: &[Param] = &[
    SESSION,
    PROCESS,
    may("text", "string"),
    may("secret", "boolean"),
    may("endOfInput", "boolean"),
    COMMAND,
];
pub(super) const END_PROCESS: &[Param] = &[SESSION, PROCESS, REASON, COMMAND];
