use super::*;
use crate::SessionId;
use crate::{cut_text, decode, decode_wire, json, spill};

fn session() -> SessionId {
    SessionId::new("ses_1").expect("a good id")
}

fn stored(text: &str) -> Vec<u8> {
    let text = json::compact(text.as_bytes(), &json::JsonLimits::default()).expect("JSON");
    let decoded = decode(&text).expect("an event");
    let mut bytes = Vec::new();
    write_record(&decoded.draft, Timestamp::from_millis(1_794_807_600_123), &mut bytes);
    bytes
}

fn wire(text: &str) -> String {
    let bytes = stored(text);
    let mut out = String::new();
    let record = Record::read(&bytes).expect("a record");
    Composer::new(&session(), 1).write(&record, Sequence::new(42).expect("small"), &mut out);
    out
}

#[test]
fn the_wire_form_is_the_envelope_in_its_order() {
    assert_eq!(
        wire(
            r#"{"payload":{"delta":"hé"},"task_id":"t","type":"model.delta","x":{"y":[1]},"eventId":"e1","timestamp":"2026-11-16T05:40:00Z"}"#
        ),
        r#"{"type":"model.delta","eventId":"e1","schemaVersion":"riverrun/1","timestamp":"2026-11-16T05:40:00.000Z","sequence":42,"sessionId":"ses_1","taskId":"t","x":{"y":[1]},"payload":{"delta":"hé"}}"#
    );
    let bare = wire(r#"{"type":"turn.started"}"#);
    assert!(bare.ends_with(r#""sequence":42,"sessionId":"ses_1"}"#), "{bare}");
    assert!(bare.contains("\"timestamp\":\"2026-11-1"), "{bare}");
}

#[test]
fn snake_case_comes_out_as_camel_case_and_opaque_members_stay() {
    let out = wire(
        r#"{"type":"model.delta","turn_id":"t","runtime_id":"r","my_own":1,"payload":{"delta":"a","item_id":"i","output_index":0,"my_field":2}}"#,
    );
    assert!(out.ends_with(
        r#""turnId":"t","runtimeId":"r","my_own":1,"payload":{"delta":"a","itemId":"i","outputIndex":0,"my_field":2}}"#
    ), "{out}");
}

#[test]
fn unknown_types_pass_verbatim() {
    let out = wire(r#"{"type":"x.acme.thing","payload":[1,"two",null,{"a_b":3.00}]}"#);
    assert!(
        out.contains(r#""type":"x.acme.thing""#)
            && out.ends_with(r#""payload":[1,"two",null,{"a_b":3.00}]}"#),
        "{out}"
    );
}

#[test]
fn the_wire_form_decodes_to_the_event_of_its_record() {
    let text = r#"{"type":"model.delta","threadId":"main","turnId":"t","depth":2,"traceId":"tr","payload":{"delta":"a"}}"#;
    let bytes = stored(text);
    let record = Record::read(&bytes).expect("a record");
    let sequence = Sequence::new(42).expect("small");
    let from_record = record.to_event(sequence).expect("an event");
    let from_wire = decode_wire(&wire(text)).expect("an event");
    assert_eq!(from_record.scope, from_wire.scope);
    assert_eq!(from_record.payload.ok(), from_wire.payload.ok());
    assert_eq!((from_record.timestamp, from_wire.sequence), (from_wire.timestamp, sequence));
}

#[test]
fn a_large_payload_keeps_its_shape_and_gives_its_strings_away() {
    let long = "é".repeat(5000);
    let text = format!(
        r#"{{"type":"item.completed","refs":{{"a":1}},"payload":{{"outputIndex":2,"item":{{"type":"tool_result","id":"i","callId":"c","blockList":[{{"type":"text","text":"{long}"}},{{"type":"text","text":"short"}}]}}}}}}"#
    );
    let mut draft = decode(&text).expect("an event").draft;
    let spilled = spill(&mut draft, 4096).expect("it can be made to fit");
    assert_eq!(spilled.len(), 1);
    assert_eq!((spilled[0].path.as_str(), &spilled[0].content), ("/payload/item/blockList/0/text", &long));
    assert!(draft.size() <= 4096);
    let members: serde_json::Value = serde_json::from_str(&draft.members).expect("JSON");
    let kept = members["payload"]["item"]["blockList"][0]["text"].as_str().expect("a text");
    let reference = members["refs"]["spilled"][0]["ref"].as_str().expect("a reference");
    assert_eq!(kept, format!("{}… [cut: 10000 bytes, whole in {reference}]", "é".repeat(512)));
    assert_eq!(cut_text(kept), Some(("é".repeat(512).as_str(), reference)));
    assert_eq!(members["payload"]["item"]["blockList"][1]["text"], "short");
    assert_eq!((&members["refs"]["a"], &members["refs"]["spilled"][0]["size"]), (&1.into(), &10_000.into()));
    assert_eq!(spill(&mut draft, 4096), Ok(Vec::new()), "what fits is left alone");
    let digits = format!("[{}1]", "1,".repeat(5000));
    let mut stuck = decode(&format!(r#"{{"type":"x.y","payload":{digits}}}"#)).expect("an event").draft;
    assert!(spill(&mut stuck, 4096).is_err(), "there is no string to take out");
}

#[test]
fn only_what_was_cut_here_counts_as_cut() {
    let digest = "0".repeat(64);
    let whole = format!("a… [cut: 9 bytes, whole in blob_{digest}]");
    assert_eq!(cut_text(&whole), Some(("a", format!("blob_{digest}").as_str())));
    let others = [
        "a".repeat(512),
        whole.clone() + ".",
        whole.replace('9', "nine"),
        whole.replace("00", "0"),
        whole.replace("blob_", "bulb_"),
    ];
    for other in others {
        assert_eq!(cut_text(&other), None, "{other}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        if let Ok(record) = Record::read(&bytes) {
            let _ = record.to_event(Sequence::ZERO);
        }
    }

    #[test]
    fn times_round_trip(millis in -(1_i64 << 47)..1 << 47) {
        let draft = Draft::new(EventType::parse("x.y"), &crate::EventScope::default(), &());
        let mut bytes = Vec::new();
        write_record(&draft, Timestamp::from_millis(millis), &mut bytes);
        assert_eq!(bytes.len(), record_length(&draft));
        proptest::prop_assert_eq!(Record::read(&bytes).map(|r| r.timestamp.millis()), Ok(millis));
    }
}

#[test]
fn a_record_keeps_its_author_beside_an_event_id() {
    use crate::Author::{Approver, Copied, Runner, Unknown, Writer};
    for author in [Unknown, Writer, Approver, Runner, Copied] {
        for text in [r#"{"type":"turn.started"}"#, r#"{"type":"turn.started","eventId":"e1"}"#] {
            let mut draft = decode(text).expect("an event").draft;
            draft.author = author;
            let mut bytes = Vec::new();
            write_record(&draft, Timestamp::from_millis(7), &mut bytes);
            assert_eq!(bytes.len(), record_length(&draft));
            let record = Record::read(&bytes).expect("a record");
            assert_eq!((record.author, record.event_id.is_some()), (author, draft.event_id.is_some()));
            let event = record.to_event(Sequence::new(1).expect("small")).expect("an event");
            assert_eq!(event.author, author);
        }
    }
}

#[test]
fn a_record_of_an_older_version_has_no_known_author() {
    let bytes = stored(r#"{"type":"turn.started"}"#);
    assert_eq!(bytes[0], 0, "the flags of older records");
    assert_eq!(Record::read(&bytes).expect("a record").author, crate::Author::Unknown);
}

#[test]
fn an_author_without_a_meaning_is_damage() {
    for code in 5..8_u8 {
        let mut bytes = stored(r#"{"type":"turn.started"}"#);
        bytes[0] |= code << 1;
        assert!(Record::read(&bytes).is_err(), "{code}");
    }
}

#[test]
fn an_authors_envelope_cannot_claim_another_identity() {
    let texts = [
        r#"{"type":"tool.started","author":"runner","payload":{"toolName":"x","author":"runner"}}"#,
        r#"{"type":"tool.started","author":3,"flags":6,"refs":{"author":"runner"},"payload":{"toolName":"x"}}"#,
    ];
    for text in texts {
        assert_eq!(decode(text).expect("an event").draft.author, crate::Author::Unknown);
        assert_eq!(Record::read(&stored(text)).expect("a record").author, crate::Author::Unknown);
        assert_eq!(decode_wire(text).expect("an event").author, crate::Author::Unknown);
    }
}

#[test]
fn restored_events_keep_their_ids_and_later_ones_get_their_own() {
    let id = |composer: &Composer, sequence: u64| {
        let (bytes, mut out) = (stored(r#"{"type":"turn.started"}"#), String::new());
        let record = Record::read(&bytes).expect("a record");
        composer.write(&record, Sequence::new(sequence).expect("small"), &mut out);
        out.split("\"eventId\":\"")
            .nth(1)
            .and_then(|after| after.split('"').next())
            .expect("an id")
            .to_owned()
    };
    let origin =
        |through, incarnation| IdOrigin { through: Sequence::new(through).expect("small"), incarnation };
    let original = Composer::new(&session(), 1);
    let restored = Composer::with_origins(&session(), 2, &[origin(10, 1)]);
    let again = Composer::with_origins(&session(), 3, &[origin(10, 1), origin(20, 2)]);
    assert_eq!(id(&restored, 10), id(&original, 10));
    assert_ne!(id(&restored, 11), id(&original, 11));
    assert_eq!((id(&again, 10), id(&again, 20)), (id(&original, 10), id(&restored, 20)));
    assert_ne!(id(&again, 21), id(&restored, 21));
}
