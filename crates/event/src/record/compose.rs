//! The wire form of a record: bytes copied one after the other, nothing parsed.

use super::{Record, RecordBytes};
use crate::cursor::decimal;
use crate::{SCHEMA_VERSION, Sequence, SessionId, Timestamp};

/// The events of a session up to `through` got their ids in this incarnation of its log, before the log was restored
/// from a backup. The copies of an event keep its id, though cursors of another incarnation are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdOrigin {
    /// The last event of this origin.
    pub through: Sequence,
    /// The incarnation in which the events got their ids.
    pub incarnation: u32,
}

/// Composes wire forms for one session.
#[derive(Debug, Clone)]
pub struct Composer {
    /// `evt_…_`, to which the sequence is added.
    event_id_stem: String,
    /// The same for the events up to a sequence, in ascending order.
    earlier_stems: Vec<(Sequence, String)>,
    /// `","timestamp":"` with the schema version before it.
    before_time: String,
    /// `,"sessionId":"…"`.
    session: String,
}

/// Where a wire form goes: text, or bytes whose text nobody looks at.
trait Out {
    type Piece: ?Sized;
    fn put(&mut self, piece: &Self::Piece);
    fn text(&mut self, text: &str);
}

impl Out for String {
    type Piece = str;
    fn put(&mut self, piece: &str) {
        self.push_str(piece);
    }
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl Out for Vec<u8> {
    type Piece = [u8];
    fn put(&mut self, piece: &[u8]) {
        self.extend_from_slice(piece);
    }
    fn text(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

/// What differs from one wire form of a session to the next.
struct Parts<'a, Piece: ?Sized> {
    kind: &'a Piece,
    event_id: Option<&'a Piece>,
    /// What an id that is not stored begins with.
    stem: &'a str,
    time: &'a Piece,
    /// The sequence in digits, and that of the first event if several were joined.
    number: &'a str,
    first: Option<&'a str>,
    /// The members behind their opening brace.
    members: &'a Piece,
    is_empty: bool,
}

impl Composer {
    /// For a session whose log was never restored.
    pub fn new(session: &SessionId, incarnation: u32) -> Self {
        Self::with_origins(session, incarnation, &[])
    }

    /// The same for a session whose log was restored: `origins` in ascending order.
    pub fn with_origins(session: &SessionId, incarnation: u32, origins: &[IdOrigin]) -> Self {
        let earlier = |origin: &IdOrigin| (origin.through, event_id_stem(session, origin.incarnation));
        Self {
            event_id_stem: event_id_stem(session, incarnation),
            earlier_stems: origins.iter().map(earlier).collect(),
            before_time: format!("\",\"schemaVersion\":\"{SCHEMA_VERSION}\",\"timestamp\":\""),
            session: format!(",\"sessionId\":\"{session}\""),
        }
    }

    /// Names another version of the envelope than ours, for a profile that fixes it.
    pub fn with_schema_version(mut self, version: &str) -> Self {
        self.before_time = format!("\",\"schemaVersion\":\"{version}\",\"timestamp\":\"");
        self
    }

    fn stem(&self, sequence: Sequence) -> &str {
        let earlier = self.earlier_stems.iter().find(|(through, _)| sequence <= *through);
        earlier.map_or(&self.event_id_stem, |(_, stem)| stem)
    }

    /// Appends the wire form: one JSON object on one line.
    pub fn write(&self, record: &Record<'_>, sequence: Sequence, out: &mut String) {
        self.write_joined(record, sequence, sequence, out);
    }

    /// As [`Composer::write`], for deltas `first..=sequence` that were joined into one record.
    pub fn write_joined(&self, record: &Record<'_>, first: Sequence, sequence: Sequence, out: &mut String) {
        let (mut digits, mut first_digits) = ([0; 20], [0; 20]);
        let time = record.timestamp.text();
        let parts = Parts {
            kind: record.kind,
            event_id: record.event_id,
            stem: self.stem(sequence),
            time: std::str::from_utf8(&time).expect("digits and marks are ASCII"),
            number: decimal(sequence.get(), &mut digits),
            first: (first != sequence).then(|| decimal(first.get(), &mut first_digits)),
            members: &record.members[1..],
            is_empty: record.members.len() <= 2,
        };
        self.put(&parts, out);
    }

    fn put<O: Out>(&self, parts: &Parts<'_, O::Piece>, out: &mut O) {
        out.text("{\"type\":\"");
        out.put(parts.kind);
        out.text("\",\"eventId\":\"");
        match parts.event_id {
            Some(id) => out.put(id),
            None => {
                out.text(parts.stem);
                out.text(parts.number);
            }
        }
        out.text(&self.before_time);
        out.put(parts.time);
        if let Some(first) = parts.first {
            out.text("\",\"firstSequence\":");
            out.text(first);
            out.text(",\"sequence\":");
        } else {
            out.text("\",\"sequence\":");
        }
        out.text(parts.number);
        out.text(&self.session);
        if !parts.is_empty {
            out.text(",");
        }
        out.put(parts.members);
    }
}

fn event_id_stem(session: &SessionId, incarnation: u32) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(format!("{session} {incarnation}").as_bytes());
    let mut unique = [0; 16];
    unique[6..].copy_from_slice(&digest[..10]);
    format!("evt_{}_", crate::base32(u128::from_be_bytes(unique), 16))
}

/// What stands around each wire form on a stream: `before`, the sequence, `between`, the form, `behind`.
#[derive(Debug, Clone)]
pub struct Surround {
    /// Before each event.
    pub before: &'static str,
    /// None where the sequence is not said.
    pub between: Option<String>,
    /// Behind each event.
    pub behind: &'static str,
}

/// Composes one record after the other, each with what stands around it. What repeats is made once.
#[derive(Debug)]
pub struct Composing<'a> {
    composer: &'a Composer,
    surround: Surround,
    time: (Timestamp, [u8; 24]),
}

impl<'a> Composing<'a> {
    /// Nothing is written yet.
    pub fn new(composer: &'a Composer, surround: Surround) -> Self {
        let time = Timestamp::default();
        Self { composer, surround, time: (time, time.text()) }
    }

    /// Appends the wire form of an event with what surrounds it.
    pub fn write(&mut self, record: &RecordBytes<'_>, sequence: Sequence, out: &mut Vec<u8>) {
        let mut digits = [0; 20];
        let number = decimal(sequence.get(), &mut digits);
        if let Some(between) = &self.surround.between {
            out.text(self.surround.before);
            out.text(number);
            out.text(between);
        }
        if self.time.0 != record.timestamp {
            self.time = (record.timestamp, record.timestamp.text());
        }
        let parts = Parts {
            kind: record.kind,
            event_id: record.event_id,
            stem: self.composer.stem(sequence),
            time: &self.time.1[..],
            number,
            first: None,
            members: &record.members[1..],
            is_empty: record.members.len() <= 2,
        };
        self.composer.put(&parts, out);
        out.text(self.surround.behind);
    }
}
