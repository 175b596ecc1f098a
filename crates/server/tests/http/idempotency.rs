//! A request with an `Idempotency-Key` is done once, however often and after whatever restart it is sent.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{Api, JSON, NDJSON, Server};
use crate::wire::Answer;

async fn send(api: &Api, line: &str, kind: (&str, &str), key: &str, body: &str) -> Answer {
    api.call(line, &[kind, ("idempotency-key", key)], body).await
}

fn file(session: &str, events: usize) -> String {
    let line =
        |sequence| json!({"type": "x.note", "sessionId": session, "sequence": sequence}).to_string() + "\n";
    (1..=events).map(line).collect()
}

/// Requests that make something, each with another body for the same key.
fn requests() -> Vec<(&'static str, (&'static str, &'static str), String, String)> {
    let text = |value: Value| value.to_string();
    vec![
        ("POST /v1/sessions", JSON, text(json!({"title": "a"})), text(json!({"title": "b"}))),
        ("POST /v1/sessions", JSON, String::new(), text(json!({"title": "c"}))),
        (
            "POST /v1/sessions/s1/events",
            JSON,
            text(json!({"type": "x.once"})),
            text(json!({"type": "x.twice"})),
        ),
        ("POST /v1/sessions/s1/fork", JSON, text(json!({"at": 1})), text(json!({"at": 2}))),
        ("POST /v1/import", NDJSON, file("imported", 3), file("imported", 4)),
    ]
}

#[tokio::test]
async fn the_first_answer_comes_again_also_after_a_restart() {
    let mut server = Server::on_disk().await;
    server.make("s1").await;
    server.tell("s1", &[json!({"type": "x.a"}), json!({"type": "x.b"})]).await;
    let mut first = Vec::new();
    for (at, (line, kind, body, _)) in requests().into_iter().enumerate() {
        let answer = send(&server, line, kind, &format!("key {at}"), &body).await;
        assert_eq!(answer.status, 201, "{line}: {}", answer.text());
        first.push(answer);
    }
    for _ in 0..2 {
        for (at, (line, kind, body, other)) in requests().into_iter().enumerate() {
            let key = format!("key {at}");
            let again = send(&server, line, kind, &key, &body).await;
            assert_eq!((again.status, again.text()), (201, first[at].text()), "{line}");
            assert_eq!(again.header("idempotency-replayed"), Some("true"));
            let mismatch = send(&server, line, kind, &key, &other).await;
            assert_eq!(mismatch.refusal(), (422, "idempotency_mismatch".to_owned()), "{line}");
        }
        assert_eq!(server.get("/v1/sessions/s1").await["head"], 3);
        // s1, two that were made, a fork and an import.
        assert_eq!(server.get("/v1/sessions").await["sessions"].as_array().map(Vec::len), Some(5));
        server = server.restart().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_key_is_of_its_route_and_its_tenant() {
    let server = Server::start().await;
    let (other, _) = server.key("other", &["read", "write"]).await;
    for api in [&server.api, &other] {
        for session in ["s1", "s2"] {
            api.make(session).await;
            let answer =
                send(api, &format!("POST /v1/sessions/{session}/events"), JSON, "k", r#"{"type":"x.a"}"#)
                    .await;
            assert_eq!((answer.status, &answer.json()["first"]), (201, &json!(1)));
            assert_eq!(answer.header("idempotency-replayed"), None);
        }
    }
    for key in ["x".repeat(256).as_str(), "k\u{e9}y"] {
        let answer = send(&server, "POST /v1/sessions", JSON, key, "{}").await;
        assert_eq!(answer.refusal(), (400, "invalid_field".to_owned()));
    }
    let lines = send(&server, "POST /v1/sessions/s1/events", NDJSON, "k", "{\"type\":\"x.a\"}\n").await;
    assert_eq!(lines.refusal(), (400, "invalid_request".to_owned()));
    let refused =
        send(&server, "POST /v1/sessions/s1/events", JSON, "bad", r#"{"type":"model.delta","payload":{}}"#)
            .await;
    assert_eq!(refused.status, 400);
    let mended = send(&server, "POST /v1/sessions/s1/events", JSON, "bad", r#"{"type":"x.a"}"#).await;
    assert_eq!(mended.status, 201, "a refusal is not remembered");
    server.stop().await;
}

#[tokio::test]
async fn a_second_request_waits_for_the_first() {
    let server = Server::start().await;
    let headers =
        [NDJSON, ("idempotency-key", "k"), ("content-length", ""), ("transfer-encoding", "chunked")];
    let mut slow = server.connect().await;
    slow.write_all(&server.request("POST /v1/import", &headers, b"")).await.expect("the server reads");
    let line = file("slow", 1);
    slow.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).await.expect("the server reads");
    while server.call("GET /v1/sessions/slow", &[], "").await.status != 200 {}
    let second = send(&server, "POST /v1/import", NDJSON, "k", &file("slow", 1)).await;
    assert_eq!(second.refusal(), (409, "idempotency_in_flight".to_owned()));
    assert!(second.header("retry-after").is_some());
    slow.write_all(b"0\r\n\r\n").await.expect("the server reads");
    let mut bytes = Vec::new();
    slow.read_to_end(&mut bytes).await.expect("the server answers");
    let first = Answer::parse(&bytes);
    assert_eq!(first.status, 201);
    let again = send(&server, "POST /v1/import", NDJSON, "k", &file("slow", 1)).await;
    assert_eq!((again.status, again.text()), (201, first.text()));
    server.stop().await;
}

#[tokio::test]
async fn a_hundred_at_once_make_one() {
    let server = Server::start().await;
    server.make("s1").await;
    let send_one = |at: usize| {
        let api = server.api.clone();
        async move { (at, send(&api, "POST /v1/sessions/s1/events", JSON, "k", r#"{"type":"x.a"}"#).await) }
    };
    let answers = futures_util::future::join_all((0..100).map(send_one)).await;
    assert!(answers.iter().all(|(_, answer)| [201, 409].contains(&answer.status)));
    assert_eq!(server.get("/v1/sessions/s1").await["head"], 1);
    server.stop().await;
}
