//! The native dialect in the standard's vocabulary, against the standard's own schemas.

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use riverrun_dialect::native::strict::strict;
use riverrun_event::{
    Composer, Event, EventType, Record, Sequence, SessionId, Timestamp, decode, decode_wire, json, sample,
    write_record,
};
use serde_json::{Value, json};

const EVENT: &str = "agentruntime-event.schema.json";
const PROFILE: &str = "agentruntime-lime-profile-event.schema.json";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The published schemas stand beside the checkout; they are not ours to commit.
fn schema(name: &str) -> Option<Value> {
    let path = root().join("../shared/schemas/agentruntime").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: the published schema {} is not here", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("a schema is JSON"))
}

/// Both schemas: the standard, and the stricter profile, whose reference to it is resolved by hand.
fn validators() -> Option<(Validator, Validator)> {
    let (event, mut profile) = (schema(EVENT)?, schema(PROFILE)?);
    let reference = &mut profile["allOf"][0];
    assert_eq!(*reference, json!({ "$ref": format!("./{EVENT}") }));
    *reference = event.clone();
    let validator =
        |schema: &Value| jsonschema::validator_for(schema).expect("the standard's schemas are schemas");
    Some((validator(&event), validator(&profile)))
}

/// The events of a log: the line, as record bytes.
fn records(lines: &str) -> Vec<Vec<u8>> {
    let record = |line: &str| {
        let text = json::compact(line.as_bytes(), &json::Limits::default()).expect("a line is JSON");
        let mut record = Vec::new();
        write_record(
            &decode(&text).expect("a line is an event").draft,
            Timestamp::from_millis(0),
            &mut record,
        );
        record
    };
    lines.lines().map(record).collect()
}

/// Each event with its strict form.
fn each_strict(lines: &str, mut check: impl FnMut(&Event, Option<Value>)) {
    let composer = Composer::new(&SessionId::new("s_strict").expect("an id"), 1);
    for (bytes, sequence) in records(lines).iter().zip(1..) {
        let record = Record::read(bytes).expect("it was written above");
        let event = record
            .to_event(Sequence::new(sequence).expect("a test is shorter"))
            .expect("it was written above");
        let strict = strict(&composer, &record, &event);
        check(&event, strict.map(|text| serde_json::from_str(&text).expect("an event is JSON")));
    }
}

fn recordings() -> String {
    let read = |name: &str| {
        let path = root().join(format!("examples/recordings/{name}.ndjson"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    ["weather", "approval", "research-subagents"].map(read).concat()
}

/// One small event of every type that is known here, with all the ids that the standard may ask for.
fn samples() -> String {
    let line = |kind: &EventType| {
        let payload: Value = serde_json::from_str(sample(kind).get()).expect("a sample is JSON");
        let mut event = json!({"type": kind.as_str(), "payload": payload});
        for id in ["thread", "turn", "task", "run", "step", "toolCall", "action", "subagent", "evidence"] {
            event[format!("{id}Id")] = "x_1".into();
        }
        format!("{event}\n")
    };
    EventType::ALL.iter().map(line).collect()
}

#[test]
fn every_strict_event_is_one_of_the_standards() {
    let Some((standard, _)) = validators() else { return };
    let mut left_out = Vec::new();
    each_strict(&(recordings() + &samples()), |event, strict| match strict {
        Some(strict) => {
            if let Err(error) = standard.validate(&strict) {
                panic!("{error}: {strict}");
            }
        }
        None => left_out.push(event.kind.as_str().to_owned()),
    });
    left_out.sort_unstable();
    left_out.dedup();
    let known = ["item.completed", "item.retracted", "item.started", "item.updated"];
    assert_eq!(left_out, known, "what the standard cannot say");
}

#[test]
fn every_strict_event_with_its_ids_fits_the_profile() {
    let Some((_, profile)) = validators() else { return };
    let mut checked = 0;
    each_strict(&recordings(), |_, strict| {
        let Some(mut strict) = strict else { return };
        let kind = EventType::parse(strict["type"].as_str().expect("an event has a type"));
        if !kind.scope().iter().all(|member| strict.get(member.as_str()).is_some()) {
            return;
        }
        // What names the installation and the profile is the installation's to say.
        strict["runtimeId"] = "rt_1".into();
        strict["schemaVersion"] = "lime-profile-0.4.0".into();
        if let Err(error) = profile.validate(&strict) {
            panic!("{error}: {strict}");
        }
        checked += 1;
    });
    assert!(checked > 300, "only {checked} events were checked");
}

/// What is mapped is a good event of its new type, at its place, and says what it was.
#[test]
fn a_mapped_event_reads_as_what_it_became() {
    each_strict(&samples(), |event, strict| {
        let Some(strict) = strict else { return };
        let read = decode_wire(&strict.to_string()).expect("it is an event");
        assert!(read.payload.is_ok(), "{:?}: {strict}", read.payload);
        assert_eq!(read.sequence, event.sequence);
        let was = strict.get("nativeType").and_then(Value::as_str);
        assert_eq!(was, (read.kind != event.kind).then_some(event.kind.as_str()), "{strict}");
    });
}

#[test]
fn a_cancelled_turn_is_a_failed_one_that_says_so() {
    let line = r#"{"type":"turn.cancelled","turnId":"t_1","status":"x","payload":{"mode":"immediate","reason":"the user said \"stop\""}}"#;
    each_strict(line, |_, strict| {
        let strict = strict.expect("the standard can say it");
        let expected = json!({
            "type": "turn.failed", "eventId": strict["eventId"], "schemaVersion": "riverrun/1",
            "timestamp": "1970-01-01T00:00:00.000Z", "sequence": 1, "sessionId": "s_strict", "turnId": "t_1",
            "status": "cancelled", "nativeType": "turn.cancelled",
            "payload": {
                "mode": "immediate", "reason": "the user said \"stop\"",
                "error": {"message": "the user said \"stop\"", "code": "cancelled"},
            },
        });
        assert_eq!(strict, expected);
    });
}

#[test]
fn vendor_types_and_items_are_left_out() {
    let lines = "{\"type\":\"x.acme.thing\"}\n{\"type\":\"item.retracted\",\"payload\":{\"itemId\":\"a\",\"outputIndex\":0,\"reason\":\"r\"}}\n";
    each_strict(lines, |_, strict| assert_eq!(strict, None));
}

#[test]
fn the_readme_names_every_type_that_the_standard_does_not_have() {
    let readme = include_str!("../../src/native/README.md");
    for kind in EventType::ALL.iter().filter(|kind| kind.is_extension()) {
        assert!(readme.contains(&format!("`{}`", kind.as_str())), "{}", kind.as_str());
    }
}
