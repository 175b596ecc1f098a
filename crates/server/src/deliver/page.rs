//! One page of events as one JSON document, for readers that do not stream.

use std::sync::Arc;

use riverrun_dialect::{Framing, Shows};
use riverrun_event::{Cursor, Sequence, json};

use super::encoder::{Encoder, Own};
use super::open::{Plan, plan};
use super::request::Request;
use crate::app::{App, READ_BYTES};
use crate::edge::Problem;
use crate::session::Hub;

/// `{"events":[…],"cursor":…,"head":…,"more":…}`. A page ends after an event, never inside one.
pub async fn page(app: &App, hub: &Arc<Hub>, request: &Request) -> Result<String, Problem> {
    let head = hub.head();
    let plan = plan(app, hub, request, Framing::Ndjson).await?;
    let shows = shows_json(plan.shows());
    let Plan { opening, mut at, mut encoder, first, .. } = plan;
    let mut lines = Lines::default();
    // Behind `stream.opened` stands the snapshot, if there is one: a state, or frames that tell it.
    let (_, behind) = first.split_once('\n').unwrap_or((&first, ""));
    let snapshot = if encoder.dialect().is_stateless() {
        // A page says with its outcome what streams say with an event behind the snapshot.
        behind.lines().next().unwrap_or_default()
    } else {
        lines.push(behind.as_bytes());
        ""
    };
    while at < head && lines.count < request.limit {
        let chunks = app.log().read(&hub.key, at, READ_BYTES).await?;
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
    lines.push(&held_back);
    let more = at < head && encoder.over().is_none();
    let snapshot = if snapshot.is_empty() { String::new() } else { format!("\"snapshot\":{snapshot},") };
    Ok(document(hub, opening.as_str(), &(shows + &snapshot), &lines, at, head, more))
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
            Encoder::Shared(_) => lines.push(&one_native(hub, sequence, bytes)),
            Encoder::Own(own) => lines.push(&one_own(own, hub, sequence, bytes)),
        }
        at = sequence;
        if encoder.over().is_some() {
            return at;
        }
    }
    at
}

fn one_native(hub: &Hub, sequence: Sequence, bytes: &[u8]) -> Vec<u8> {
    let Ok(record) = riverrun_event::Record::read(bytes) else { return Vec::new() };
    let mut out = String::new();
    hub.composer().write(&record, sequence, &mut out);
    out.push('\n');
    out.into_bytes()
}

fn one_own(own: &mut Own, hub: &Hub, sequence: Sequence, bytes: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    own.record(sequence, bytes, hub.origin(), &mut out);
    out.into_bytes()
}

/// JSON lines, counted.
#[derive(Default)]
struct Lines {
    text: String,
    count: usize,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        for line in std::str::from_utf8(bytes).unwrap_or_default().lines() {
            if !self.text.is_empty() {
                self.text.push(',');
            }
            self.text.push_str(line);
            self.count += 1;
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
