//! What holds for every type of the catalogue.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::catalogue::sample::{Members, Sampler};
use crate::catalogue::*;

/// How many arms the widest union has, unknown types included.
const ARMS: usize = 9;

fn every_full_sample(mut check: impl FnMut(&EventType, Value)) {
    let schema = CatalogueSchema::new();
    for (kind, payload) in &schema.payloads {
        for arm in 0..ARMS {
            check(kind, Sampler { schema: &schema, members: Members::All, arm }.of(payload, 0));
        }
    }
}

fn read(kind: &EventType, payload: &Value) -> Value {
    let payload =
        Payload::parse_text(kind, &payload.to_string()).unwrap_or_else(|error| panic!("{kind}: {error}"));
    serde_json::to_value(&payload).expect("a payload is JSON")
}

fn snake(name: &str) -> String {
    let lower = |c: char| if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.to_string() };
    name.chars().map(lower).collect()
}

fn with_snake_members(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (snake(&name), with_snake_members(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(values) => values.into_iter().map(with_snake_members).collect(),
        other => other,
    }
}

#[test]
fn every_name_is_read_back_as_its_type() {
    for kind in EventType::ALL {
        assert_eq!(&EventType::parse(kind.as_str()), kind);
        assert!(kind.as_str().starts_with(kind.family().as_str()), "{kind}");
    }
    let names: BTreeSet<_> = EventType::ALL.iter().map(EventType::as_str).collect();
    assert_eq!(names.len(), EventType::ALL.len());
}

#[test]
fn an_unknown_name_is_preserved_verbatim() {
    for name in ["x.acme.thing", "turn.submittedd", "turn", "", "Turn.Submitted", "item.failed"] {
        let kind = EventType::parse(name);
        assert_eq!(kind, EventType::Other(name.into()));
        assert_eq!(kind.as_str(), name);
        assert!(kind.is_extension());
    }
}

#[test]
fn every_member_of_every_payload_survives_reading_and_writing() {
    every_full_sample(|kind, payload| assert_eq!(read(kind, &payload), payload, "{kind}"));
}

#[test]
fn every_member_may_be_spelled_in_snake_case() {
    every_full_sample(|kind, payload| {
        let expected = read(kind, &payload);
        assert_eq!(read(kind, &with_snake_members(payload)), expected, "{kind}");
    });
}

#[test]
fn the_smallest_sample_of_every_type_is_read() {
    for kind in EventType::ALL {
        let payload = Payload::parse(kind, sample(kind).as_raw_value())
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(payload.event_type().as_ref(), Some(kind));
    }
}

#[test]
fn field_names_are_those_of_the_schema() {
    let schema = CatalogueSchema::new();
    for (kind, payload) in &schema.payloads {
        let reference = payload["$ref"].as_str().unwrap_or_else(|| panic!("{kind} is no struct"));
        let name = reference.rsplit('/').next().expect("a reference has a name");
        let members = schema.definitions[name]["properties"].as_object().cloned().unwrap_or_default();
        let expected: BTreeSet<&str> = members.keys().map(String::as_str).collect();
        assert_eq!(field_names(kind).iter().copied().collect::<BTreeSet<_>>(), expected, "{kind}");
    }
}

#[test]
fn a_wrong_payload_is_answered_with_its_path() {
    let check = |kind: &str, payload: Value, expected: &str| {
        let error = Payload::parse_text(&EventType::parse(kind), &payload.to_string()).expect_err(kind);
        assert_eq!(error.to_string(), expected);
    };
    check("model.delta", json!({}), "payload: missing field `delta`");
    check("model.delta", json!(["x"]), "payload: invalid type: an array, expected an object");
    check("model.delta", json!("x"), "payload: invalid type: a string, expected an object");
    check(
        "item.started",
        json!({ "item": { "type": "message", "id": "m" }, "outputIndex": "x" }),
        "payload.outputIndex: invalid type: string \"x\", expected u32",
    );
    check(
        "item.started",
        json!({ "item": { "type": "message", "id": "m", "blockList": [{ "type": "text", "text": 3 }] }, "outputIndex": 0 }),
        "payload.item.blockList[0].text: invalid type: integer `3`, expected a string",
    );
    check(
        "item.started",
        json!({ "item": { "id": "m" }, "outputIndex": 0 }),
        "payload.item: missing field `type`",
    );
    check(
        "turn.submitted",
        json!({ "input": 5 }),
        "payload.input: invalid type: integer `5`, expected an input: a string or an array of parts",
    );
}

/// A tool result in a block in a tool result, and so on; the innermost has the given text.
fn nested_results(levels: usize, innermost: &str) -> String {
    let open = r#"{"type":"tool_result","id":"r","callId":"c","blockList":[{"type":"item","item":"#;
    format!(r#"{{"outputIndex":0,"item":{}{innermost}{}}}"#, open.repeat(levels), "}]}".repeat(levels))
}

#[test]
fn a_mistake_deep_inside_is_found_as_fast_as_it_is_read() {
    // Twenty levels are what a depth limit of 64 allows; work that doubles per level would not end.
    let text = nested_results(20, r#"{"type":"message","id":7}"#);
    let error = Payload::parse_text(&EventType::ItemStarted, &text).expect_err("an id is a string");
    assert!(error.path.starts_with("payload.item.blockList[0].item.blockList[0].item."), "{}", error.path);
    assert!(error.path.ends_with(".item.id"), "{}", error.path);
    assert_eq!(error.expected, "invalid type: integer `7`, expected a string");
    let text = nested_results(20, r#"{"type":"message","id":"m"}"#);
    assert!(Payload::parse_text(&EventType::ItemStarted, &text).is_ok());
}

#[test]
fn endless_nesting_is_refused_without_using_up_the_stack() {
    let text = nested_results(2_000, r#"{"type":"message","id":"m"}"#);
    let error = Payload::parse_text(&EventType::ItemStarted, &text).expect_err("too deep");
    assert_eq!(error.expected, "values nest deeper than 100 levels");
}

#[test]
fn an_error_quotes_only_a_part_of_what_was_sent() {
    let payload = json!({ "amount": "9".repeat(100_000) });
    let error =
        Payload::parse_text(&EventType::CostRecorded, &payload.to_string()).expect_err("not a number");
    assert!(error.to_string().len() < 600);
    assert!(error.expected.ends_with("expected f64"));
}

#[test]
fn an_absent_payload_reads_like_an_empty_one() {
    let started = EventType::TurnStarted;
    let expected = Ok(Payload::TurnStarted(Box::default()));
    assert_eq!(Payload::parse_or_empty(&started, None), expected);
    assert_eq!(Payload::parse_text(&started, "{}"), expected);
    assert_eq!(Payload::parse_text(&started, "null"), expected);
}

#[test]
fn unknown_payloads_items_blocks_and_annotations_are_preserved_verbatim() {
    let vendor =
        Payload::parse_text(&EventType::parse("x.acme.thing"), "[1.50, {\"a\" :1}]").expect("any JSON");
    assert_eq!(serde_json::to_string(&vendor).expect("JSON"), "[1.50, {\"a\" :1}]");
    let item = r#"{"id":"i", "type":"web_search","query":"rust","n":1.0}"#;
    assert_eq!(
        serde_json::to_string(&serde_json::from_str::<Item>(item).expect("an item")).expect("JSON"),
        item
    );
    let block = r#"{"type":"text","text":"a","annotations":[{"type":"url_citation","url":"u"}]}"#;
    assert_eq!(
        serde_json::to_string(&serde_json::from_str::<Block>(block).expect("a block")).expect("JSON"),
        block
    );
}

#[test]
fn all_spellings_of_an_image_are_read_as_image() {
    let check = |text: &str| {
        let block: Block = serde_json::from_str(text).expect(text);
        assert_eq!(
            serde_json::to_string(&block).expect("JSON"),
            r#"{"type":"image","imageUrl":{"url":"u"}}"#
        );
    };
    check(r#"{"type":"image","imageUrl":{"url":"u"}}"#);
    check(r#"{"type":"image_url","image_url":{"url":"u"}}"#);
    check(r#"{"type":"input_image","image_url":"u"}"#);
    check(r#"{"type":"output_image","image_url":{"url":"u"}}"#);
}

#[test]
fn a_patch_keeps_what_is_absent_and_clears_what_is_null() {
    let mut item: Item = serde_json::from_str(
        r#"{"type":"tool_result","id":"r","callId":"c","content":[{"type":"text","text":"t"}],"blockList":[],"isError":true}"#,
    )
    .expect("an item");
    let patch = r#"{"type":"tool_result","id":"r","isError":null,"status":"completed"}"#;
    let patch: ItemPatch = serde_json::from_str(patch).expect("a patch");
    patch.apply(&mut item).expect("the types agree");
    assert_eq!(
        serde_json::to_string(&item).expect("JSON"),
        r#"{"type":"tool_result","id":"r","callId":"c","content":[{"type":"text","text":"t"}],"blockList":[],"status":"completed"}"#
    );
    assert_eq!(ItemPatch::from(item.clone()).into_item(), item);
    let other = ItemPatch::Message(MessagePatch { id: "r".into(), ..MessagePatch::default() });
    assert!(other.apply(&mut item).is_err());
}

#[test]
fn strict_types_are_the_standards_own() {
    for kind in EventType::ALL {
        let (strict, status) = kind.strict_type();
        assert!(!strict.is_extension(), "{kind} becomes {strict}");
        assert_eq!(strict == *kind, !kind.is_extension());
        assert!(kind.is_extension() || status.is_none());
    }
    assert_eq!(strict_type(&EventType::TurnCancelled), (EventType::TurnFailed, Some("cancelled")));
    assert_eq!(strict_type(&EventType::parse("x.acme.thing")), (EventType::RunStatus, None));
}

/// The standard's schemas and fixtures lie beside the checkout and are not part of it.
fn standard(path: &str) -> Option<Value> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/schemas/agentruntime").join(path);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is absent", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("the standard's files are JSON"))
}

/// An event with every scope member that its type asks for.
fn strict_event(kind: &EventType, payload: Value) -> Value {
    let mut event = json!({
        "type": kind.as_str(), "eventId": "evt_1", "timestamp": "2026-01-01T00:00:00.000Z",
        "schemaVersion": "lime-profile-0.4.0", "runtimeId": "riverrun", "sessionId": "ses_1", "sequence": 1,
        "payload": payload,
    });
    for member in kind.scope() {
        let value = match member {
            ScopeMember::Benchmark | ScopeMember::Comparison | ScopeMember::Refs => json!({}),
            other => json!(other.as_str()),
        };
        event[member.as_str()] = value;
    }
    event
}

#[test]
fn the_standard_has_exactly_the_types_that_are_not_ours() {
    let Some(schema) = standard("agentruntime-event.schema.json") else { return };
    let theirs: BTreeSet<&str> = schema["properties"]["type"]["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let ours: BTreeSet<&str> =
        EventType::ALL.iter().filter(|kind| !kind.is_extension()).map(EventType::as_str).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn samples_of_all_types_validate_against_the_standard() {
    let Some(schema) = standard("agentruntime-event.schema.json") else { return };
    let Some(mut profile) = standard("agentruntime-lime-profile-event.schema.json") else { return };
    profile["allOf"][0] = schema.clone();
    let schema = jsonschema::validator_for(&schema).expect("the standard's schema is one");
    let profile = jsonschema::validator_for(&profile).expect("the profile's schema is one");
    for kind in EventType::ALL {
        let (strict, status) = kind.strict_type();
        let mut event = strict_event(&strict, sample(kind).to().expect("a sample is JSON"));
        if let Some(status) = status {
            event["status"] = json!(status);
        }
        schema.validate(&event).unwrap_or_else(|error| panic!("{kind}: {error}"));
        // The profile asks this one for a call that it cannot have.
        if strict != EventType::ToolCatalogResolved {
            profile.validate(&event).unwrap_or_else(|error| panic!("{kind} in the profile: {error}"));
        }
    }
}

#[test]
fn the_standards_fixtures_are_read_and_lose_nothing() {
    let events = [
        "submit-turn-event.json",
        "routing-single-candidate-event.json",
        "tool-approval-action-required-event.json",
        "task-retry-attempt-failed-event.json",
        "evidence-export-event.json",
    ];
    for path in events {
        let Some(event) = standard(&format!("fixtures/{path}")) else { return };
        let kind = EventType::parse(event["type"].as_str().expect("an event has a type"));
        assert_eq!(read(&kind, &event["payload"]), event["payload"], "{path}");
        assert!(kind.scope().iter().all(|member| event.get(member.as_str()).is_some()), "{path}");
    }
    let Some(mut pack) = standard("fixtures/benchmark-trial-pack.json") else { return };
    pack.as_object_mut().expect("a pack is an object").remove("schemaVersion");
    let read = read(&EventType::BenchmarkTrialCompleted, &pack);
    assert_eq!(read["benchmark"], pack["benchmark"]);
    assert_eq!(read["trajectory"], pack["trajectory"]);
}
