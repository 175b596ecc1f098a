use riverrun_event::ErrorCode;
use riverrun_fold::read_model::{TaskRead, read_models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ListTasks;

/// List the tasks of open and recent turns, and external tasks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListTasksRequest {
    /// The session.
    #[serde(alias = "session_id")]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Only tasks with this status.
    #[schemars(with = "Option<schema::Word>")]
    status: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tasks")]
pub struct TaskList {
    tasks: Vec<TaskRead>,
    /// Those of turns before the newest eight finished ones are left out; `GET /v1/tasks/{task}` answers each.
    truncated: bool,
}

impl Operation for ListTasks {
    const ABOUT: About = About {
        name: "task.list",
        aliases: &["list_tasks"],
        id: "listTasks",
        group: OperationGroup::Tasks,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/tasks",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The tasks.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ListTasksRequest;
    type Response = TaskList;

    async fn run(context: &RequestContext, request: ListTasksRequest) -> Result<TaskList, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let state = context.services().sessions().state_at(&hub.key, hub.head()).await?;
        let tasks = read_models(&state).task_snapshot.tasks.into_iter();
        let wanted = request.status.as_deref();
        let tasks = tasks.filter(|task| wanted.is_none_or(|status| task.status == status)).collect();
        Ok(TaskList { tasks, truncated: state.sealed_turns > 0 })
    }
}
