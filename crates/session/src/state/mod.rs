//! The state of a session at any event: the nearest snapshot, and the events behind it.

mod earlier_turns;

use bytes::Bytes;
use riverrun_event::Sequence;
use riverrun_fold::{Change, SealedTurn, State};
use riverrun_log::{LogError, SessionKey, Snapshot, SnapshotFound};

use crate::READ_BYTES;
use crate::chunk_fold::fold_chunk;
use crate::hubs::Hub;
use crate::sessions::Sessions;

pub use earlier_turns::TaskPlace;

/// Reads a stored state; None if it cannot be read. A large one is read on a thread for long work, so that its worker
/// serves others meanwhile.
pub(crate) async fn read_state(bytes: Bytes) -> Option<State> {
    const LARGE: usize = 256 * 1024;
    let read = |bytes: &[u8]| State::from_json(std::str::from_utf8(bytes).ok()?).ok();
    if bytes.len() < LARGE {
        return read(&bytes);
    }
    tokio::task::spawn_blocking(move || read(&bytes)).await.ok().flatten()
}

impl Sessions {
    /// The state after event `at`, from the nearest snapshot on. `at` is at most the head.
    pub async fn state_at(&self, key: &SessionKey, at: Sequence) -> Result<State, LogError> {
        let SnapshotFound { snapshot, .. } = self.log().snapshot(key, at).await?;
        self.state_from(key, at, snapshot).await
    }

    async fn state_from(
        &self,
        key: &SessionKey,
        at: Sequence,
        snapshot: Option<Snapshot>,
    ) -> Result<State, LogError> {
        // A snapshot that cannot be read is worth nothing; the log is worth everything.
        let state = match snapshot {
            Some(snapshot) => read_state(snapshot.bytes).await,
            None => None,
        };
        let mut state = state.unwrap_or_else(|| State::new(key.session.clone()));
        self.fold_to(key, at, &mut state, |_| {}).await?;
        Ok(state)
    }

    /// The JSON of the state after event `at`: the snapshot as it is stored, if there is one just there.
    pub async fn state_json_at(&self, hub: &Hub, at: Sequence) -> Result<String, LogError> {
        let SnapshotFound { snapshot, .. } = self.log().snapshot(&hub.key, at).await?;
        if let Some(Snapshot { sequence, bytes }) = &snapshot
            && *sequence == at
            && let Ok(text) = String::from_utf8(Vec::from(bytes.clone()))
        {
            return Ok(text);
        }
        let from = snapshot.as_ref().map_or(Sequence::ZERO, |snapshot| snapshot.sequence);
        let json = self.state_from(&hub.key, at, snapshot).await?.to_json();
        self.due().folded(hub, at.get() - from.get().min(at.get()), json.len());
        Ok(json)
    }

    /// Applies the events up to `at`, and hands out the turns that leave the window.
    pub async fn fold_to(
        &self,
        key: &SessionKey,
        at: Sequence,
        state: &mut State,
        mut sealed: impl FnMut(SealedTurn),
    ) -> Result<(), LogError> {
        let mut changes = Vec::new();
        while state.sequence < at {
            let chunks = match self.log().read(key, state.sequence, READ_BYTES).await {
                Ok(chunks) => chunks,
                // The beginning is gone and no snapshot stands for it: fold what is left.
                Err(LogError::Retired { first_available })
                    if state.sequence.get() == 0 && first_available.previous() <= at =>
                {
                    state.sequence = first_available.previous();
                    continue;
                }
                Err(error) => return Err(error),
            };
            if chunks.is_empty() {
                return Ok(());
            }
            for chunk in &chunks {
                fold_chunk(state, chunk, at, &mut changes);
                for change in changes.drain(..) {
                    if let Change::TurnSealed(turn) = change {
                        sealed(*turn);
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// A turn that left the window of its session's state.
    pub fn sealed_turn(&self, stored: Option<riverrun_log::SealedTurnRecord>) -> Option<SealedTurn> {
        stored.and_then(|turn| serde_json::from_slice(&turn.bytes).ok())
    }
}
