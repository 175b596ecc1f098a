//! What each scope of a key may do.

use serde_json::json;

use crate::harness::{JSON, NDJSON, Server};

/// Each route with the scope that it needs.
const ROUTES: [(&str, &str, &str); 21] = [
    ("POST /v1/sessions", "write", "{}"),
    ("GET /v1/sessions", "read", ""),
    ("GET /v1/sessions/s1", "read", ""),
    ("GET /v1/sessions/s1/events?follow=false", "read", ""),
    ("POST /v1/sessions/s1/events", "write", r#"{"type":"x.a"}"#),
    ("GET /v1/sessions/s1/state", "read", ""),
    ("GET /v1/sessions/s1/actions", "read", ""),
    ("GET /v1/sessions/s1/rules", "read", ""),
    ("DELETE /v1/sessions/s1/rules/absent", "approve", ""),
    ("GET /v1/sessions/s1/export", "read", ""),
    ("POST /v1/sessions/s1/fork", "write", r#"{"at":1}"#),
    ("GET /v1/tasks/task1", "read", ""),
    ("GET /v1/actions", "read", ""),
    ("PUT /v1/blobs", "write", "bytes"),
    ("GET /v1/blobs/REF", "read", ""),
    ("POST /v1/tickets", "read", r#"{"scope":"read"}"#),
    ("POST /v1/tickets", "approve", r#"{"scope":"approve"}"#),
    ("POST /v1/keys", "admin", r#"{"scopes":["read"]}"#),
    ("GET /v1/keys", "admin", ""),
    ("DELETE /v1/keys/absent", "admin", ""),
    ("DELETE /v1/sessions/absent", "write", ""),
];

#[tokio::test]
async fn a_route_needs_its_scope_and_no_other() {
    let server = Server::start().await;
    server.make("s1").await;
    let task = json!({"type": "task.created", "turnId": "t1", "taskId": "task1", "payload": {}});
    server.tell("s1", &[task]).await;
    let blob =
        server.call("PUT /v1/blobs", &[], "bytes").await.json()["ref"].as_str().expect("a ref").to_owned();
    for scope in ["read", "write", "approve", "admin"] {
        let (api, _) = server.key("default", &[scope]).await;
        for (line, needed, body) in ROUTES {
            let line = line.replace("REF", &blob);
            let answer = api.call(&line, &[JSON], body).await;
            let allowed = scope == needed || scope == "admin";
            assert_eq!(answer.status != 403, allowed, "{scope}: {line}: {}", answer.text());
            assert_ne!(answer.status, 401, "{scope}: {line}");
            if !allowed {
                assert_eq!(answer.json()["scope"], needed, "{line}");
            }
        }
        let file = json!({"type": "x.a", "sessionId": format!("by_{scope}")}).to_string();
        let imported = api.call("POST /v1/import", &[NDJSON], file).await.status;
        assert_eq!(imported == 201, ["write", "admin"].contains(&scope), "{scope}");
    }
    server.stop().await;
}

#[tokio::test]
async fn without_a_key_everything_but_health_answers_the_same() {
    let server = Server::start().await;
    server.make("s1").await;
    for (line, _, body) in ROUTES {
        for headers in [("authorization", ""), ("authorization", "Bearer rr_x_y")] {
            let answer = server.call(line, &[JSON, headers], body).await;
            assert!([401, 429].contains(&answer.status), "{line}: {}", answer.text());
        }
    }
    for path in ["/livez", "/readyz", "/healthz", "/openapi.json", "/metrics"] {
        assert_eq!(
            server.call(&format!("GET {path}"), &[("authorization", "")], "").await.status,
            200,
            "{path}"
        );
    }
    server.stop().await;
}
