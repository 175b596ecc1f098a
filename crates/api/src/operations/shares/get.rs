use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ShareView;
use super::link::share_of_session;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct GetShare;

/// Show a link to a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetShareRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The id of the share, which is the secret of its link.
    share_id: String,
}

impl Operation for GetShare {
    const ABOUT: About = About {
        name: "share.get",
        aliases: &[],
        id: "getShare",
        group: OperationGroup::Sharing,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/shares/{share}",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The share.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = GetShareRequest;
    type Response = ShareView;

    async fn run(context: &RequestContext, request: GetShareRequest) -> Result<ShareView, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let share = share_of_session(context.services(), &hub, &request.share_id).await?;
        Ok(ShareView::new(context.services(), context.base_url(), share))
    }
}
