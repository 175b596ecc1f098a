//! Texts that become events, and events that become a state.

use riverrun_event::json::{JsonLimits, compact, compact_text};
use riverrun_event::{
    Cursor, EventType, Record, RecordBytes, Sequence, SessionId, Timestamp, decode, write_record,
};
use riverrun_fold::{ApplyOutcome, State};

/// What the strict reader takes is JSON, and is the same after a second pass.
pub fn json(bytes: &[u8]) {
    let limits = JsonLimits::default();
    let Ok(text) = compact(bytes, &limits) else { return };
    assert_eq!(compact(text.as_bytes(), &limits).as_ref(), Ok(&text), "a second pass changes the text");
    assert_eq!(compact_text(bytes, &limits).as_deref(), Ok(text.as_str()));
    assert!(!text.contains(['\n', '\r']), "the text fits on one line");
    let before: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
    let after: Result<serde_json::Value, _> = serde_json::from_str(&text);
    // Serde refuses numbers beyond a double; this reader takes their text as it is.
    if let (Ok(before), Ok(after)) = (before, after) {
        assert_eq!(before, after, "white space is all that may change");
    }
}

/// An event that is taken is stored and read back as it was.
pub fn event(bytes: &[u8]) {
    let Ok(text) = compact(bytes, &JsonLimits::default()) else { return };
    let Ok(decoded) = decode(&text) else { return };
    let now = Timestamp::from_millis(1_700_000_000_000);
    let mut stored = Vec::new();
    write_record(&decoded.draft, now, &mut stored);
    let record = Record::read(&stored).expect("what was written can be read");
    assert_eq!(record.kind, decoded.draft.kind.as_str());
    let sequence = first();
    let read = record.to_event(sequence).expect("what was taken can be read back");
    assert_eq!(read.scope, decoded.scope);
    assert_eq!(read.payload.is_ok(), decoded.into_event(sequence, now).payload.is_ok());
}

/// Stored bytes may be damaged in any way.
pub fn record(bytes: &[u8]) {
    let parts = RecordBytes::read(bytes);
    let Ok(record) = Record::read(bytes) else { return };
    assert!(parts.is_ok(), "text is bytes");
    let _ = record.to_event(first());
}

/// A cursor is written as it is read.
pub fn cursor(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(cursor) = Cursor::parse(text) else { return };
    assert_eq!(Cursor::parse(&cursor.to_string()), Ok(cursor), "{text}");
}

/// Any events, one on each line, give a state, which continues from its JSON like the original.
pub fn fold(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let session = SessionId::new("fuzz").expect("an id");
    let (mut state, mut restored) = (State::new(session.clone()), State::new(session));
    let (mut changes, mut sequence) = (Vec::new(), Sequence::ZERO);
    for line in text.lines().take(64) {
        let Ok(line) = compact(line.as_bytes(), &JsonLimits::default()) else { continue };
        let Ok(decoded) = decode(&line) else { continue };
        sequence = sequence.next().expect("few events");
        let event = decoded.into_event(sequence, Timestamp::from_millis(sequence.get() as i64));
        assert_eq!(state.apply(&event, &mut changes), ApplyOutcome::Applied);
        assert_eq!(state.apply(&event, &mut changes), ApplyOutcome::Duplicate);
        assert_eq!(restored.apply(&event, &mut changes), ApplyOutcome::Applied);
        let json = state.to_json();
        restored = State::from_json(&restored.to_json()).expect("a state can be read back");
        assert_eq!(restored.to_json(), json, "behind {}", event.kind.as_str());
        assert!(!matches!(event.kind, EventType::Other(_)) || event.payload.is_ok());
    }
}

fn first() -> Sequence {
    Sequence::ZERO.next().expect("1 is in range")
}
