use riverrun_event::{ErrorCode, Input};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{SubmittedTurn, turn_id};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, check_blobs, check_input, schema};

pub struct SteerTurn;

/// Give a running turn more input.
///
/// The model reads it before its next step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SteerTurnRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The turn.
    #[schemars(schema_with = "schema::id")]
    turn_id: String,
    input: Input,
}

impl Operation for SteerTurn {
    const ABOUT: About = About {
        name: "turn.steer",
        aliases: &[],
        id: "steerTurn",
        group: OperationGroup::Turns,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/turns/{turn}/steer",
        scope: KeyScope::Write,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The input is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TurnEnded, ErrorCode::UrlBlocked, ErrorCode::BadRef],
        http_names: &[],
    };
    type Request = SteerTurnRequest;
    type Response = SubmittedTurn;

    async fn run(context: &RequestContext, request: SteerTurnRequest) -> Result<SubmittedTurn, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, turn) = (context.services(), turn_id(&request.turn_id)?);
        check_input(services, &request.input)?;
        check_blobs(services, &hub.key.tenant, Some(&request.input), &[]).await?;
        let steered = services.runner().steer(&hub.key, &turn, request.input, context.request_key()).await;
        Ok(SubmittedTurn::new(&hub, services.answered(RunnerCommand::Steer, steered)?))
    }
}
