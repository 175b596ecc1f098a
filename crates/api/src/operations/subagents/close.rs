use riverrun_event::{ErrorCode, TaskId};
use riverrun_runner::RequestKey;
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, Services, not_found, schema};

const CANCELLING: &str = "cancelling";

pub struct CloseSubagent;

/// Stop a sub-agent.
///
/// Its parent continues.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseSubagentRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The sub-agent.
    #[schemars(schema_with = "schema::id")]
    subagent_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClosedSubagent {
    subagent_id: TaskId,
    /// `cancelling`, or how it had ended before.
    status: &'static str,
}

impl ClosedSubagent {
    pub fn has_ended(&self) -> bool {
        self.status != CANCELLING
    }

    pub fn status(&self) -> &'static str {
        self.status
    }
}

impl Operation for CloseSubagent {
    const ABOUT: About = About {
        name: "subagent.close",
        aliases: &["close_subagent"],
        id: "closeSubagent",
        group: OperationGroup::Subagents,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/subagents/{task}/close",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The sub-agent ends."), (200, "It had ended before.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[("subagentId", "task")],
    };
    type Request = CloseSubagentRequest;
    type Response = ClosedSubagent;

    async fn run(
        context: &RequestContext,
        request: CloseSubagentRequest,
    ) -> Result<ClosedSubagent, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let CloseSubagentRequest { subagent_id, reason, .. } = request;
        close_subagent(context.services(), &hub, &subagent_id, reason, context.request_key()).await
    }

    fn status(closed: &ClosedSubagent) -> u16 {
        if closed.has_ended() { 200 } else { 202 }
    }
}

/// Closes a sub-agent of a session that the caller may write to.
pub async fn close_subagent(
    services: &Services,
    hub: &Hub,
    subagent: &str,
    reason: Option<String>,
    request: Option<RequestKey>,
) -> Result<ClosedSubagent, ApiError> {
    let subagent_id = TaskId::new(subagent).map_err(|_| not_found())?;
    let closed = services.runner().idempotent(request).close_subagent(&hub.key, &subagent_id, reason).await;
    let ended = services.answered(RunnerCommand::Subagent, closed)?;
    Ok(ClosedSubagent { subagent_id, status: ended.map_or(CANCELLING, |status| status.as_str()) })
}
