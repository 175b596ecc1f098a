//! The log in pages, as JSON.

use riverrun_dialect::task::reference_client::ReferenceClient;
use serde_json::Value;

use crate::client::shown;
use crate::generate::session;
use crate::harness::Server;

async fn filled(seed: u64) -> (Server, u64) {
    let server = Server::start().await;
    server.make("s1").await;
    let mut head = 0;
    for part in session(seed, 5).chunks(7) {
        head = server.tell("s1", part).await;
    }
    (server, head)
}

/// Every page from the beginning to the head.
async fn pages(server: &Server, query: &str) -> (Vec<Value>, String) {
    let (mut all, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let page = server.get(&format!("/v1/sessions/s1/events?follow=false&after={cursor}&{query}")).await;
        all.extend(page["events"].as_array().into_iter().flatten().cloned());
        cursor = page["cursor"].as_str().expect("a cursor").to_owned();
        if page["more"] == false {
            return (all, cursor);
        }
    }
}

#[tokio::test]
async fn pages_of_any_size_make_exactly_the_log() {
    let (server, head) = filled(3).await;
    let export = server.call("GET /v1/sessions/s1/export", &[], "").await;
    let log: Vec<Value> =
        export.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(log.len() as u64, head);
    for limit in [1, 2, 3, 7, 50, head, head + 1, 5000] {
        let (all, _) = pages(&server, &format!("limit={limit}")).await;
        assert_eq!(all, log, "limit {limit}");
    }
    let empty = server.get(&format!("/v1/sessions/s1/events?after={head}")).await;
    assert_eq!((empty["events"].as_array().map(Vec::len), &empty["more"]), (Some(0), &Value::Bool(false)));
    server.stop().await;
}

#[tokio::test]
async fn pages_in_a_dialect_tell_its_objects() {
    let (server, _) = filled(4).await;
    for query in ["limit=1", "limit=10", "limit=3&catchup=coalesce", "limit=4&catchup=snapshot"] {
        let (frames, _) = pages(&server, &format!("dialect=task&{query}")).await;
        let mut client = ReferenceClient::default();
        for frame in &frames {
            client.take(&frame.to_string()).expect("a frame is JSON");
        }
        for turn in 0..5 {
            let task = format!("task_{turn}");
            let expected = server.get(&format!("/v1/tasks/{task}")).await;
            assert_eq!(client.object(&task), Some(shown(expected)), "{query} {task}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_snapshot_comes_before_the_events_of_a_page() {
    let (server, head) = filled(5).await;
    let page = server.get("/v1/sessions/s1/events?catchup=snapshot").await;
    assert_eq!((&page["outcome"], &page["snapshot"]["sequence"]), (&"snapshot".into(), &head.into()));
    assert_eq!(page["snapshot"]["state"], server.get("/v1/sessions/s1/state").await);
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_listed_once_in_pages_of_any_size() {
    let server = Server::start().await;
    for at in 0..23 {
        server.make(&format!("s{at}")).await;
    }
    for limit in [1, 5, 23, 24, 1000] {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.get(&format!("/v1/sessions?limit={limit}{cursor}")).await;
            let sessions = page["sessions"].as_array().cloned().unwrap_or_default();
            ids.extend(
                sessions.iter().map(|session| session["sessionId"].as_str().unwrap_or_default().to_owned()),
            );
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let expected: Vec<String> = (0..23).rev().map(|at| format!("s{at}")).collect();
        assert_eq!(ids, expected, "limit {limit}");
    }
    server.stop().await;
}
