use std::collections::BTreeMap;

use riverrun_event::{ErrorCode, RawJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ChangedTask;
use super::command::{command, payload};
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct CompleteTask;

/// End an external task that reached its objective.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompleteTaskRequest {
    /// The session.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// Why, for those who read the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    final_output: Option<RawJson>,
    /// The result in a sentence or two.
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_summary: Option<String>,
    /// Where results are.
    #[schemars(with = "Option<Vec<RawJson>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    output_refs: Option<RawJson>,
    /// What the work used.
    #[schemars(with = "Option<BTreeMap<String, RawJson>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<RawJson>,
}

impl Operation for CompleteTask {
    const ABOUT: About = About {
        name: "task.complete",
        aliases: &["complete_task"],
        id: "completeTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/complete",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The task is complete.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus],
        http_names: &[],
    };
    type Request = CompleteTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: CompleteTaskRequest) -> Result<ChangedTask, ApiError> {
        let of = (&*request.session_id, &*request.task_id);
        command(context, of, Verb::Complete, payload(&request)).await
    }
}
