use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ShareView, create_share};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct CreateShare;

/// Create a link by which anybody who has it may read the session up to now.
///
/// Each request creates another link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateShareRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Default: the session's.
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// How long the link works, in seconds.
    #[schemars(range(min = 1, max = 31_536_000), extend("default" = 2_592_000))]
    expires_in: Option<u64>,
}

impl Operation for CreateShare {
    const ABOUT: About = About {
        name: "share.create",
        aliases: &[],
        id: "createShare",
        group: OperationGroup::Sharing,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/shares",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(201, "The share.")],
        errors: &[ErrorCode::NotFound, ErrorCode::QuotaExceeded],
        http_names: &[],
    };
    type Request = CreateShareRequest;
    type Response = ShareView;

    async fn run(context: &RequestContext, request: CreateShareRequest) -> Result<ShareView, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let share = create_share(services, &hub, request.title, request.expires_in).await?;
        Ok(ShareView::new(services, context.base_url(), share))
    }
}
