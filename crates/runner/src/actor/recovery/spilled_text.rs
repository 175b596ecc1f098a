//! Texts that went to the blob store because their event was too large, put back before a model reads them.
//!
//! The log's events keep a preview of such a text and a reference. An actor that wrote them has them whole; one that
//! read them from the log would let its model read 512 characters of a result and take that for all.

use riverrun_event::{Composer, Event, Item, PREVIEW_CHARACTERS, Record, Sequence, cut_text, decode_wire};
use riverrun_fold::{ActionStatus, Density, State, TurnState};
use riverrun_log::{BlobId, SessionKey};
use serde_json::Value;

use crate::actor::session::HostedSession;
use crate::shared::RunnerShared;

impl HostedSession {
    /// Gives the turns of the state their texts back.
    pub(crate) async fn restore(&mut self) {
        let is_cut = |turn: &&TurnState| {
            let tasks = self.state.tasks.iter().filter(|task| task.turn_id.as_ref() == Some(&turn.turn_id));
            let mut actions =
                self.state.actions.iter().filter(|action| action.turn_id.as_ref() == Some(&turn.turn_id));
            is_cut_turn(turn)
                || tasks.into_iter().any(|task| is_cut(&task.output) || is_cut(&task.objective))
                || actions.any(|action| action.status == ActionStatus::Pending && is_cut(&action.request))
        };
        let first = self.state.turns.iter().filter(is_cut).map(|turn| turn.first_sequence).min();
        let Some(first) = first else { return };
        let Some(whole) = self.fold_from(first).await else { return };
        for action in self.state.actions.iter_mut().filter(|action| action.status == ActionStatus::Pending) {
            if let Some(found) = whole.actions.iter().find(|found| found.action_id == action.action_id) {
                action.request.clone_from(&found.request);
            }
        }
        for turn in self.state.turns.iter_mut().filter(|turn| turn.first_sequence >= first) {
            let Some(found) = whole.turns.iter().find(|found| found.turn_id == turn.turn_id) else {
                continue;
            };
            turn.input.clone_from(&found.input);
            turn.history.clone_from(&found.history);
            turn.settings.clone_from(&found.settings);
            let ours =
                self.state.tasks.iter_mut().filter(|task| task.turn_id.as_ref() == Some(&turn.turn_id));
            for task in ours {
                let found = whole.tasks.iter().find(|found| found.task_id == task.task_id);
                if let Some(found) = found.filter(|found| found.output.len() == task.output.len()) {
                    task.output.clone_from(&found.output);
                    task.objective.clone_from(&found.objective);
                }
            }
        }
    }

    async fn fold_from(&self, first: Sequence) -> Option<State> {
        let mut state = State::new(self.key.session.clone());
        let mut after = first.previous();
        while after < self.state.sequence {
            let chunks = self.shared.journal.read(&self.key, after).await.ok()?;
            let last = chunks.last()?.last();
            for (sequence, bytes) in chunks.iter().flat_map(|chunk| chunk.records_after(after)) {
                if sequence <= self.state.sequence {
                    let event = self.whole_event(bytes, sequence).await?;
                    let _ = state.apply_as(Density::Filtered, &event, &mut Vec::new());
                    tokio::task::consume_budget().await;
                }
            }
            after = last;
        }
        Some(state)
    }

    /// The event as it was before texts were taken out of it.
    pub(crate) async fn whole_event(&self, bytes: &[u8], sequence: Sequence) -> Option<Event> {
        whole_event(&self.shared, &self.key, bytes, sequence).await
    }
}

/// The event as it was before texts were taken out of it. None if it cannot be read.
pub(crate) async fn whole_event(
    shared: &RunnerShared,
    key: &SessionKey,
    bytes: &[u8],
    sequence: Sequence,
) -> Option<Event> {
    let record = Record::read(bytes).ok()?;
    const MARK: &[u8] = b"\"spilled\":[";
    if !bytes.windows(MARK.len()).any(|window| window == MARK) {
        return record.to_event(sequence).ok();
    }
    let mut wire = String::new();
    Composer::new(&key.session, 0).write(&record, sequence, &mut wire);
    let mut event: Value = serde_json::from_str(&wire).ok()?;
    for spilled in event["refs"]["spilled"].as_array().cloned().unwrap_or_default() {
        let (Some(path), Some(name)) = (spilled["path"].as_str(), spilled["ref"].as_str()) else {
            continue;
        };
        let Some(reference) = BlobId::parse(name) else { continue };
        let blob = shared.journal.log().blob(&key.tenant, &reference).await.ok().flatten();
        let text = blob.and_then(|blob| String::from_utf8(blob.bytes.to_vec()).ok());
        match (text, event.pointer_mut(path)) {
            (Some(text), Some(member)) => *member = Value::String(text),
            (None, _) | (_, None) => {
                tracing::warn!(session = key.session.as_str(), name, "a text is not in the blob store");
            }
        }
    }
    let event = decode_wire(&event.to_string()).ok()?;
    Some(Event { author: record.author, ..event })
}

pub(crate) fn is_cut_turn(turn: &TurnState) -> bool {
    is_cut(&turn.input) || is_cut(&turn.history) || is_cut(&turn.settings)
}

pub(crate) fn is_cut_output(output: &[Item]) -> bool {
    is_cut(&output)
}

/// A text that says so, or is as long as a preview: those of older logs say nothing.
fn is_cut(value: &impl serde::Serialize) -> bool {
    fn any(value: &Value) -> bool {
        match value {
            Value::String(text) => {
                text.len() >= PREVIEW_CHARACTERS
                    && (cut_text(text).is_some() || text.chars().count() == PREVIEW_CHARACTERS)
            }
            Value::Array(list) => list.iter().any(any),
            Value::Object(members) => members.values().any(any),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_json::to_value(value).is_ok_and(|value| any(&value))
}
