//! What a frame of a native stream says.

use std::borrow::Cow;

use riverrun_event::{Cursor, Sequence};
use riverrun_net::SseFrame;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};

/// One event as the server sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedEvent {
    /// The event's type, such as `model.delta`.
    pub kind: String,
    /// Its place; for a coalesced frame the place of the last event that it stands for.
    pub sequence: Sequence,
    /// Where a follower that has seen this event goes on.
    pub cursor: Option<String>,
    /// The wire JSON, byte for byte.
    pub json: String,
}

impl FollowedSnapshot {
    /// The log was restored or made anew: what was seen before is of another history.
    pub fn is_of_new_log(&self) -> bool {
        self.reason.as_deref() == Some("epoch_changed")
    }
}

impl FollowedEvent {
    pub fn value(&self) -> Result<Value> {
        serde_json::from_str(&self.json)
            .map_err(|e| Error::Malformed(format!("event {}: {e}", self.sequence)))
    }
}

/// How the server answered a (re)connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// `replayed`, `coalesced` or `snapshot`.
    pub outcome: String,
    pub reason: Option<String>,
    pub after: Option<Sequence>,
    pub head: Option<Sequence>,
}

/// The folded state that a stream starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedSnapshot {
    /// Why a state came instead of events: `asked`, `expired`, `epoch_changed`, …
    pub reason: Option<String>,
    pub sequence: Sequence,
    pub cursor: Option<String>,
    pub state: Value,
}

pub(crate) enum Control {
    Opened(Opened),
    Heartbeat(Place),
    Snapshot(FollowedSnapshot),
    CaughtUp(Place),
    Draining {
        retry_millis: Option<u64>,
    },
    End(Place),
    /// From a newer server; a control frame never carries an event, so it can be passed over.
    Unknown,
}

/// Where the stream stands: everything up to `head` that was asked for was sent.
pub(crate) struct Place {
    pub head: Option<Sequence>,
    pub cursor: Option<String>,
}

pub(crate) struct Event {
    pub first: Sequence,
    pub ends: bool,
    pub turn: Option<String>,
    pub event: FollowedEvent,
}

pub(crate) fn is_control(frame: &SseFrame) -> bool {
    frame.event.as_deref() == Some("riverrun")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    sequence: Sequence,
    first_sequence: Option<Sequence>,
    #[serde(borrow)]
    turn_id: Option<Cow<'a, str>>,
}

pub(crate) fn read_event(frame: SseFrame) -> Result<Event> {
    let head: EventHead<'_> =
        serde_json::from_str(&frame.data).map_err(|e| Error::Malformed(format!("event frame: {e}")))?;
    let kind = head.kind.into_owned();
    Ok(Event {
        first: head.first_sequence.unwrap_or(head.sequence),
        ends: matches!(kind.as_str(), "turn.completed" | "turn.failed" | "turn.cancelled"),
        turn: head.turn_id.map(Cow::into_owned),
        event: FollowedEvent { sequence: head.sequence, kind, cursor: frame.id, json: frame.data },
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ControlWire {
    #[serde(rename = "type")]
    kind: String,
    outcome: Option<String>,
    reason: Option<String>,
    after: Option<Value>,
    head: Option<Value>,
    sequence: Option<Value>,
    cursor: Option<String>,
    state: Option<Value>,
    retry_millis: Option<u64>,
}

impl ControlWire {
    fn place(self) -> Place {
        Place { head: place(self.sequence.as_ref()), cursor: self.cursor }
    }
}

pub(crate) fn read_control(frame: &SseFrame) -> Result<Control> {
    let wire: ControlWire =
        serde_json::from_str(&frame.data).map_err(|e| Error::Malformed(format!("control frame: {e}")))?;
    Ok(match wire.kind.as_str() {
        "stream.opened" => Control::Opened(Opened {
            outcome: wire.outcome.unwrap_or_default(),
            reason: wire.reason,
            after: place(wire.after.as_ref()),
            head: place(wire.head.as_ref()),
        }),
        "stream.heartbeat" => Control::Heartbeat(wire.place()),
        "stream.snapshot" => {
            let sequence =
                place(wire.sequence.as_ref()).or_else(|| place(wire.state.as_ref()?.get("sequence")));
            Control::Snapshot(FollowedSnapshot {
                reason: wire.reason,
                sequence: sequence
                    .ok_or_else(|| Error::Malformed("stream.snapshot without a sequence".into()))?,
                cursor: wire.cursor.or_else(|| frame.id.clone()),
                state: wire.state.unwrap_or_default(),
            })
        }
        "stream.caught_up" => Control::CaughtUp(wire.place()),
        "stream.draining" => Control::Draining { retry_millis: wire.retry_millis },
        "stream.end" => Control::End(wire.place()),
        _ => Control::Unknown,
    })
}

/// A place in the log, as a number or as a cursor.
fn place(value: Option<&Value>) -> Option<Sequence> {
    match value? {
        Value::Number(number) => number.as_u64().and_then(Sequence::new),
        Value::String(text) => Cursor::parse(text).ok().map(|cursor| cursor.sequence),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
