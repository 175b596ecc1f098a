use riverrun_event::{ErrorCode, RawJson, TaskId, ThreadId};
use riverrun_fold::{State, Status, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::command::{Payload, changed, has_turn, payload};
use super::{ChangedTask, TaskVisibility};
use crate::append::append_events;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, invalid, schema};

/// External tasks stay in the session's state, so their number is bounded.
const MAX_TASKS: usize = 1000;

pub struct CreateTask;

/// Create an external task.
///
/// The caller works on it and reports its progress; no agent runs it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateTaskRequest {
    /// The session.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The id of the new task; made by the server by default.
    #[serde(skip_serializing)]
    #[schemars(with = "Option<schema::IdText>")]
    task_id: Option<TaskId>,
    /// The external task that this one is a part of.
    #[serde(skip_serializing)]
    #[schemars(with = "Option<schema::IdText>")]
    parent_task_id: Option<TaskId>,
    /// The thread that the task belongs to.
    #[serde(skip_serializing)]
    #[schemars(with = "Option<schema::IdText>")]
    thread_id: Option<ThreadId>,
    /// A short name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What is to be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<String>,
    /// Who works on it, as an agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// What sort of work it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Tasks of the same purpose share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_family: Option<String>,
    /// Whether people are shown the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<TaskVisibility>,
    /// The first status; `accepted` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<InitialTaskStatus>,
    /// How urgent it is, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
    /// Who asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<RawJson>,
    /// Who answers for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<RawJson>,
    /// Who is to do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<RawJson>,
    /// What belongs to the work and what does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<RawJson>,
    /// What the work must respect.
    #[serde(skip_serializing_if = "Option::is_none")]
    constraints: Option<RawJson>,
    /// By what the result is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<Vec<RawJson>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum InitialTaskStatus {
    Draft,
    Accepted,
    Queued,
}

impl Operation for CreateTask {
    const ABOUT: About = About {
        name: "task.create",
        aliases: &["create_task"],
        id: "createTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(201, "The task is durable."), (200, "It was there before.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskExists],
        http_names: &[],
    };
    type Request = CreateTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: CreateTaskRequest) -> Result<ChangedTask, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, once) = (context.services(), context.once());
        let payload = payload(&request);
        let _lock = hub.task_commands.lock().await;
        let state = services.sessions().state_at(&hub.key, hub.head()).await?;
        let id = match &request.task_id {
            Some(id) => id.clone(),
            None => TaskId::from_bytes(once.id().unwrap_or_else(|| services.random_id())),
        };
        if let Some(known) = state.tasks.iter().find(|task| task.task_id == id) {
            return match request.describes(known) {
                true => Ok(ChangedTask { duplicate: true, ..changed(known, known.status) }),
                false => Err(exists(&id)),
            };
        }
        if has_turn(services, &hub, &id).await? {
            return Err(exists(&id));
        }
        check_room(&state)?;
        let status = request.status.map_or(Status::Accepted, InitialTaskStatus::status);
        let created = ChangedTask::new(id.clone(), status.as_str());
        let event = request.event(&state, &id, payload)?;
        append_events(services, &hub, &[event], once.record(201, &created)).await?;
        Ok(created)
    }

    fn status(created: &ChangedTask) -> u16 {
        if created.duplicate { 200 } else { 201 }
    }
}

impl InitialTaskStatus {
    const fn status(self) -> Status {
        match self {
            InitialTaskStatus::Draft => Status::Draft,
            InitialTaskStatus::Accepted => Status::Accepted,
            InitialTaskStatus::Queued => Status::Queued,
        }
    }
}

impl CreateTaskRequest {
    /// Whether this request would have made the task as it was made.
    fn describes(&self, known: &Task) -> bool {
        known.turn_id.is_none()
            && known.parent_task_id == self.parent_task_id
            && known.title == self.title
            && known.objective == self.objective
    }

    fn event(&self, state: &State, id: &TaskId, payload: Payload) -> Result<Value, ApiError> {
        let mut event = json!({ "type": "task.created", "taskId": id, "payload": payload });
        if let Some(parent) = &self.parent_task_id {
            event["depth"] = json!(depth_below(state, parent)?);
            event["parentTaskId"] = json!(parent);
        }
        if let Some(thread) = &self.thread_id {
            event["threadId"] = json!(thread);
        }
        Ok(event)
    }
}

fn check_room(state: &State) -> Result<(), ApiError> {
    let count = state.tasks.iter().filter(|task| task.turn_id.is_none()).count();
    if count < MAX_TASKS {
        return Ok(());
    }
    let detail = format!("this session keeps {count} tasks; create more in another session");
    Err(ApiError::new(ErrorCode::InvalidRequest, detail).limit(MAX_TASKS as u64))
}

/// A task that the runner works on has no children but its sub-agents.
fn depth_below(state: &State, parent: &TaskId) -> Result<u32, ApiError> {
    match state.tasks.iter().find(|task| task.task_id == *parent) {
        Some(task) if task.turn_id.is_none() => Ok(task.depth + 1),
        Some(_) => Err(invalid("parentTaskId", &"that task is run here; link to it with `source_task`")),
        None => {
            let detail = format!("there is no task `{parent}` in this session; create it first");
            Err(invalid("parentTaskId", &detail))
        }
    }
}

fn exists(id: &TaskId) -> ApiError {
    let detail = format!("task `{id}` is there with other contents; choose another id, or `update` it");
    ApiError::new(ErrorCode::TaskExists, detail).field("taskId")
}
