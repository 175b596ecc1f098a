//! 1, 4, 5, 11: what comes first, what waits, and what is refused.

use std::time::Duration;

use serde_json::json;

use crate::stage::{Stage, find, kinds, place};

#[test]
fn scenario_01_a_submit_is_a_fact_before_the_model_speaks() {
    let stage = Stage::new("submit", "", &[]);
    stage.submit("t1", "slow");
    let events = stage.until_kind("model.delta");
    let submitted = find(&events, "turn.submitted");
    assert!(matches!(submitted["payload"]["status"].as_str(), Some("accepted" | "queued")), "{submitted}");
    assert!(place(&events, "turn.submitted") < place(&events, "model.requested"));
    let state = stage.world.get("/v1/sessions/s/state").unwrap();
    let status = state["turns"][0]["status"].as_str();
    assert!(matches!(status, Some("preparing" | "queued" | "running")), "{:?}", state["turns"]);
}

#[test]
fn scenario_04_nothing_goes_on_until_the_action_is_answered() {
    let mut stage = Stage::new("gate", "", &[]);
    stage.submit("t1", "asker");
    let action = stage.world.wait_actions("s", 1).unwrap().remove(0);
    let before = stage.events().len();
    std::thread::sleep(Duration::from_millis(300));
    stage.restart();
    let same = stage.world.wait_actions("s", 1).unwrap().remove(0);
    assert_eq!(action["actionId"], same["actionId"], "the id is stable");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(stage.events().len(), before, "{:?}", &kinds(&stage.events())[before..]);
    assert!(stage.world.counter.effects("s", "wipe").is_empty());
    let required = stage.events()[place(&stage.events(), "action.required")].clone();
    for member in ["actionType", "toolName", "arguments", "digest", "decisions", "expiresAt"] {
        assert!(!required["payload"][member].is_null(), "{member} is missing in {required}");
    }
    assert_eq!(stage.world.decide("s", &same, "approve").unwrap().status, 200);
    stage.until_ended("t1");
    assert_eq!(stage.world.counter.effects("s", "wipe").len(), 1);
}

#[test]
fn scenario_05_a_busy_thread_refuses_or_queues_and_the_queue_survives() {
    let mut stage = Stage::new("busy", "", &[]);
    stage.submit("t0", "asker");
    let reject = json!({"turnId": "no", "agent": "writer", "input": "go", "busy": "reject"});
    let (status, answer) = stage.world.post("/v1/sessions/s/turns", &reject).unwrap();
    assert_eq!(status, 409, "{answer}");
    assert!(answer["detail"].as_str().is_some_and(|detail| detail.contains("busy")), "{answer}");
    stage.submit("t1", "writer");
    stage.submit("t2", "writer");
    let (status, _) = stage.world.post("/v1/sessions/s/queue/t2/promote", &json!({})).unwrap();
    assert_eq!(status, 200);
    stage.restart();
    let events = stage.world.finish("s", &["t0", "t1", "t2"]).unwrap();
    let started: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "turn.started")
        .filter_map(|event| event["turnId"].as_str())
        .collect();
    assert_eq!(started, ["t0", "t2", "t1"]);
    assert!(kinds(&events).contains(&"queue.changed"));
}

#[test]
fn scenario_11_a_denial_is_a_fact_that_names_its_cause() {
    let stage = Stage::new("deny", "[policy]\ndeny = [\"wipe\"]", &[]);
    stage.submit("t1", "asker");
    let events = stage.until_ended("t1");
    let evaluated = find(&events, "permission.evaluated");
    assert_eq!(evaluated["payload"]["decision"], "deny", "{evaluated}");
    let reason = evaluated["payload"]["decisionReason"].as_str().unwrap_or_default();
    assert!(!reason.is_empty(), "{evaluated}");
    assert!(place(&events, "permission.evaluated") < place(&events, "tool.failed"));
    assert!(!kinds(&events).contains(&"tool.started"));
    assert!(stage.world.counter.effects("s", "wipe").is_empty());
    assert_eq!(events.last().unwrap()["type"], "turn.completed");
}

const CALLER: &str = r#"
[[step]]
when = { results = 1 }
play = [ { text = { pieces = ["it said: {result}"] } } ]
[[step]]
play = [ { call = { id = "c1", name = "helper", arguments = ['{"input":"dig"}'] } } ]
"#;

#[test]
fn a_sub_agent_that_the_policy_asks_about_waits_for_a_person_over_a_restart() {
    let config = "[agents.caller]\nmodel = \"scripted/caller\"\nsubagents = [\"helper\"]\n\
         [agents.helper]\nmodel = \"scripted/text\"\n[policy]\nask = [\"help*\"]\n";
    let mut stage = Stage::new("ask-agent", config, &[("caller.toml", CALLER)]);
    stage.submit("t1", "caller");
    let asked = stage.world.wait_actions("s", 1).unwrap();
    assert!(!kinds(&stage.events()).contains(&"subagent.spawned"), "nobody agreed yet");
    stage.restart();
    assert_eq!(stage.world.decide("s", &asked[0], "approve").unwrap().status, 200);
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));
    assert!(place(&events, "permission.requested") < place(&events, "action.required"));
    let resolved = &find(&events, "permission.resolved")["payload"];
    assert_eq!((&resolved["decision"], &resolved["decisionSource"]), (&json!("allow"), &json!("person")));
    assert!(place(&events, "permission.resolved") < place(&events, "subagent.spawned"));
}
