//! Carries commands on kept tasks out: looks where the task stands, appends what follows, answers.

use http::StatusCode;
use riverrun_event::{Author, Decoded, ErrorCode, RunId, TaskId, decode};
use riverrun_fold::{State, Status, TaskState};
use serde_json::{Value, json};
use tokio::sync::MutexGuard;

use super::verb::{Edge, Verb};
use super::{TaskView, body, step};
use crate::app::App;
use crate::edge::{Problem, invalid, not_found};
use crate::route::idempotency::Once;
use crate::route::ingest::store_once;
use crate::route::sessions::random_id;
use riverrun_session::Hub;

/// They stay in the session's state, so their number is bounded.
const MOST: usize = 1000;

/// A task that a caller keeps, held still while a command looks at it and changes it.
pub(crate) struct Kept<'a> {
    app: &'a App,
    hub: &'a Hub,
    state: State,
    at: usize,
    _still: MutexGuard<'a, ()>,
}

impl<'a> Kept<'a> {
    /// 404 if there is no such task, 409 if it is one that is run here.
    pub async fn find(app: &'a App, hub: &'a Hub, task: &str) -> Result<Self, Problem> {
        let id = TaskId::new(task).map_err(|_| not_found())?;
        let still = hub.task_commands.lock().await;
        let state = app.sessions().state_at(&hub.key, hub.head()).await?;
        match state.tasks.iter().position(|task| task.task_id == id) {
            Some(at) if state.tasks[at].turn_id.is_none() => Ok(Self { app, hub, state, at, _still: still }),
            Some(_) => Err(is_run_here(&id)),
            None if is_known(app, hub, &id).await? => Err(is_run_here(&id)),
            None => Err(not_found()),
        }
    }

    pub async fn carry_out(self, verb: Verb, text: &str, once: &Once) -> Result<TaskView, Problem> {
        let payload = body::payload(verb, text)?;
        let task = &self.state.tasks[self.at];
        if matches!(verb, Verb::Link | Verb::Unlink) {
            self.check_link(task, &body::link(text)?)?;
        }
        match verb.edge(task.status) {
            Edge::Leads => {}
            Edge::Already => return Ok(view(task, task.status, true)),
            Edge::Refused(instead) => return Err(refused(task, verb, instead)),
        }
        let run = RunId::from_bytes(once.id().map_or_else(|| random_id(self.app), Ok)?);
        let below = step::open_below(&self.state.tasks, &task.task_id);
        let reason = payload.get("reason").cloned();
        let mut events = step::events(verb, task, &below, payload, &run);
        if verb == Verb::Cancel {
            events.extend(step::cancelled_jobs(&self.state.jobs, task, &below, reason.as_ref()));
        }
        let view = view(task, verb.leads_to().unwrap_or(task.status), false);
        append(self.app, self.hub, &events, once, (StatusCode::OK, &view)).await?;
        Ok(view)
    }

    fn check_link(&self, task: &TaskState, link: &body::Link) -> Result<(), Problem> {
        if link.target_id == task.task_id.as_str() {
            return Err(invalid("targetId", &"a task has no edge to itself"));
        }
        let is_task = |known: &TaskState| known.task_id.as_str() == link.target_id;
        if link.kind.leads_to_task() && !self.state.tasks.iter().any(is_task) {
            let detail = format!("there is no task `{}` in this session", shown(&link.target_id));
            return Err(invalid("targetId", &detail));
        }
        Ok(())
    }
}

/// True if a caller keeps the task; false if it is run here or not there.
pub(crate) async fn keeps(app: &App, hub: &Hub, task: &TaskId) -> Result<bool, Problem> {
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    Ok(state.tasks.iter().any(|known| known.task_id == *task && known.turn_id.is_none()))
}

pub(crate) async fn create_task(app: &App, hub: &Hub, text: &str, once: &Once) -> Result<TaskView, Problem> {
    let (of, payload) = body::new_task(text)?;
    let _still = hub.task_commands.lock().await;
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let id = match of.task_id {
        Some(id) => id,
        None => TaskId::from_bytes(once.id().map_or_else(|| random_id(app), Ok)?),
    };
    if let Some(known) = state.tasks.iter().find(|task| task.task_id == id) {
        let told = |name: &str| payload.get(name).and_then(Value::as_str);
        let is_same = known.turn_id.is_none()
            && known.parent_task_id == of.parent_task_id
            && known.title.as_deref() == told("title")
            && known.objective.as_deref() == told("objective");
        return if is_same { Ok(view(known, known.status, true)) } else { Err(exists(&id)) };
    }
    if is_known(app, hub, &id).await? {
        return Err(exists(&id));
    }
    check_room(&state)?;
    let status = payload.get("status").and_then(Value::as_str).and_then(Status::parse);
    let view = TaskView {
        task_id: id.clone(),
        status: status.unwrap_or(Status::Accepted).as_str(),
        duplicate: false,
    };
    let mut event = json!({ "type": "task.created", "taskId": id, "payload": payload });
    if let Some(parent) = &of.parent_task_id {
        event["depth"] = json!(depth_below(&state, parent)?);
        event["parentTaskId"] = json!(parent);
    }
    if let Some(thread) = &of.thread_id {
        event["threadId"] = json!(thread);
    }
    append(app, hub, &[event], once, (StatusCode::CREATED, &view)).await?;
    Ok(view)
}

fn check_room(state: &State) -> Result<(), Problem> {
    let kept = state.tasks.iter().filter(|task| task.turn_id.is_none()).count();
    if kept < MOST {
        return Ok(());
    }
    let detail = format!("this session keeps {kept} tasks; create more in another session");
    Err(Problem::new(ErrorCode::InvalidRequest, detail).limit(MOST as u64))
}

/// A task that is run here has no children but its sub-agents.
fn depth_below(state: &State, parent: &TaskId) -> Result<u32, Problem> {
    match state.tasks.iter().find(|task| task.task_id == *parent) {
        Some(task) if task.turn_id.is_none() => Ok(task.depth + 1),
        Some(_) => Err(invalid("parentTaskId", &"that task is run here; link to it with `source_task`")),
        None => {
            let detail = format!("there is no task `{parent}` in this session; create it first");
            Err(invalid("parentTaskId", &detail))
        }
    }
}

/// True if a turn that may have left the state has this task.
async fn is_known(app: &App, hub: &Hub, id: &TaskId) -> Result<bool, Problem> {
    let found = app.log().find_task(&hub.key.tenant, id).await?;
    Ok(found.iter().any(|record| record.key == hub.key))
}

/// The answer is stored with the events: the same command again answers it and appends nothing.
async fn append(
    app: &App,
    hub: &Hub,
    events: &[Value],
    once: &Once,
    (status, view): (StatusCode, &TaskView),
) -> Result<(), Problem> {
    let events = events.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
    store_once(app, hub, events, None, once.record(status.as_u16(), view)).await?;
    Ok(())
}

pub(in crate::route) fn decoded(event: &Value) -> Result<Decoded, Problem> {
    let decoded = decode(&event.to_string()).map_err(|error| {
        let field = error.field().unwrap_or_default();
        let field = field.strip_prefix("payload.").unwrap_or(&field).to_owned();
        Problem::new(ErrorCode::InvalidField, error.to_string()).field(field)
    });
    decoded.map(|event| event.by(Author::Writer))
}

fn view(task: &TaskState, status: Status, duplicate: bool) -> TaskView {
    TaskView { task_id: task.task_id.clone(), status: status.as_str(), duplicate }
}

fn refused(task: &TaskState, verb: Verb, instead: &str) -> Problem {
    let (id, status) = (&task.task_id, task.status.as_str());
    let detail = format!("task `{id}` is {status}, so it does not take `{}`; {instead}", verb.as_str());
    Problem::new(ErrorCode::TaskStatus, detail).with("taskStatus", status)
}

fn is_run_here(id: &TaskId) -> Problem {
    let detail = format!(
        "task `{id}` is run here, and its run says how it stands; `cancel` and `retry` are for callers"
    );
    Problem::new(ErrorCode::TaskStatus, detail)
}

fn exists(id: &TaskId) -> Problem {
    let detail = format!("task `{id}` is there with other contents; choose another id, or `update` it");
    Problem::new(ErrorCode::TaskExists, detail).field("taskId")
}

fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_default).collect()
}
