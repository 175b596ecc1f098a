use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ChangedTask, Halt, pause_task};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ResumeTask;

/// Let a halted task continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeTaskRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
}

impl Operation for ResumeTask {
    const ABOUT: About = About {
        name: "task.resume",
        aliases: &["resume_task"],
        id: "resumeTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/resume",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The task runs.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus, ErrorCode::NotPausable],
        http_names: &[],
    };
    type Request = ResumeTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: ResumeTaskRequest) -> Result<ChangedTask, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let halt = (Halt::Resume, request.reason);
        pause_task(context.services(), &hub, &request.task_id, halt, context.once()).await
    }
}
