//! Joins adjacent deltas of one block while a reader catches up. What is joined says so by `firstSequence`.

use riverrun_event::{Draft, Event, Payload, Record, Sequence, write_record};

/// Joined text stops growing here, so that a frame stays a frame.
const MAX_TEXT: usize = 16 * 1024;

/// One record that stands for the events `first..=last`.
#[derive(Debug, Clone)]
pub struct Joined {
    pub first: Sequence,
    pub last: Sequence,
    /// The stored form, made anew if more than one event was joined.
    pub record: Vec<u8>,
}

impl Joined {
    /// None if the record is damaged, which its checksum would have told before.
    pub fn parts(&self) -> Option<(Record<'_>, Event)> {
        let record = Record::read(&self.record).ok()?;
        let mut event = record.to_event(self.last).ok()?;
        event.first_sequence = (self.first != self.last).then_some(self.first);
        Some((record, event))
    }
}

/// Holds back at most one delta, to see whether the next one continues it.
#[derive(Debug, Default)]
pub struct Coalescer {
    pending: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    first: Sequence,
    event: Event,
    text: String,
}

impl Coalescer {
    /// Takes the next record and gives out what it completes.
    pub fn push(&mut self, sequence: Sequence, bytes: &[u8], out: &mut Vec<Joined>) {
        let delta = delta_of(sequence, bytes);
        match (self.pending.as_mut(), delta) {
            (Some(pending), Some((event, text))) if pending.takes(&event, &text) => {
                pending.text.push_str(&text);
                pending.event = event;
            }
            (_, Some((event, text))) => {
                self.flush(out);
                self.pending = Some(Pending { first: sequence, event, text });
            }
            (_, None) => {
                self.flush(out);
                out.push(Joined { first: sequence, last: sequence, record: bytes.to_vec() });
            }
        }
    }

    /// Gives out what is held back.
    pub fn flush(&mut self, out: &mut Vec<Joined>) {
        let Some(pending) = self.pending.take() else { return };
        let Pending { first, event, text } = pending;
        let Ok(payload) = event.payload.map(|payload| with_text(payload, text)) else { return };
        let draft = Draft::new(event.kind, &event.scope, &payload);
        let mut record = Vec::new();
        write_record(&draft, event.timestamp, &mut record);
        out.push(Joined { first, last: event.sequence, record });
    }
}

impl Pending {
    fn takes(&self, next: &Event, text: &str) -> bool {
        self.text.len() + text.len() <= MAX_TEXT
            && self.event.kind == next.kind
            && self.event.scope == next.scope
            && same_place(&self.event.payload, &next.payload)
    }
}

/// The event and its text, if it is a delta that can be made anew without losing a member.
fn delta_of(sequence: Sequence, bytes: &[u8]) -> Option<(Event, String)> {
    let record = Record::read(bytes).ok()?;
    if !matches!(record.kind, "model.delta" | "reasoning.delta" | "tool.args") {
        return None;
    }
    let event = record.to_event(sequence).ok()?;
    let payload = event.payload.as_ref().ok()?;
    let again = Draft::new(event.kind.clone(), &event.scope, payload);
    if event.event_id.is_some() || again.members() != record.members {
        return None;
    }
    let text = match payload {
        Payload::ModelDelta(delta) => delta.delta.clone(),
        Payload::ReasoningDelta(delta) => delta.delta.clone(),
        Payload::ToolArgs(args) => args.delta.clone(),
        _ => return None,
    };
    Some((event, text))
}

fn same_place<E>(a: &Result<Payload, E>, b: &Result<Payload, E>) -> bool {
    match (a, b) {
        (Ok(Payload::ModelDelta(a)), Ok(Payload::ModelDelta(b))) => {
            (&a.item_id, a.output_index, a.block_index) == (&b.item_id, b.output_index, b.block_index)
        }
        (Ok(Payload::ReasoningDelta(a)), Ok(Payload::ReasoningDelta(b))) => {
            (&a.item_id, a.output_index, a.summary_index) == (&b.item_id, b.output_index, b.summary_index)
        }
        (Ok(Payload::ToolArgs(a)), Ok(Payload::ToolArgs(b))) => {
            (&a.item_id, a.output_index, &a.call_id) == (&b.item_id, b.output_index, &b.call_id)
        }
        _ => false,
    }
}

fn with_text(mut payload: Payload, text: String) -> Payload {
    match &mut payload {
        Payload::ModelDelta(delta) => delta.delta = text,
        Payload::ReasoningDelta(delta) => delta.delta = text,
        Payload::ToolArgs(args) => args.delta = text,
        _ => {}
    }
    payload
}
