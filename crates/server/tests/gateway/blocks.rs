//! Content blocks over a WebSocket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::agents::agents;
use crate::harness::Server;
use crate::socket::{Socket, scripted};

const PATH: &str = "/v1/ws/blocks";

fn text_of(messages: &[Value]) -> String {
    let deltas = messages.iter().filter(|message| message["delta"]["type"] == "text_delta");
    deltas.filter_map(|message| message["delta"]["text"].as_str()).collect()
}

fn code(message: &Value) -> &str {
    message["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_chat_begins_a_session_and_streams_its_turn() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, false).await;
    assert_eq!(socket.hear().await["type"], "connected");
    socket.say(json!({"type": "ping", "ts": 7})).await;
    assert_eq!(socket.hear().await, json!({"type": "pong", "ts": 7}));
    socket.say(json!({"type": "auth", "token": server.key})).await;
    assert_eq!(socket.hear().await["type"], "auth_ok");
    let chat = json!({"type": "chat", "message": "hello", "request_id": "r1", "client_message_id": "m1"});
    socket.say(chat.clone()).await;
    let all = socket.until("message_stop").await;
    let kinds: Vec<&str> = all.iter().take(3).filter_map(|message| message["type"].as_str()).collect();
    assert_eq!(kinds, ["session_created", "chat_accepted", "message_start"]);
    assert_eq!(all[1]["request_id"], "r1");
    let turn = all[1]["message_id"].clone();
    let of_turn = &all[2..];
    assert!(of_turn.iter().all(|message| message["message_id"] == turn && message["event_id"].is_string()));
    assert!(text_of(of_turn).starts_with("The weather in Paris"), "{all:#?}");
    assert!(of_turn.iter().any(|message| message["content_block"]["type"] == "thinking"));
    assert_eq!(of_turn[of_turn.len() - 2]["delta"]["stop_reason"], "end_turn");

    // The same message again is the same turn, and another connection gets it whole.
    let mut again = Socket::open(&server, PATH, true).await;
    again.until("auth_ok").await;
    again.say(chat).await;
    let whole = again.until("message_stop").await;
    assert_eq!(whole[0]["type"], "chat_accepted");
    assert_eq!(whole[0]["message_id"], turn);
    assert_eq!(whole[1..], *of_turn);

    // A chat view shows no thinking.
    let session = all[0]["session_id"].as_str().expect("a session");
    let mut chatty = Socket::open(&server, PATH, true).await;
    let ask = json!({"type": "chat", "session_id": session, "message": "more", "display_mode": "chat"});
    chatty.say(ask).await;
    let shown = chatty.until("message_stop").await;
    assert!(shown.iter().all(|message| message["content_block"]["type"] != "thinking"));
    assert!(shown.iter().any(|message| message["display_mode"] == "chat"), "{shown:#?}");
    server.stop().await;
}

#[tokio::test]
async fn each_turn_is_shown_as_it_was_asked_for_and_a_reader_may_ask_otherwise() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    let thinks = |all: &[Value]| all.iter().any(|message| message["content_block"]["type"] == "thinking");
    socket.say(json!({"type": "chat", "message": "hello", "display_mode": "chat"})).await;
    let first = socket.until("message_stop").await;
    assert!(!thinks(&first));
    let session = first[2]["session_id"].clone();
    let history = server.get(&format!("/v2/sessions/{}/history", session.as_str().expect("an id"))).await;
    assert_eq!((&history["display_mode"], &history["agent_status"]), (&json!("chat"), &json!("idle")));
    let last = history["messages"].as_array().expect("messages").last().expect("an answer");
    assert_eq!(last["content"][0]["is_final"], true, "{history:#}");
    let again = json!({"type": "chat", "message": "more", "session_id": session, "display_mode": "agent"});
    socket.say(again).await;
    assert!(thinks(&socket.until("message_stop").await), "the same socket, another mode");

    for (mode, thoughts) in
        [(json!(null), [false, true]), (json!("chat"), [false; 2]), (json!("agent"), [true; 2])]
    {
        let mut back = Socket::open(&server, PATH, true).await;
        back.until("auth_ok").await;
        let ask =
            json!({"type": "subscribe", "session_id": session, "display_mode": mode, "last_event_id": "0"});
        back.say(ask).await;
        let turns = [back.until("message_stop").await, back.until("message_stop").await];
        assert_eq!(turns.each_ref().map(|turn| thinks(turn)), thoughts, "{mode}");
    }
    server.stop().await;
}

#[tokio::test]
async fn who_comes_back_with_any_event_id_gets_exactly_the_rest() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.say(json!({"type": "chat", "message": "hello"})).await;
    let all = socket.until("message_stop").await;
    let session =
        all.iter().find(|m| m["type"] == "session_created").expect("it is new")["session_id"].clone();
    let turn: Vec<&Value> = all.iter().filter(|message| message["event_id"].is_string()).collect();
    // Words that come together on a busy machine are one delta.
    assert!(turn.len() > 5);
    for (at, seen) in turn[..turn.len() - 1].iter().enumerate() {
        socket
            .say(json!({"type": "subscribe", "session_id": session, "last_event_id": seen["event_id"]}))
            .await;
        let rest = socket.until("message_stop").await;
        assert_eq!((&rest[0]["type"], &rest[0]["recovery"]), (&json!("subscribed"), &json!("replay")));
        let rest: Vec<&Value> = rest[1..].iter().collect();
        assert_eq!(rest, turn[at + 1..], "after {at}");
    }
    let history = server.get(&format!("/v2/sessions/{}/history", session.as_str().expect("an id"))).await;
    assert_eq!(history["status"], "completed");
    let after =
        json!({"type": "subscribe", "session_id": session, "last_event_id": history["last_event_id"]});
    socket.say(after).await;
    assert_eq!(socket.hear().await["status"], "completed");
    socket.say(json!({"type": "chat", "session_id": session, "message": "on"})).await;
    let next = socket.until("message_stop").await;
    assert_eq!((&next[0]["type"], &next[1]["type"]), (&json!("chat_accepted"), &json!("message_start")));
    server.stop().await;
}

#[tokio::test]
async fn a_running_turn_is_joined_and_stopped() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.say(json!({"type": "chat", "message": "hello", "agent": "slow"})).await;
    let begun = socket.until("content_block_delta").await;
    let session = begun.iter().find(|m| m["type"] == "session_created").expect("new")["session_id"].clone();
    drop(socket);

    let mut other = Socket::open(&server, PATH, true).await;
    other.until("auth_ok").await;
    other.say(json!({"type": "subscribe", "session_id": session})).await;
    let opening = other.until("snapshot_end").await;
    assert_eq!(opening[0]["type"], "subscribed");
    assert_eq!((&opening[0]["status"], &opening[0]["recovery"]), (&json!("running"), &json!("snapshot")));
    assert_eq!(opening[1]["type"], "message_start");
    other.say(json!({"type": "stop", "session_id": session})).await;
    let rest = other.until("message_stop").await;
    assert!(rest.iter().any(|message| message["type"] == "stop_accepted"));
    assert!(rest.iter().any(|message| message["content_block"]["block_subtype"] == "user_stopped"));
    assert_eq!(rest[rest.len() - 2]["delta"]["stop_reason"], "user_stopped");
    other.say(json!({"type": "stop", "session_id": session})).await;
    assert_eq!(code(&other.hear().await), "NOTHING_TO_STOP");
    other.say(json!({"type": "unsubscribe", "session_id": session})).await;
    assert_eq!(other.hear().await["type"], "unsubscribed");
    server.stop().await;
}

#[tokio::test]
async fn bad_messages_are_answered_and_strangers_are_closed() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.until("auth_ok").await;
    let bad = [
        ("nonsense", "INVALID_JSON"),
        ("[]", ""),
        ("{\"type\":\"dance\"}", ""),
        ("{\"type\":\"chat\"}", ""),
        ("{\"type\":\"subscribe\",\"session_id\":\"nobody\"}", "SESSION_NOT_FOUND"),
        ("{\"type\":\"subscribe\",\"session_id\":\"s\",\"last_event_id\":\"x\"}", "INVALID_CURSOR"),
        ("{\"type\":\"stop\",\"session_id\":\"nobody\"}", "SESSION_NOT_FOUND"),
        ("{\"type\":\"unsubscribe\",\"session_id\":\"nobody\"}", "NOT_SUBSCRIBED"),
        ("{\"type\":\"chat\",\"message\":\"x\",\"agent\":\"nobody\"}", "UNKNOWN_AGENT"),
        ("{\"type\":\"chat\",\"message\":\"x\",\"share_id\":\"s\"}", "SHARE_NOT_FOUND"),
    ];
    for (text, wanted) in bad {
        socket.say_text(text).await;
        let answer = socket.hear().await;
        assert_eq!(answer["type"], "error", "{text}: {answer}");
        assert!(wanted.is_empty() || code(&answer) == wanted, "{text}: {answer}");
    }
    for _ in 0..20 {
        socket.say_text("nonsense").await;
        socket.hear().await;
    }
    assert_eq!(socket.hear().await, 4010);

    let mut stranger = Socket::open(&server, PATH, false).await;
    stranger.hear().await;
    stranger.say(json!({"type": "auth", "token": "rr_wrong"})).await;
    assert_eq!(stranger.hear().await["type"], "auth_error");
    assert_eq!(stranger.hear().await, 4001);
    let mut hasty = Socket::open(&server, PATH, false).await;
    hasty.hear().await;
    hasty.say(json!({"type": "chat", "message": "x"})).await;
    assert_eq!(hasty.hear().await["type"], "auth_error");
    assert_eq!(hasty.hear().await, 4001);
    server.stop().await;
}

#[tokio::test]
async fn a_question_is_answered_once_and_the_turn_goes_on() {
    let runs = Arc::new(AtomicUsize::new(0));
    let server = Server::with_agents(agents(&runs)).await;
    let mut socket = Socket::open(&server, PATH, true).await;
    for (decision, ran) in [("reject", 0), ("approve", 1)] {
        socket.say(json!({"type": "chat", "message": "delete x", "agent": "deleter"})).await;
        let mut asked = socket.until("session_created").await;
        let session = asked.pop().expect("it is new")["session_id"].clone();
        let question = loop {
            let message = socket.hear().await;
            if message["content_block"]["type"] == "approval_request" {
                break message;
            }
        };
        let block = &question["content_block"];
        assert_eq!(block["actions"], block["action_requests"], "{block}");
        let history = server.get(&format!("/v2/sessions/{}/history", session.as_str().expect("an id"))).await;
        assert_eq!(history["status"], "waiting_approval");
        assert_eq!(history["pending_approval"]["approval_key"], block["approval_key"]);
        let answer = |decisions: Value| json!({"type": "approval", "session_id": session, "approval_key": block["approval_key"], "decisions": decisions});
        let edited = json!({"name": "another_tool", "args": {}});
        for wrong in [
            json!([{"type": "approve", "tool_use_id": "another"}]),
            json!([{"type": "edit", "edited_action": edited}]),
            // One question has one decision.
            json!([{"type": "approve"}, {"type": "reject"}]),
        ] {
            let mut wrong = answer(wrong);
            wrong["request_id"] = json!("r9");
            socket.say(wrong).await;
            let refused = socket.until("error").await;
            let refused = refused.last().expect("an error");
            assert_eq!((code(refused), &refused["request_id"]), ("INVALID_DECISIONS", &json!("r9")));
        }
        let call = block["actions"][0]["tool_use_id"].clone();
        socket.say(answer(json!([{"type": decision, "tool_use_id": call}]))).await;
        let rest = socket.until("message_stop").await;
        let told = rest.iter().find(|message| message["delta"]["type"] == "approval_result_delta");
        assert_eq!(told.expect("a result")["delta"]["decisions"][0]["type"], decision, "{rest:#?}");
        assert_eq!(runs.load(Ordering::SeqCst), ran);
        socket.say(answer(json!([{"type": "approve"}]))).await;
        assert_eq!(code(&socket.hear().await), "APPROVAL_ALREADY_RESOLVED");
    }
    server.stop().await;
}
