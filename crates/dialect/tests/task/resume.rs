//! Whatever part of the stream a client saw, it ends with the object that the fold has.

use riverrun_dialect::OffsetUnit;
use riverrun_dialect::task::reference_client::ReferenceClient;

use crate::log::{Delivered, Log, assert_same, recordings, take_all};
use crate::vectors;

/// The recordings and the inputs of the golden vectors, the fold's among them.
fn every_log() -> Vec<(String, Log)> {
    recordings().into_iter().chain(vectors::logs("dialect/task")).chain(vectors::logs("fold")).collect()
}

/// A client of the whole stream holds, after each event, what the fold holds then.
pub fn check_every_prefix(name: &str, log: &Log, unit: OffsetUnit) {
    let frames = log.frames(unit);
    let mut client = ReferenceClient::default();
    let mut rest = frames.as_slice();
    for sequence in 1..=log.len() {
        let of_event = rest.iter().take_while(|frame| frame.sequence == sequence as u64).count();
        take_all(&mut client, &rest[..of_event]);
        rest = &rest[of_event..];
        assert_same(&client, log.state(sequence), unit, &format!("{name}, event {sequence}"));
    }
    assert_eq!(rest, [], "{name}: every frame belongs to an event");
}

/// A client that is cut off behind any frame, and comes back there, misses and repeats nothing.
pub fn check_every_cut(name: &str, log: &Log, unit: OffsetUnit) {
    let whole = log.frames(unit);
    for cut in 0..=whole.len() {
        // The reader's place: after an event, or behind some parts of the next one.
        let (after, parts) = match cut.checked_sub(1).map(|last| &whole[last]) {
            None => (0, 0),
            Some(frame) if frame.is_last => (frame.sequence as usize, 0),
            Some(frame) => (frame.sequence as usize - 1, frame.part as usize + 1),
        };
        let mut projector = log.projector(log.state(after).clone(), unit);
        let tail = log.tail(projector.as_mut(), after);
        assert_eq!(tail[parts..], whole[cut..], "{name}: the tail behind frame {cut}");
    }
}

/// A reader without a state gets opening frames, at any place, and then ends where everybody ends.
pub fn check_every_opening(name: &str, log: &Log, unit: OffsetUnit) {
    for after in 0..=log.len() {
        let place = format!("{name}, opened after event {after}");
        let (state, opening) = (log.state(after), log.opening(after, unit));
        let mut client = ReferenceClient::default();
        take_all(&mut client, &opening);
        assert_same(&client, state, unit, &place);
        let mut projector = log.projector(state.clone(), unit);
        let tail = log.tail(projector.as_mut(), after);
        assert_rising(&opening, &tail, &place);
        take_all(&mut client, &tail);
        assert_same(&client, projector.state().expect("it has one"), unit, &format!("{place}, to the end"));
    }
}

/// Numbers rise from 1 on, through the opening and on into the tail; parts count up within an event.
fn assert_rising(opening: &[Delivered], tail: &[Delivered], place: &str) {
    let mut last = 0;
    for frame in opening.iter().chain(tail) {
        let value: serde_json::Value = serde_json::from_str(&frame.json).expect("a frame is JSON");
        let number = value["sequence_number"].as_u64().expect("a frame has a number");
        assert!(number > last, "{place}: {number} after {last} in {}", frame.json);
        last = number;
    }
    for (part, frame) in opening.iter().enumerate() {
        assert_eq!((frame.part as usize, frame.is_last), (part, part + 1 == opening.len()), "{place}");
    }
}

/// A reader that catches up on joined deltas ends with the same object, at the same number.
pub fn check_coalesced(name: &str, log: &Log, unit: OffsetUnit) {
    for after in (0..=log.len()).step_by(5) {
        let mut client = ReferenceClient::default();
        let opening = log.opening(after, unit);
        take_all(&mut client, &opening);
        let mut projector = log.projector(log.state(after).clone(), unit);
        let tail = log.coalesced_tail(projector.as_mut(), after);
        take_all(&mut client, &tail);
        let place = format!("{name}, joined after event {after}");
        assert_rising(&opening, &tail, &place);
        assert_same(&client, log.state(log.len()), unit, &place);
        let end = projector.state().expect("it has one");
        assert_eq!(end.revision, log.state(log.len()).revision, "{place}");
    }
}

/// Frames that come twice, one by one or in stretches, change nothing.
pub fn check_duplicates(name: &str, log: &Log, unit: OffsetUnit) {
    let whole = log.frames(unit);
    let mut client = ReferenceClient::default();
    for (at, frame) in whole.iter().enumerate() {
        take_all(&mut client, &[frame.clone(), frame.clone()]);
        if at % 7 == 0 {
            take_all(&mut client, &whole[at.saturating_sub(5)..=at]);
        }
    }
    assert_same(&client, log.state(log.len()), unit, name);
}

/// A projector that is handed an event twice tells it once.
fn check_duplicate_events(name: &str, log: &Log, unit: OffsetUnit) {
    let mut projector = log.projector(log.state(0).clone(), unit);
    let mut frames = riverrun_dialect::Frames::default();
    for sequence in 1..=log.len() {
        let (record, event) = (log.record(sequence), log.event(sequence));
        projector.event(&record, event, &mut frames);
        projector.event(&record, event, &mut frames);
    }
    let told: Vec<&str> = frames.iter().map(|frame| frame.json).collect();
    let whole = log.frames(unit);
    assert_eq!(told, whole.iter().map(|frame| frame.json.as_str()).collect::<Vec<_>>(), "{name}");
}

#[test]
fn a_client_of_the_whole_stream_holds_the_object_after_each_event() {
    for (name, log) in every_log() {
        for unit in OffsetUnit::ALL {
            check_every_prefix(&name, &log, unit);
        }
    }
}

#[test]
fn a_client_that_resumes_after_any_frame_gets_exactly_the_remaining_frames() {
    for (name, log) in every_log() {
        check_every_cut(&name, &log, OffsetUnit::Utf16);
    }
}

#[test]
fn a_client_without_a_state_is_opened_at_any_place() {
    for (name, log) in every_log() {
        check_every_opening(&name, &log, OffsetUnit::CodePoint);
    }
}

#[test]
fn a_client_that_catches_up_on_joined_deltas_ends_the_same() {
    for (name, log) in every_log() {
        check_coalesced(&name, &log, OffsetUnit::Utf16);
    }
}

#[test]
fn a_duplicate_frame_is_reported_and_applied_once() {
    for (name, log) in every_log() {
        check_duplicates(&name, &log, OffsetUnit::CodePoint);
        check_duplicate_events(&name, &log, OffsetUnit::CodePoint);
    }
}

#[test]
fn a_snapshot_of_any_prefix_goes_on_with_the_same_bytes() {
    for (name, log) in every_log() {
        let whole = log.frames(OffsetUnit::Utf8);
        for after in 0..=log.len() {
            let state =
                riverrun_fold::State::from_json(&log.state(after).to_json()).expect("a state reads back");
            let mut projector = log.projector(state, OffsetUnit::Utf8);
            let tail = log.tail(projector.as_mut(), after);
            let from = whole.iter().position(|frame| frame.sequence as usize > after).unwrap_or(whole.len());
            assert_eq!(tail, whole[from..], "{name}, from a snapshot after event {after}");
        }
    }
}
