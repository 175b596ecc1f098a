//! Following over WebSocket is following over SSE in other envelopes.

use std::collections::BTreeMap;

use riverrun_server::edge::Limits;
use serde_json::{Value, json};

use crate::support::{Client, Server, server, server_with};

/// A turn with enough in it for every dialect to speak, in several chunks.
async fn tell_story(client: &mut Client, session: &str) {
    client.make_session(session).await;
    let scope = |kind: &str, payload: Value| json!({"type": kind, "turnId": "t1", "taskId": "k1", "payload": payload});
    let chunks = [
        vec![scope("turn.submitted", json!({"input": "hello"})), scope("turn.started", json!({}))],
        vec![scope(
            "item.started",
            json!({"outputIndex": 0, "item": {"type": "message", "id": "i1", "role": "assistant"}}),
        )],
        (0..7)
            .map(|n| {
                scope("model.delta", json!({"delta": format!("{n}ä\n"), "itemId": "i1", "outputIndex": 0}))
            })
            .collect(),
        vec![scope(
            "item.completed",
            json!({"outputIndex": 0, "item": {"type": "message", "id": "i1", "status": "completed"}}),
        )],
        vec![scope("turn.completed", json!({}))],
    ];
    for events in chunks {
        client.ok("session.append", json!({"sessionId": session, "events": events})).await;
    }
}

/// What a subscription that ends by itself says: frames as (cursor, JSON text), and the control words.
async fn collect(client: &mut Client, params: Value) -> (Value, Vec<(String, String)>, Vec<Value>) {
    let opened = client.ok("session.follow", params).await;
    let (mut frames, mut words) = (Vec::new(), Vec::new());
    loop {
        let text = client.notification_text().await;
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let params = &value["params"];
        assert_eq!(params["subscription"], opened["subscription"], "{text}");
        if value["method"] == "session.event" {
            let name = if params.get("event").is_some() { "\"event\":" } else { "\"frame\":" };
            let (_, json) = text.split_once(name).expect("a frame");
            let cursor = params["cursor"].as_str().unwrap_or_default().to_owned();
            frames.push((cursor, json[..json.len() - 2].to_owned()));
            continue;
        }
        assert_eq!(value["method"], "session.stream", "{text}");
        let mut word = params.clone();
        word.as_object_mut().expect("an object").remove("subscription");
        words.push(word);
        if matches!(params["type"].as_str(), Some("stream.end" | "stream.cut")) {
            return (opened, frames, words);
        }
    }
}

/// Both transports say the same, from the same place on.
async fn check(
    server: &Server,
    client: &mut Client,
    query: &str,
    mut params: Value,
) -> Vec<(String, String)> {
    params["sessionId"] = "s1".into();
    params["follow"] = false.into();
    let (expected, words) = server.sse(&format!("/v1/sessions/s1/events?follow=false&{query}")).await;
    let (mut opened, frames, said) = collect(client, params).await;
    assert_eq!(frames, expected, "{query}");
    opened.as_object_mut().expect("an object").remove("subscription");
    opened["type"] = "stream.opened".into();
    let all: Vec<Value> = [opened].into_iter().chain(said).collect();
    let words: Vec<Value> = words.iter().map(|word| serde_json::from_str(word).expect("JSON")).collect();
    assert_eq!(all, words, "{query}");
    frames
}

#[tokio::test]
async fn every_cut_resumes_as_over_sse() {
    let server = server().await;
    let mut client = server.connect().await;
    tell_story(&mut client, "s1").await;
    let all = check(&server, &mut client, "after=0", json!({"after": 0})).await;
    let sequences: Vec<u64> = all
        .iter()
        .filter_map(|(_, json)| serde_json::from_str::<Value>(json).ok()?["sequence"].as_u64())
        .collect();
    assert_eq!(sequences, (1..=12).collect::<Vec<_>>());
    for (seen, (cursor, _)) in all.iter().enumerate() {
        let rest = check(&server, &mut client, &format!("after={cursor}"), json!({"after": cursor})).await;
        assert_eq!(rest, all[seen + 1..]);
    }
}

#[tokio::test]
async fn every_way_to_follow_is_the_same_as_over_sse() {
    let server = server().await;
    let mut client = server.connect().await;
    tell_story(&mut client, "s1").await;
    for (query, params) in [
        ("dialect=task", json!({"dialect": "task"})),
        ("dialect=task&after=5", json!({"dialect": "task", "after": 5})),
        ("dialect=task&catchup=snapshot", json!({"dialect": "task", "catchup": "snapshot"})),
        ("catchup=snapshot", json!({"catchup": "snapshot"})),
        ("catchup=coalesce", json!({"catchup": "coalesce"})),
        ("types=model.*,turn.started", json!({"types": ["model.*", "turn.started"]})),
        ("turn=t1", json!({"turn": "t1"})),
        ("task=k1&index_unit=utf16", json!({"task": "k1", "indexUnit": "utf16"})),
    ] {
        assert!(!check(&server, &mut client, query, params).await.is_empty() || query == "catchup=snapshot");
    }
}

#[tokio::test]
async fn a_live_follower_gets_each_event_once_and_the_end_of_its_turn() {
    let server = server().await;
    let (mut reader, mut writer) = (server.connect().await, server.connect().await);
    writer.make_session("s1").await;
    let opened = reader.ok("session.follow", json!({"sessionId": "s1", "turn": "t1"})).await;
    assert_eq!((&opened["outcome"], &opened["head"]), (&json!("replayed"), &json!(0)));
    assert_eq!(reader.notification().await["params"]["type"], "stream.caught_up");
    tell_story(&mut writer, "s1").await;
    for sequence in 1..=12 {
        let event = reader.notification().await;
        assert_eq!(event["params"]["event"]["sequence"], sequence, "{event}");
    }
    assert_eq!(reader.notification().await["params"]["type"], "stream.end");
    let gone = reader.fails("session.unfollow", json!({"subscription": opened["subscription"]})).await;
    assert_eq!((gone.0, gone.1.as_str()), (-32001, "not_found"));
}

#[tokio::test]
async fn many_subscriptions_share_a_connection() {
    const SESSIONS: usize = 60;
    const ROUNDS: usize = 5;
    let server = server().await;
    let (mut reader, mut writer) = (server.connect().await, server.connect().await);
    let mut sessions = BTreeMap::new();
    for number in 0..SESSIONS {
        let session = format!("s{number}");
        writer.make_session(&session).await;
        let opened = reader.ok("session.follow", json!({"sessionId": session})).await;
        sessions.insert(opened["subscription"].as_str().expect("a name").to_owned(), (session, 0));
    }
    for round in 0..ROUNDS {
        for number in 0..SESSIONS {
            writer.append_deltas(&format!("s{number}"), [round.to_string()]).await;
        }
    }
    let mut events = 0;
    while events < SESSIONS * ROUNDS {
        let note = reader.notification().await;
        if note["method"] != "session.event" {
            continue;
        }
        let name = note["params"]["subscription"].as_str().expect("a name");
        let (session, seen) = sessions.get_mut(name).expect("a known subscription");
        *seen += 1;
        assert_eq!(note["params"]["event"]["sessionId"], *session);
        assert_eq!(note["params"]["event"]["sequence"], *seen);
        events += 1;
    }
}

#[tokio::test]
async fn after_unfollow_nothing_comes_and_its_place_is_free() {
    let server = server_with(Limits { streams_per_tenant: Some(2), ..Limits::default() }).await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let follow = json!({"sessionId": "s1"});
    let first = client.ok("session.follow", follow.clone()).await;
    let second = client.ok("session.follow", follow.clone()).await;
    let full = client.fails("session.follow", follow.clone()).await;
    assert_eq!((full.0, full.1.as_str()), (-32029, "too_many_streams"));
    assert_eq!(
        client.ok("session.unfollow", json!({"subscription": first["subscription"]})).await,
        json!({})
    );
    let third = client.ok("session.follow", follow).await;
    assert_ne!(third["subscription"], first["subscription"]);
    client.append_deltas("s1", ["x".to_owned()]).await;
    let mut told = Vec::new();
    while told.len() < 2 {
        let note = client.notification().await;
        if note["method"] == "session.event" {
            told.push(note["params"]["subscription"].clone());
        }
    }
    told.sort_by_key(Value::to_string);
    assert_eq!(told, [second["subscription"].clone(), third["subscription"].clone()]);
}

#[tokio::test]
async fn follow_and_unfollow_in_one_batch_leave_nothing() {
    let server = server_with(Limits { streams_per_tenant: Some(1), ..Limits::default() }).await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "session.follow", "params": {"sessionId": "s1"}},
        {"jsonrpc": "2.0", "id": 2, "method": "session.unfollow", "params": {"subscription": "sub_1"}},
        {"jsonrpc": "2.0", "id": 3, "method": "session.follow", "params": {"sessionId": "s1"}},
    ]);
    client.send(batch.to_string()).await;
    let answers = client.answer().await;
    assert_eq!(answers[1]["result"], json!({}), "{answers}");
    assert_eq!(answers[2]["result"]["subscription"], "sub_2", "{answers}");
}

#[tokio::test]
async fn a_deleted_session_ends_its_subscription_with_a_word() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    client.ok("session.follow", json!({"sessionId": "s1"})).await;
    client.ok("session.delete", json!({"sessionId": "s1"})).await;
    loop {
        let note = client.notification().await;
        if note["params"]["type"] == "stream.cut" {
            assert_eq!(note["params"]["reason"], "the session was deleted");
            break;
        }
    }
    assert_eq!(client.ok("ping", json!({})).await, json!({}), "the connection goes on");
}

#[tokio::test]
async fn a_dialect_that_shows_one_turn_replays_the_newest_if_none_is_named() {
    let server = server().await;
    let mut client = server.connect().await;
    tell_story(&mut client, "s1").await;
    for dialect in [
        "responses",
        "chat",
        "anthropic",
        "gemini",
        "ag-ui",
        "ai-sdk",
        "agents-sdk",
        "simple-run",
        "langgraph",
        "a2a",
    ] {
        let asked = |more: Value| {
            let mut params = json!({"sessionId": "s1", "dialect": dialect, "follow": false});
            params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
            params
        };
        let (opened, frames, _) = collect(&mut client, asked(json!({}))).await;
        let said = (&opened["scope"], &opened["turn"], &opened["resume"]);
        assert_eq!(said, (&json!("turn"), &json!("t1"), &json!("cursor")), "{dialect}: {opened}");
        let (_, named, _) = collect(&mut client, asked(json!({"turn": "t1"}))).await;
        assert!(!frames.is_empty() && frames == named, "{dialect}: {frames:?}");
        for (at, (cursor, _)) in frames.iter().enumerate().take(frames.len() - 1) {
            let (_, rest, _) = collect(&mut client, asked(json!({"after": cursor}))).await;
            assert_eq!(rest, frames[at + 1..], "{dialect} behind {cursor}");
        }
    }
}
