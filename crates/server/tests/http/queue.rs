//! A thread that has a turn already: queue, reject, interrupt, steer.

use serde_json::{Value, json};

use crate::agents::{kinds, server};
use crate::harness::Api;

async fn queued(api: &Api) -> Vec<String> {
    let queue = api.get("/v1/sessions/s/queue").await;
    let turns = queue["queue"].as_array().expect("a queue").iter();
    turns.map(|turn| turn["turnId"].as_str().expect("an id").to_owned()).collect()
}

fn slow(turn: &str) -> Value {
    json!({"input": format!("ask {turn}"), "agent": "slow", "turnId": turn})
}

#[tokio::test]
async fn turns_wait_are_promoted_and_removed() {
    let server = server().await;
    server.make("s").await;
    server.submit("s", slow("t1")).await;
    for turn in ["t2", "t3", "t4"] {
        assert_eq!(server.submit("s", slow(turn)).await["status"], "queued");
    }
    assert_eq!(queued(&server).await, ["t2", "t3", "t4"]);
    let promoted = server.call("POST /v1/sessions/s/queue/t4/promote", &[], "").await;
    assert_eq!(promoted.status, 200, "{}", promoted.text());
    assert_eq!(queued(&server).await, ["t4", "t2", "t3"]);
    let removed = server.call("DELETE /v1/sessions/s/queue/t2", &[], "").await;
    assert_eq!((removed.status, &removed.json()["turnId"]), (200, &json!("t2")), "{}", removed.text());
    assert_eq!(queued(&server).await, ["t4", "t3"]);
    assert_eq!(kinds(&server.turn("s", "t2").await).last(), Some(&"turn.cancelled"));
    let gone = server.call("DELETE /v1/sessions/s/queue/t2", &[], "").await;
    assert_eq!(gone.refusal(), (409, "turn_ended".to_owned()), "{}", gone.text());
    server.stop().await;
}

#[tokio::test]
async fn a_busy_thread_refuses_or_is_interrupted_as_asked() {
    let server = server().await;
    server.make("s").await;
    server.submit("s", slow("t1")).await;
    let mut body = slow("t2");
    body["busy"] = json!("reject");
    let refused = server.post("/v1/sessions/s/turns", body.clone()).await;
    assert_eq!(refused.refusal(), (409, "thread_busy".to_owned()), "{}", refused.text());
    // Another thread of the session is not busy.
    body["threadId"] = json!("side");
    assert_eq!(server.submit("s", body).await["status"], "accepted");
    let mut body = slow("t3");
    (body["busy"], body["agent"]) = (json!("interrupt"), json!("writer"));
    server.submit("s", body).await;
    assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.cancelled"));
    assert_eq!(kinds(&server.turn("s", "t3").await).last(), Some(&"turn.completed"));
    server.stop().await;
}

#[tokio::test]
async fn a_turn_that_waits_is_queued_wherever_its_task_is_looked_at() {
    let server = server().await;
    server.make("s").await;
    server.submit("s", slow("t1")).await;
    let waits = server.submit("s", slow("t2")).await;
    let task = waits["taskId"].as_str().expect("a task");
    assert_eq!(server.get(&format!("/v1/tasks/{task}")).await["status"], "queued");
    let listed = server.get("/v1/sessions/s/tasks?status=queued").await;
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["tasks"][0]["taskId"], json!(task));
    let told = server.turn("s", "t2").await;
    let begins: Vec<&str> =
        kinds(&told).into_iter().filter(|kind| kind.starts_with("task.")).take(4).collect();
    assert_eq!(begins, ["task.created", "task.accepted", "task.queued", "task.attempt.started"]);
    assert_eq!(server.get(&format!("/v1/tasks/{task}")).await["status"], "completed");
    server.stop().await;
}
