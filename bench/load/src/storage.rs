//! M6: bytes on disk per event, while turns are open and once they are finished.
//!
//! The price of one event is the growth between two fills, so preallocated files do not count.

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::error::MeasurementResult;
use crate::session;
use crate::target::Target;

/// Deltas in each finished turn.
const DELTAS_PER_TURN: u64 = 500;
/// Events that open and close a turn.
const BRACKETS: u64 = 5;

#[derive(Clone, Copy, Debug)]
pub struct StorageLoad {
    pub sessions: usize,
    pub events_per_session: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    Open,
    Finished,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageFigures {
    pub live_bytes_per_event: f64,
    pub sealed_bytes_per_event: f64,
}

/// Fills new sessions and returns how many events that were.
pub async fn fill(target: &Target, load: StorageLoad, turns: Turns) -> MeasurementResult<u64> {
    let sessions = session::create(target, load.sessions).await?;
    let mut tasks = JoinSet::new();
    for mut session in sessions {
        let target = target.clone();
        tasks.spawn(async move {
            match turns {
                Turns::Open => session.fill(&target, load.events_per_session).await?,
                Turns::Finished => {
                    let count = load.events_per_session.div_ceil(DELTAS_PER_TURN + BRACKETS);
                    session.fill_turns(&target, count, DELTAS_PER_TURN).await?;
                }
            }
            Ok(session.head)
        });
    }
    let heads = session::join(tasks, std::time::Duration::from_secs(120), "filling sessions").await?;
    Ok(heads.into_iter().sum())
}

/// Bytes per event from two sizes and the events between them.
pub fn per_event(before: u64, after: u64, events: u64) -> f64 {
    after.saturating_sub(before) as f64 / events.max(1) as f64
}
