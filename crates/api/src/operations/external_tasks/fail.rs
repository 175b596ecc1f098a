use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ChangedTask;
use super::command::{command, payload};
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct FailTask;

/// End an external task that failed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailTaskRequest {
    /// The session.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// What went wrong.
    error: TaskFailure,
    /// Why, for those who read the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskFailure {
    /// For people.
    message: String,
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// What sort of failure it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    /// Whether another attempt may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
}

impl Operation for FailTask {
    const ABOUT: About = About {
        name: "task.fail",
        aliases: &["fail_task"],
        id: "failTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/fail",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The task has failed.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus],
        http_names: &[],
    };
    type Request = FailTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: FailTaskRequest) -> Result<ChangedTask, ApiError> {
        let of = (&*request.session_id, &*request.task_id);
        command(context, of, Verb::Fail, payload(&request)).await
    }
}
