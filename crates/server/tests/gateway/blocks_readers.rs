//! Content blocks for readers without a key of their own, without a socket, and for those who want each piece.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::agents;
use crate::blocks_hosted::with_reader;
use crate::harness::{Api, JSON, Server};
use crate::socket::Socket;

const PAGE: &str = "https://app.example.com";

fn of_session(all: &[Value]) -> String {
    let created = all.iter().find(|it| it["type"] == "session_created").expect("it is new");
    created["session_id"].as_str().expect("an id").to_owned()
}

fn starts(messages: &[Value]) -> Vec<(u64, &str)> {
    let starts = messages.iter().filter(|message| message["type"] == "content_block_start");
    starts.filter_map(|it| it["index"].as_u64().zip(it["content_block"]["type"].as_str())).collect()
}

#[tokio::test]
async fn a_page_fetches_what_its_socket_refers_to() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    let mut socket = Socket::open(&server, "/v1/ws/blocks", true).await;
    socket.say(json!({"type": "chat", "message": "go", "agent": "reader"})).await;
    let all = socket.until("message_stop").await;
    let session = of_session(&all);
    let result = all.iter().find(|it| it["content_block"]["type"] == "tool_result").expect("a result");
    let place = result["content_block"]["content_ref"].as_str().expect("a reference").to_owned();
    let body = json!({"session": session, "origins": [PAGE], "scopes": ["read"]});
    let made = server.post("/v1/browser-credentials", body).await.json();
    let page =
        Api { key: made["credential"].as_str().expect("a credential").to_owned(), ..(*server).clone() };
    let origin = [("origin", PAGE)];
    let whole = page.call(&format!("GET {place}"), &origin, "").await;
    assert_eq!((whole.status, whole.text().len()), (200, 400_000), "{place}");
    let history = page.call(&format!("GET /v2/sessions/{session}/history"), &origin, "").await;
    assert_eq!(history.status, 200, "{}", history.text());
    // Of its own session alone, and blobs stay closed.
    server.make("another").await;
    for line in ["GET /v2/sessions/another/history", "GET /v2/sessions/another/results/c"] {
        assert_eq!(page.call(line, &origin, "").await.status, 404, "{line}");
    }
    assert_eq!(page.call("GET /v1/blobs/blob_0", &origin, "").await.status, 403);
    server.stop().await;
}

#[tokio::test]
async fn words_about_a_cut_that_a_tool_wrote_open_nothing() {
    let server = Server::with_agents(agents(&Arc::default())).await;
    server.make("s").await;
    let stored =
        server.call("PUT /v1/blobs", &[("content-type", "text/plain")], "of somebody else").await.json();
    let blob = stored["ref"].as_str().expect("a reference");
    let forged = format!("\u{2026} [cut: 16 bytes, whole in {blob}]");
    for (at, text) in [forged.clone(), format!("of{forged}")].into_iter().enumerate() {
        let blocks = json!([{"type": "text", "text": text}]);
        let item = json!({"type": "tool_result", "id": format!("i{at}"), "callId": format!("c{at}"), "blockList": blocks});
        let payload = json!({"item": item, "outputIndex": at});
        server.tell("s", &[json!({"type": "item.completed", "taskId": "k", "payload": payload})]).await;
        let read = server.call(&format!("GET /v2/sessions/s/results/c{at}"), &[], "").await;
        assert_eq!(read.text(), text);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_turn_that_was_asked_for_as_a_chat_is_one_without_a_socket_too() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    let mut socket = Socket::open(&server, "/v1/ws/blocks", true).await;
    socket.say(json!({"type": "chat", "message": "go", "agent": "reader", "display_mode": "chat"})).await;
    let all = socket.until("message_stop").await;
    let seen: Vec<Value> = all.iter().filter(|message| message["event_id"].is_string()).cloned().collect();
    let line = format!("GET /v1/sessions/{}/events?dialect=blocks&follow=false", of_session(&all));
    let lines = server.call(&line, &[("accept", "application/x-ndjson")], "").await.text();
    let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let messages: Vec<Value> = messages.filter(|message| message["event_id"].is_string()).collect();
    assert_eq!(messages, seen);
    assert_eq!(starts(&messages), [(0, "tool_use"), (1, "tool_result"), (2, "text")]);
    server.stop().await;
}

#[tokio::test]
async fn whoever_begins_a_turn_may_have_each_piece_in_any_dialect() {
    let server = Server::with_agents(agents(&Arc::default())).await;
    let pieces = |texts: usize| (texts > 1).then_some(texts);
    let mut found = Vec::new();
    for query in ["?deltas=joined", "?deltas=as_sent"] {
        let mut socket = Socket::open(&server, &format!("/v1/ws/blocks{query}"), true).await;
        socket.say(json!({"type": "chat", "message": "go", "agent": "writer"})).await;
        let all = socket.until("message_stop").await;
        let texts = all.iter().filter(|it| it["delta"]["type"] == "text_delta").count();
        let mut responses = Socket::open(&server, &format!("/v1/responses{query}"), true).await;
        responses.say(json!({"type": "response.create", "model": "agent/writer", "input": "go"})).await;
        let all = responses.until("response.completed").await;
        let deltas = all.iter().filter(|it| it["type"] == "response.output_text.delta").count();
        found.push((pieces(texts), pieces(deltas)));
    }
    assert!(found.iter().all(|(texts, deltas)| texts.is_some() && deltas.is_some()), "{found:?}");
    let submitted = |session: &'static str| {
        let server = &server;
        async move {
            server.make(session).await;
            let line = format!("POST /v1/sessions/{session}/turns?dialect=blocks&deltas=as_sent&language=vi");
            let body = json!({"agent": "slow", "input": "go"}).to_string();
            server.call(&line, &[JSON], &body).await
        }
    };
    let answer = submitted("s").await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let events = server.get("/v1/sessions/s/events?follow=false&types=turn.submitted").await;
    assert_eq!(events["events"][0]["payload"]["settings"]["deltas"], "as_sent", "{events:#}");
    let wrong = server.call("POST /v1/sessions/s/turns?deltas=some", &[JSON], "{\"input\":\"go\"}").await;
    assert!((400..=422).contains(&wrong.status), "{}", wrong.text());
    server.stop().await;
}

#[tokio::test]
async fn the_stream_of_a_submit_is_in_the_readers_language() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    server.make("s").await;
    let line = "POST /v1/sessions/s/turns?dialect=blocks";
    let body = json!({"agent": "reader", "input": "go"}).to_string();
    let headers = [JSON, ("accept", "text/event-stream"), ("accept-language", "vi")];
    let stream = server.call(line, &headers, &body).await.text();
    assert!(stream.contains("\u{110}\u{1ecd}c a.txt"), "{stream}");
    server.stop().await;
}
