//! Sessions that are deleted while they are at work, and made anew with the same id.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agents::{agents, kinds, server};
use crate::harness::{JSON, Server};

async fn anew(server: &Server) {
    assert_eq!(server.call("DELETE /v1/sessions/s", &[], "").await.status, 204);
    server.make("s").await;
}

/// What a key is told of a session that is gone, that never was, or that is not its own.
#[tokio::test]
async fn a_deleted_session_says_so_to_who_could_have_read_it() {
    for on_disk in [false, true] {
        let server = if on_disk { Server::on_disk().await } else { Server::start().await };
        let (mine, _) = server.key("mine", &["read", "write"]).await;
        let (writer, _) = server.key("mine", &["write"]).await;
        let (other, _) = server.key("other", &["admin"]).await;
        mine.make("gone").await;
        mine.tell("gone", &[json!({"type": "x.a"})]).await;
        assert_eq!(mine.call("DELETE /v1/sessions/gone", &[], "").await.status, 204);
        let turn = json!({"input": "hello"}).to_string();
        for (line, body) in [
            ("GET /v1/sessions/gone", ""),
            ("GET /v1/sessions/gone/state", ""),
            ("GET /v1/sessions/gone/events?follow=false", ""),
            ("GET /v1/sessions/gone/events?after=1&dialect=task", ""),
            ("POST /v1/sessions/gone/turns", &turn),
            ("DELETE /v1/sessions/gone", ""),
        ] {
            let answer = mine.call(line, &[JSON], body).await;
            assert_eq!(answer.refusal(), (410, "session_deleted".to_owned()), "{line}");
            assert!(answer.json()["deletedAt"].is_string(), "{}", answer.text());
            let absent = line.replace("gone", "never");
            assert_eq!(mine.call(&absent, &[JSON], body).await.refusal(), (404, "not_found".to_owned()));
            // Who may not read is not told either, and neither is anybody else.
            let blind = writer.call(line, &[JSON], body).await;
            assert!([403, 404].contains(&blind.status), "{line}: {}", blind.text());
            assert_eq!(
                other.call(line, &[JSON], body).await.refusal(),
                (404, "not_found".to_owned()),
                "{line}"
            );
        }
        mine.make("gone").await;
        assert_eq!(mine.get("/v1/sessions/gone").await["head"], 0, "made anew");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_deletion_is_known_after_a_restart() {
    let server = Server::on_disk().await;
    server.make("s").await;
    assert_eq!(server.call("DELETE /v1/sessions/s", &[], "").await.status, 204);
    let server = server.restart().await;
    let answer = server.call("GET /v1/sessions/s", &[], "").await;
    assert_eq!(answer.refusal(), (410, "session_deleted".to_owned()), "{}", answer.text());
    server.stop().await;
}

async fn told(server: &Server) -> Value {
    server.get("/v1/sessions/s/events?follow=false").await["events"].clone()
}

#[tokio::test]
async fn a_session_made_anew_has_nothing_of_the_run_that_its_id_had() {
    for server in [server().await, Server::on_disk_with(agents(&Arc::default())).await] {
        server.make("s").await;
        server.submit("s", json!({"input": "go", "agent": "slow", "turnId": "t1"})).await;
        server.submit("s", json!({"input": "wait", "agent": "slow", "turnId": "t2"})).await;
        while server.get("/v1/sessions/s").await["head"].as_u64() < Some(8) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        anew(&server).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(told(&server).await, json!([]));
        assert_eq!(server.get("/v1/sessions/s/queue").await["queue"], json!([]));
        let fresh = server.submit("s", json!({"input": "weather?", "turnId": "t1"})).await;
        assert_eq!(fresh["status"], "accepted", "nothing is before it");
        assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.completed"));
        server.stop().await;
    }
}

#[tokio::test]
async fn an_action_of_a_deleted_session_waits_nowhere_and_its_call_never_runs() {
    let runs = Arc::default();
    let server = Server::on_disk_with(agents(&runs)).await;
    server.make("s").await;
    server.submit("s", json!({"input": "go", "agent": "deleter", "turnId": "t1"})).await;
    let action = server.action("s").await;
    anew(&server).await;
    let path = format!("/v1/sessions/s/actions/{}", action["actionId"].as_str().expect("an id"));
    let late = server.post(&path, json!({"decision": "approve", "digest": action["digest"]})).await;
    assert_eq!(late.status, 404, "{}", late.text());
    let server = server.restart_with(agents(&runs)).await;
    assert_eq!(server.get("/v1/sessions/s/actions").await["actions"], json!([]));
    assert_eq!((told(&server).await, runs.load(std::sync::atomic::Ordering::SeqCst)), (json!([]), 0));
    server.stop().await;
}

/// Deleting, making and submitting at once: who is told that a turn was taken finds it whole, and alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_of_a_session_that_is_made_while_it_is_deleted_do_not_mix() {
    let server = server().await;
    server.make("s").await;
    for round in 0..30 {
        let (old, new) = (format!("old{round}"), format!("new{round}"));
        server.submit("s", json!({"input": "go", "agent": "slow", "turnId": old})).await;
        let body = json!({"input": "weather?", "turnId": new});
        let (_, late) = tokio::join!(anew(&server), server.post("/v1/sessions/s/turns", body.clone()));
        assert!([202, 404, 410].contains(&late.status), "{}", late.text());
        server.submit("s", body).await;
        let events = server.turn("s", &new).await;
        assert_eq!(kinds(&events).last(), Some(&"turn.completed"));
        let all = told(&server).await;
        let mut turns = all.as_array().expect("events").iter().filter_map(|event| event["turnId"].as_str());
        assert!(turns.all(|turn| turn == new), "{all:#}");
    }
    server.stop().await;
}
