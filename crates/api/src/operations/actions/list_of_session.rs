use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ActionPage, WantedStatus, pending_actions};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, page_request, schema};

pub struct ListSessionActions;

/// List the actions of a session that wait for a decision.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSessionActionsRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Only actions with this status.
    #[serde(rename = "status")]
    _status: Option<WantedStatus>,
    /// How many entries a page has at most.
    #[schemars(range(min = 1, max = 1000), extend("default" = 50))]
    limit: Option<usize>,
    /// Where the last page ended.
    #[schemars(regex(pattern = schema::PAGE_CURSOR))]
    cursor: Option<String>,
}

impl Operation for ListSessionActions {
    const ABOUT: About = About {
        name: "session.actions",
        aliases: &[],
        id: "listSessionActions",
        group: OperationGroup::Actions,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/actions",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "One page.")],
        errors: &[ErrorCode::NotFound, ErrorCode::BadCursor],
        http_names: &[],
    };
    type Request = ListSessionActionsRequest;
    type Response = ActionPage;

    async fn run(
        context: &RequestContext,
        request: ListSessionActionsRequest,
    ) -> Result<ActionPage, ApiError> {
        let page = page_request(request.limit, request.cursor)?;
        pending_actions(context, Some(&request.session_id), page).await
    }
}
