//! Waiting for a turn's terminal event, without rendering anything.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Record, Sequence, TurnId};
use riverrun_log::{Chunk, LogError, WorkProgress};

use crate::READ_BYTES;
use crate::hubs::{Found, Hub};
use crate::sessions::Sessions;
use crate::subscribe::Access;

/// How often an idle wait looks whether it may go on.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Why the end of a turn cannot be waited for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The turn does not exist.
    #[error("the turn was not found")]
    NoTurn,
    /// The wait was cut: the process goes, the session was deleted, or the right to read it ended.
    #[error("the wait was cut; the turn goes on")]
    Cut,
}

/// A follower keeps recent chunks in memory.
struct Follower<'a>(&'a Hub);

impl<'a> Follower<'a> {
    fn new(hub: &'a Hub) -> Self {
        hub.follower_came();
        Self(hub)
    }
}

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        self.0.follower_left();
    }
}

impl Sessions {
    /// Resolves when the turn has its terminal event.
    pub async fn wait_for_end(
        &self,
        hub: &Arc<Hub>,
        turn: &TurnId,
        mut access: Box<dyn Access>,
    ) -> Result<(), WaitError> {
        let waited = self.end_of(hub, turn, &*access).await;
        access.closed(hub, false);
        waited
    }

    async fn end_of(&self, hub: &Hub, turn: &TurnId, access: &dyn Access) -> Result<(), WaitError> {
        let follower = Follower::new(hub);
        // The head is read before the turn: an end that comes in between is found by both.
        let mut at = hub.head();
        let record = self.log().turn(&hub.key, turn).await?.ok_or(WaitError::NoTurn)?;
        if record.fact.progress == WorkProgress::Terminal {
            return Ok(());
        }
        loop {
            if self.drain().is_started() || hub.is_gone() || !access.is_valid() {
                return Err(WaitError::Cut);
            }
            match follower.0.recent_after(at, READ_BYTES) {
                Found::Chunks(recent) => {
                    for recent in recent {
                        if has_end(&recent.chunk, at, turn) {
                            return Ok(());
                        }
                        at = recent.chunk.last();
                    }
                }
                Found::Behind => {
                    let chunks = self.log().read(&hub.key, at, READ_BYTES).await?;
                    if chunks.iter().any(|chunk| has_end(chunk, at, turn)) {
                        return Ok(());
                    }
                    at = chunks.last().map_or(at, Chunk::last);
                }
                // Whatever wakes it, and also nothing for a while, makes it look again.
                Found::Nothing => drop(tokio::time::timeout(CHECK_EVERY, hub.woken(at)).await),
            }
        }
    }
}

fn has_end(chunk: &Chunk, after: Sequence, turn: &TurnId) -> bool {
    chunk.records_after(after).any(|(sequence, bytes)| {
        let event = Record::read(bytes).ok().and_then(|record| record.to_event(sequence).ok());
        event.is_some_and(|event| event.kind.is_turn_terminal() && event.scope.turn_id.as_ref() == Some(turn))
    })
}
