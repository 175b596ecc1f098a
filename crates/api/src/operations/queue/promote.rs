use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::QueuedTurns;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::operations::turns::turn_id;
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, schema};

pub struct PromoteQueuedTurn;

/// Put a turn in front of the queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromoteQueuedTurnRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The turn.
    #[schemars(schema_with = "schema::id")]
    turn_id: String,
}

impl Operation for PromoteQueuedTurn {
    const ABOUT: About = About {
        name: "queue.promote",
        aliases: &["promote_queued_turn"],
        id: "promoteQueuedTurn",
        group: OperationGroup::Turns,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/queue/{turn}/promote",
        scope: KeyScope::Write,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(200, "The queue as it is now.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = PromoteQueuedTurnRequest;
    type Response = QueuedTurns;

    async fn run(
        context: &RequestContext,
        request: PromoteQueuedTurnRequest,
    ) -> Result<QueuedTurns, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, turn) = (context.services(), turn_id(&request.turn_id)?);
        let queue = services.runner().idempotent(context.request_key()).promote(&hub.key, &turn).await;
        Ok(QueuedTurns { queue: services.answered(RunnerCommand::Queue, queue)? })
    }
}
