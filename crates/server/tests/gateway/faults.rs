//! WebSockets that go wrong because their client asked for it.

use serde_json::{Value, json};

use crate::socket::{Ending, Socket, scripted};

const WAYS: [(&str, Ending); 4] = [
    ("drop-after=3", Ending::Dropped),
    ("reset-after=3", Ending::Reset),
    ("end-after=3", Ending::Closed(1000)),
    ("stall-after=3", Ending::Silence),
];

/// Opens a socket of each fault, says `words` and sees three messages and the fault.
async fn check(path: &str, words: &[Value]) {
    let server = scripted().await;
    for (fault, ending) in WAYS {
        let mut socket = Socket::open_hurt(&server, path, true, Some(fault)).await;
        for word in words {
            socket.say(word.clone()).await;
        }
        assert_eq!(socket.end_after(3).await, ending, "{path} {fault}");
    }
    server.stop().await;
}

#[tokio::test]
async fn content_blocks_are_cut_after_so_many_messages() {
    check("/v1/ws/blocks", &[json!({"type": "chat", "message": "hello"})]).await;
}

#[tokio::test]
async fn responses_are_cut_after_so_many_messages() {
    let create = json!({"type": "response.create", "model": "scripted/text", "input": "hi"});
    check("/v1/responses", &[create]).await;
}

#[tokio::test]
async fn json_rpc_is_cut_after_so_many_messages() {
    let call = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "session.list", "params": {}});
    check("/v1/ws", &[call(1), call(2), call(3), call(4)]).await;
}

#[tokio::test]
async fn the_run_behind_a_cut_socket_goes_on() {
    let server = scripted().await;
    let mut socket = Socket::open_hurt(&server, "/v1/ws/blocks", false, Some("drop-after=5")).await;
    socket.hear().await;
    socket.say(json!({"type": "auth", "token": server.key})).await;
    socket.hear().await;
    socket.say(json!({"type": "chat", "message": "hello"})).await;
    let session = socket.hear().await["session_id"].clone();
    assert_eq!(socket.end_after(2).await, Ending::Dropped);
    let mut whole = Socket::open(&server, "/v1/ws/blocks", true).await;
    whole.until("auth_ok").await;
    whole.say(json!({"type": "subscribe", "session_id": session, "last_event_id": "0"})).await;
    let all = whole.until("message_stop").await;
    assert_eq!(all[all.len() - 2]["delta"]["stop_reason"], "end_turn");
    server.stop().await;
}
