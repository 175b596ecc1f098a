use riverrun_event::{ErrorCode, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ActionPage, WantedStatus, pending_actions};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, page_request, schema};

pub struct ListActions;

/// List the actions that wait for a decision, over all sessions.
///
/// A caller with a ticket or a credential for one session gets those of that session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListActionsRequest {
    /// Only actions of this session.
    #[schemars(with = "Option<schema::IdText>")]
    session_id: Option<String>,
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

impl Operation for ListActions {
    const ABOUT: About = About {
        name: "action.list",
        aliases: &[],
        id: "listActions",
        group: OperationGroup::Actions,
        method: HttpMethod::Get,
        path: "/v1/actions",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "One page.")],
        errors: &[ErrorCode::NotFound, ErrorCode::BadCursor],
        http_names: &[("sessionId", "session")],
    };
    type Request = ListActionsRequest;
    type Response = ActionPage;

    async fn run(context: &RequestContext, request: ListActionsRequest) -> Result<ActionPage, ApiError> {
        let page = page_request(request.limit, request.cursor)?;
        let bound = context.identity().bound_session().map(SessionId::as_str);
        pending_actions(context, request.session_id.as_deref().or(bound), page).await
    }
}
