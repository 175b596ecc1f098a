//! Turns that left the window of their session's state: read again for those who ask for more than the window has.
//!
//! ```text
//!   [ sealed, stored | sealed since the snapshot | window, open ]
//!     Log::sealed_turns    handed out by the fold    State::turns
//! ```

use riverrun_event::{Sequence, TurnId};
use riverrun_fold::{SealedTurn, State, Turn};
use riverrun_log::{SessionKey, SnapshotFound};

use crate::app::App;
use crate::edge::Problem;

/// How much of the past is read besides the window. It costs this much at most, however long the session is.
pub const EARLIER_TURNS: usize = 100;
const EARLIER_BYTES: usize = 1 << 20;

impl App {
    /// The state after event `at` with the turns before its window put back. Its `sealed_turns` are those that are
    /// still missing, because there are more than are read.
    pub async fn long_state_at(&self, key: &SessionKey, at: Sequence) -> Result<State, Problem> {
        let (mut state, mut sealed) = self.state_and_sealed(key, at).await?;
        if state.sealed_turns > 0 {
            let stored = self.log().sealed_turns(key, at, EARLIER_TURNS, EARLIER_BYTES).await?;
            let stored = stored.into_iter().filter_map(|turn| self.sealed_turn(Some(turn)));
            let is_new =
                |turn: &SealedTurn| sealed.iter().all(|known| known.turn.turn_id != turn.turn.turn_id);
            let mut earlier: Vec<SealedTurn> = stored.filter(is_new).collect();
            earlier.append(&mut sealed);
            let excess = earlier.len().saturating_sub(EARLIER_TURNS);
            sealed = earlier.split_off(excess);
        }
        state.put_back(sealed, EARLIER_TURNS);
        Ok(state)
    }

    /// A turn as it stands after event `at`, however old it is.
    pub async fn turn_at(
        &self,
        key: &SessionKey,
        at: Sequence,
        turn: &TurnId,
    ) -> Result<Option<Turn>, Problem> {
        let (state, sealed) = self.state_and_sealed(key, at).await?;
        let here = state.turns.into_iter().chain(sealed.into_iter().map(|sealed| sealed.turn));
        if let Some(found) = here.into_iter().find(|known| known.turn_id == *turn) {
            return Ok(Some(found));
        }
        let stored = self.log().sealed_turn(key, turn).await?;
        Ok(self.sealed_turn(stored).map(|sealed| sealed.turn))
    }

    /// The state after event `at`, and the turns that left it since the snapshot which it was made from.
    async fn state_and_sealed(
        &self,
        key: &SessionKey,
        at: Sequence,
    ) -> Result<(State, Vec<SealedTurn>), Problem> {
        let SnapshotFound { snapshot, .. } = self.log().snapshot(key, at).await?;
        let text = snapshot.as_ref().and_then(|snapshot| std::str::from_utf8(&snapshot.bytes).ok());
        let state = text.and_then(|text| State::from_json(text).ok());
        let mut state = state.unwrap_or_else(|| State::new(key.session.clone()));
        let mut sealed = Vec::new();
        self.fold_to(key, at, &mut state, |turn| sealed.push(turn)).await?;
        Ok((state, sealed))
    }
}
