//! Tasks that callers keep, over HTTP.

use serde_json::json;

use crate::harness::{JSON, Server};

#[tokio::test]
async fn a_kept_task_is_created_moved_and_listed() {
    let server = Server::start().await;
    server.make("s").await;
    let key = ("idempotency-key", "k1");
    let made = server.call("POST /v1/sessions/s/tasks", &[JSON, key], r#"{"title":"Paint"}"#).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["taskId"].as_str().expect("an id").to_owned();
    let again = server.call("POST /v1/sessions/s/tasks", &[JSON, key], r#"{"title":"Paint"}"#).await;
    assert_eq!((again.status, again.json()), (201, made.json()), "the id follows from the key");
    let path = format!("POST /v1/sessions/s/tasks/{id}");
    assert_eq!(server.call(&format!("{path}/start"), &[], "").await.json()["status"], "running");
    let head = server.get("/v1/sessions/s").await["head"].clone();
    for _ in 0..2 {
        let told = server.call(&format!("{path}/progress"), &[JSON, key], r#"{"message":"half"}"#).await;
        assert_eq!(told.status, 200, "{}", told.text());
    }
    let now = server.get("/v1/sessions/s").await["head"].clone();
    assert_eq!(now.as_u64(), head.as_u64().map(|head| head + 1), "told once");
    let listed = server.get("/v1/sessions/s/tasks?status=running").await;
    assert_eq!(listed["tasks"][0]["taskId"], json!(id), "{listed}");
    assert_eq!(
        server.get("/v1/sessions/s/tasks?status=failed").await,
        json!({"tasks": [], "truncated": false})
    );
    let task = server.get(&format!("/v1/tasks/{id}?session=s")).await;
    assert_eq!(task["task_id"], json!(id), "{task}");
    let ended = server.call(&format!("{path}/cancel"), &[JSON], r#"{"reason":"enough"}"#).await;
    assert_eq!((ended.status, &ended.json()["status"]), (200, &json!("cancelled")));
    let refused = server.call(&format!("{path}/resume"), &[], "").await;
    assert_eq!(refused.refusal(), (409, "task_status".to_owned()), "{}", refused.text());
    let empty = server.call(&format!("{path}/link"), &[], "").await;
    assert_eq!(empty.refusal(), (400, "body_empty".to_owned()), "{}", empty.text());
    server.stop().await;
}

#[tokio::test]
async fn kept_tasks_survive_a_restart_with_their_answers() {
    let server = Server::on_disk().await;
    server.make("s").await;
    let key = ("idempotency-key", "k1");
    let body = r#"{"taskId":"t","objective":"A red door"}"#;
    server.call("POST /v1/sessions/s/tasks", &[JSON], body).await;
    server.call("POST /v1/sessions/s/tasks", &[JSON], r#"{"taskId":"wall"}"#).await;
    let edge = r#"{"kind":"blocked_by","targetId":"wall"}"#;
    let linked = server.call("POST /v1/sessions/s/tasks/t/link", &[JSON], edge).await;
    assert_eq!(linked.status, 200, "{}", linked.text());
    let first = server.call("POST /v1/sessions/s/tasks/t/start", &[key], "").await;
    let head = server.get("/v1/sessions/s").await["head"].clone();
    let server = server.restart().await;
    let again = server.call("POST /v1/sessions/s/tasks/t/start", &[key], "").await;
    assert_eq!((again.status, again.json()), (200, first.json()));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(server.get("/v1/sessions/s").await["head"], head);
    let task = &server.get("/v1/sessions/s/tasks").await["tasks"][0];
    assert_eq!((&task["status"], &task["objective"]), (&json!("running"), &json!("A red door")));
    let evidence = server.get("/v1/sessions/s/evidence").await;
    assert_eq!(evidence["readModels"]["task_snapshot"]["taskGraph"][0]["targetId"], "wall", "{evidence}");
    server.stop().await;
}

#[tokio::test]
async fn of_many_who_complete_a_task_at_once_one_does() {
    let server = Server::start().await;
    server.make("s").await;
    server.call("POST /v1/sessions/s/tasks", &[JSON], r#"{"taskId":"t"}"#).await;
    server.call("POST /v1/sessions/s/tasks/t/start", &[], "").await;
    let ask = || server.call("POST /v1/sessions/s/tasks/t/complete", &[], "");
    let answers = futures_util::future::join_all((0..20).map(|_| ask())).await;
    let firsts = answers.iter().filter(|answer| answer.json()["duplicate"].is_null()).count();
    assert_eq!(firsts, 1);
    assert!(answers.iter().all(|answer| answer.status == 200));
    server.stop().await;
}
