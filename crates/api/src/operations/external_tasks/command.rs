//! Carries commands on external tasks out: checks the status, appends what follows, answers.

use riverrun_event::{ErrorCode, RunId, TaskId};
use riverrun_fold::{State, Status, Task};
use riverrun_session::Hub;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::MutexGuard;

use super::link::TaskLinkKind;
use super::verb::{Edge, Verb};
use super::{ChangedTask, steps};
use crate::append::append_events;
use crate::{ApiError, Once, RequestContext, Services, invalid, not_found};

/// The payload of a command's event.
pub(super) type Payload = Map<String, Value>;

/// The members of a request that belong into the payload of its event: those that it serialises.
pub(super) fn payload(request: &impl Serialize) -> Payload {
    match serde_json::to_value(request) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// A task of a session, by who works on it.
pub(super) enum FoundTask<'a> {
    External(Box<LockedTask<'a>>),
    /// The runner works on it, or did.
    RunHere,
}

/// An external task that nothing else changes while a command looks at it and changes it.
pub(super) struct LockedTask<'a> {
    services: &'a Services,
    hub: &'a Hub,
    state: State,
    at: usize,
    _lock: MutexGuard<'a, ()>,
}

/// 404 if there is no such task.
pub(super) async fn find<'a>(
    services: &'a Services,
    hub: &'a Hub,
    task: &str,
) -> Result<FoundTask<'a>, ApiError> {
    let id = TaskId::new(task).map_err(|_| not_found())?;
    let lock = hub.task_commands.lock().await;
    let state = services.sessions().state_at(&hub.key, hub.head()).await?;
    match state.tasks.iter().position(|task| task.task_id == id) {
        Some(at) if state.tasks[at].turn_id.is_none() => {
            Ok(FoundTask::External(Box::new(LockedTask { services, hub, state, at, _lock: lock })))
        }
        Some(_) => Ok(FoundTask::RunHere),
        None if has_turn(services, hub, &id).await? => Ok(FoundTask::RunHere),
        None => Err(not_found()),
    }
}

/// Carries a command out that only external tasks take; 409 if the runner works on the task.
pub(super) async fn command(
    context: &RequestContext,
    (session, task): (&str, &str),
    verb: Verb,
    payload: Payload,
) -> Result<ChangedTask, ApiError> {
    let hub = context.hub(session).await?;
    external(context.services(), &hub, task).await?.carry_out(verb, payload, context.once()).await
}

/// The same for a command about an edge of the task graph.
pub(super) async fn link_command(
    context: &RequestContext,
    (session, task): (&str, &str),
    verb: Verb,
    (edge, payload): ((TaskLinkKind, &str), Payload),
) -> Result<ChangedTask, ApiError> {
    let hub = context.hub(session).await?;
    let locked = external(context.services(), &hub, task).await?;
    locked.check_link(edge)?;
    locked.carry_out(verb, payload, context.once()).await
}

async fn external<'a>(
    services: &'a Services,
    hub: &'a Hub,
    task: &str,
) -> Result<Box<LockedTask<'a>>, ApiError> {
    match find(services, hub, task).await? {
        FoundTask::External(locked) => Ok(locked),
        FoundTask::RunHere => Err(run_here(task)),
    }
}

impl LockedTask<'_> {
    pub async fn carry_out(self, verb: Verb, payload: Payload, once: &Once) -> Result<ChangedTask, ApiError> {
        let task = &self.state.tasks[self.at];
        match verb.edge(task.status) {
            Edge::Leads => {}
            Edge::Already => return Ok(ChangedTask { duplicate: true, ..changed(task, task.status) }),
            Edge::Refused(instead) => return Err(refused(task, verb, instead)),
        }
        let run = RunId::from_bytes(once.id().unwrap_or_else(|| self.services.random_id()));
        let below = steps::open_below(&self.state.tasks, &task.task_id);
        let reason = payload.get("reason").cloned();
        let mut events = steps::events(verb, task, &below, payload, &run);
        if verb == Verb::Cancel {
            events.extend(steps::cancelled_jobs(&self.state.jobs, task, &below, reason.as_ref()));
        }
        let changed = changed(task, verb.leads_to().unwrap_or(task.status));
        append_events(self.services, self.hub, &events, once.record(200, &changed)).await?;
        Ok(changed)
    }

    fn check_link(&self, (kind, target): (TaskLinkKind, &str)) -> Result<(), ApiError> {
        if target == self.state.tasks[self.at].task_id.as_str() {
            return Err(invalid("targetId", &"a task has no edge to itself"));
        }
        let is_task = |known: &Task| known.task_id.as_str() == target;
        if kind.leads_to_task() && !self.state.tasks.iter().any(is_task) {
            let shown: String = target.chars().take(64).flat_map(char::escape_default).collect();
            let detail = format!("there is no task `{shown}` in this session");
            return Err(invalid("targetId", &detail));
        }
        Ok(())
    }
}

/// Whether a turn that may have left the state has this task.
pub(super) async fn has_turn(services: &Services, hub: &Hub, id: &TaskId) -> Result<bool, ApiError> {
    let found = services.log().find_task(&hub.key.tenant, id).await?;
    Ok(found.iter().any(|record| record.key == hub.key))
}

pub(super) fn changed(task: &Task, status: Status) -> ChangedTask {
    ChangedTask::new(task.task_id.clone(), status.as_str())
}

fn refused(task: &Task, verb: Verb, instead: &str) -> ApiError {
    let (id, status) = (&task.task_id, task.status.as_str());
    let detail = format!("task `{id}` is {status}, so it does not take `{}`; {instead}", verb.as_str());
    ApiError::new(ErrorCode::TaskStatus, detail).with("taskStatus", status)
}

fn run_here(task: &str) -> ApiError {
    let detail = format!(
        "task `{task}` is run here, and its run says how it stands; `cancel` and `retry` are for callers"
    );
    ApiError::new(ErrorCode::TaskStatus, detail)
}
