use riverrun_event::ErrorCode;
use riverrun_log::Share;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ShareView;
use super::link::{now, share_of_session};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct RevokeShare;

/// Revoke a link to a session.
///
/// Nobody can read by it from then on. Revoking it again changes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeShareRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The id of the share, which is the secret of its link.
    share_id: String,
}

impl Operation for RevokeShare {
    const ABOUT: About = About {
        name: "share.revoke",
        aliases: &[],
        id: "revokeShare",
        group: OperationGroup::Sharing,
        method: HttpMethod::Delete,
        path: "/v1/sessions/{session}/shares/{share}",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(204, "It works no longer.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = RevokeShareRequest;
    /// JSON-RPC answers the share; HTTP answers 204, which has no body.
    type Response = ShareView;

    async fn run(context: &RequestContext, request: RevokeShareRequest) -> Result<ShareView, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let share = share_of_session(services, &hub, &request.share_id).await?;
        let revoked_at = Some(share.revoked_at.unwrap_or_else(|| now(services)));
        let share = Share { revoked_at, ..share };
        services.log().put_share(share.clone()).await?;
        Ok(ShareView::new(services, context.base_url(), share))
    }
}
