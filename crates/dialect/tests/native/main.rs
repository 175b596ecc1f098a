//! The native dialect in the standard's vocabulary, against the standard's own schemas.

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use riverrun_dialect::native::lime::lime;
use riverrun_dialect::native::strict::strict;
use riverrun_event::{
    Composer, Event, EventType, LIME_SCHEMA_VERSION, Record, Sequence, SessionId, Timestamp, decode,
    decode_wire, json, sample, write_record,
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
        let text = json::compact(line.as_bytes(), &json::JsonLimits::default()).expect("a line is JSON");
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

type Form = fn(&Composer, &Record<'_>, &Event) -> Option<String>;

/// Each event with its strict form.
fn each_strict(lines: &str, check: impl FnMut(&Event, Option<Value>)) {
    each(lines, strict, "riverrun/1", check);
}

fn each(lines: &str, form: Form, version: &str, mut check: impl FnMut(&Event, Option<Value>)) {
    let composer = Composer::new(&SessionId::new("s_strict").expect("an id"), 1).with_schema_version(version);
    for (bytes, sequence) in records(lines).iter().zip(1..) {
        let record = Record::read(bytes).expect("it was written above");
        let event = record
            .to_event(Sequence::new(sequence).expect("a test is shorter"))
            .expect("it was written above");
        let formed = form(&composer, &record, &event);
        check(&event, formed.map(|text| serde_json::from_str(&text).expect("an event is JSON")));
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

/// Events that a reader of the standard has no type for, or whose payload is no object.
const STRANGE: &str = r#"{"type":"x.acme.thing","payload":[1,2]}
{"type":"x.acme.other","runtimeId":"rt_7"}
{"type":"tool.catalog.resolved","threadId":"main","turnId":"t_1","payload":{"tools":[]}}
{"type":"model.delta","payload":{"delta":"said by nobody"}}
{"type":"item.retracted","threadId":"main","turnId":"t_1","taskId":"k_1","payload":{"itemId":"a","outputIndex":0,"reason":"r"}}
"#;

#[test]
fn every_strict_event_is_one_of_the_standards() {
    let Some((standard, _)) = validators() else { return };
    each_strict(&(recordings() + &samples() + STRANGE), |event, strict| {
        let strict = strict.unwrap_or_else(|| panic!("{} has no strict form", event.kind.as_str()));
        if let Err(error) = standard.validate(&strict) {
            panic!("{error}: {strict}");
        }
    });
}

#[test]
fn every_event_fits_the_profile_in_its_form() {
    let Some((_, profile)) = validators() else { return };
    let (mut checked, mut kept) = (0, 0);
    each(&(recordings() + STRANGE), lime, LIME_SCHEMA_VERSION, |event, form| {
        let form = form.unwrap_or_else(|| panic!("{} has no form", event.kind.as_str()));
        if let Err(error) = profile.validate(&form) {
            panic!("{error}: {form}");
        }
        checked += 1;
        kept += usize::from(form["type"] == event.kind.as_str());
    });
    assert!(checked > 300, "only {checked} events were checked");
    assert!(kept > 200, "only {kept} events kept their types");
}

#[test]
fn the_profile_makes_up_no_id() {
    let mut forms = Vec::new();
    each(STRANGE, lime, LIME_SCHEMA_VERSION, |_, form| forms.push(form.expect("every event has a form")));
    let told = |form: &Value| json!([form["type"], form["nativeType"], form["runtimeId"], form["payload"]]);
    let expected = json!([
        ["run.status", "x.acme.thing", "riverrun", {"value": [1, 2]}],
        ["run.status", "x.acme.other", "rt_7", {}],
        ["run.status", "tool.catalog.resolved", "riverrun", {"tools": []}],
        ["run.status", "model.delta", "riverrun", {"delta": "said by nobody"}],
        ["run.status", "item.retracted", "riverrun", {"itemId": "a", "outputIndex": 0, "reason": "r"}],
    ]);
    assert_eq!(Value::Array(forms.iter().map(told).collect()), expected);
    assert!(forms.iter().all(|form| form.get("stepId").is_none() && form.get("toolCallId").is_none()));
}

/// `spec/vectors/dialect/native/*.json`: events, and what each form makes of them.
#[test]
fn the_vectors() {
    let folder = root().join("spec/vectors/dialect/native");
    let bless = std::env::var_os("RIVERRUN_BLESS").is_some();
    for entry in std::fs::read_dir(&folder).expect("the vectors are part of the checkout") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a vector is text");
        let mut vector: Value = serde_json::from_str(&text).expect("a vector is JSON");
        let events = vector["events"].as_array().expect("events").clone();
        let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
        for (name, form, version) in
            [("strict", strict as Form, "riverrun/1"), ("lime", lime as Form, LIME_SCHEMA_VERSION)]
        {
            let mut forms = Vec::new();
            each(&lines, form, version, |_, form| forms.push(form.expect("every event has a form")));
            match bless {
                true => vector[name] = forms.into(),
                false => assert_eq!(vector[name], Value::Array(forms), "{name} of {}", path.display()),
            }
        }
        if bless {
            let text = serde_json::to_string_pretty(&vector).expect("JSON") + "\n";
            std::fs::write(&path, text).expect("the vector is written");
        }
    }
}

/// The payload and the ids of every event are the same, whichever form a reader asks for.
#[test]
fn nothing_is_lost_in_the_strict_form() {
    let lines = recordings() + &samples() + STRANGE;
    let mut natives = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    each_strict(&lines, |event, strict| {
        let (native, strict) = (natives.next().expect("one form for each event"), strict.expect("a form"));
        let written = native["payload"].as_object().into_iter().flatten();
        for (name, value) in written.filter(|_| strict["payload"].is_object()) {
            assert_eq!(strict["payload"].get(name), Some(value), "{name} of {}", event.kind.as_str());
        }
        assert_eq!(strict["sequence"], event.sequence.get());
    });
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
fn a_cancelled_turn_is_a_failed_turn_marked_cancelled() {
    let line = r#"{"type":"turn.cancelled","turnId":"t_1","status":"x","payload":{"mode":"immediate","reason":"the user said \"stop\""}}"#;
    each_strict(line, |_, strict| {
        let strict = strict.expect("the standard can say it");
        let expected = json!({
            "type": "turn.failed", "eventId": strict["eventId"], "schemaVersion": "riverrun/1",
            "timestamp": "1970-01-01T00:00:00.000Z", "sequence": 1, "sessionId": "s_strict", "turnId": "t_1",
            "status": "cancelled", "nativeType": "turn.cancelled",
            "payload": {
                "mode": "immediate", "reason": "the user said \"stop\"",
                "error": {
                    "message": "the user said \"stop\"", "code": "cancelled", "category": "cancelled",
                    "retryable": true,
                },
            },
        });
        assert_eq!(strict, expected);
    });
}

#[test]
fn vendor_types_and_items_become_a_status_with_the_native_type() {
    let line = "{\"type\":\"x.acme.thing\",\"status\":\"odd\",\"payload\":{\"a\":1}}\n";
    each_strict(line, |_, strict| {
        let strict = strict.expect("it has a form");
        let told = [&strict["type"], &strict["nativeType"], &strict["status"], &strict["payload"]];
        assert_eq!(told, [&json!("run.status"), &json!("x.acme.thing"), &json!("odd"), &json!({"a": 1})]);
    });
}

#[test]
fn the_readme_names_every_type_that_the_standard_does_not_have() {
    let readme = include_str!("../../src/native/README.md");
    for kind in EventType::ALL.iter().filter(|kind| kind.is_extension()) {
        assert!(readme.contains(&format!("`{}`", kind.as_str())), "{}", kind.as_str());
    }
}
