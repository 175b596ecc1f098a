use riverrun_event::ErrorCode;
use riverrun_runner::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, schema};

pub struct ListRules;

/// List the decisions that were given for always.
///
/// Each rule decides later calls of one tool by one agent, until it is revoked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRulesRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RuleList {
    /// The oldest first.
    rules: Vec<Rule>,
}

impl Operation for ListRules {
    const ABOUT: About = About {
        name: "rule.list",
        aliases: &[],
        id: "listRules",
        group: OperationGroup::Actions,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/rules",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The rules.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ListRulesRequest;
    type Response = RuleList;

    async fn run(context: &RequestContext, request: ListRulesRequest) -> Result<RuleList, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let rules = services.answered(RunnerCommand::Rule, services.runner().rules(&hub.key).await)?;
        Ok(RuleList { rules })
    }
}
