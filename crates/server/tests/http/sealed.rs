//! Turns that left the window of the state: what is told of their tasks.

use serde_json::{Value, json};

use crate::harness::{JSON, Server};

/// Tells of a turn that ended, with a task and one below it.
pub async fn ended_turn(server: &Server, turn: usize) {
    let scope = |kind: &str, of: Value| {
        let mut event = json!({"type": kind, "threadId": "main", "turnId": format!("t{turn}")});
        event.as_object_mut().expect("an object").extend(of.as_object().expect("an object").clone());
        event
    };
    let (root, child) = (format!("root{turn}"), format!("child{turn}"));
    let below = json!({"taskId": child, "parentTaskId": root});
    server
        .tell(
            "s",
            &[
                scope("turn.submitted", json!({"taskId": root, "payload": {"input": "go"}})),
                scope("turn.started", json!({"taskId": root})),
                scope("task.created", json!({"taskId": root})),
                scope("task.started", json!({"taskId": root})),
                scope("task.created", below.clone()),
                scope("task.started", below.clone()),
                scope("task.completed", below),
                scope("task.completed", json!({"taskId": root})),
                scope("turn.completed", json!({"taskId": root})),
            ],
        )
        .await;
}

#[tokio::test]
async fn every_task_is_answered_however_old_its_turn_is() {
    for server in [Server::start().await, Server::on_disk().await] {
        server.make("s").await;
        for turn in 0..12 {
            ended_turn(&server, turn).await;
        }
        // At once, when nothing of it is stored by itself, and when upkeep has stored it.
        for rest in [0, 2_800] {
            tokio::time::sleep(std::time::Duration::from_millis(rest)).await;
            for task in (0..12).flat_map(|turn| [format!("root{turn}"), format!("child{turn}")]) {
                for path in [format!("/v1/tasks/{task}"), format!("/v1/tasks/{task}?session=s")] {
                    let found = server.get(&path).await;
                    let shown = (&found["task_id"], &found["status"]);
                    assert_eq!(shown, (&json!(task), &json!("completed")), "{found}");
                }
            }
        }
        let none = server.call("GET /v1/tasks/root12", &[], "").await;
        assert_eq!(none.refusal(), (404, "not_found".to_owned()));
        server.stop().await;
    }
}

#[tokio::test]
async fn lists_say_that_older_turns_are_not_in_them() {
    let server = Server::start().await;
    server.make("s").await;
    ended_turn(&server, 0).await;
    for path in ["/v1/sessions/s/tasks", "/v1/sessions/s/subagents"] {
        assert_eq!(server.get(path).await["truncated"], false, "{path}");
    }
    for turn in 1..12 {
        ended_turn(&server, turn).await;
    }
    for path in ["/v1/sessions/s/tasks", "/v1/sessions/s/subagents"] {
        assert_eq!(server.get(path).await["truncated"], true, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_sub_agent_of_an_older_turn_has_ended() {
    let server = Server::on_disk().await;
    server.make("s").await;
    for turn in 0..12 {
        ended_turn(&server, turn).await;
    }
    let closed = server.call("POST /v1/sessions/s/subagents/child0/close", &[], "").await;
    assert_eq!((closed.status, &closed.json()["status"]), (200, &json!("completed")), "{}", closed.text());
    let told = server.call("POST /v1/sessions/s/subagents/child0/input", &[JSON], r#"{"input":"x"}"#).await;
    assert_eq!(told.refusal(), (409, "turn_ended".to_owned()), "{}", told.text());
    for none in ["root0", "child12"] {
        let closed = server.call(&format!("POST /v1/sessions/s/subagents/{none}/close"), &[], "").await;
        assert_eq!(closed.refusal(), (404, "not_found".to_owned()), "{none}: {}", closed.text());
    }
    server.stop().await;
}
