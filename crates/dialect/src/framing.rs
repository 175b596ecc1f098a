//! How frames stand on a byte stream.

use riverrun_event::{Cursor, CursorOrigin, Surround};

use crate::{ControlMessage, Frame};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// `id: CURSOR`, `data: JSON`, blank line. Unnamed, so that a browser's `onmessage` gets every one.
    Sse,
    /// SSE as foreign clients take it: `event: NAME` where the frame has a name, `data: JSON`, blank line. No `id:`,
    /// which breaks some of them, and no words about the stream, which none of them knows.
    ForeignSse,
    /// The same with an `id: CURSOR` line, for clients that send it back as `Last-Event-ID`.
    ForeignSseWithIds,
    /// One JSON value per line.
    Ndjson,
    /// The JSON texts alone, for transports with messages of their own. [`FrameWriter`](crate::FrameWriter) notes
    /// where each ends, and the reader's position after it.
    Messages,
}

/// Appends a frame. The JSON has no line break, so no field can be injected.
pub fn write_frame(framing: Framing, origin: CursorOrigin, frame: &Frame<'_>, out: &mut String) {
    match framing {
        Framing::ForeignSse => return write_foreign(None, frame, out),
        Framing::ForeignSseWithIds => {
            return write_foreign(Some(cursor_after(origin, frame)), frame, out);
        }
        Framing::Sse | Framing::Ndjson | Framing::Messages => {}
    }
    if frame.is_marker {
        return;
    }
    write_framed(framing, FramePosition::At(cursor_after(origin, frame)), out, |out| {
        out.push_str(frame.json)
    });
}

pub(crate) fn write_foreign(position: Option<Cursor>, frame: &Frame<'_>, out: &mut String) {
    if let Some(cursor) = position {
        out.push_str("id: ");
        cursor.write(out);
        out.push('\n');
    }
    if !frame.name.is_empty() {
        out.push_str("event: ");
        out.push_str(frame.name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(frame.json);
    out.push_str("\n\n");
}

/// A reader's position after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramePosition {
    At(Cursor),
    /// Unchanged: the frame is part of something that counts only as a whole.
    Still,
}

/// As [`write_frame`], with the JSON written where it goes. This is on the path of every native event.
/// A position is written only when it moves, so that readers see where a unit ends.
pub fn write_framed(
    framing: Framing,
    position: FramePosition,
    out: &mut String,
    json: impl FnOnce(&mut String),
) {
    match (framing, position) {
        (Framing::Sse, FramePosition::At(cursor)) => {
            out.push_str("id: ");
            cursor.write(out);
            out.push_str("\ndata: ");
            json(out);
            out.push_str("\n\n");
        }
        (Framing::Sse, FramePosition::Still) | (Framing::ForeignSse | Framing::ForeignSseWithIds, _) => {
            out.push_str("data: ");
            json(out);
            out.push_str("\n\n");
        }
        (Framing::Ndjson, _) => {
            json(out);
            out.push('\n');
        }
        (Framing::Messages, _) => json(out),
    }
}

/// What [`write_framed`] puts around an event that has one frame, for many events of one log.
pub fn surround(framing: Framing, origin: CursorOrigin) -> Surround {
    let (before, between, behind) = match framing {
        Framing::Sse => ("id: ", Some("\ndata: "), "\n\n"),
        Framing::ForeignSse | Framing::ForeignSseWithIds => ("data: ", None, "\n\n"),
        Framing::Ndjson => ("", None, "\n"),
        Framing::Messages => ("", None, ""),
    };
    let between = between.map(|between| Cursor::tail(origin) + between);
    Surround { before, between, behind }
}

/// The place behind a frame: after its event if it is the last one, else inside the event.
pub fn cursor_after(origin: CursorOrigin, frame: &Frame<'_>) -> Cursor {
    if frame.is_last {
        return Cursor::after(frame.sequence, origin);
    }
    Cursor { sequence: frame.sequence.previous(), part: frame.part + 1, origin: Some(origin) }
}

/// Appends a word about the stream itself. It is named, so that no reader takes it for an event of the log.
pub fn write_control(framing: Framing, control: &ControlMessage<'_>, out: &mut String) {
    match framing {
        Framing::Sse => {
            if let Some(retry) = control.retry_millis() {
                out.push_str(&format!("retry: {retry}\n"));
            }
            out.push_str("event: riverrun\n");
            if let Some(cursor) = control.cursor() {
                out.push_str("id: ");
                cursor.write(out);
                out.push('\n');
            }
            out.push_str("data: ");
            control.write(out);
            out.push_str("\n\n");
        }
        // A foreign reader would take it for a frame; see [`Rules::controls`].
        Framing::ForeignSse | Framing::ForeignSseWithIds => {}
        Framing::Ndjson => {
            control.write(out);
            out.push('\n');
        }
        Framing::Messages => control.write(out),
    }
}

/// What the clients of a dialect take on an SSE stream. Breaking one of these breaks an official client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub framing: Framing,
    /// True if words about the stream (`event: riverrun`) may be sent.
    pub controls: bool,
    pub heartbeat: Heartbeat,
    /// True if adjacent deltas may be joined for a reader that is behind. False where every frame has a number.
    pub joins_deltas: bool,
    /// True if the clients' parsers take an `id:` line on every frame. Our own routes send it; the routes of the
    /// foreign API send what its vendor sends.
    pub takes_ids: bool,
    /// True if its frames also show earlier turns: then the reader's state has to hold them.
    pub shows_past_turns: bool,
    /// Headers of the answer besides those of every SSE stream.
    pub headers: &'static [(&'static str, &'static str)],
}

/// What keeps a silent stream open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// [`ControlMessage::Heartbeat`].
    Control,
    /// These bytes: a comment, or an event that the dialect has for it.
    Bytes(&'static str),
    /// Nothing: the clients fail on whatever could be sent.
    Never,
}

/// A comment and the blank line behind it.
const COMMENT: &str = ": ka\n\n";
/// The comment alone. Behind an `id:` openai in Python takes a blank line for an event without data and fails on it,
/// so the blank line of the next frame ends the comment too.
const COMMENT_BESIDE_IDS: &str = ": ka\n";

impl Heartbeat {
    /// What keeps a stream of this framing open.
    pub fn on(self, framing: Framing) -> Self {
        match (framing, self) {
            (Framing::Sse | Framing::Ndjson | Framing::Messages, _) => Heartbeat::Control,
            (Framing::ForeignSseWithIds, Heartbeat::Bytes(COMMENT)) => Heartbeat::Bytes(COMMENT_BESIDE_IDS),
            (Framing::ForeignSse | Framing::ForeignSseWithIds, heartbeat) => heartbeat,
        }
    }
}

impl Rules {
    /// The SSE framing on our own routes: every frame brings its cursor where the clients take that.
    pub fn own_framing(self) -> Framing {
        match self.framing {
            Framing::ForeignSse if self.takes_ids => Framing::ForeignSseWithIds,
            framing => framing,
        }
    }

    /// Our own dialects.
    pub const OURS: Rules = Rules {
        framing: Framing::Sse,
        controls: true,
        heartbeat: Heartbeat::Control,
        joins_deltas: true,
        takes_ids: true,
        shows_past_turns: false,
        headers: &[],
    };

    /// Most foreign dialects: no ids on the vendor's routes, no controls, a comment as heartbeat.
    pub const FOREIGN: Rules = Rules {
        framing: Framing::ForeignSse,
        controls: false,
        heartbeat: Heartbeat::Bytes(COMMENT),
        joins_deltas: true,
        takes_ids: true,
        shows_past_turns: false,
        headers: &[],
    };
}

#[cfg(test)]
mod tests {
    use riverrun_event::{
        Composer, Composing, Record, RecordBytes, Sequence, SessionId, decode, write_record,
    };

    use super::*;

    #[test]
    fn a_run_of_frames_is_the_frames_one_by_one() -> Result<(), Box<dyn std::error::Error>> {
        let session = SessionId::new("ses_1")?;
        let (origin, composer) = (CursorOrigin::new(&session, 77), Composer::new(&session, 77));
        let texts = [
            r#"{"type":"model.delta","turnId":"t","payload":{"delta":"é"}}"#,
            r#"{"type":"x.bare"}"#,
            r#"{"type":"turn.started","eventId":"evt_own","timestamp":"1969-12-31T23:59:59.999Z","turnId":"t"}"#,
        ];
        for framing in [Framing::Sse, Framing::Ndjson, Framing::Messages] {
            let mut run = Composing::new(&composer, surround(framing, origin));
            let (mut together, mut alone) = (Vec::new(), String::new());
            for (at, text) in (99..).zip(texts) {
                let sequence = Sequence::new(at).ok_or("in range")?;
                let mut bytes = Vec::new();
                write_record(&decode(text)?.draft, riverrun_event::Timestamp::from_millis(1), &mut bytes);
                run.write(&RecordBytes::read(&bytes)?, sequence, &mut together);
                let record = Record::read(&bytes)?;
                let position = FramePosition::At(Cursor::after(sequence, origin));
                write_framed(framing, position, &mut alone, |out| composer.write(&record, sequence, out));
            }
            assert_eq!(String::from_utf8(together)?, alone, "{framing:?}");
        }
        Ok(())
    }
}
