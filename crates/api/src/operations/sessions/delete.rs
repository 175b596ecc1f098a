use std::sync::Arc;

use riverrun_event::ErrorCode;
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, Services, not_found, schema};

pub struct DeleteSession;

/// Delete a session with its log, snapshots and blobs.
///
/// Runs in it end at once, and its readers are disconnected.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteSessionRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

/// Nothing: the session no longer exists.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedSession {}

impl Operation for DeleteSession {
    const ABOUT: About = About {
        name: "session.delete",
        aliases: &[],
        id: "deleteSession",
        group: OperationGroup::Sessions,
        method: HttpMethod::Delete,
        path: "/v1/sessions/{session}",
        scope: KeyScope::Write,
        pages: false,
        // Once more answers that the session was deleted. Nothing about it is stored beside that.
        repeats: Repeats::Harmless,
        statuses: &[(204, "It is gone.")],
        errors: &[ErrorCode::NotFound, ErrorCode::SessionDeleted],
        http_names: &[],
    };
    type Request = DeleteSessionRequest;
    type Response = DeletedSession;

    async fn run(
        context: &RequestContext,
        request: DeleteSessionRequest,
    ) -> Result<DeletedSession, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        delete_session(context.services(), &hub).await?;
        Ok(DeletedSession {})
    }
}

/// Deletes a session, ends its runs and disconnects its readers.
pub async fn delete_session(services: &Services, hub: &Arc<Hub>) -> Result<(), ApiError> {
    services.sessions().note_deletion(hub).await;
    if services.sessions().delete(hub).await? { Ok(()) } else { Err(not_found()) }
}
