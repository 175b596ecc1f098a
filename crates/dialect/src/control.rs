//! Words about the stream itself, which are not events of the log and carry no sequence of their own.

use riverrun_event::{Cursor, Sequence, json};

/// Exactly one of these begins every stream. A refusal is an HTTP error instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Every event after the cursor.
    Replayed,
    /// Every event after the cursor, with adjacent deltas of one block joined until the reader is live.
    Coalesced,
    /// The state first, then every event after it.
    Snapshot(SnapshotReason),
}

/// What of the session a stream shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows<'a> {
    /// Every turn.
    Session,
    /// One turn; None if it is the next that begins.
    Turn(Option<&'a str>),
}

impl<'a> Shows<'a> {
    pub fn scope(self) -> &'static str {
        match self {
            Shows::Session => "session",
            Shows::Turn(_) => "turn",
        }
    }

    pub fn turn(self) -> Option<&'a str> {
        match self {
            Shows::Session => None,
            Shows::Turn(turn) => turn,
        }
    }
}

/// How a reader that was cut goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeMethod {
    /// Every frame brings the cursor behind it.
    Cursor,
    /// Frames bring no cursor: the reader asks again, and what it shows is sent from the start.
    Start,
}

impl ResumeMethod {
    pub fn as_str(self) -> &'static str {
        match self {
            ResumeMethod::Cursor => "cursor",
            ResumeMethod::Start => "start",
        }
    }
}

/// Why a reader gets a state instead of the events it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotReason {
    Asked,
    Expired,
    EpochChanged,
    SlowConsumer,
    FilterChanged,
}

impl SnapshotReason {
    pub fn as_str(self) -> &'static str {
        match self {
            SnapshotReason::Asked => "asked",
            SnapshotReason::Expired => "expired",
            SnapshotReason::EpochChanged => "epoch_changed",
            SnapshotReason::SlowConsumer => "slow_consumer",
            SnapshotReason::FilterChanged => "filter_changed",
        }
    }
}

impl Opening {
    pub fn as_str(self) -> &'static str {
        match self {
            Opening::Replayed => "replayed",
            Opening::Coalesced => "coalesced",
            Opening::Snapshot(_) => "snapshot",
        }
    }
}

/// A message about the stream itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ControlMessage<'a> {
    Opened {
        outcome: Opening,
        after: Sequence,
        head: Sequence,
        cursor: Cursor,
        dialect: &'a str,
        index_unit: &'a str,
        /// The filter in force, as a JSON object: resuming never narrows silently.
        filter_json: &'a str,
        shows: Shows<'a>,
        resume: ResumeMethod,
        retry_millis: u64,
    },
    Snapshot {
        reason: SnapshotReason,
        sequence: Sequence,
        cursor: Cursor,
        state_json: &'a str,
    },
    /// Everything up to the head of this moment was sent; what follows is live.
    CaughtUp {
        head: Sequence,
        cursor: Cursor,
    },
    /// The last sequence of the log, so that a filtered reader's place moves on too.
    Heartbeat {
        head: Sequence,
        cursor: Cursor,
    },
    Draining {
        retry_millis: u64,
    },
    /// The stream is complete: nothing was left out.
    End {
        reason: &'a str,
        head: Sequence,
        cursor: Cursor,
    },
}

/// Which statement about a stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlKind {
    Opened,
    Snapshot,
    CaughtUp,
    Heartbeat,
    Draining,
    End,
}

impl ControlKind {
    fn name(self) -> &'static str {
        match self {
            ControlKind::Opened => "stream.opened",
            ControlKind::Snapshot => "stream.snapshot",
            ControlKind::CaughtUp => "stream.caught_up",
            ControlKind::Heartbeat => "stream.heartbeat",
            ControlKind::Draining => "stream.draining",
            ControlKind::End => "stream.end",
        }
    }
}

impl ControlMessage<'_> {
    pub fn kind(&self) -> ControlKind {
        match self {
            ControlMessage::Opened { .. } => ControlKind::Opened,
            ControlMessage::Snapshot { .. } => ControlKind::Snapshot,
            ControlMessage::CaughtUp { .. } => ControlKind::CaughtUp,
            ControlMessage::Heartbeat { .. } => ControlKind::Heartbeat,
            ControlMessage::Draining { .. } => ControlKind::Draining,
            ControlMessage::End { .. } => ControlKind::End,
        }
    }

    /// The reader's cursor after this message; SSE clients send it back.
    pub(crate) fn cursor(&self) -> Option<Cursor> {
        match self {
            ControlMessage::Snapshot { cursor, .. }
            | ControlMessage::CaughtUp { cursor, .. }
            | ControlMessage::Heartbeat { cursor, .. }
            | ControlMessage::End { cursor, .. } => Some(*cursor),
            ControlMessage::Opened { .. } | ControlMessage::Draining { .. } => None,
        }
    }

    pub(crate) fn retry_millis(&self) -> Option<u64> {
        match self {
            ControlMessage::Opened { retry_millis, .. } | ControlMessage::Draining { retry_millis } => {
                Some(*retry_millis)
            }
            ControlMessage::Snapshot { .. }
            | ControlMessage::CaughtUp { .. }
            | ControlMessage::Heartbeat { .. }
            | ControlMessage::End { .. } => None,
        }
    }

    /// Appends it as one JSON object.
    pub fn write(&self, out: &mut String) {
        out.push_str(&format!("{{\"type\":\"{}\",", self.kind().name()));
        self.write_members(out);
        out.push('}');
    }

    /// Appends its members but for the type, for an object that has others too.
    pub fn write_members(&self, out: &mut String) {
        match self {
            ControlMessage::Opened {
                outcome,
                after,
                head,
                cursor,
                dialect,
                index_unit,
                filter_json,
                shows,
                resume,
                ..
            } => {
                let reason = match outcome {
                    Opening::Snapshot(reason) => format!(",\"reason\":\"{}\"", reason.as_str()),
                    Opening::Replayed | Opening::Coalesced => String::new(),
                };
                out.push_str(&format!(
                    "\"outcome\":\"{}\"{reason},\"after\":{after},\"head\":{head},\"cursor\":\"{cursor}\",\"dialect\":",
                    outcome.as_str()
                ));
                json::write_string(out, dialect);
                out.push_str(&format!(",\"indexUnit\":\"{index_unit}\",\"filter\":{filter_json}"));
                out.push_str(&format!(",\"scope\":\"{}\"", shows.scope()));
                if let Some(turn) = shows.turn() {
                    out.push_str(",\"turn\":");
                    json::write_string(out, turn);
                }
                out.push_str(&format!(",\"resume\":\"{}\"", resume.as_str()));
            }
            ControlMessage::Snapshot { reason, sequence, cursor, state_json } => {
                out.push_str(&format!(
                    "\"reason\":\"{}\",\"sequence\":{sequence},\"cursor\":\"{cursor}\",\"state\":",
                    reason.as_str()
                ));
                out.push_str(state_json);
            }
            ControlMessage::CaughtUp { head, cursor } | ControlMessage::Heartbeat { head, cursor } => {
                out.push_str(&format!("\"sequence\":{head},\"cursor\":\"{cursor}\""));
            }
            ControlMessage::Draining { retry_millis } => {
                out.push_str(&format!("\"retryMillis\":{retry_millis}"));
            }
            ControlMessage::End { reason, head, cursor } => {
                out.push_str(&format!("\"reason\":\"{reason}\",\"sequence\":{head},\"cursor\":\"{cursor}\""));
            }
        }
    }
}
