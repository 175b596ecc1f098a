use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::SubagentList;
use super::read::wait_for;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct WaitSubagents;

/// Wait until sub-agents have ended, or the time is over.
///
/// The requests behind this one on the same connection wait too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitSubagentsRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The sub-agents; all by default.
    #[serde(default)]
    subagent_ids: Vec<String>,
    /// How long to wait.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 60))]
    timeout_seconds: u64,
}

fn ten() -> u64 {
    10
}

impl Operation for WaitSubagents {
    const ABOUT: About = About {
        name: "subagent.wait",
        aliases: &["wait_subagents"],
        id: "waitSubagents",
        group: OperationGroup::Subagents,
        method: HttpMethod::Get,
        path: "",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The sub-agents.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = WaitSubagentsRequest;
    type Response = SubagentList;

    async fn run(context: &RequestContext, request: WaitSubagentsRequest) -> Result<SubagentList, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let wait = ("timeoutSeconds", request.timeout_seconds);
        wait_for(context.services(), &hub, &request.subagent_ids, wait).await
    }
}
