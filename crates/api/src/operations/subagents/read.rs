//! Sub-agents as the state of their session has them.

use std::time::Duration;

use riverrun_event::{ErrorCode, TaskId, ToolCallId, TurnId};
use riverrun_fold::{State, Status, Task};
use riverrun_session::{Hub, TaskPlace};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::{ApiError, Services, invalid, not_found};

/// The longest that one request waits, in seconds.
pub(super) const MAX_WAIT: u64 = 60;

/// A sub-agent is the child task that it works on; their ids are the same.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentState {
    subagent_id: TaskId,
    task_id: TaskId,
    status: Status,
    /// 1 below a root task.
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_tool_call_id: Option<ToolCallId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Subagents")]
pub struct SubagentList {
    subagents: Vec<SubagentState>,
    /// Those of turns before the newest eight finished ones are left out.
    truncated: bool,
}

impl SubagentState {
    fn new(task: Task) -> Self {
        Self {
            subagent_id: task.task_id.clone(),
            task_id: task.task_id,
            status: task.status,
            depth: task.depth,
            agent: task.agent,
            title: task.title,
            objective: task.objective,
            turn_id: task.turn_id,
            parent_task_id: task.parent_task_id,
            parent_tool_call_id: task.parent_tool_call_id,
        }
    }
}

impl SubagentList {
    /// The sub-agents of open turns and of the newest finished ones.
    fn of_state(state: State) -> Self {
        let truncated = state.sealed_turns > 0;
        let subagents = state.tasks.into_iter().filter(is_subagent).map(SubagentState::new).collect();
        Self { subagents, truncated }
    }
}

/// A child task that no turn runs is an external task.
fn is_subagent(task: &Task) -> bool {
    task.parent_task_id.is_some() && task.turn_id.is_some()
}

/// The sub-agents as they are now.
pub(super) async fn list(services: &Services, hub: &Hub) -> Result<SubagentList, ApiError> {
    Ok(SubagentList::of_state(services.sessions().state_at(&hub.key, hub.head()).await?))
}

/// A sub-agent, however old its turn is.
pub(super) async fn find(services: &Services, hub: &Hub, id: &str) -> Result<SubagentState, ApiError> {
    let id = TaskId::new(id).map_err(|_| not_found())?;
    let tasks = match services.sessions().place_of_task(&hub.key, hub.head(), &id).await? {
        Some(TaskPlace::Here(state)) => state.tasks,
        Some(TaskPlace::Sealed(turn)) => turn.tasks,
        None => Vec::new(),
    };
    let found = tasks.into_iter().find(|task| task.task_id == id && is_subagent(task));
    found.map(SubagentState::new).ok_or_else(not_found)
}

/// Answers when the sub-agents with these ids have ended, or all if there are none, or when the time is over. `field`
/// is the name of the member that has `seconds`.
pub(super) async fn wait_for(
    services: &Services,
    hub: &Hub,
    ids: &[String],
    (field, seconds): (&str, u64),
) -> Result<SubagentList, ApiError> {
    if seconds > MAX_WAIT {
        let detail = format!("it may be at most {MAX_WAIT}; ask again to wait longer");
        return Err(invalid(field, &detail).limit(MAX_WAIT));
    }
    let mut state = services.sessions().state_at(&hub.key, hub.head()).await?;
    let mut old = Vec::new();
    for id in ids {
        if !state.tasks.iter().any(|task| is_subagent(task) && task.task_id.as_str() == id) {
            let found = find(services, hub, id).await;
            old.push(found.map_err(|error| match error.code() {
                ErrorCode::NotFound => error.field("subagentIds"),
                _ => error,
            })?);
        }
    }
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while state.tasks.iter().any(|task| is_open(task, ids)) {
        if timeout_at(deadline, hub.woken(state.sequence)).await.is_err() {
            break;
        }
        if services.sessions().drain().is_started() {
            return Err(ApiError::new(ErrorCode::Draining, "the server is shutting down; ask again"));
        }
        if hub.is_gone() {
            return Err(not_found());
        }
        services.sessions().fold_to(&hub.key, hub.head(), &mut state, |_| {}).await?;
    }
    let mut all = SubagentList::of_state(state);
    all.subagents.splice(..0, old);
    Ok(all)
}

fn is_open(task: &Task, ids: &[String]) -> bool {
    let is_meant = ids.is_empty() || ids.iter().any(|id| task.task_id.as_str() == id);
    is_subagent(task) && is_meant && !task.status.is_terminal()
}
