use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::SubagentState;
use super::read::find;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ResumeSubagent;

/// Show a sub-agent.
///
/// The runner continues a sub-agent by itself after a restart, so there is nothing to resume.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeSubagentRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The sub-agent.
    #[schemars(schema_with = "schema::id")]
    subagent_id: String,
}

impl Operation for ResumeSubagent {
    const ABOUT: About = About {
        name: "subagent.resume",
        aliases: &["resume_subagent"],
        id: "resumeSubagent",
        group: OperationGroup::Subagents,
        method: HttpMethod::Get,
        path: "",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The sub-agent.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ResumeSubagentRequest;
    type Response = SubagentState;

    async fn run(
        context: &RequestContext,
        request: ResumeSubagentRequest,
    ) -> Result<SubagentState, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        find(context.services(), &hub, &request.subagent_id).await
    }
}
