//! The bad-input catalogue of WebSocket and JSON-RPC, line by line.

use std::time::Duration;

use riverrun_server::edge::Limits;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use futures_util::SinkExt;

use crate::raw::{PART, PING, TEXT, TEXT_PART, close_code, frame};
use crate::support::{server, server_with};

#[tokio::test]
async fn a_page_of_another_origin_is_refused_before_the_upgrade() {
    let server = server().await;
    let bearer = format!("Bearer {}", server.key);
    let foreign = [("origin", "https://evil.example"), ("authorization", bearer.as_str())];
    assert_eq!(server.try_connect("/v1/ws", &foreign).await.err(), Some(403));
    let own = [("origin", "https://app.example.com"), ("authorization", bearer.as_str())];
    assert!(server.try_connect("/v1/ws", &own).await.is_ok());
}

#[tokio::test]
async fn each_broken_frame_has_its_close_code() {
    let server = server().await;
    let mut unmasked = vec![TEXT, 2];
    unmasked.extend_from_slice(b"{}");
    let over_message =
        [frame(TEXT_PART, &vec![b' '; 250_000]), frame(PART, &vec![b' '; 250_000]).repeat(4)].concat();
    let many = [frame(TEXT_PART, b" "), frame(PART, b" ").repeat(999_999)].concat();
    for (what, bytes, code) in [
        ("a binary frame", frame(0x82, b"{}"), 1003),
        ("text that is not UTF-8", frame(TEXT, &[b'"', 0xff, 0xfe, b'"']), 1007),
        ("2 MiB", frame(TEXT, &vec![b' '; 2 << 20]), 1009),
        ("1.25 MB in frames that are small enough", over_message, 1009),
        ("1,000,000 fragments", many, 1009),
        ("1,025 fragments", [frame(TEXT_PART, b" "), frame(PART, b" ").repeat(1024)].concat(), 1009),
        ("a frame without mask", unmasked, 1002),
        ("a bit of an extension", frame(0xc1, b"{}"), 1002),
        ("11 pings in a second", frame(PING, b"").repeat(11), 1008),
    ] {
        assert_eq!(close_code(&server, &bytes).await, Some(code), "{what}");
    }
}

#[tokio::test]
async fn what_is_just_within_the_limits_is_taken() {
    let server = server().await;
    let mut client = server.connect().await;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut stream = crate::raw::open(&server).await;
    let bytes = [
        frame(PING, b"").repeat(10),
        frame(TEXT_PART, b" "),
        frame(PART, b" ").repeat(1022),
        frame(0x80, request.as_bytes()),
    ];
    tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes.concat()).await.expect("the server reads");
    for _ in 0..10 {
        assert_eq!(crate::raw::read_frame(&mut stream).await, Some((0x8a, Vec::new())));
    }
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(crate::raw::read_frame(&mut stream).await, Some((TEXT, answer.as_bytes().to_vec())));
    client.send(format!("{request}{}", " ".repeat(256 * 1024 - request.len()))).await;
    assert_eq!(client.answer().await["result"], json!({}));
}

#[tokio::test]
async fn a_binary_message_of_a_client_library_is_refused() {
    let server = server().await;
    let mut client = server.connect().await;
    client.socket.send(Message::binary(vec![1, 2])).await.expect("the server reads");
    assert_eq!(client.close_code().await, 1003);
}

#[tokio::test]
async fn without_a_key_the_connection_ends_in_time() {
    let limits = Limits { websocket_auth_time: Duration::from_millis(100), ..Limits::default() };
    let server = server_with(limits).await;
    let mut client = server.try_connect("/v1/ws", &[]).await.expect("the server upgrades");
    assert_eq!(client.close_code().await, 4401);
}

#[tokio::test]
async fn a_stranger_sends_little() {
    let server = server().await;
    let mut client = server.try_connect("/v1/ws", &[]).await.expect("the server upgrades");
    client.send(" ".repeat(5000)).await;
    assert_eq!(client.close_code().await, 1009);
}

/// Sends a text; answers the id, the JSON-RPC code, our code and the field of the error.
async fn check(text: &str) -> (Value, i64, String, String) {
    let server = server().await;
    let mut client = server.connect().await;
    client.send(text).await;
    let answer = client.answer().await;
    let (error, data) = (&answer["error"], &answer["error"]["data"]);
    let word = |value: &Value| value.as_str().unwrap_or("").to_owned();
    (answer["id"].clone(), error["code"].as_i64().unwrap_or(0), word(&data["code"]), word(&data["field"]))
}

#[tokio::test]
async fn messages_that_are_no_requests_have_exact_codes() {
    let batch = |count: usize| format!("[{}]", vec![r#"{"jsonrpc":"2.0","method":"ping"}"#; count].join(","));
    let null = Value::Null;
    for (text, id, code, name, field) in [
        ("", null.clone(), -32700, "json_syntax", ""),
        ("{\"jsonrpc\":", null.clone(), -32700, "json_syntax", ""),
        (&"[".repeat(100_000), null.clone(), -32700, "json_too_deep", ""),
        (r#"{"id":1,"id":2}"#, null.clone(), -32700, "json_duplicate_key", ""),
        ("7", null.clone(), -32600, "invalid_request", ""),
        ("[]", null.clone(), -32600, "invalid_request", ""),
        (&batch(1001), null.clone(), -32600, "invalid_request", ""),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, null.clone(), -32600, "invalid_request", "id"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, null.clone(), -32600, "invalid_request", "id"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, null.clone(), -32600, "invalid_request", "id"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600, "invalid_request", "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), -32600, "invalid_request", "method"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, null.clone(), -32600, "invalid_request", "result"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","parms":{}}"#,
            null.clone(),
            -32600,
            "invalid_request",
            "parms",
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"session.folow"}"#,
            json!("a"),
            -32601,
            "method_not_found",
            "method",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            json!(1),
            -32602,
            "invalid_field",
            "params",
        ),
    ] {
        let shown: String = text.chars().take(60).collect();
        assert_eq!(check(text).await, (id, code, name.to_owned(), field.to_owned()), "{shown}");
    }
}

#[tokio::test]
async fn an_id_is_used_once_at_a_time() {
    let server = server().await;
    let mut client = server.connect().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    client.send(format!("[{ping},{ping}]")).await;
    let answer = client.answer().await;
    assert_eq!(answer[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&answer[1]["id"], &answer[1]["error"]["code"]), (&Value::Null, &json!(-32600)));
    client.send(ping).await;
    assert_eq!(client.answer().await["result"], json!({}), "the id is free again");
}

#[tokio::test]
async fn an_unknown_method_is_told_the_nearest() {
    let server = server().await;
    let error = server.connect().await.call("session.folow", json!({})).await.expect_err("no such method");
    assert_eq!(error["message"], "there is no method `session.folow`; did you mean `session.follow`?");
}

#[tokio::test]
async fn wrong_parameters_are_named_with_their_path() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    for (method, params, name, field) in [
        ("session.get", json!({}), "invalid_field", "sessionId"),
        ("session.get", json!({"sessionId": 7}), "invalid_field", "sessionId"),
        ("session.get", json!({"sesionId": "s1"}), "unknown_field", "sesionId"),
        ("session.list", json!({"limit": 0}), "invalid_field", "limit"),
        ("session.list", json!({"limit": -1}), "number_out_of_range", "limit"),
        ("session.list", json!({"since": "then"}), "invalid_field", "since"),
        ("session.create", json!({"sessionId": "a/b"}), "invalid_id", "sessionId"),
        ("session.create", json!({"tags": ["a", 1]}), "invalid_field", "tags[1]"),
        (
            "session.follow",
            json!({"sessionId": "s1", "types": ["model.delta", 7]}),
            "invalid_field",
            "types[1]",
        ),
        ("session.follow", json!({"sessionId": "s1", "types": ["a b"]}), "invalid_field", "types"),
        ("session.follow", json!({"sessionId": "s1", "follow": "yes"}), "invalid_field", "follow"),
        ("session.follow", json!({"sessionId": "s1", "after": "abc"}), "bad_cursor", "after"),
        ("session.follow", json!({"sessionId": "s1", "after": -1}), "bad_cursor", "after"),
        ("session.follow", json!({"sessionId": "s1", "after": 1.5}), "bad_cursor", "after"),
        ("session.follow", json!({"sessionId": "s1", "after": []}), "invalid_field", "after"),
        ("session.follow", json!({"sessionId": "s1", "dialect": "klingon"}), "unknown_dialect", "dialect"),
        ("session.follow", json!({"sessionId": "s1", "catchup": "fast"}), "invalid_field", "catchup"),
        ("session.follow", json!({"sessionId": "s1", "indexUnit": "words"}), "invalid_field", "indexUnit"),
        (
            "session.append",
            json!({"sessionId": "s1", "events": [{"type": "model.delta", "payload": {"delta": 7}}]}),
            "invalid_event",
            "payload.delta",
        ),
        (
            "session.append",
            json!({"sessionId": "s1", "events": [], "producer": {"id": "p"}}),
            "invalid_field",
            "producer.sequence",
        ),
        ("action.list", json!({"status": "done"}), "invalid_field", "status"),
    ] {
        let expected = (-32602, name.to_owned(), Some(field.to_owned()));
        assert_eq!(client.fails(method, params.clone()).await, expected, "{method} {params}");
    }
    let ahead = client.fails("session.follow", json!({"sessionId": "s1", "after": 9})).await;
    assert_eq!(ahead, (-32012, "cursor_ahead".to_owned(), Some("after".to_owned())));
    let absent = client.fails("session.get", json!({"sessionId": "../../etc"})).await;
    assert_eq!(absent, (-32001, "not_found".to_owned(), None));
}
