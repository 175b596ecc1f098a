//! What is happening in a thread now.

use riverrun_event::{ActionId, ErrorInfo, RawJson, RunId, TaskId, ThreadId, Timestamp, ToolCallId, TurnId};
use serde::Serialize;

use super::standing::{Coverage, RecentFacts};
use super::strict::{native, thread_status};
use crate::process::Process;
use crate::state::{ActionState, QueuedTurnState, State, Thread, ToolCall, TurnState};
use crate::status::Status;
use crate::view::pending_actions;

/// The standard's thread, with what our events tell beyond it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRead {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its status in the standard's words.
    pub status: &'static str,
    /// Its status in ours, where that says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_status: Option<&'static str>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Absent when no turn is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_turn_id: Option<TurnId>,
    /// `unknown` until a turn ended.
    pub last_outcome: &'static str,
    /// Its turns in the state.
    pub turns: Vec<TurnRead>,
    /// True if older turns were sealed and are read on demand.
    pub truncated: bool,
    /// Actions that wait for a decision.
    pub pending_requests: Vec<PendingRequest>,
    /// Turns that wait.
    pub queued_turns: Vec<QueuedTurnState>,
    /// Failures and warnings.
    pub incidents: Vec<Incident>,
    /// Its tool calls in the state.
    pub tool_calls: Vec<ToolCall>,
    /// Its processes in the state.
    pub processes: Vec<Process>,
    /// Evidence.
    pub evidence_summary: RecentFacts,
}

/// One turn of a thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRead {
    /// The turn.
    pub turn_id: TurnId,
    /// Its status.
    pub status: Status,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Its root task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The run of its root task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// A decision that somebody must make.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingRequest {
    /// The action.
    pub action_id: ActionId,
    /// Its status.
    pub status: &'static str,
    /// When it was required.
    pub required_at: Timestamp,
    /// The turn that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The task that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The root task of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_task_id: Option<TaskId>,
    /// The tool call that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// What is to be decided: the payload of `action.required`.
    pub request: RawJson,
}

/// Something that went wrong.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// `turn.failed`, `tool.failed`, `runtime.error`, …
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<RawJson>,
}

/// Every thread. What belongs to no known thread stands in the first, so that nothing pending is hidden; if there is
/// none at all, in a thread of which nothing else is known.
pub fn threads(state: &State) -> Vec<ThreadRead> {
    let is_homeless = !state.actions.is_empty() || !state.tool_calls.is_empty();
    if state.threads.is_empty() && is_homeless {
        return vec![unknown_thread(state)];
    }
    state.threads.iter().enumerate().map(|(at, thread)| read(state, thread, at == 0)).collect()
}

/// A thread of which nothing else is known.
pub fn unknown_thread(state: &State) -> ThreadRead {
    let unknown = Thread {
        thread_id: ThreadId::new("main").expect("`main` fits the alphabet of ids"),
        status: Status::Unknown,
        title: None,
        active_turn_id: None,
        last_turn_id: None,
        last_outcome: None,
        turns: 0,
    };
    read(state, &unknown, true)
}

fn read(state: &State, thread: &Thread, is_first: bool) -> ThreadRead {
    let turns: Vec<&TurnState> =
        state.turns.iter().filter(|turn| turn.thread_id == thread.thread_id).collect();
    let known = |turn: &TurnId| state.turns.iter().any(|other| other.turn_id == *turn);
    let is_here = |turn: &Option<TurnId>| match turn {
        Some(turn) if known(turn) => turns.iter().any(|own| own.turn_id == *turn),
        Some(_) | None => is_first,
    };
    let tool_calls: Vec<ToolCall> =
        state.tool_calls.iter().filter(|call| is_here(&call.turn_id)).cloned().collect();
    let processes = &state.processes.entries;
    let processes = processes.iter().filter(|process| is_here(&process.turn_id)).cloned().collect();
    let strict = thread_status(thread.status);
    let is_queued = |entry: &&QueuedTurnState| match TurnId::new(&entry.turn_id) {
        Ok(turn) => is_here(&Some(turn)),
        Err(_) => is_first,
    };
    ThreadRead {
        thread_id: thread.thread_id.clone(),
        status: strict,
        native_status: native(thread.status, strict),
        title: thread.title.clone(),
        active_turn_id: thread.active_turn_id.clone(),
        last_outcome: thread.last_outcome.map_or("unknown", Status::as_str),
        truncated: thread.turns > turns.len() as u64,
        pending_requests: pending_actions(state)
            .filter(|action| is_here(&action.turn_id))
            .map(pending)
            .collect(),
        queued_turns: state.queue.iter().filter(is_queued).cloned().collect(),
        incidents: incidents(state, &turns, &tool_calls, is_first),
        turns: turns.into_iter().map(turn_read).collect(),
        tool_calls,
        processes,
        evidence_summary: RecentFacts::of(state, "evidence_summary", &["evidence"]),
    }
}

fn turn_read(turn: &TurnState) -> TurnRead {
    TurnRead {
        turn_id: turn.turn_id.clone(),
        status: turn.status,
        started_at: turn.started_at,
        completed_at: turn.ended_at,
        task_id: turn.task_id.clone(),
        run_id: turn.run_id.clone(),
    }
}

fn pending(action: &ActionState) -> PendingRequest {
    PendingRequest {
        action_id: action.action_id.clone(),
        status: "pending",
        required_at: action.required_at,
        turn_id: action.turn_id.clone(),
        task_id: action.task_id.clone(),
        root_task_id: action.root_task_id.clone(),
        tool_call_id: action.tool_call_id.clone(),
        request: action.request.clone(),
    }
}

fn incidents(state: &State, turns: &[&TurnState], calls: &[ToolCall], is_first: bool) -> Vec<Incident> {
    let failed_turns = turns.iter().filter(|turn| turn.status == Status::Failed).map(|turn| Incident {
        kind: "turn.failed".to_owned(),
        turn_id: Some(turn.turn_id.clone()),
        tool_call_id: None,
        error: turn.error.clone(),
        detail: None,
    });
    let failed_calls = calls.iter().filter(|call| call.status == Status::Failed).map(|call| Incident {
        kind: "tool.failed".to_owned(),
        turn_id: call.turn_id.clone(),
        tool_call_id: Some(call.tool_call_id.clone()),
        error: call.error.clone(),
        detail: None,
    });
    let incidents =
        state.ledger.family("runtime").filter(|_| is_first).into_iter().flat_map(|family| &family.entries);
    let incidents = incidents.map(|entry| Incident {
        kind: entry.kind.clone(),
        turn_id: entry.turn_id.clone(),
        tool_call_id: None,
        error: None,
        detail: entry.payload.clone(),
    });
    failed_turns.chain(failed_calls).chain(incidents).collect()
}

/// The standing of all threads together.
pub fn standing(state: &State) -> Coverage {
    Coverage::of(state, "thread_read_model", !state.threads.is_empty())
}
