//! Turns that left the window of the state: what is told of their tasks.

use serde_json::{Value, json};

use crate::harness::Server;

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
