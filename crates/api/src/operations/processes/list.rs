use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ProcessList, processes_of};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ListProcesses;

/// List the processes that tools run or ran.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListProcessesRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

impl Operation for ListProcesses {
    const ABOUT: About = About {
        name: "process.list",
        aliases: &[],
        id: "listProcesses",
        group: OperationGroup::Processes,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/processes",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The newest processes.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ListProcessesRequest;
    type Response = ProcessList;

    async fn run(context: &RequestContext, request: ListProcessesRequest) -> Result<ProcessList, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        processes_of(context.services(), &hub).await
    }
}
