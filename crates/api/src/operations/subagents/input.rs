use riverrun_event::{ErrorCode, Input, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, check_blobs, check_input, not_found, schema};

pub struct SendSubagentInput;

/// Give a running sub-agent more input.
///
/// Its model reads it before its next step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendSubagentInputRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The sub-agent.
    #[schemars(schema_with = "schema::id")]
    subagent_id: String,
    /// What the sub-agent is to read.
    input: Input,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subagent")]
pub struct SubagentReference {
    subagent_id: TaskId,
}

impl Operation for SendSubagentInput {
    const ABOUT: About = About {
        name: "subagent.input",
        aliases: &["send_subagent_input"],
        id: "sendSubagentInput",
        group: OperationGroup::Subagents,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/subagents/{task}/input",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The input is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TurnEnded, ErrorCode::UrlBlocked, ErrorCode::BadRef],
        http_names: &[("subagentId", "task")],
    };
    type Request = SendSubagentInputRequest;
    type Response = SubagentReference;

    async fn run(
        context: &RequestContext,
        request: SendSubagentInputRequest,
    ) -> Result<SubagentReference, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let SendSubagentInputRequest { subagent_id, input, .. } = request;
        let services = context.services();
        check_input(services, &input)?;
        check_blobs(services, &hub.key.tenant, Some(&input), &[]).await?;
        let subagent_id = TaskId::new(subagent_id).map_err(|_| not_found())?;
        let sent =
            services.runner().subagent_input(&hub.key, &subagent_id, input, context.request_key()).await;
        services.answered(RunnerCommand::Subagent, sent)?;
        Ok(SubagentReference { subagent_id })
    }
}
