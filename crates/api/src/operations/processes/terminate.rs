use riverrun_event::ErrorCode;
use riverrun_runner::Terminate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::process_id;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, schema};

pub struct TerminateProcess;

/// End a running process.
///
/// The answer comes when its end is durable.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminateProcessRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The process.
    #[schemars(schema_with = "schema::id")]
    process_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcessOver")]
pub struct EndedProcess {
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    process_id: String,
    /// `cancelled` if it was ended, or how it ended by itself just before.
    status: String,
}

impl Operation for TerminateProcess {
    const ABOUT: About = About {
        name: "process.terminate",
        aliases: &["terminate_process"],
        id: "terminateProcess",
        group: OperationGroup::Processes,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/processes/{process}/terminate",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(200, "Its end is durable.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = TerminateProcessRequest;
    type Response = EndedProcess;

    async fn run(
        context: &RequestContext,
        request: TerminateProcessRequest,
    ) -> Result<EndedProcess, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let process = process_id(&request.process_id)?;
        let terminate = Terminate { by: context.identity().key_id().to_string(), reason: request.reason };
        let services = context.services();
        let runner = services.runner();
        let ended = runner.terminate_process(&hub.key, &process, terminate, context.request_key()).await;
        let ended = services.answered(RunnerCommand::Process, ended)?;
        Ok(EndedProcess { exit_code: ended.exit_code, process_id: ended.process_id, status: ended.status })
    }
}
