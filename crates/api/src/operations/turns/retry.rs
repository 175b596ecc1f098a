use riverrun_event::{ErrorCode, TurnId};
use riverrun_runner::RequestKey;
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{SubmittedTurn, turn_id};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, Services, schema};

pub struct RetryTurn;

/// Run the task of an ended turn again.
///
/// It is a new run; the ended one stays in the log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryTurnRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The turn.
    #[schemars(schema_with = "schema::id")]
    turn_id: String,
}

impl Operation for RetryTurn {
    const ABOUT: About = About {
        name: "turn.retry",
        aliases: &[],
        id: "retryTurn",
        group: OperationGroup::Turns,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/turns/{turn}/retry",
        scope: KeyScope::Write,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The new run is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TurnRunning, ErrorCode::ThreadBusy],
        http_names: &[],
    };
    type Request = RetryTurnRequest;
    type Response = SubmittedTurn;

    async fn run(context: &RequestContext, request: RetryTurnRequest) -> Result<SubmittedTurn, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, turn) = (context.services(), turn_id(&request.turn_id)?);
        retry_turn(services, &hub, &turn, context.request_key()).await
    }
}

/// Tries the task of a turn again, in a session that the caller may write to.
pub async fn retry_turn(
    services: &Services,
    hub: &Hub,
    turn: &TurnId,
    request: Option<RequestKey>,
) -> Result<SubmittedTurn, ApiError> {
    let submitted = services.runner().retry(&hub.key, turn, request).await;
    Ok(SubmittedTurn::new(hub, services.answered(RunnerCommand::Retry, submitted)?))
}
