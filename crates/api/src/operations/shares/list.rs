use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ShareView;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ListShares;

/// List the links to a session, also those that no longer work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSharesRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShareList {
    /// The oldest first.
    shares: Vec<ShareView>,
}

impl Operation for ListShares {
    const ABOUT: About = About {
        name: "share.list",
        aliases: &[],
        id: "listShares",
        group: OperationGroup::Sharing,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/shares",
        // A link is the right to read, so listing links takes the right to create them.
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The shares.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ListSharesRequest;
    type Response = ShareList;

    async fn run(context: &RequestContext, request: ListSharesRequest) -> Result<ShareList, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let shares = services.log().shares(&hub.key).await?.into_iter();
        let view = |share| ShareView::new(services, context.base_url(), share);
        Ok(ShareList { shares: shares.map(view).collect() })
    }
}
