//! 3, 7, 8: large results, sub-agents, and tasks that are tried again.

use serde_json::{Value, json};

use crate::stage::{Stage, find, kinds};

const SPILL: &str = r#"
[[step]]
when = { results = 2 }
play = [ { text = { pieces = ["{result}"] } } ]
[[step]]
play = [
  { call = { name = "wipe", arguments = ['{"path":"x"}'] } },
  { call = { name = "spill", arguments = ['{}'] } },
]
"#;

/// The references of an event, with the places of what they stand for.
fn spilled(event: &Value) -> Vec<(&str, &str, u64)> {
    let refs = event["refs"]["spilled"].as_array().into_iter().flatten();
    refs.filter_map(|one| Some((one["path"].as_str()?, one["ref"].as_str()?, one["size"].as_u64()?)))
        .collect()
}

#[test]
fn scenario_03_a_large_result_is_a_preview_and_a_reference() {
    let config = r#"
[agents.spiller]
model = "scripted/spill"
tools = ["spill", "wipe"]
[tools.spill]
description = "writes much"
command = ["seq", "1", "60000"]
approval = "never"
"#;
    let mut stage = Stage::new("large", config, &[("spill.toml", SPILL)]);
    stage.submit("t1", "spiller");
    let events = stage.until_kind("tool.result");
    let preview = find(&events, "tool.result")["payload"]["preview"].as_str().unwrap();
    assert!(preview.starts_with("1\n2\n3") && preview.len() < 1000, "{preview}");
    let item = events.iter().find(|event| !spilled(event).is_empty()).expect("kept by reference");
    assert!(item.to_string().len() < 64 * 1024, "{} bytes in one event", item.to_string().len());
    let (_, name, size) = spilled(item)[0];
    let (status, blob) = stage.world.place.ask("GET", &format!("/v1/blobs/{name}"), &[], b"").unwrap();
    assert_eq!((status, blob.len() as u64), (200, size), "{name}");
    assert!(blob.ends_with(b"60000") || blob.ends_with(b"60000\n"));
    // The next owner's model reads the whole of it too.
    stage.restart();
    let events = stage.world.finish("s", &["t1"]).unwrap();
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:#?}", events.last());
    let said = events.iter().filter(|event| event["type"] == "model.delta");
    let said: usize = said.filter_map(|event| event["payload"]["delta"].as_str()).map(str::len).sum();
    assert!(said as u64 >= size, "the model read {said} of {size} bytes");
}

const PARENT: &str = r#"
[[step]]
when = { results = 1 }
play = [ { text = { pieces = ["The ", "child ", "said: {result}"] } } ]
[[step]]
play = [ { call = { name = "child", arguments = ['{"input":"look"}'] } } ]
"#;

#[test]
fn scenario_07_a_sub_agent_has_linked_ids_and_can_be_told_and_closed() {
    let config = r#"
[agents.parent]
model = "scripted/parent"
subagents = ["child"]
[agents.child]
model = "scripted/slow"
"#;
    let stage = Stage::new("child", config, &[("parent.toml", PARENT)]);
    stage.submit("t1", "parent");
    let events = stage.until("text of the child", |event| {
        event["type"] == "model.delta" && event["depth"].as_u64().unwrap_or(0) > 0
    });
    let spawned = find(&events, "subagent.spawned");
    for member in ["taskId", "turnId", "subagentId"] {
        assert!(spawned[member].is_string(), "{member} is missing in {spawned}");
    }
    let child = spawned["subagentId"].as_str().unwrap();
    let listed = stage.world.get("/v1/sessions/s/subagents").unwrap();
    assert!(listed.to_string().contains(child), "{listed}");
    let path = format!("/v1/sessions/s/subagents/{child}");
    let (status, answer) = stage.world.post(&format!("{path}/input"), &json!({"input": "hurry"})).unwrap();
    assert!(status < 300, "{status} {answer}");
    let (status, answer) = stage.world.post(&format!("{path}/close"), &json!({"reason": "enough"})).unwrap();
    assert!(status < 300, "{status} {answer}");
    let waited = stage.world.get("/v1/sessions/s/subagents?wait=20").unwrap();
    let status = waited["subagents"][0]["status"].as_str().unwrap();
    assert!(["cancelled", "completed", "failed"].contains(&status), "{waited}");
    let events = stage.until_ended("t1");
    for wanted in ["subagent.input", "subagent.closed", "turn.completed"] {
        assert!(kinds(&events).contains(&wanted), "no {wanted} in {:?}", kinds(&events));
    }
    // What has ended can be closed once more, and is not told anything.
    let (status, answer) = stage.world.post(&format!("{path}/close"), &json!({})).unwrap();
    assert_eq!((status, &answer["status"]), (200, &json!("cancelled")), "{answer}");
    let (status, answer) = stage.world.post(&format!("{path}/input"), &json!({"input": "hurry"})).unwrap();
    assert_eq!((status, &answer["code"]), (409, &json!("turn_ended")), "{answer}");
}

#[test]
fn scenario_08_a_retry_is_the_same_task_with_a_new_attempt() {
    let mut stage = Stage::new("retry", "[agents.broken]\nmodel = \"scripted/error\"", &[]);
    stage.submit("t1", "broken");
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.failed");
    let first = find(&events, "turn.started").clone();
    let task = json!({"taskId": "plan", "title": "What the run is for"});
    assert_eq!(stage.world.post("/v1/sessions/s/tasks", &task).unwrap().0, 201);
    let edge = json!({"kind": "source_task", "targetId": first["taskId"]});
    assert_eq!(stage.world.post("/v1/sessions/s/tasks/plan/link", &edge).unwrap().0, 200);
    stage.restart();
    let (status, answer) = stage.world.post("/v1/sessions/s/turns/t1/retry", &json!({})).unwrap();
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["taskId"], first["taskId"], "the task is the same");
    assert_ne!(answer["runId"], first["runId"], "the run is new");
    let failures = |events: &[Value]| kinds(events).iter().filter(|kind| **kind == "turn.failed").count();
    let events = stage.until("the second failure", |event| {
        event["type"] == "turn.failed" && event["runId"] == answer["runId"]
    });
    assert_eq!(failures(&events), 2, "the failed attempt is kept");
    let evidence = stage.world.get("/v1/sessions/s/evidence").unwrap();
    let graph = evidence["readModels"]["task_snapshot"]["taskGraph"].as_array().unwrap();
    let is_drawn = |edge: &Value| edge["taskId"] == "plan" && edge["targetId"] == first["taskId"];
    assert!(graph.iter().any(is_drawn), "the edge is kept: {graph:?}");
}
