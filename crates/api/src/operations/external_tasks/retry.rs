use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ChangedTask;
use super::command::{FoundTask, find, payload};
use super::run_here::{self, Reason, session_of};
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::operations::turns::SubmittedTurn;
use crate::{ApiError, KeyScope, RequestContext, schema, to_json};

pub struct RetryTask;

/// Run a task again.
///
/// A root task gets a new run of its turn; of an external task the next attempt begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryTaskRequest {
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

/// The wire form of each is older than the table of operations, so no member tells them apart but their own.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RetriedTask {
    External(ChangedTask),
    RunHere(SubmittedTurn),
}

impl Operation for RetryTask {
    const ABOUT: About = About {
        name: "task.retry",
        aliases: &["retry_task"],
        id: "retryTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/retry",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[
            (200, "The next attempt at the external task has begun."),
            (202, "The runner works on the task again."),
        ],
        errors: &[
            ErrorCode::NotFound,
            ErrorCode::TaskStatus,
            ErrorCode::TurnRunning,
            ErrorCode::ThreadBusy,
            ErrorCode::UnsupportedOperation,
        ],
        http_names: &[],
    };
    type Request = RetryTaskRequest;
    type Response = RetriedTask;

    async fn run(context: &RequestContext, request: RetryTaskRequest) -> Result<RetriedTask, ApiError> {
        let RetryTaskRequest { session_id, task_id, reason } = request;
        let hub = session_of(context, &task_id, session_id.as_deref()).await?;
        let (services, once) = (context.services(), context.once());
        if let FoundTask::External(locked) = find(services, &hub, &task_id).await? {
            let payload = payload(&Reason { reason });
            return Ok(RetriedTask::External(locked.carry_out(Verb::Retry, payload, once).await?));
        }
        let turn = run_here::retry(services, &hub, &task_id, once.request()).await?;
        once.remember(services, 202, &to_json(&turn)).await?;
        Ok(RetriedTask::RunHere(turn))
    }

    fn status(retried: &RetriedTask) -> u16 {
        match retried {
            RetriedTask::External(_) => 200,
            RetriedTask::RunHere(_) => 202,
        }
    }
}
