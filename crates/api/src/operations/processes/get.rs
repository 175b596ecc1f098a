use riverrun_event::ErrorCode;
use riverrun_fold::Process;
use schemars::JsonSchema;
use serde::Deserialize;

use super::processes_of;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct GetProcess;

/// Show a process: its status, and where its output is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetProcessRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The process.
    #[schemars(schema_with = "schema::id")]
    process_id: String,
}

impl Operation for GetProcess {
    const ABOUT: About = About {
        name: "process.get",
        aliases: &[],
        id: "getProcess",
        group: OperationGroup::Processes,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/processes/{process}",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The process.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = GetProcessRequest;
    type Response = Process;

    async fn run(context: &RequestContext, request: GetProcessRequest) -> Result<Process, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let mut known = processes_of(context.services(), &hub).await?.processes.into_iter();
        known.find(|known| known.process_id == request.process_id).ok_or_else(not_found)
    }
}
