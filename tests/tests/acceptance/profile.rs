//! What a hosted run tells in the standard's own forms: `native-strict`, and `native-lime` for its Lime profile.
//!
//! The standard's schemas lie in `../shared` beside the checkout and are not part of it.

use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::stage::{Stage, find, kinds};

/// Two calls at once, one that a person is asked about, then one that fails, then words.
const CALLS: &str = r#"
[[step]]
when = { results = 3 }
play = [ { reasoning = { pieces = ["So ", "it ", "is."] } }, { text = { pieces = ["It ", "is ", "done."] } } ]
[[step]]
when = { results = 2 }
play = [ { call = { name = "broken", arguments = ['{"apiKey":"1234", "q": 1}'] } } ]
[[step]]
play = [
  { call = { name = "wipe", arguments = ['{"path":', '"x"}'] } },
  { call = { name = "count", arguments = ['{}'] } },
]
"#;

const CONFIG: &str = r#"
[agents.caller]
model = "scripted/calls"
tools = ["wipe", "count", "broken"]
[tools.count]
description = "writes much"
command = ["seq", "1", "20000"]
read_only = true
approval = "never"
[tools.broken]
description = "fails"
command = ["false"]
parameters = { type = "object" }
read_only = true
approval = "never"
[agents.parent]
model = "scripted/parent"
subagents = ["child"]
[agents.child]
model = "scripted/text"
"#;

const PARENT: &str = r#"
[[step]]
when = { results = 1 }
play = [ { text = { pieces = ["The child said: {result}"] } } ]
[[step]]
play = [ { call = { name = "child", arguments = ['{"input":"look"}'] } } ]
"#;

fn schema(name: &str) -> Option<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/schemas/agentruntime");
    let Ok(text) = std::fs::read_to_string(folder.join(name)) else {
        eprintln!("not checked: the standard's schema {} is absent", folder.join(name).display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// The standard's schema and the profile's, whose reference to it is resolved by hand.
fn validators() -> Option<[Validator; 2]> {
    let standard = schema("agentruntime-event.schema.json")?;
    let mut profile = schema("agentruntime-lime-profile-event.schema.json")?;
    profile["allOf"][0] = standard.clone();
    Some([&standard, &profile].map(|schema| jsonschema::validator_for(schema).unwrap()))
}

fn in_dialect(stage: &Stage, dialect: &str) -> Vec<Value> {
    let path = format!("/v1/sessions/s/events?follow=false&dialect={dialect}");
    let headers = [("accept", "application/x-ndjson".to_owned())];
    let (status, body) = stage.world.place.ask("GET", &path, &headers, b"").unwrap();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    let lines = String::from_utf8(body).unwrap();
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|event| event.get("eventId").is_some()).collect()
}

/// A session with approvals, an edit, a large result, a failure, a sub-agent, a cancelled turn and a vendor's event.
fn played() -> Stage {
    let stage = Stage::new("profile", CONFIG, &[("calls.toml", CALLS), ("parent.toml", PARENT)]);
    stage.submit("t1", "caller");
    let action = stage.world.wait_actions("s", 1).unwrap().remove(0);
    let edit = json!({"decision": "edit", "arguments": {"path": "y"}, "digest": action["digest"]});
    let path = format!("/v1/sessions/s/actions/{}", action["actionId"].as_str().unwrap());
    let (status, answer) = stage.world.post(&path, &edit).unwrap();
    assert_eq!(status, 200, "{answer}");
    stage.until_ended("t1");
    stage.submit("t2", "parent");
    stage.until_ended("t2");
    stage.submit("t3", "slow");
    stage.until("words", |event| event["turnId"] == "t3" && event["type"] == "model.delta");
    assert!(stage.world.post("/v1/sessions/s/turns/t3/cancel", &json!({})).unwrap().0 < 300);
    stage.until_ended("t3");
    let vendor = json!([{"type": "x.acme.note", "payload": [1]}]);
    assert!(stage.world.post("/v1/sessions/s/events", &vendor).unwrap().0 < 300);
    stage
}

#[test]
fn a_hosted_run_tells_its_calls_as_the_standard_does_and_fits_its_schemas() {
    let stage = played();
    let events = stage.events();
    check_calls(&stage, &events);
    let (strict, lime) = (in_dialect(&stage, "native-strict"), in_dialect(&stage, "native-lime"));
    for forms in [&strict, &lime] {
        assert_eq!(forms.len(), events.len(), "{:?}", kinds(forms));
        for (form, event) in forms.iter().zip(&events) {
            let was = form.get("nativeType").unwrap_or(&form["type"]);
            assert_eq!((was, &form["sequence"]), (&event["type"], &event["sequence"]));
            let members = event["payload"].as_object().into_iter().flatten();
            members.for_each(|(name, value)| assert_eq!(&form["payload"][name], value, "{form}"));
        }
    }
    // What the profile has a type for keeps it: nothing that the runner wrote lacks an id but the list of tools.
    for (form, strict) in lime.iter().zip(&strict).filter(|(form, strict)| form["type"] != strict["type"]) {
        assert_eq!(form["nativeType"], "tool.catalog.resolved", "{form} {strict}");
    }
    let Some([standard, profile]) = validators() else { return };
    for (validator, forms) in [(&standard, &strict), (&profile, &lime)] {
        for form in forms {
            validator.validate(form).unwrap_or_else(|error| panic!("{error}: {form}"));
        }
    }
}

/// The members of `tool.*` that the standard names.
fn check_calls(stage: &Stage, events: &[Value]) {
    let of = |kind: &str, tool: &str| {
        let is_it = |event: &&Value| event["type"] == kind && event["payload"]["toolName"] == tool;
        events.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} of {tool}"))
    };
    let args = events.iter().filter(|event| event["type"] == "tool.args");
    args.for_each(|event| assert_eq!(event["toolCallId"], event["payload"]["callId"], "{event}"));
    let (asked, counted, broken) =
        (of("tool.started", "wipe"), of("tool.started", "count"), of("tool.started", "broken"));
    let why = |event: &Value| {
        let payload = &event["payload"];
        json!([
            payload["safeArgs"],
            payload["policy"],
            payload["decisionSource"],
            payload["approvalActionId"]
        ])
    };
    let action = &find(events, "action.required")["actionId"];
    assert_eq!(why(asked), json!([{"path": "y"}, "allowed", "person", action]));
    assert_eq!(why(counted), json!([{}, "allowed", "policy", null]));
    assert_eq!(counted["payload"]["ruleRefs"], json!(["policy:never"]));
    assert_eq!(broken["payload"]["safeArgs"], json!({"apiKey": "[secret]", "q": 1}));
    let large = &of("tool.result", "count")["payload"];
    let name = large["outputRef"].as_str().unwrap_or_else(|| panic!("a reference in {large}"));
    let (status, blob) = stage.world.place.ask("GET", &format!("/v1/blobs/{name}"), &[], b"").unwrap();
    assert_eq!((status, json!(blob.len())), (200, large["metadata"]["size"].clone()), "{large}");
    assert!(blob.starts_with(large["preview"].as_str().unwrap().as_bytes()) && blob.starts_with(b"1\n2\n"));
    for member in ["mediaType", "encoding", "digest", "truncated", "redacted"] {
        assert!(!large["metadata"][member].is_null(), "{member} is missing in {large}");
    }
    let error = &of("tool.failed", "broken")["payload"]["error"];
    assert_eq!((&error["category"], &error["retryable"]), (&json!("tool"), &json!(true)), "{error}");
    assert!(error["advice"].is_string(), "{error}");
    // The model reads that somebody edited its call, and its call stays as it wrote it.
    let is_result = |event: &&Value| {
        let is_done = event["type"] == "item.completed" && event["payload"]["item"]["type"] == "tool_result";
        is_done && event["toolCallId"] == asked["toolCallId"]
    };
    let result = &events.iter().find(is_result).unwrap()["payload"]["item"];
    let read = result["content"][0]["text"].as_str().unwrap();
    assert!(read.contains("A reviewer replaced this call") && read.contains(r#"{"path":"y"}"#), "{read}");
    let written: String = events
        .iter()
        .filter(|event| event["type"] == "tool.args" && event["toolCallId"] == asked["toolCallId"])
        .filter_map(|event| event["payload"]["delta"].as_str())
        .collect();
    assert_eq!(written, r#"{"path":"x"}"#);
}
