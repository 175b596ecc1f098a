//! The deltas of one text, made without serde: nearly every event of a log is one.

use std::fmt::Write;

use crate::json::write_string;
use crate::{Author, Decoded, Draft, EventScope, EventType, ModelDelta, Payload, Timestamp};

/// Makes the pieces of one block of text. What they share is written once.
#[derive(Debug, Clone)]
pub struct DeltaMaker {
    scope: EventScope,
    /// Without its text.
    target: ModelDelta,
    /// The envelope's members up to the text, and from there on.
    head: String,
    tail: String,
}

impl DeltaMaker {
    /// `target` has the position of the text; its own text, log probabilities and annotations are ignored.
    pub fn new(scope: EventScope, target: ModelDelta) -> Self {
        let target =
            ModelDelta { delta: String::new(), logprobs: None, annotations: None, sent: None, ..target };
        let (mut head, mut tail) = (String::from("{"), String::new());
        scope.write_members(&mut head);
        head.push_str("\"payload\":{\"delta\":");
        if let Some(item) = &target.item_id {
            tail.push_str(",\"itemId\":");
            write_string(&mut tail, item);
        }
        for (name, number) in [("outputIndex", target.output_index), ("blockIndex", target.block_index)] {
            if let Some(number) = number {
                // Writing to a string cannot fail.
                let _ = write!(tail, ",\"{name}\":{number}");
            }
        }
        tail.push_str("}}");
        Self { scope, target, head, tail }
    }

    /// What all pieces belong to.
    pub fn scope(&self) -> &EventScope {
        &self.scope
    }

    /// What reading the draft of this piece would give.
    pub fn make(&self, delta: String, at: Timestamp) -> Decoded {
        // Room for a few characters that need an escape.
        let mut members = String::with_capacity(self.head.len() + delta.len() + self.tail.len() + 16);
        members.push_str(&self.head);
        write_string(&mut members, &delta);
        members.push_str(&self.tail);
        let (event_id, timestamp, author) = (None, Some(at), Author::Unknown);
        let draft = Draft { kind: EventType::ModelDelta, event_id, timestamp, author, members };
        let payload = Payload::ModelDelta(ModelDelta { delta, ..self.target.clone() });
        Decoded {
            draft,
            scope: self.scope.clone(),
            payload,
            raw_payload: None,
            sequence: None,
            session_id: None,
            subject: None,
            job: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_what_reading_its_draft_gives() {
        let scope = EventScope {
            thread_id: Some("main".parse().expect("an id")),
            turn_id: Some("turn_1".parse().expect("an id")),
            subagent_id: Some("a \"b\"".to_owned()),
            depth: Some(2),
            ..EventScope::default()
        };
        let nowhere = ModelDelta::default();
        let places = [
            ModelDelta { item_id: Some("m\\1".to_owned()), output_index: Some(0), ..nowhere.clone() },
            ModelDelta { block_index: Some(7), output_index: Some(u32::MAX), ..nowhere.clone() },
            nowhere,
        ];
        for target in places {
            let maker = DeltaMaker::new(scope.clone(), target.clone());
            for text in ["x", "", "a\n\u{e9}\"\u{1}\u{1f980}\\", "</script>"] {
                let at = Timestamp::from_millis(1_700_000_000_000);
                let delta = ModelDelta { delta: text.to_owned(), ..target.clone() };
                let read = Draft::new(EventType::ModelDelta, &scope, &delta).at(at).into_decoded();
                let made = maker.make(text.to_owned(), at);
                assert_eq!(format!("{made:?}"), format!("{:?}", read.expect("it can be read")));
            }
        }
    }
}
