//! What is another tenant's answers as what is absent: the same status, headers and bytes.

use serde_json::json;

use crate::harness::{Api, JSON, Server};
use crate::wire::Answer;

/// Status, headers and body without what differs in any two answers.
fn masked(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let id = answer.header("x-request-id").unwrap_or_default().to_owned();
    let headers =
        answer.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    (answer.status, headers.cloned().collect(), answer.text().replace(&id, "ID"))
}

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];
const BODIES: [&str; 4] = ["", "{}", r#"{"at":1}"#, r#"{"type":"x.a"}"#];

/// Every method on this path, for an id of another tenant and for one that nobody has.
async fn check(api: &Api, template: &str, foreign: &str, absent: &str) -> usize {
    let mut compared = 0;
    for method in METHODS {
        for body in BODIES {
            for accept in ["*/*", "application/json", "text/event-stream"] {
                let ask = async |id: &str| {
                    let line = format!("{method} {}", template.replace("{id}", id));
                    let answer =
                        api.call(&line, &[JSON, ("accept", accept), ("x-request-id", "")], body).await;
                    // The id itself may be said back, never whether it is somebody's.
                    let (status, headers, text) = masked(&answer);
                    (status, headers, text.replace(id, "OBJECT"))
                };
                let (theirs, nobodys) = (ask(foreign).await, ask(absent).await);
                assert_eq!(theirs, nobodys, "{method} {template} {accept} {body}");
                assert!(theirs.0 >= 400, "{method} {template}: {theirs:?}");
                compared += 1;
            }
        }
    }
    compared
}

#[tokio::test]
async fn nothing_tells_a_foreign_object_from_an_absent_one() {
    let server = Server::start().await;
    let (theirs, key) = server.key("theirs", &["admin"]).await;
    let (mine, _) = server.key("mine", &["admin"]).await;
    theirs.make("foreign").await;
    let event = json!({"type": "task.created", "turnId": "t1", "taskId": "foreigntask", "payload": {}});
    let action = json!({"type": "action.required", "actionId": "a1", "payload": {"actionType": "approval"}});
    theirs.tell("foreign", &[event, action]).await;
    let blob = theirs.call("PUT /v1/blobs", &[], "their bytes").await.json()["ref"]
        .as_str()
        .expect("a ref")
        .to_owned();
    let nobodys = format!("blob_{}", "0".repeat(64));
    let mut compared = 0;
    for rest in [
        "",
        "/events",
        "/events?follow=false",
        "/events?after=1",
        "/events?after=999",
        "/state",
        "/state?at=999",
        "/actions",
        "/export",
        "/fork",
        "/turns",
        "/queue",
    ] {
        compared += check(&mine, &format!("/v1/sessions/{{id}}{rest}"), "foreign", "nobodys").await;
    }
    // One that its own tenant deleted is no more to be told from what never was.
    theirs.make("foreigngone").await;
    assert_eq!(theirs.call("DELETE /v1/sessions/foreigngone", &[], "").await.status, 204);
    assert_eq!(theirs.call("GET /v1/sessions/foreigngone", &[], "").await.status, 410);
    for rest in ["", "/events", "/state", "/turns"] {
        compared += check(&mine, &format!("/v1/sessions/{{id}}{rest}"), "foreigngone", "nobodysgone").await;
    }
    compared += check(&mine, "/v1/tasks/{id}", "foreigntask", "nobodystask").await;
    compared += check(&mine, "/v1/tasks/{id}?session=foreign", "foreigntask", "nobodystask").await;
    compared += check(&mine, "/v1/blobs/{id}", &blob, &nobodys).await;
    compared += check(&mine, "/v1/keys/{id}", &key, "key_00000000000000000000000000").await;
    eprintln!("{compared} pairs of answers");
    // Lists hold one's own only, and an id is free for everybody.
    for list in ["/v1/sessions", "/v1/actions"] {
        assert!(!mine.get(list).await.to_string().contains("foreign"));
    }
    assert!(!mine.get("/v1/keys").await.to_string().contains(&key));
    mine.make("foreign").await;
    assert_eq!(mine.get("/v1/sessions/foreign").await["head"], 0);
    assert_eq!(theirs.get("/v1/sessions/foreign").await["head"], 2);
    let ticket = mine.call("POST /v1/tickets", &[JSON], r#"{"session":"foreign"}"#).await;
    assert_eq!(ticket.status, 201, "a ticket tells nothing either");
    server.stop().await;
}

#[tokio::test]
async fn a_tenant_makes_keys_for_itself_only() {
    let server = Server::start().await;
    let (mine, _) = server.key("mine", &["admin"]).await;
    let answer = mine.call("POST /v1/keys", &[JSON], r#"{"tenant":"theirs","scopes":["read"]}"#).await;
    assert_eq!(answer.refusal(), (403, "forbidden".to_owned()));
    assert_eq!(mine.call("POST /v1/backups", &[], "").await.refusal(), (403, "forbidden".to_owned()));
    server.stop().await;
}
