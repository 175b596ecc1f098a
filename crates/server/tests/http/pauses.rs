//! A paused turn is paused wherever it is looked at.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::agents;
use crate::harness::{Api, Server};

/// Every place that tells how the session `s` stands must tell this.
async fn stands(api: &Api, task: &str, expected: &str) {
    let state = api.get("/v1/sessions/s/state").await;
    // AgentLin has a word of its own for it.
    let word = if expected == "waiting_permission" { "input-required" } else { expected };
    assert_eq!(api.get(&format!("/v1/tasks/{task}")).await["status"], word);
    let mut found = vec![
        ("GET /v1/sessions/s", api.get("/v1/sessions/s").await["status"].clone()),
        ("GET /v1/sessions", api.get("/v1/sessions").await["sessions"][0]["status"].clone()),
        ("state.session", state["session"]["status"].clone()),
        ("state.threads", state["threads"][0]["status"].clone()),
        ("state.turns", state["turns"][0]["status"].clone()),
        ("state.tasks", state["tasks"][0]["status"].clone()),
    ];
    let listed = api.get(&format!("/v1/sessions?status={expected}")).await["sessions"].clone();
    found.push(("GET /v1/sessions?status=", listed[0]["status"].clone()));
    let differ: Vec<_> = found.iter().filter(|(_, status)| *status != json!(expected)).collect();
    assert!(differ.is_empty(), "expected {expected}: {differ:?}");
}

async fn halt(api: &Api, task: &str, verb: &str) {
    let answer = api.post(&format!("/v1/sessions/s/tasks/{task}/{verb}"), json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn submitted(server: &Server, agent: &str) -> String {
    server.make("s").await;
    let turn = server.submit("s", json!({"input": "delete x", "agent": agent, "turnId": "t1"})).await;
    turn["taskId"].as_str().expect("a task").to_owned()
}

async fn approve(api: &Api, action: &Value) {
    let path = format!("/v1/sessions/s/actions/{}", action["actionId"].as_str().expect("an id"));
    let answer = api.post(&path, json!({"decision": "approve", "digest": action["digest"]})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_paused_turn_is_paused_everywhere_also_after_a_restart() {
    let server = Server::on_disk_with(agents(&Arc::default())).await;
    let task = submitted(&server, "slow").await;
    halt(&server, &task, "pause").await;
    stands(&server, &task, "paused").await;
    let key = server.key.clone();
    let mut server = server.restart_with(agents(&Arc::default())).await;
    server.api.key = key;
    stands(&server, &task, "paused").await;
    halt(&server, &task, "resume").await;
    server.turn("s", "t1").await;
    stands(&server, &task, "completed").await;
    server.stop().await;
}

#[tokio::test]
async fn what_is_decided_during_a_pause_does_not_end_it() {
    let server = Server::on_disk_with(agents(&Arc::default())).await;
    let task = submitted(&server, "twice").await;
    server.action("s").await;
    stands(&server, &task, "waiting_permission").await;
    let asked = server.get("/v1/sessions/s/actions").await["actions"].clone();
    approve(&server, &asked[0]).await;
    stands(&server, &task, "waiting_permission").await;
    halt(&server, &task, "pause").await;
    stands(&server, &task, "paused").await;
    halt(&server, &task, "resume").await;
    stands(&server, &task, "waiting_permission").await;
    halt(&server, &task, "pause").await;
    approve(&server, &asked[1]).await;
    stands(&server, &task, "paused").await;
    halt(&server, &task, "resume").await;
    server.turn("s", "t1").await;
    stands(&server, &task, "completed").await;
    server.stop().await;
}
