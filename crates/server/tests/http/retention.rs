//! What is kept, what is gone, and how a reader is told.

use riverrun_event::Sequence;
use riverrun_log::SessionKey;
use serde_json::{Value, json};

use crate::client::{Client, Dialect, shown};
use crate::generate::session;
use crate::harness::{JSON, Server};
use crate::stream::{End, Stream};

async fn filled(server: &Server) -> u64 {
    server.make("s1").await;
    let mut head = 0;
    for part in finished(session(6, 6)).chunks(5) {
        head = server.tell("s1", part).await;
    }
    head
}

/// The same with an end for every turn: of a session with an open one nothing is retired.
pub fn finished(mut events: Vec<Value>) -> Vec<Value> {
    let ends = ["turn.completed", "turn.failed", "turn.cancelled"];
    let is_over = |turn: &Value| {
        events.iter().any(|event| event["turnId"] == *turn && ends.iter().any(|end| event["type"] == *end))
    };
    let submitted = events.iter().filter(|event| event["type"] == "turn.submitted");
    let open: Vec<Value> =
        submitted.map(|event| event["turnId"].clone()).filter(|turn| !is_over(turn)).collect();
    let cancelled =
        |turn| json!({"type": "turn.cancelled", "turnId": turn, "payload": {"mode": "immediate"}});
    events.extend(open.into_iter().map(cancelled));
    events
}

fn key() -> SessionKey {
    SessionKey::new("default".parse().expect("an id"), "s1".parse().expect("an id"))
}

/// Snapshots the session at its head, as upkeep does before anything is retired.
async fn snapshot(server: &Server, head: u64) {
    let state = server.call("GET /v1/sessions/s1/state", &[], "").await.body;
    let sequence = Sequence::new(head).expect("a place");
    let snapshot = riverrun_log::Snapshot { sequence, bytes: state.into() };
    server.log.put_snapshot(&key(), snapshot).await.expect("it is stored");
}

#[tokio::test]
async fn a_place_that_was_retired_gets_the_state_instead() {
    for on_disk in [false, true] {
        let server = if on_disk { Server::on_disk().await } else { Server::start().await };
        let head = filled(&server).await;
        let before = server.get("/v1/sessions/s1/state").await;
        snapshot(&server, head).await;
        let through = Sequence::new(head / 2).expect("a place");
        let first = server.log.retire(&key(), through, None).await.expect("it is retired").get();
        assert!(first > 1 && first <= head / 2 + 1);
        for dialect in [Dialect::Native, Dialect::Task] {
            let path = format!("/v1/sessions/s1/events?after=1&follow=false&dialect={}", dialect.name());
            let (frames, end) = Stream::open(&server, &path, &[]).await.rest().await;
            let opened = frames[0].json();
            assert_eq!(
                (&opened["outcome"], &opened["reason"]),
                (&json!("snapshot"), &json!("expired")),
                "{opened}"
            );
            assert_eq!(end, End::Clean);
            let mut client = Client::new(dialect, "s1");
            frames.iter().for_each(|frame| client.take("s1", frame));
            match client.state() {
                Some(state) => {
                    assert_eq!(serde_json::from_str::<Value>(&state.to_json()).expect("JSON"), before)
                }
                None => {
                    assert_eq!(client.object("task_5"), Some(shown(server.get("/v1/tasks/task_5").await)))
                }
            }
        }
        let (frames, _) =
            Stream::open(&server, &format!("/v1/sessions/s1/events?after={}&follow=false", first - 1), &[])
                .await
                .rest()
                .await;
        assert_eq!(frames[0].json()["outcome"], "replayed");
        let gone = server.call("GET /v1/sessions/s1/state?at=1", &[], "").await;
        assert_eq!(gone.refusal(), (410, "expired".to_owned()), "{}", gone.text());
        assert_eq!(server.get("/v1/sessions/s1/state").await, before);
        let fork =
            server.call("POST /v1/sessions/s1/fork", &[JSON], r#"{"at":1,"sessionId":"forked"}"#).await;
        assert_eq!(fork.refusal(), (410, "expired".to_owned()), "{}", fork.text());
        assert_eq!(
            server.call("GET /v1/sessions/forked", &[], "").await.status,
            404,
            "half a fork is no session"
        );
        server.stop().await;
    }
}

#[tokio::test]
async fn a_cursor_of_a_log_that_was_replaced_gets_the_state() {
    for on_disk in [false, true] {
        let server = if on_disk { Server::on_disk().await } else { Server::start().await };
        filled(&server).await;
        let old = server.get("/v1/sessions/s1").await["cursor"].as_str().expect("a cursor").to_owned();
        assert_eq!(server.call("DELETE /v1/sessions/s1", &[], "").await.status, 204);
        server.make("s1").await;
        server.tell("s1", &[json!({"type": "x.new"})]).await;
        let new = server.get("/v1/sessions/s1").await["cursor"].as_str().expect("a cursor").to_owned();
        assert_ne!(old.split('.').nth(2), new.split('.').nth(2), "another incarnation");
        for headers in [&[][..], &[("last-event-id", old.as_str())]] {
            let after = if headers.is_empty() { format!("&after={old}") } else { String::new() };
            let path = format!("/v1/sessions/s1/events?follow=false{after}");
            let (frames, _) = Stream::open(&server, &path, headers).await.rest().await;
            let opened = frames[0].json();
            assert_eq!(
                (&opened["outcome"], &opened["reason"]),
                (&json!("snapshot"), &json!("epoch_changed")),
                "{opened}"
            );
            assert_eq!(frames[1].json()["state"], server.get("/v1/sessions/s1/state").await);
        }
        server.stop().await;
    }
}

/// Deleting and making at once: whoever is told that an event was stored finds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_made_while_it_is_deleted_is_whole() {
    let server = Server::start().await;
    for round in 0..60 {
        let id = format!("s{}", round % 3);
        let delete = format!("DELETE /v1/sessions/{id}");
        let (made, _) = tokio::join!(
            async {
                server.call("POST /v1/sessions", &[JSON], json!({"sessionId": id}).to_string()).await;
                let path = format!("POST /v1/sessions/{id}/events");
                server
                    .call(&path, &[JSON], json!({"type": "x.a", "payload": {"round": round}}).to_string())
                    .await
            },
            server.call(&delete, &[], "")
        );
        assert!([201, 404, 410].contains(&made.status), "{}", made.text());
        let session = server.call(&format!("GET /v1/sessions/{id}"), &[], "").await;
        if made.status == 201 && session.status == 200 {
            let page = server.get(&format!("/v1/sessions/{id}/events")).await;
            let (cursor, head) = (page["cursor"].as_str().expect("a cursor"), session.json()["head"].clone());
            assert_eq!(
                page["events"].as_array().map(Vec::len).unwrap_or(0),
                head.as_u64().unwrap_or(9) as usize,
                "{page}"
            );
            assert_eq!(Some(cursor), session.json()["cursor"].as_str());
        }
    }
    server.stop().await;
}
