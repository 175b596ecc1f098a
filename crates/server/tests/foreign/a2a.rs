//! A2A 1.0 as JSON-RPC.

use serde_json::{Value, json};

use crate::harness::{JSON, Server};
use crate::socket::scripted;

async fn rpc(server: &Server, method: &str, params: Value) -> Vec<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let answer = server.call("POST /a2a", &[JSON, ("a2a-version", "1.0")], body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    let all: Vec<Value> = match answer.header("content-type") {
        Some("text/event-stream") => text
            .split_terminator("\n\n")
            .filter_map(|frame| frame.strip_prefix("data: "))
            .map(|json| serde_json::from_str(json).expect("JSON"))
            .collect(),
        _ => vec![answer.json()],
    };
    assert!(all.iter().all(|one| one["id"] == 7 && one["jsonrpc"] == "2.0"), "{text}");
    all
}

fn message(id: &str, agent: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hi"}], "metadata": {"agent": agent}}})
}

#[tokio::test]
async fn a_message_becomes_a_task_that_is_streamed_and_kept() {
    let server = scripted().await;
    let card = server.get("/.well-known/agent-card.json").await;
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    let all = rpc(&server, "SendStreamingMessage", message("m1", "text")).await;
    let task = all[0]["result"]["task"].clone();
    let last = all.last().expect("frames");
    assert_eq!(last["result"]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", "{all:#?}");
    let kept = &rpc(&server, "GetTask", json!({"id": task["id"]})).await[0]["result"];
    assert_eq!((&kept["id"], &kept["contextId"]), (&task["id"], &task["contextId"]));
    let text = kept["artifacts"][0]["parts"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("The weather in Paris"), "{kept}");
    // The same message again is the same task.
    let again = &rpc(&server, "SendMessage", message("m1", "text")).await[0]["result"]["task"];
    assert_eq!((&again["id"], &again["artifacts"]), (&kept["id"], &kept["artifacts"]));
    let ended = &rpc(&server, "SubscribeToTask", json!({"id": task["id"]})).await[0];
    assert_eq!(ended["error"]["code"], -32004, "{ended}");
    server.stop().await;
}

#[tokio::test]
async fn a_running_task_is_joined_and_cancelled() {
    let server = scripted().await;
    let mut ask = message("m2", "slow");
    ask["configuration"] = json!({"returnImmediately": true});
    let task = rpc(&server, "SendMessage", ask).await[0]["result"]["task"].clone();
    let id = json!({"id": task["id"]});
    let (joined, cancelled) = tokio::join!(rpc(&server, "SubscribeToTask", id.clone()), async {
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        rpc(&server, "CancelTask", id.clone()).await
    });
    assert_eq!(joined[0]["result"]["task"]["id"], task["id"], "{joined:#?}");
    let state = |value: &Value| value["status"]["state"].clone();
    assert_eq!(state(&joined.last().expect("frames")["result"]["statusUpdate"]), "TASK_STATE_CANCELED");
    assert_eq!(state(&cancelled[0]["result"]), "TASK_STATE_CANCELED", "{cancelled:#?}");
    server.stop().await;
}

#[tokio::test]
async fn errors_are_json_rpc_errors() {
    let server = scripted().await;
    let bad = [
        ("GetTask", json!({"id": "nobody"}), -32001),
        ("GetTask", json!({}), -32602),
        ("Dance", json!({}), -32601),
        ("SendMessage", json!({}), -32602),
        ("SendMessage", json!({"message": {"messageId": "x", "parts": []}}), -32602),
        ("SendMessage", json!({"message": {"messageId": "x", "parts": [{}]}}), -32602),
        ("SendStreamingMessage", message("m3", "nobody"), -32602),
    ];
    for (method, params, code) in bad {
        let answer = &rpc(&server, method, params.clone()).await[0];
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    for (body, code) in [("", -32700), ("{", -32700), ("[]", -32600), ("{}", -32600)] {
        let answer = server.call("POST /a2a", &[JSON], body).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &json!(code)), "{body}");
    }
    let stranger = server.call("POST /a2a", &[JSON, ("authorization", "")], "{}").await;
    assert_eq!(stranger.status, 401);
    server.stop().await;
}
