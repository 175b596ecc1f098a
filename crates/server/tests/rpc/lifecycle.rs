//! Who may connect, and how a connection ends.

use std::time::Duration;

use riverrun_server::edge::Limits;
use serde_json::{Value, json};

use crate::raw;
use crate::support::{Client, Server, server, server_with};

#[tokio::test]
async fn a_key_comes_in_a_header_or_in_the_first_message() {
    let server = server().await;
    assert_eq!(server.try_connect("/v1/ws", &[("authorization", "Bearer rr_wrong")]).await.err(), Some(401));
    assert_eq!(server.try_connect("/v1/ws?ticket=wrong", &[]).await.err(), Some(401));
    assert_eq!(server.try_connect(&format!("/v1/ws?key={}", server.key), &[]).await.err(), Some(400));
    let api_key = server.try_connect("/v1/ws", &[("x-api-key", &server.key)]).await;
    assert_eq!(api_key.expect("the server upgrades").ok("ping", json!({})).await, json!({}));
    let mut late = server.try_connect("/v1/ws", &[]).await.expect("the server upgrades");
    let stranger = late.fails("session.list", json!({})).await;
    assert_eq!((stranger.0, stranger.1.as_str()), (-32010, "unauthenticated"));
    assert_eq!(late.ok("auth", json!({"key": server.key})).await, json!({}));
    assert_eq!(late.ok("session.list", json!({})).await, json!({"sessions": []}));
    assert_eq!(late.fails("auth", json!({"key": server.key})).await.0, -32600);
    let mut wrong = server.try_connect("/v1/ws", &[]).await.expect("the server upgrades");
    assert_eq!(wrong.fails("auth", json!({"key": "rr_wrong"})).await.0, -32010);
    assert_eq!(wrong.close_code().await, 4401);
}

#[tokio::test]
async fn a_ticket_opens_one_session_once() {
    let server = server().await;
    let mut owner = server.connect().await;
    owner.make_session("s1").await;
    owner.make_session("s2").await;
    let ticket = server.json("POST /v1/tickets", json!({"session": "s1"})).await;
    let path = format!("/v1/ws?ticket={}", ticket["ticket"].as_str().expect("a ticket"));
    let mut page = server
        .try_connect(&path, &[("origin", "https://app.example.com")])
        .await
        .expect("the server upgrades");
    assert_eq!(page.ok("session.follow", json!({"sessionId": "s1"})).await["outcome"], "replayed");
    assert_eq!(page.ok("action.list", json!({})).await, json!({"actions": []}));
    for (method, params, code) in [
        ("session.get", json!({"sessionId": "s2"}), "not_found"),
        ("session.follow", json!({"sessionId": "s2"}), "not_found"),
        ("action.list", json!({"sessionId": "s2"}), "not_found"),
        ("session.list", json!({}), "forbidden"),
        ("session.create", json!({}), "forbidden"),
        ("session.append", json!({"sessionId": "s1", "events": []}), "forbidden"),
    ] {
        assert_eq!(page.fails(method, params).await.1, code, "{method}");
    }
    assert_eq!(server.try_connect(&path, &[]).await.err(), Some(401), "a ticket works once");
}

#[tokio::test]
async fn a_revoked_key_closes_its_connection() {
    let server = server().await;
    let key = server.json("POST /v1/keys", json!({"scopes": ["read"]})).await;
    let mut client = server.connect_with(key["key"].as_str().expect("a key")).await;
    assert_eq!(client.fails("session.create", json!({})).await.1, "forbidden");
    let path = format!("DELETE /v1/keys/{}", key["keyId"].as_str().expect("an id"));
    assert_eq!(server.http(&path, "*/*", "").await.0, 204);
    assert_eq!(client.close_code().await, 4401);
}

#[tokio::test]
async fn a_plain_request_is_told_what_the_path_speaks() {
    let server = server().await;
    let (status, body) = server.http("GET /v1/ws", "*/*", "").await;
    assert!(status == 400 && body.contains("speaks WebSocket"), "{status} {body}");
}

#[tokio::test]
async fn a_drain_says_so_and_closes() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    client.ok("session.follow", json!({"sessionId": "s1"})).await;
    let mut idle = server.connect().await;
    let serving = server.begin_stop();
    for client in [&mut client, &mut idle] {
        let mut last = Value::Null;
        let code = loop {
            match client.receive().await {
                Ok(text) => last = serde_json::from_str(&text).expect("JSON"),
                Err(code) => break code,
            }
        };
        assert_eq!(code, 1001);
        assert_eq!(last["method"], "session.stream");
        assert_eq!(last["params"], json!({"type": "stream.draining", "retryMillis": 1000}));
    }
    serving.await.expect("no panic");
}

#[tokio::test]
async fn a_close_is_answered_with_its_code() {
    let server = server().await;
    for (payload, code) in [(vec![0x03, 0xe8], 1000), (vec![0x0f, 0xa0, b'x'], 4000), (vec![], 1000)] {
        assert_eq!(raw::close_code(&server, &raw::frame(0x88, &payload)).await, Some(code));
    }
}

#[tokio::test]
async fn the_server_asks_whether_the_peer_lives_and_leaves_when_it_does_not() {
    let limits = Limits {
        ping_every: Duration::from_millis(60),
        dead_after: Duration::from_millis(400),
        ..Limits::default()
    };
    let server = server_with(limits).await;
    let mut silent = raw::open(&server).await;
    let mut pings = 0;
    while let Some((first, payload)) = raw::read_frame(&mut silent).await {
        assert_eq!((first, payload), (raw::PING, Vec::new()));
        pings += 1;
    }
    assert!((2..=8).contains(&pings), "{pings}");
    // A client that answers pings by itself stays.
    let mut client = server.connect().await;
    let quiet = tokio::time::timeout(Duration::from_millis(900), client.receive()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    assert_eq!(client.ok("ping", json!({})).await, json!({}));
}

const LARGE: usize = 16 * 1024;
const EVENTS: usize = 1_000;

/// A session of 16 MB.
async fn large_session(client: &mut Client) {
    client.make_session("large").await;
    for _ in 0..EVENTS / 10 {
        client.append_deltas("large", (0..10).map(|_| "x".repeat(LARGE))).await;
    }
}

#[tokio::test]
async fn an_answer_of_any_size_comes_in_fragments() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let item = json!({"outputIndex": 0, "item": {"type": "message", "id": "i1"}});
    let start = json!({"type": "item.started", "turnId": "t1", "taskId": "k1", "payload": item});
    client.ok("session.append", json!({"sessionId": "s1", "events": start})).await;
    for _ in 0..10 {
        client.append_deltas("s1", (0..10).map(|_| "x".repeat(LARGE))).await;
    }
    let state = client.ok("session.state", json!({"sessionId": "s1"})).await.to_string();
    assert!(state.len() > 100 * LARGE, "{}", state.len());
}

async fn follow_without_reading(server: &Server) -> Client {
    let mut client = server.connect().await;
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"session.follow","params":{"sessionId":"large"}}"#).await;
    client
}

fn memory_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("a Linux system");
    let pages: usize = text.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a number");
    pages * 4096
}

#[tokio::test]
async fn clients_that_do_not_read_cost_no_memory_and_lose_nothing() {
    const CLIENTS: usize = 24;
    let server = server().await;
    large_session(&mut server.connect().await).await;
    let before = memory_bytes();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(follow_without_reading(&server).await);
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let grown = memory_bytes().saturating_sub(before);
    // All of it for all of them would be over 380 MB.
    assert!(grown < CLIENTS * 2 * 1024 * 1024, "{CLIENTS} clients took {grown} bytes");
    let client = &mut clients[0];
    assert_eq!(client.answer().await["result"]["outcome"], "replayed");
    for sequence in 1..=EVENTS {
        let event = client.notification().await;
        assert_eq!(event["params"]["event"]["sequence"], sequence);
    }
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_in_the_end() {
    let server = server_with(Limits { stall_time: Duration::from_millis(300), ..Limits::default() }).await;
    large_session(&mut server.connect().await).await;
    let mut client = follow_without_reading(&server).await;
    tokio::time::sleep(Duration::from_millis(1000)).await;
    assert_eq!(client.close_code().await, 4008);
    server.stop().await;
}
