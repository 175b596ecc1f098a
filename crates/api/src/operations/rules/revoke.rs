use riverrun_event::ErrorCode;
use riverrun_runner::{Revoke, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::cursor_after;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, schema};

pub struct RevokeRule;

/// Revoke a decision that was given for always.
///
/// The tool is asked about again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeRuleRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The id of the rule, from the list of rules.
    rule_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokedRule {
    /// The rule that holds no longer.
    revoked: Rule,
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
}

impl Operation for RevokeRule {
    const ABOUT: About = About {
        name: "rule.revoke",
        aliases: &[],
        id: "revokeRule",
        group: OperationGroup::Actions,
        method: HttpMethod::Delete,
        path: "/v1/sessions/{session}/rules/{rule}",
        scope: KeyScope::Approve,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(200, "The rule holds no longer.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = RevokeRuleRequest;
    type Response = RevokedRule;

    async fn run(context: &RequestContext, request: RevokeRuleRequest) -> Result<RevokedRule, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let revoked_by = Some(context.identity().key_id().as_str().to_owned());
        let revoke = Revoke { rule: request.rule_id, revoked_by };
        let revoked = services.runner().idempotent(context.request_key()).revoke(&hub.key, revoke).await;
        let revoked = services.answered(RunnerCommand::Rule, revoked)?;
        let cursor = cursor_after(&hub, revoked.sequence).to_string();
        Ok(RevokedRule { revoked: revoked.rule, cursor })
    }
}
