use riverrun_event::{ErrorCode, TurnId};
use riverrun_runner::{CancelMode, RequestKey};
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CancelledTurn, turn_id};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, Services, schema};

pub struct CancelTurn;

/// Cancel a turn.
///
/// `immediate` stops the model call and the tools now; `after_turn` lets the current step finish.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelTurnRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The turn.
    #[schemars(schema_with = "schema::id")]
    turn_id: String,
    #[serde(default)]
    mode: CancelMode,
    /// Why, for those who read the log.
    reason: Option<String>,
}

impl Operation for CancelTurn {
    const ABOUT: About = About {
        name: "turn.cancel",
        aliases: &["interrupt_turn"],
        id: "cancelTurn",
        group: OperationGroup::Turns,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/turns/{turn}/cancel",
        scope: KeyScope::Write,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The turn ends."), (200, "It had ended before.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = CancelTurnRequest;
    type Response = CancelledTurn;

    async fn run(context: &RequestContext, request: CancelTurnRequest) -> Result<CancelledTurn, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, turn) = (context.services(), turn_id(&request.turn_id)?);
        cancel_turn(services, &hub, &turn, request.mode, request.reason, context.request_key()).await
    }

    fn status(cancelled: &CancelledTurn) -> u16 {
        if cancelled.status == "cancelling" { 202 } else { 200 }
    }
}

/// Cancels a turn of a session that the caller may write to.
pub async fn cancel_turn(
    services: &Services,
    hub: &Hub,
    turn: &TurnId,
    mode: CancelMode,
    reason: Option<String>,
    request: Option<RequestKey>,
) -> Result<CancelledTurn, ApiError> {
    let runner = services.runner().idempotent(request);
    let cancelled = runner.cancel(&hub.key, turn, mode, reason).await;
    Ok(CancelledTurn::new(hub, services.answered(RunnerCommand::Cancel, cancelled)?))
}
