//! The turns that a model reads: those of the state, and the list of older ones in the log.

use riverrun_event::{EventScope, EventType, HistoryWindow, ThreadId, TurnId};
use riverrun_fold::TurnState;
use serde_json::{Value, json};

use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;

/// Older turns that a model may read.
const MOST_TURNS: usize = 256;

impl HostedSession {
    /// The turns of the state that ran and ended, in the order in which they did: one that waited, or was tried again,
    /// comes behind what was said meanwhile.
    pub(crate) fn ended_turns(&self, thread: &ThreadId, before: &TurnId) -> Vec<&TurnState> {
        let mut ended = self.thread_turns(thread);
        ended.retain(|turn| turn.turn_id != *before);
        ended
    }

    /// The same, whichever turn is at work. Those that were taken out of the conversation are left out.
    pub(crate) fn thread_turns(&self, thread: &ThreadId) -> Vec<&TurnState> {
        let of_thread = self.state.turns.iter().filter(|turn| turn.thread_id == *thread && !turn.removed);
        let mut ended: Vec<&TurnState> =
            of_thread.filter(|turn| turn.status.is_terminal() && turn.started_at.is_some()).collect();
        ended.sort_by_key(|turn| (turn.ended_at, turn.last_sequence));
        ended
    }
}

impl SessionHistory {
    /// Turns that left the state, as the newest turn's context told.
    pub(crate) fn older_turns(&self, session: &HostedSession, thread: &ThreadId) -> Vec<TurnId> {
        let listed = self.recorded_turns()[thread.as_str()].as_array().cloned().unwrap_or_default();
        let ids = listed.iter().filter_map(|id| TurnId::new(id.as_str()?).ok());
        ids.filter(|id| session.state.turns.iter().all(|turn| turn.turn_id != *id)).collect()
    }

    pub(crate) fn recorded_turns(&self) -> Value {
        self.context.resolved["turns"].clone()
    }

    /// Tells which turns the model reads: the state forgets older ones, and the next turn finds them by this list.
    pub(crate) fn write_context(&self, session: &HostedSession, batch: &mut EventBatch, scope: &EventScope) {
        let (Some(thread), Some(this)) = (&scope.thread_id, &scope.turn_id) else { return };
        self.write_turn_list(session, thread, |turn| turn == this, scope, batch);
    }

    /// The list without some turns.
    pub(crate) fn write_turn_list(
        &self,
        session: &HostedSession,
        thread: &ThreadId,
        is_left_out: impl Fn(&TurnId) -> bool,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let mut turns = self.recorded_turns();
        let mut listed = turns[thread.as_str()].as_array().cloned().unwrap_or_default();
        let was_empty = listed.is_empty();
        for turn in session.thread_turns(thread) {
            let id = Value::from(turn.turn_id.as_str());
            listed.retain(|known| *known != id);
            listed.push(id);
        }
        let is_out =
            |id: &Value| id.as_str().and_then(|id| TurnId::new(id).ok()).is_some_and(|id| is_left_out(&id));
        listed.retain(|id| !is_out(id));
        if listed.is_empty() && was_empty {
            return;
        }
        listed.drain(..listed.len().saturating_sub(MOST_TURNS));
        if !turns.is_object() {
            turns = json!({});
        }
        turns[thread.as_str()] = Value::from(listed);
        batch.push(EventType::ContextResolved, scope, &json!({ "turns": turns }));
    }

    /// Says that older turns are read from the store: the first time that this owner of the session does.
    pub(crate) fn write_window(&self, session: &HostedSession, batch: &mut EventBatch, scope: &EventScope) {
        let Some(thread) = &scope.thread_id else { return };
        let older = self.older_turns(session, thread);
        if older.is_empty() || older.iter().any(|turn| self.sealed.contains_key(turn)) {
            return;
        }
        let newer = session.state.turns.iter().map(|turn| turn.first_sequence).min();
        let window = HistoryWindow {
            to_sequence: newer.map(|first| first.previous().get()),
            has_more: Some(older.len() >= MOST_TURNS),
            layer: Some("session_snapshot".to_owned()),
            ..HistoryWindow::default()
        };
        batch.push(EventType::HistoryWindowLoaded, scope, &window);
    }
}
