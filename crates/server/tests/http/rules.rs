//! Decisions that were given for always: everybody sees who gave them, and they can be taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::agents::{agents, kinds};
use crate::harness::{JSON, NDJSON, Server};

/// A server on which somebody allowed a tool for always, and how often the tool ran.
async fn allowed() -> (Server, Arc<AtomicUsize>, Value) {
    let runs = Arc::new(AtomicUsize::new(0));
    let server = Server::with_agents(agents(&runs)).await;
    server.make("s").await;
    server.submit("s", json!({"input": "delete x", "agent": "deleter", "turnId": "t1"})).await;
    let action = server.action("s").await;
    let path = format!("/v1/sessions/s/actions/{}", action["actionId"].as_str().expect("an id"));
    let always = json!({"decision": "approve", "digest": action["digest"], "always": true});
    assert_eq!(server.post(&path, always).await.status, 200);
    server.turn("s", "t1").await;
    (server, runs, action)
}

async fn asks(server: &Server, turn: &str) -> bool {
    server.submit("s", json!({"input": "delete x", "agent": "deleter", "turnId": turn})).await;
    loop {
        let told = server.get(&format!("/v1/sessions/s/events?turn={turn}&follow=false")).await;
        let events: Vec<Value> = told["events"].as_array().cloned().unwrap_or_default();
        let kinds = kinds(&events);
        if kinds.contains(&"action.required") {
            return true;
        }
        if kinds.contains(&"turn.completed") {
            return false;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_rule_is_listed_with_its_maker_and_asks_again_once_revoked() {
    let (server, runs, action) = allowed().await;
    assert!(!asks(&server, "t2").await, "the rule holds");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let rules = server.get("/v1/sessions/s/rules").await;
    let rule = &rules["rules"][0];
    let expected = json!({
        "ruleId": action["actionId"], "toolName": "delete_file", "agent": "deleter", "decision": "approve",
        "tool": rule["tool"], "decidedBy": rule["decidedBy"], "decidedAt": rule["decidedAt"],
    });
    assert_eq!(rules, json!({"rules": [expected]}));
    assert!(rule["tool"].as_str().is_some_and(|tool| tool.starts_with("sha256:")), "{rule}");
    let keys = server.get("/v1/keys").await;
    assert!(keys.to_string().contains(rule["decidedBy"].as_str().expect("who")), "{rule} {keys}");
    assert!(rule["decidedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{rule}");

    let path = format!("DELETE /v1/sessions/s/rules/{}", action["actionId"].as_str().expect("an id"));
    let revoked = server.call(&path, &[], "").await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    assert_eq!(revoked.json()["revoked"], *rule);
    assert_eq!(server.get("/v1/sessions/s/rules").await, json!({"rules": []}));
    assert_eq!(server.call(&path, &[], "").await.refusal(), (404, "not_found".to_owned()));
    assert!(asks(&server, "t3").await, "the tool is asked about anew");
    assert_eq!(runs.load(Ordering::SeqCst), 2);

    // It is a fact of the log like any other.
    let told = server.get("/v1/sessions/s/events?types=policy.changed&follow=false").await;
    let last =
        told["events"].as_array().and_then(|events| events.last()).expect("an event")["payload"].clone();
    assert_eq!(last["rules"], json!([]));
    assert_eq!(last["reason"], "`approve` of `delete_file` for `deleter` was revoked");
    assert_eq!(last["changedBy"], rule["decidedBy"]);
    server.stop().await;
}

#[tokio::test]
async fn another_tenant_sees_no_rule_and_revokes_none() {
    let (server, _, action) = allowed().await;
    let (other, _) = server.key("other", &["admin"]).await;
    let id = action["actionId"].as_str().expect("an id");
    for line in ["GET /v1/sessions/s/rules".to_owned(), format!("DELETE /v1/sessions/s/rules/{id}")] {
        assert_eq!(other.call(&line, &[], "").await.refusal(), (404, "not_found".to_owned()), "{line}");
    }
    assert_eq!(server.get("/v1/sessions/s/rules").await["rules"].as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[tokio::test]
async fn a_decision_that_is_written_into_the_log_needs_the_scope_of_one() {
    let server = Server::start().await;
    server.make("s").await;
    let rule = json!({"policy": "approvals", "source": "person", "rules": []});
    let decisions = [
        json!({"type": "action.resolved", "turnId": "t", "actionId": "a", "payload": {"decision": "approve"}}),
        json!({"type": "policy.changed", "payload": rule}),
    ];
    let (writer, _) = server.key("default", &["write"]).await;
    let (decider, _) = server.key("default", &["write", "approve"]).await;
    for decision in decisions {
        let text = decision.to_string();
        for media in [JSON, NDJSON] {
            let refused = writer.call("POST /v1/sessions/s/events", &[media], &text).await;
            assert_eq!(refused.refusal(), (403, "forbidden".to_owned()), "{text}");
            assert_eq!(refused.json()["scope"], "approve");
        }
        assert_eq!(decider.call("POST /v1/sessions/s/events", &[JSON], &text).await.status, 201, "{text}");
    }
    let other = json!({"type": "model.delta", "turnId": "t", "payload": {"delta": "x"}}).to_string();
    assert_eq!(writer.call("POST /v1/sessions/s/events", &[JSON], &other).await.status, 201);
    server.stop().await;
}
