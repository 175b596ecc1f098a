//! Turns: cancelled, tried again, steered.

mod cancel;
mod retry;
mod steer;

use riverrun_event::{RunId, TaskId, TurnId};
use riverrun_runner::{Cancelled, Submitted};
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::Serialize;

pub use cancel::{CancelTurn, cancel_turn};
pub use retry::{RetryTurn, retry_turn};
pub use steer::SteerTurn;

use crate::context::cursor_after;
use crate::{ApiError, not_found, schema};

/// A turn that was submitted, steered or tried again.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Turn")]
pub struct SubmittedTurn {
    pub turn_id: TurnId,
    pub task_id: TaskId,
    pub run_id: RunId,
    /// `accepted`, `queued`, `steered`, or the status of the turn if it was there before.
    pub status: String,
    /// A reader that begins here sees the whole turn.
    #[schemars(schema_with = "schema::cursor")]
    pub cursor: String,
    /// The turn was there before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl SubmittedTurn {
    pub fn new(hub: &Hub, submitted: Submitted) -> Self {
        Self {
            cursor: cursor_after(hub, submitted.first.previous()).to_string(),
            turn_id: submitted.turn_id,
            task_id: submitted.task_id,
            run_id: submitted.run_id,
            status: submitted.status,
            duplicate: submitted.duplicate,
        }
    }
}

/// A turn that was cancelled, or had ended before.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cancelled")]
pub struct CancelledTurn {
    turn_id: TurnId,
    /// `cancelling`, or how the turn had ended before.
    pub status: String,
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
}

impl CancelledTurn {
    pub fn new(hub: &Hub, cancelled: Cancelled) -> Self {
        let cursor = cursor_after(hub, cancelled.sequence).to_string();
        Self { turn_id: cancelled.turn_id, status: cancelled.status, cursor }
    }
}

/// The id of a turn in a path: a malformed one names nothing.
pub fn turn_id(text: &str) -> Result<TurnId, ApiError> {
    TurnId::new(text).map_err(|_| not_found())
}
