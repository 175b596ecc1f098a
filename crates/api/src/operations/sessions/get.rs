use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::SessionView;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct GetSession;

/// Show a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetSessionRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

impl Operation for GetSession {
    const ABOUT: About = About {
        name: "session.get",
        aliases: &["get_session"],
        id: "getSession",
        group: OperationGroup::Sessions,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The session.")],
        errors: &[ErrorCode::NotFound, ErrorCode::SessionDeleted],
        http_names: &[],
    };
    type Request = GetSessionRequest;
    type Response = SessionView;

    async fn run(context: &RequestContext, request: GetSessionRequest) -> Result<SessionView, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let record = context.services().log().session(&hub.key).await?.ok_or_else(not_found)?;
        Ok(SessionView::new(record))
    }
}
