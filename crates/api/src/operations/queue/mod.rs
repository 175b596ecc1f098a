//! Turns that wait for their thread.

mod list;
mod promote;
mod remove;

use riverrun_runner::QueueEntry;
use schemars::JsonSchema;
use serde::Serialize;

pub use list::ListQueue;
pub use promote::PromoteQueuedTurn;
pub use remove::RemoveQueuedTurn;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Queue")]
pub struct QueuedTurns {
    /// In the order in which they start.
    queue: Vec<QueueEntry>,
}
