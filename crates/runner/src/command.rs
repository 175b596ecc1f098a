//! What people and programs ask of a session.

use riverrun_event::{
    ActionId, Input, Item, Metadata, ProcessId, RawJson, RunId, Sequence, TaskId, ThreadId, TurnId,
};
use riverrun_fold::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Rule, Settings};

#[derive(Debug, Clone, Default)]
pub struct Submit {
    /// Names the turn; the same again with the same contents answers the first.
    pub turn_id: Option<TurnId>,
    pub thread_id: Option<ThreadId>,
    /// An agent's name, `agent/NAME`, `PROVIDER/MODEL` or `scripted/SCENARIO`.
    pub agent: Option<String>,
    pub input: Option<Input>,
    pub history: Vec<Item>,
    pub busy: Busy,
    pub settings: Option<Settings>,
    /// The dialect of the request and what its answers echo.
    pub request: Option<RawJson>,
    pub source: Option<String>,
    pub metadata: Option<Metadata>,
}

/// What to do with a turn for a thread that has one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Busy {
    #[default]
    Queue,
    Reject,
    Interrupt,
    Steer,
}

/// Names a request that its sender may send again: it is done once, and answered as the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKey {
    /// Made of what the sender calls it; unique in the session.
    pub id: [u8; 16],
    /// SHA-256 of what is asked, so that the same name for something else is noticed.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    pub turn_id: TurnId,
    pub task_id: TaskId,
    pub run_id: RunId,
    /// `accepted`, `queued`, `steered`, or where the turn stands if it was there before.
    pub status: String,
    /// The place of the turn's first event; a reader that begins before it sees the whole turn.
    pub first: Sequence,
    pub duplicate: bool,
}

/// A sub-agent that no model called: it works under a task that has not ended.
#[derive(Debug, Clone)]
pub struct Spawn {
    pub parent: TaskId,
    /// The name of a configured agent.
    pub agent: String,
    /// What it is to do, as its model reads it.
    pub input: String,
}

/// What is asked of the conversation of a session's main thread, as a list of items.
#[derive(Debug, Clone)]
pub enum Conversation {
    /// The newest items, in their order; all without a limit.
    Items {
        limit: Option<usize>,
    },
    Add(Vec<Item>),
    /// Takes back the newest item.
    Pop,
    Clear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    #[default]
    Immediate,
    AfterTurn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancelled {
    pub turn_id: TurnId,
    /// `cancelling`, or the turn's end if it had one.
    pub status: String,
    pub sequence: Sequence,
}

/// Halts a task, or lets it go on.
#[derive(Debug, Clone)]
pub struct Pause {
    /// False lets it go on.
    pub halts: bool,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    pub task_id: TaskId,
    /// `paused`, or how the task stands that goes on.
    pub status: Status,
    /// True if it stood so before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

#[derive(Debug, Clone)]
pub struct Decide {
    pub action: ActionId,
    pub decision: Decision,
    /// The digest of what is decided upon. Absent is allowed only to reject.
    pub digest: Option<String>,
    pub message: Option<String>,
    /// Holds for this tool and agent from now on.
    pub always: bool,
    /// Who decides, for the record.
    pub decided_by: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Decision {
    Approve,
    /// Run it with these arguments instead.
    Edit(RawJson),
    Reject,
    /// An answer to a question, or the result of a client-run tool.
    Respond(RawJson),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub action: ActionId,
    /// The decision that holds. If another was first, it is that one and `won` is false.
    pub decision: String,
    pub source: String,
    /// Who made it, where that is known.
    #[serde(default)]
    pub decided_by: Option<String>,
    pub won: bool,
    /// True if the decision that holds is exactly the one that was sent, whoever sent it first.
    #[serde(default)]
    pub is_same: bool,
    pub sequence: Sequence,
    /// A place at or behind the decision that holds.
    #[serde(default)]
    pub behind: Sequence,
}

/// What became of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Won,
    /// Exactly this was decided before.
    AlreadyDecided,
    /// Something else was decided before.
    DecidedByOther,
    /// Nobody decided in time.
    Expired,
    /// The run ended, or was cancelled, before anybody decided.
    RunEnded,
}

impl Decided {
    pub fn fate(&self) -> Fate {
        match self.source.as_str() {
            _ if self.won => Fate::Won,
            "timeout" => Fate::Expired,
            "cancel" | "turn_ended" => Fate::RunEnded,
            _ if self.is_same => Fate::AlreadyDecided,
            _ => Fate::DecidedByOther,
        }
    }
}

/// Takes back a decision that was given for always.
#[derive(Debug, Clone)]
pub struct Revoke {
    /// The id of the rule, as [`Runner::rules`](crate::Runner::rules) tells it.
    pub rule: String,
    /// Who revokes it, for the record.
    pub revoked_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The rule that holds no longer.
    pub rule: Rule,
    pub sequence: Sequence,
}

/// Something for a running process to read.
#[derive(Clone)]
pub struct ProcessWrite {
    pub process: ProcessId,
    pub text: String,
    /// The text is kept nowhere.
    pub secret: bool,
    /// Nothing comes behind it.
    pub end_of_input: bool,
    /// Who writes it, for the record.
    pub written_by: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOver {
    pub process_id: String,
    /// `cancelled` if it was ended, or how it ended by itself just before.
    pub status: String,
    pub exit_code: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueEntry {
    pub turn_id: TurnId,
    pub thread_id: ThreadId,
    pub position: u32,
    pub preview: String,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error("there is no such session")]
    NoSession,
    #[error("there is no turn `{0}` in this session")]
    NoTurn(String),
    #[error("there is no action `{0}` in this session")]
    NoAction(String),
    #[error("no rule `{0}` holds in this session")]
    NoRule(String),
    #[error("there is no sub-agent `{0}` in this session")]
    NoSubagent(String),
    #[error("sub-agent `{subagent}` has ended: {status}")]
    SubagentEnded { subagent: String, status: String },
    #[error("there is no process `{0}` in this session")]
    NoProcess(String),
    #[error("process `{process}` is {status} and cannot be reached: {why}")]
    ProcessUnavailable { process: String, status: String, why: String },
    #[error("there is no task `{0}` at work in this session")]
    NoTask(String),
    #[error("task `{task}` cannot be paused or resumed: {why}")]
    NotPausable { task: String, why: String },
    #[error("{0}")]
    SubagentLimit(String),
    #[error("nothing is named `{name}`; there are: {known}")]
    UnknownAgent { name: String, known: String },
    #[error("thread `{0}` has a turn already; submit with `busy: queue`, `interrupt` or `steer`, or wait")]
    Busy(String),
    #[error("the queue of thread `{0}` is full")]
    QueueFull(String),
    #[error("turn `{turn}` was submitted before with other contents")]
    TurnExists { turn: String },
    /// A retry has no choice what becomes of the turn before it.
    #[error("thread `{0}` has a turn at work, or one that waits; wait until it ends, or cancel it")]
    ThreadAtWork(String),
    #[error("turn `{turn}` {}", ended(status))]
    TurnEnded { turn: String, status: String },
    #[error("turn `{turn}` has not ended: {status}")]
    TurnRunning { turn: String, status: String },
    #[error(
        "turn `{turn}` ended long ago ({status}) and its events are gone; submit its input as a new turn"
    )]
    TooOld { turn: String, status: String },
    #[error("this idempotency key was used with another body; use a new key for a new request")]
    RequestMismatch,
    #[error("the digest does not name what would run; read the action again")]
    DigestMismatch,
    #[error(
        "tool `{0}` is no longer what the action asked about: its command, address or schema was changed; reject the action, and the tool is asked about anew when it is called again"
    )]
    ToolChanged(String),
    #[error("action `{action}` does not take `{decision}`; it takes: {possible}")]
    DecisionNotPossible { action: String, decision: String, possible: String },
    #[error(
        "arguments: they have {size} bytes with the message, and an edit may have {limit}; the action still waits for a decision"
    )]
    ArgumentsTooLarge { size: usize, limit: usize },
    #[error("{field}: {detail}")]
    Invalid { field: String, detail: String },
    #[error("another server owns this session now")]
    Fenced,
    #[error("the server is going down; try again")]
    Draining,
    #[error("the store is full")]
    Full,
    /// For `running_turns` waiting helps; for what is stored, deleting does.
    #[error("the tenant's quota `{quota}` is used up: {used} of {limit}; {}", way_out(quota))]
    Quota { quota: &'static str, limit: u64, used: u64 },
    #[error("the store is not available: {0}")]
    Unavailable(String),
}

/// What frees a quota.
fn way_out(quota: &str) -> &'static str {
    match quota {
        "running_turns" => "wait until a turn ends, or cancel one",
        _ => "delete sessions, or ask the operator for more",
    }
}

/// A turn that is being cancelled takes nothing more, and has not ended.
fn ended(status: &str) -> String {
    match status {
        "cancelling" => "is being cancelled".to_owned(),
        status => format!("has ended: {status}"),
    }
}
