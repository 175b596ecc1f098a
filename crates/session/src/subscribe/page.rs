//! One page of events as one JSON document, for readers that do not stream.

use std::sync::Arc;

use riverrun_dialect::{FrameWriter, Framing, MessageKind, Shows};
use riverrun_event::{Cursor, Sequence, json};

use super::encoder::Encoder;
use super::error::OpenError;
use super::plan::{Plan, plan};
use super::request::Request;
use crate::READ_BYTES;
use crate::frame_batch::{FrameBatch, Message};
use crate::hubs::Hub;
use crate::sessions::Sessions;

/// `{"events":[…],"cursor":…,"head":…,"more":…}`. A page ends after an event, never inside one.
pub async fn page(sessions: &Sessions, hub: &Arc<Hub>, request: &Request) -> Result<String, OpenError> {
    let head = hub.head();
    let plan = plan(sessions, hub, request, Framing::Messages).await?;
    let Plan { opened, mut at, mut encoder, first, .. } = plan;
    let opened = opened.expect("a plan is made with it, and nobody took it out");
    let shows = shows_json(opened.shows());
    let mut lines = Lines::default();
    let mut snapshot = String::new();
    // A snapshot is a state, or frames that amount to one. Beside a state stands the event of its delivery, of which a
    // page speaks with its outcome.
    match first.messages().next() {
        Some(Message { json, kind: MessageKind::Control(_) }) => snapshot = format!("\"snapshot\":{json},"),
        Some(_) | None => first.messages().for_each(|message| lines.push(message.json)),
    }
    while at < head && lines.count < request.limit {
        let chunks = sessions.log().read(&hub.key, at, READ_BYTES).await?;
        if chunks.is_empty() {
            break;
        }
        for chunk in &chunks {
            at = take(hub, &mut encoder, chunk, at, request.limit, &mut lines);
            if lines.count >= request.limit || encoder.over().is_some() {
                break;
            }
        }
        if encoder.over().is_some() {
            break;
        }
    }
    let held_back = encoder.caught_up(hub);
    held_back.messages().for_each(|message| lines.push(message.json));
    let more = at < head && encoder.over().is_none();
    Ok(document(hub, opened.outcome.as_str(), &(shows + &snapshot), &lines, at, head, more))
}

/// `"scope":"turn","turn":"t1",`
fn shows_json(shows: Shows<'_>) -> String {
    let mut out = format!("\"scope\":\"{}\",", shows.scope());
    if let Some(turn) = shows.turn() {
        out.push_str("\"turn\":");
        json::write_string(&mut out, turn);
        out.push(',');
    }
    out
}

/// Encodes event by event, so that the page can end between any two.
fn take(
    hub: &Hub,
    encoder: &mut Encoder,
    chunk: &riverrun_log::Chunk,
    mut at: Sequence,
    limit: usize,
    lines: &mut Lines,
) -> Sequence {
    for (sequence, bytes) in chunk.records_after(at) {
        if lines.count >= limit {
            return at;
        }
        match encoder {
            Encoder::Shared(_) => lines.extend(|out| one_native(hub, sequence, bytes, out)),
            Encoder::Own(own) => {
                let mut out = FrameWriter::new(Framing::Messages);
                own.record(sequence, bytes, hub.origin(), &mut out);
                FrameBatch::from(out).messages().for_each(|message| lines.push(message.json));
            }
        }
        at = sequence;
        if encoder.over().is_some() {
            return at;
        }
    }
    at
}

fn one_native(hub: &Hub, sequence: Sequence, bytes: &[u8], out: &mut String) {
    if let Ok(record) = riverrun_event::Record::read(bytes) {
        hub.composer().write(&record, sequence, out);
    }
}

/// Elements of a JSON array, counted.
#[derive(Default)]
struct Lines {
    text: String,
    count: usize,
}

impl Lines {
    fn push(&mut self, json: &str) {
        self.extend(|out| out.push_str(json));
    }

    /// Adds what is written, if anything is.
    fn extend(&mut self, write: impl FnOnce(&mut String)) {
        let before = self.text.len();
        if before > 0 {
            self.text.push(',');
        }
        let from = self.text.len();
        write(&mut self.text);
        match self.text.len() > from {
            true => self.count += 1,
            false => self.text.truncate(before),
        }
    }
}

fn document(
    hub: &Hub,
    outcome: &str,
    members: &str,
    lines: &Lines,
    at: Sequence,
    head: Sequence,
    more: bool,
) -> String {
    let cursor = Cursor::after(at, hub.origin());
    format!(
        "{{\"outcome\":\"{outcome}\",{members}\"events\":[{}],\"cursor\":\"{cursor}\",\"sequence\":{at},\"head\":{head},\"more\":{more}}}",
        lines.text
    )
}
