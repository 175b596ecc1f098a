use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ChangedTask, Halt, pause_task};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct PauseTask;

/// Halt a task.
///
/// A task that the runner works on stops at its next boundary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PauseTaskRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
}

impl Operation for PauseTask {
    const ABOUT: About = About {
        name: "task.pause",
        aliases: &["pause_task"],
        id: "pauseTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/pause",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The task is paused.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus, ErrorCode::NotPausable],
        http_names: &[],
    };
    type Request = PauseTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: PauseTaskRequest) -> Result<ChangedTask, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let halt = (Halt::Pause, request.reason);
        pause_task(context.services(), &hub, &request.task_id, halt, context.once()).await
    }
}
