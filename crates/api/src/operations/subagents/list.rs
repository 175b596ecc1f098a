use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::SubagentList;
use super::read::{list, wait_for};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ListSubagents;

/// List the sub-agents of open and recent turns.
///
/// With `wait` it answers when all have ended, or when the time is over.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSubagentsRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Seconds to wait until all have ended.
    #[schemars(range(min = 0, max = 60))]
    wait: Option<u64>,
}

impl Operation for ListSubagents {
    const ABOUT: About = About {
        name: "subagent.list",
        aliases: &["list_subagents"],
        id: "listSubagents",
        group: OperationGroup::Subagents,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/subagents",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The sub-agents.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ListSubagentsRequest;
    type Response = SubagentList;

    async fn run(context: &RequestContext, request: ListSubagentsRequest) -> Result<SubagentList, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        match request.wait {
            Some(seconds) => wait_for(context.services(), &hub, &[], ("wait", seconds)).await,
            None => list(context.services(), &hub).await,
        }
    }
}
