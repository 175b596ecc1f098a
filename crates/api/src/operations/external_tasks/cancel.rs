use riverrun_event::ErrorCode;
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ChangedTask;
use super::command::{FoundTask, find, payload};
use super::run_here::{self, Reason, session_of};
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, Once, RequestContext, Services, schema, to_json};

pub struct CancelTask;

/// Cancel a task.
///
/// It cancels the turn of a root task, closes a sub-agent, or ends an external task with the tasks below it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelTaskRequest {
    /// The session; over JSON-RPC the newest with this task by default.
    #[serde(alias = "session_id")]
    #[schemars(with = "Option<schema::IdText>")]
    session_id: Option<String>,
    /// The task.
    #[serde(alias = "task_id", alias = "id")]
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
}

impl Operation for CancelTask {
    const ABOUT: About = About {
        name: "task.cancel",
        aliases: &["cancel_task"],
        id: "cancelTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/cancel",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[
            (200, "The external task is cancelled."),
            (202, "The runner works on the task, and will end it."),
        ],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus, ErrorCode::TurnEnded],
        http_names: &[],
    };
    type Request = CancelTaskRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: CancelTaskRequest) -> Result<ChangedTask, ApiError> {
        let CancelTaskRequest { session_id, task_id, reason } = request;
        let hub = session_of(context, &task_id, session_id.as_deref()).await?;
        cancel_task(context.services(), &hub, &task_id, reason, context.once()).await
    }

    fn status(cancelled: &ChangedTask) -> u16 {
        if cancelled.is_accepted_only { 202 } else { 200 }
    }
}

/// Cancels a task of a session that the caller may write to, whoever works on it.
pub async fn cancel_task(
    services: &Services,
    hub: &Hub,
    task: &str,
    reason: Option<String>,
    once: &Once,
) -> Result<ChangedTask, ApiError> {
    if let FoundTask::External(locked) = find(services, hub, task).await? {
        return locked.carry_out(Verb::Cancel, payload(&Reason { reason }), once).await;
    }
    let cancelled = run_here::cancel(services, hub, task, reason, once.request()).await?;
    once.remember(services, 202, &to_json(&cancelled)).await?;
    Ok(cancelled)
}
