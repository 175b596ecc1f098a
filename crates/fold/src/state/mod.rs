//! The folded state. Its JSON form is public, and reading it back gives the same state: a snapshot is this JSON.

mod index;

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use riverrun_event::{
    ActionId, BlobRef, ErrorInfo, Input, Item, RawJson, RunId, Sequence, SessionId, TaskId, ThreadId,
    Timestamp, ToolCallId, TurnId, Usage,
};
use serde::{Deserialize, Serialize};

use crate::benchmark::Benchmarks;
use crate::file::TurnFile;
use crate::job::Jobs;
use crate::ledger::Ledger;
use crate::open::OpenItems;
use crate::problem::Problems;
use crate::process::Processes;
use crate::status::Status;
pub(crate) use index::Index;

/// Finished turns that stay in the state in full. Older ones are sealed: stored once, read on demand.
pub const WINDOW: usize = 8;

/// A session as its events describe it. What no event has is absent, never a default that looks like success.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The last event that was applied.
    pub sequence: Sequence,
    /// Counts the changes of this state; each has one number for ever.
    pub revision: u64,
    /// When the last event happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The state of the session as a whole.
    pub session: SessionState,
    /// The agent that acts now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The threads, in the order in which they began.
    pub threads: Vec<Thread>,
    /// Open turns and the newest finished ones.
    pub turns: Vec<TurnState>,
    /// Turns that left the window.
    pub sealed_turns: u64,
    /// The tasks of these turns, parents before children.
    pub tasks: Vec<TaskState>,
    /// The tool calls of these turns.
    pub tool_calls: Vec<ToolCall>,
    /// The actions of these turns.
    pub actions: Vec<ActionState>,
    /// The turns that wait, in order.
    pub queue: Vec<QueuedTurnState>,
    /// Tokens of the whole session.
    pub usage: Usage,
    /// Recorded cost by currency.
    pub cost: BTreeMap<String, f64>,
    /// Families of facts that the fold does not interpret.
    pub ledger: Ledger,
    /// Processes that tools ran or run, the newest of them.
    #[serde(skip_serializing_if = "Processes::is_empty")]
    pub processes: Processes,
    /// The newest jobs with their items.
    #[serde(skip_serializing_if = "Jobs::is_empty")]
    pub jobs: Jobs,
    /// Trials and comparisons of benchmarks, the newest of them.
    #[serde(skip_serializing_if = "Benchmarks::is_empty")]
    pub benchmarks: Benchmarks,
    /// Events that did not fit.
    pub problems: Problems,
    #[serde(skip)]
    pub(crate) index: Index,
    /// Finished turns that stay besides those of the window.
    #[serde(skip)]
    pub(crate) room: usize,
}

/// The state of the session as a whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionState {
    /// Its status, derived from its open work.
    pub status: Status,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent that acts by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Words to search by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The metadata of its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// An ordered line of turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its status.
    pub status: Status,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The turn at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_turn_id: Option<TurnId>,
    /// The turn that ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_id: Option<TurnId>,
    /// How the last finished turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_outcome: Option<Status>,
    /// Turns of this thread so far, sealed ones included.
    pub turns: u64,
}

/// One submitted input and everything until its terminal event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnState {
    /// The turn.
    pub turn_id: TurnId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its status.
    pub status: Status,
    /// Its first event.
    pub first_sequence: Sequence,
    /// Its last event so far.
    pub last_sequence: Sequence,
    /// The root task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The run of its root task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The agent that it was submitted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// The input, if it is in a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_ref: Option<BlobRef>,
    /// Earlier items that the client sent along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Item>,
    /// The settings of the turn, as submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RawJson>,
    /// The request of a foreign API that made the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RawJson>,
    /// Files of the input that were read or are being read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TurnFile>,
    /// The agent's own texts for people, by language and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<RawJson>,
    /// When it was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Timestamp>,
    /// When work on it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_output: Option<RawJson>,
    /// Why the model stopped, where it did not choose to: `max_tokens`, `refusal`, `content_filter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// True once the turn was taken out of the conversation: shown once, read by no later model call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Its tokens.
    #[serde(default)]
    pub usage: Usage,
}

/// An objective, stable over retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskState {
    /// The task.
    pub task_id: TaskId,
    /// Its status.
    pub status: Status,
    /// How many tasks are above it.
    pub depth: u32,
    /// Its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The run at work, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The task that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// The parent's call that this task answers; the item with this call id holds its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<ToolCallId>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// The agent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why it has this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// When it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Its runs before the present one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptState>,
    /// Its tokens.
    #[serde(default)]
    pub usage: Usage,
    /// Its items, in order.
    pub output: Vec<Item>,
    /// Items that are not complete yet, and how far they are.
    #[serde(default, skip_serializing_if = "OpenItems::is_empty")]
    pub open: OpenItems,
    /// Positions in `output` that were retracted: shown once, withdrawn since.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub retracted: BTreeSet<usize>,
    #[serde(skip)]
    pub(crate) positions: Positions,
    #[serde(skip)]
    pub(crate) references: References,
}

/// Positions in the output by item id, derived from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positions(pub HashMap<String, usize>);

impl PartialEq for Positions {
    /// They follow from the output.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// How often each number that can be cited stands in the results of the output, derived from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct References(pub HashMap<u64, usize>);

impl PartialEq for References {
    /// They follow from the output.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One run of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptState {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How it ended.
    pub status: Status,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The worker, as reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<RawJson>,
}

impl AttemptState {
    /// True for a run of the hosted runner, which goes on with everything that it can go on with.
    pub fn is_hosted(&self) -> bool {
        self.worker.as_ref().and_then(|worker| worker.as_text()).as_deref() == Some(HOSTED)
    }
}

/// The worker of the hosted runner's attempts. Stored in logs: never another word.
pub const HOSTED: &str = "riverrun";

/// A tool call while it runs, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The tool call.
    pub tool_call_id: ToolCallId,
    /// Its status.
    pub status: Status,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The task that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The turn of that task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The last progress that it reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The beginning of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Its arguments, if they are in a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_ref: Option<BlobRef>,
    /// Its result, if it is in a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<BlobRef>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What hooks decided about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookOutcome>,
}

/// The decision of a hook about a call, at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookOutcome {
    /// The hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_name: Option<String>,
    /// When it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    /// `running`, `completed` or `failed`: of the hook, not of the call.
    pub status: Status,
    /// What it decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments that it put in place, if they are in a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_input_ref: Option<BlobRef>,
    /// The result that it put in place, if it is in a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_tool_output_ref: Option<BlobRef>,
}

/// A decision that somebody must make, or made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionState {
    /// The action.
    pub action_id: ActionId,
    /// Its status.
    pub status: ActionStatus,
    /// The event that required it.
    pub sequence: Sequence,
    /// When it was required.
    pub required_at: Timestamp,
    /// The payload of `action.required`, verbatim.
    pub request: RawJson,
    /// The turn that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The task that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The outermost task above it: where a person looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_task_id: Option<TaskId>,
    /// The tool call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// The payload of `action.resolved`, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<RawJson>,
}

/// An unresolved action is never approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionStatus {
    /// It waits for a decision.
    Pending,
    /// It was decided.
    Resolved,
    /// Its turn ended first; it can no longer be decided, and is not forgotten.
    Abandoned,
}

/// A turn that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTurnState {
    /// The turn.
    pub turn_id: String,
    /// Its position in its thread's queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The beginning of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// A finished turn with everything that belongs to it. It never changes again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SealedTurn {
    /// The turn.
    pub turn: TurnState,
    /// Its tasks.
    pub tasks: Vec<TaskState>,
    /// Its tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// Its actions.
    pub actions: Vec<ActionState>,
}
