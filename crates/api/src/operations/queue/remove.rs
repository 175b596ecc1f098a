use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::operations::turns::{CancelledTurn, turn_id};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, schema};

pub struct RemoveQueuedTurn;

/// Remove a turn from the queue.
///
/// It ends as cancelled.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveQueuedTurnRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The turn.
    #[schemars(schema_with = "schema::id")]
    turn_id: String,
}

impl Operation for RemoveQueuedTurn {
    const ABOUT: About = About {
        name: "queue.remove",
        aliases: &["remove_queued_turn"],
        id: "removeQueuedTurn",
        group: OperationGroup::Turns,
        method: HttpMethod::Delete,
        path: "/v1/sessions/{session}/queue/{turn}",
        scope: KeyScope::Write,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(200, "The turn is cancelled.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TurnRunning, ErrorCode::TurnEnded],
        http_names: &[],
    };
    type Request = RemoveQueuedTurnRequest;
    type Response = CancelledTurn;

    async fn run(
        context: &RequestContext,
        request: RemoveQueuedTurnRequest,
    ) -> Result<CancelledTurn, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, turn) = (context.services(), turn_id(&request.turn_id)?);
        let removed = services.runner().idempotent(context.request_key()).unqueue(&hub.key, &turn).await;
        Ok(CancelledTurn::new(&hub, services.answered(RunnerCommand::Queue, removed)?))
    }
}
