use riverrun_event::{ErrorCode, RawJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{command, payload};
use super::verb::Verb;
use super::{ChangedTask, TaskVisibility};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct UpdateTask;

/// Change the description of an external task.
///
/// Members that are absent stay as they are.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateTaskRequest {
    /// The session.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    task_id: String,
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
    /// How urgent it is, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
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
    /// Why, for those who read the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Operation for UpdateTask {
    const ABOUT: About = About {
        name: "task.update",
        aliases: &["update_task"],
        id: "updateTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/update",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The change is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus],
        http_names: &[],
    };
    type Request = UpdateTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: UpdateTaskRequest) -> Result<ChangedTask, ApiError> {
        let of = (&*request.session_id, &*request.task_id);
        command(context, of, Verb::Update, payload(&request)).await
    }
}
