//! Joins adjacent deltas of one block while a reader catches up. What is joined says so by `firstSequence`.

use riverrun_event::{Draft, Event, Payload, Record, RecordBytes, Sequence, Timestamp, write_record};

/// Joined text stops growing here, so that a frame stays a frame.
const MAX_TEXT: usize = 16 * 1024;

/// One record that replaces the events `first..=last`.
#[derive(Debug, Clone)]
pub struct Joined {
    pub first: Sequence,
    pub last: Sequence,
    /// The stored form, made anew if more than one event was joined.
    pub record: Vec<u8>,
}

impl Joined {
    /// None if the record is damaged, which its checksum would have shown before.
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
    /// The last event that was read whole; those behind it differ from it only in what follows here.
    event: Event,
    last: Sequence,
    time: Timestamp,
    text: String,
    mould: Mould,
}

/// The members of a delta without its text: what an event must have to be the same delta with other text.
#[derive(Debug, Default)]
struct Mould {
    kind: Vec<u8>,
    before: Vec<u8>,
    behind: Vec<u8>,
}

impl Coalescer {
    /// Takes the next record and gives out what it completes.
    pub fn push(&mut self, sequence: Sequence, bytes: &[u8], out: &mut Vec<Joined>) {
        if self.pending.as_mut().is_some_and(|pending| pending.takes_plain(sequence, bytes)) {
            return;
        }
        let delta = delta_of(sequence, bytes);
        match (self.pending.as_mut(), delta) {
            (Some(pending), Some((event, text))) if pending.takes(&event, &text) => {
                pending.text.push_str(&text);
                (pending.last, pending.time, pending.event) = (sequence, event.timestamp, event);
                if pending.mould.kind.is_empty() {
                    pending.mould = Mould::of(bytes).unwrap_or_default();
                }
            }
            (_, Some((event, text))) => {
                self.flush(out);
                let mould = Mould::of(bytes).unwrap_or_default();
                let time = event.timestamp;
                self.pending = Some(Pending { first: sequence, event, last: sequence, time, text, mould });
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
        let Pending { first, event, last, time, text, .. } = pending;
        let Ok(payload) = event.payload.map(|payload| with_text(payload, text)) else { return };
        let draft = Draft::new(event.kind, &event.scope, &payload);
        let mut record = Vec::new();
        write_record(&draft, time, &mut record);
        out.push(Joined { first, last, record });
    }
}

impl Mould {
    const TEXT: &'static [u8] = b"\"payload\":{\"delta\":\"";

    /// None if the delta has no plain form: its text is found by its neighbours, so it must be the payload's first
    /// member and hold no escape.
    fn of(bytes: &[u8]) -> Option<Self> {
        let RecordBytes { kind, members, .. } = RecordBytes::read(bytes).ok()?;
        let text = members.windows(Self::TEXT.len()).position(|part| part == Self::TEXT)? + Self::TEXT.len();
        let end = text + members[text..].iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        let is_plain = members[end] == b'"';
        is_plain.then(|| Self {
            kind: kind.to_vec(),
            before: members[..text].to_vec(),
            behind: members[end..].to_vec(),
        })
    }

    /// The text of a delta that fits, if it has no escapes.
    fn text<'a>(&self, record: &RecordBytes<'a>) -> Option<&'a str> {
        if self.kind.is_empty() || record.event_id.is_some() || record.kind != self.kind {
            return None;
        }
        let text = record.members.strip_prefix(&self.before[..])?.strip_suffix(&self.behind[..])?;
        let is_plain = !text.iter().fold(false, |found, byte| found | (*byte == b'"') | (*byte == b'\\'));
        if is_plain { std::str::from_utf8(text).ok() } else { None }
    }
}

impl Pending {
    /// Joins the usual next delta without decoding it. False says nothing: it is then decoded.
    fn takes_plain(&mut self, sequence: Sequence, bytes: &[u8]) -> bool {
        let Ok(record) = RecordBytes::read(bytes) else { return false };
        let Some(text) = self.mould.text(&record) else { return false };
        if self.text.len() + text.len() > MAX_TEXT {
            return false;
        }
        self.text.push_str(text);
        (self.last, self.time) = (sequence, record.timestamp);
        true
    }

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
        // Odds belong to the tokens of their own delta.
        Payload::ModelDelta(delta) if delta.logprobs.is_some() => return None,
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
