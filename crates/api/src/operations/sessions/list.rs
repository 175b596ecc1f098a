use riverrun_event::{ErrorCode, Timestamp};
use riverrun_log::SessionQuery;
use riverrun_session::{JOBS_TAG, is_jobs, log_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SessionView;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, page_request, schema};

pub struct ListSessions;

/// List sessions, newest first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSessionsRequest {
    /// Only sessions with this status.
    #[schemars(with = "Option<schema::Word>")]
    status: Option<String>,
    /// Only sessions with this tag.
    #[schemars(with = "Option<schema::Word>")]
    tag: Option<String>,
    /// Only sessions that changed at this time or later.
    since: Option<Timestamp>,
    /// How many entries a page has at most.
    #[schemars(range(min = 1, max = 1000), extend("default" = 50))]
    limit: Option<usize>,
    /// Where the last page ended.
    #[schemars(regex(pattern = schema::PAGE_CURSOR))]
    cursor: Option<String>,
}

/// One page of sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionPage {
    sessions: Vec<SessionView>,
    /// Send it as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl Operation for ListSessions {
    const ABOUT: About = About {
        name: "session.list",
        aliases: &[],
        id: "listSessions",
        group: OperationGroup::Sessions,
        method: HttpMethod::Get,
        path: "/v1/sessions",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "One page.")],
        errors: &[ErrorCode::BadCursor],
        http_names: &[],
    };
    type Request = ListSessionsRequest;
    type Response = SessionPage;

    async fn run(context: &RequestContext, request: ListSessionsRequest) -> Result<SessionPage, ApiError> {
        let page = page_request(request.limit, request.cursor)?;
        context.identity().require_all_sessions()?;
        // The server's own session is listed only if its tag is asked for.
        let is_asked = request.tag.as_deref() == Some(JOBS_TAG);
        let query = SessionQuery {
            tenant: context.identity().tenant().clone(),
            status: request.status,
            tag: request.tag,
            updated_from: request.since.map(log_time),
            updated_before: None,
            page,
        };
        let found = context.services().log().sessions(query).await?;
        let items = found.items.into_iter().filter(|found| is_asked || !is_jobs(&found.key.session));
        Ok(SessionPage { sessions: items.map(SessionView::new).collect(), cursor: found.next })
    }
}
