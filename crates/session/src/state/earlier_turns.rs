//! Turns that left the window of their session's state: read again for those who ask for more than the window has.
//!
//! ```text
//!   [ sealed, stored | sealed since the snapshot | window, open ]
//!     Log::sealed_turns    handed out by the fold    State::turns
//! ```

use std::collections::HashMap;

use riverrun_event::{Sequence, TaskId, TurnId};
use riverrun_fold::{SealedTurn, State, TurnState};
use riverrun_log::{LogError, SessionKey, SnapshotFound};

use crate::hubs::Hub;
use crate::sessions::Sessions;

/// Where a task is kept.
pub enum TaskPlace {
    /// The task is in this state.
    Here(Box<State>),
    /// With its turn, which left the state.
    Sealed(Box<SealedTurn>),
}

/// How much of the past is read besides the window. It costs this much at most, however long the session is.
pub const EARLIER_TURNS: usize = 100;
const EARLIER_BYTES: usize = 1 << 20;

impl Sessions {
    /// The state after event `at` with the turns before its window put back. Its `sealed_turns` are those that are
    /// still missing, because there are more than are read.
    pub async fn long_state_at(&self, key: &SessionKey, at: Sequence) -> Result<State, LogError> {
        let (mut state, mut earlier) = self.state_and_earlier(key, at).await?;
        let excess = earlier.len().saturating_sub(EARLIER_TURNS);
        state.put_back(earlier.split_off(excess), EARLIER_TURNS);
        Ok(state)
    }

    /// Hands out such a state for each of these places, which rise. The log is read once.
    pub async fn long_states_at(
        &self,
        key: &SessionKey,
        places: &[Sequence],
        mut see: impl FnMut(&State) + Send,
    ) -> Result<(), LogError> {
        let Some(first) = places.first() else { return Ok(()) };
        let (mut state, mut earlier) = self.state_and_earlier(key, *first).await?;
        for place in places {
            self.fold_to(key, *place, &mut state, |turn| earlier.push(turn)).await?;
            let recent = earlier[earlier.len().saturating_sub(EARLIER_TURNS)..].to_vec();
            let mut long = state.clone();
            long.put_back(recent, EARLIER_TURNS);
            see(&long);
        }
        Ok(())
    }

    /// The state after event `at`, and the turns that left it, oldest first: a hundred of them at least, if there are.
    async fn state_and_earlier(
        &self,
        key: &SessionKey,
        at: Sequence,
    ) -> Result<(State, Vec<SealedTurn>), LogError> {
        let (state, mut sealed) = self.state_and_sealed(key, at).await?;
        if state.sealed_turns > 0 {
            let stored = self.log().sealed_turns(key, at, EARLIER_TURNS, EARLIER_BYTES).await?;
            let stored = stored.into_iter().filter_map(|turn| self.sealed_turn(Some(turn)));
            let is_new =
                |turn: &SealedTurn| sealed.iter().all(|known| known.turn.turn_id != turn.turn.turn_id);
            let earlier: Vec<SealedTurn> = stored.filter(is_new).collect();
            sealed.splice(..0, earlier);
        }
        Ok((state, sealed))
    }

    /// A turn as it stands after event `at`, however old it is.
    pub async fn turn_at(
        &self,
        key: &SessionKey,
        at: Sequence,
        turn: &TurnId,
    ) -> Result<Option<TurnState>, LogError> {
        let (state, sealed) = self.state_and_sealed(key, at).await?;
        let here = state.turns.into_iter().chain(sealed.into_iter().map(|sealed| sealed.turn));
        if let Some(found) = here.into_iter().find(|known| known.turn_id == *turn) {
            return Ok(Some(found));
        }
        let stored = self.log().sealed_turn(key, turn).await?;
        Ok(self.sealed_turn(stored).map(|sealed| sealed.turn))
    }

    /// Where a task is after event `at`, however old it is.
    pub async fn place_of_task(
        &self,
        key: &SessionKey,
        at: Sequence,
        task: &TaskId,
    ) -> Result<Option<TaskPlace>, LogError> {
        let (state, sealed) = self.state_and_sealed(key, at).await?;
        if state.tasks.iter().any(|known| known.task_id == *task) {
            return Ok(Some(TaskPlace::Here(Box::new(state))));
        }
        let has_it = |turn: &SealedTurn| turn.tasks.iter().any(|known| known.task_id == *task);
        // A turn that was tried again was sealed more than once: the last time counts.
        if let Some(turn) = sealed.into_iter().rev().find(has_it) {
            return Ok(Some(TaskPlace::Sealed(Box::new(turn))));
        }
        let stored = match self.log().sealed_turn_of_task(key, task).await? {
            Some(stored) => Some(stored),
            // Turns are stored under their roots: for others the catalogue says which turn it is.
            None => {
                let found = self.log().find_task(&key.tenant, task).await?;
                match found.into_iter().find(|record| record.key == *key) {
                    Some(record) => self.log().sealed_turn(key, &record.fact.turn).await?,
                    None => None,
                }
            }
        };
        Ok(self.sealed_turn(stored).filter(has_it).map(|turn| TaskPlace::Sealed(Box::new(turn))))
    }

    /// The turns that began before `before`, or all without it: newest first, at most `most`, as they stand now.
    pub async fn turns_before(
        &self,
        hub: &Hub,
        before: Option<Sequence>,
        most: usize,
    ) -> Result<Vec<TurnState>, LogError> {
        let records = self.log().turns(&hub.key, before, most).await?;
        let (state, sealed) = self.state_and_sealed(&hub.key, hub.head()).await?;
        let here = state.turns.into_iter().chain(sealed.into_iter().map(|sealed| sealed.turn));
        let mut here: HashMap<TurnId, TurnState> = here.map(|turn| (turn.turn_id.clone(), turn)).collect();
        let mut turns = Vec::with_capacity(records.len());
        for record in records {
            let id = record.fact.turn;
            turns.extend(match here.remove(&id) {
                Some(turn) => Some(turn),
                None => {
                    self.sealed_turn(self.log().sealed_turn(&hub.key, &id).await?).map(|sealed| sealed.turn)
                }
            });
        }
        Ok(turns)
    }

    /// The state after event `at`, and the turns that left it since the snapshot which it was made from.
    async fn state_and_sealed(
        &self,
        key: &SessionKey,
        at: Sequence,
    ) -> Result<(State, Vec<SealedTurn>), LogError> {
        let SnapshotFound { snapshot, .. } = self.log().snapshot(key, at).await?;
        let text = snapshot.as_ref().and_then(|snapshot| std::str::from_utf8(&snapshot.bytes).ok());
        let state = text.and_then(|text| State::from_json(text).ok());
        let mut state = state.unwrap_or_else(|| State::new(key.session.clone()));
        let mut sealed = Vec::new();
        self.fold_to(key, at, &mut state, |turn| sealed.push(turn)).await?;
        Ok((state, sealed))
    }
}
