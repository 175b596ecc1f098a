use riverrun_event::{ErrorCode, RawJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ChangedTask;
use super::command::{command, payload};
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct AppendTaskProgress;

/// Report progress on an external task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AppendTaskProgressRequest {
    /// The session.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// What the work is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<TaskPhase>,
    /// What to show to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How much of the work is done, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    fraction: Option<f64>,
    /// Figures of the caller's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<RawJson>,
    /// Where results are.
    #[schemars(with = "Option<Vec<RawJson>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    output_refs: Option<RawJson>,
    /// Whether the result reached who asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_state: Option<TaskDelivery>,
    /// Which of the criteria are met.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<RawJson>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskPhase {
    Planning,
    Working,
    Verifying,
    Delivering,
    Waiting,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskDelivery {
    Pending,
    Delivered,
    Queued,
    Failed,
    ParentMissing,
    NotApplicable,
}

impl Operation for AppendTaskProgress {
    const ABOUT: About = About {
        name: "task.progress",
        aliases: &["append_task_progress"],
        id: "appendTaskProgress",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/progress",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The progress is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus],
        http_names: &[],
    };
    type Request = AppendTaskProgressRequest;
    type Response = ChangedTask;

    async fn run(
        context: &RequestContext,
        request: AppendTaskProgressRequest,
    ) -> Result<ChangedTask, ApiError> {
        let of = (&*request.session_id, &*request.task_id);
        command(context, of, Verb::Progress, payload(&request)).await
    }
}
