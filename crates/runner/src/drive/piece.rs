//! What a model says in one breath, in pieces that fit an event: nothing of an answer is ever cut.

use riverrun_event::{RawJson, SentText};
use riverrun_provider::ModelEvent;
use serde_json::Value;

/// The longest piece in bytes, so that readers get it in bites. As JSON it may have six times as many, and an event has
/// room for ten times that without a word in the configuration.
const LONGEST: usize = 4 << 10;
/// The odds of one piece in bytes; they are JSON already.
const MAX_LOGPROBS: usize = 64 << 10;

/// The same words as one event or more.
pub(super) fn pieces(event: ModelEvent) -> Vec<ModelEvent> {
    match event {
        ModelEvent::Text { index, delta } => each(delta, |delta| ModelEvent::Text { index, delta }),
        ModelEvent::Refusal { index, delta } => each(delta, |delta| ModelEvent::Refusal { index, delta }),
        ModelEvent::Arguments { index, delta } => each(delta, |delta| ModelEvent::Arguments { index, delta }),
        ModelEvent::Reasoning { index, summary_index, delta } => {
            each(delta, |delta| ModelEvent::Reasoning { index, summary_index, delta })
        }
        ModelEvent::Scored { index, delta, logprobs } => scored(index, delta, logprobs),
        ModelEvent::Sent { text, events } => sent(*text, events),
        whole => vec![whole],
    }
}

/// True for an event that is too long for one piece.
pub(super) fn is_long(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::Text { delta, .. }
        | ModelEvent::Refusal { delta, .. }
        | ModelEvent::Arguments { delta, .. }
        | ModelEvent::Reasoning { delta, .. } => delta.len() > LONGEST,
        ModelEvent::Scored { delta, logprobs, .. } => delta.len() > LONGEST || size(logprobs) > MAX_LOGPROBS,
        ModelEvent::Sent { text, .. } => is_long(text),
        _ => false,
    }
}

fn each(text: String, make: impl Fn(String) -> ModelEvent) -> Vec<ModelEvent> {
    split(&text).map(|piece| make(piece.to_owned())).collect()
}

/// The service's event ends with the last piece.
fn sent(text: ModelEvent, events: Vec<SentText>) -> Vec<ModelEvent> {
    let mut pieces = pieces(text);
    // The odds of a text are pieces without text.
    let last = pieces.iter().rposition(|piece| piece.text().is_some_and(|text| !text.is_empty()));
    let mut events = Some(events);
    for (position, piece) in pieces.iter_mut().enumerate() {
        let text = Box::new(std::mem::replace(piece, ModelEvent::Original(Value::Null)));
        let events = if Some(position) == last { events.take() } else { None };
        *piece = ModelEvent::Sent { text, events: events.unwrap_or_default() };
    }
    pieces
}

/// The odds follow their text; they are told once, in as many pieces as they need.
fn scored(index: u32, delta: String, logprobs: Vec<RawJson>) -> Vec<ModelEvent> {
    let mut events = each(delta, |delta| ModelEvent::Text { index, delta });
    let mut odds: Vec<Vec<RawJson>> = vec![Vec::new()];
    for one in logprobs {
        let is_full = odds.last().is_some_and(|group| size(group) + one.get().len() > MAX_LOGPROBS);
        match odds.last_mut().filter(|_| !is_full) {
            Some(group) => group.push(one),
            None => odds.push(vec![one]),
        }
    }
    let mut last = match events.pop() {
        Some(ModelEvent::Text { delta, .. }) => delta,
        _ => String::new(),
    };
    for logprobs in odds {
        events.push(ModelEvent::Scored { index, delta: std::mem::take(&mut last), logprobs });
    }
    events
}

fn size(odds: &[RawJson]) -> usize {
    odds.iter().map(|one| one.get().len()).sum()
}

fn split(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = text.floor_char_boundary(LONGEST);
        let (piece, remaining) = text.split_at(end);
        text = remaining;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_comes_in_pieces_at_characters() {
        let text = format!("a{}", "é\u{0}".repeat(30_000));
        let event = ModelEvent::Arguments { index: 3, delta: text.clone() };
        assert!(is_long(&event));
        let made: Vec<String> = pieces(event)
            .into_iter()
            .map(|piece| match piece {
                ModelEvent::Arguments { index: 3, delta } => delta,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(made.concat(), text);
        assert!(made.iter().all(|piece| piece.len() <= LONGEST));
        assert_eq!(made.len(), text.len().div_ceil(LONGEST));
    }

    #[test]
    fn odds_stay_with_the_text_that_they_are_of() {
        let odds = vec![RawJson::of(&"p".repeat(25 << 10)).expect("JSON"); 5];
        let event = ModelEvent::Scored { index: 0, delta: "x".repeat(LONGEST + 9), logprobs: odds };
        assert!(is_long(&event));
        let sizes = pieces(event).into_iter().map(|piece| match piece {
            ModelEvent::Text { delta, .. } => (delta.len(), 0),
            ModelEvent::Scored { delta, logprobs, .. } => (delta.len(), logprobs.len()),
            other => panic!("{other:?}"),
        });
        assert_eq!(sizes.collect::<Vec<_>>(), [(LONGEST, 0), (9, 2), (0, 2), (0, 1)]);
    }
}
