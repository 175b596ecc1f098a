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

#[tokio::test]
async fn every_task_of_a_context_is_listed_page_by_page() {
    let server = scripted().await;
    let context = "ctx_long";
    let mut sent = Vec::new();
    for at in 0..30 {
        // One fails, the others do not.
        let mut ask = message(&format!("m{at}"), if at == 3 { "error" } else { "text" });
        ask["message"]["contextId"] = context.into();
        sent.push(rpc(&server, "SendMessage", ask).await[0]["result"]["task"].clone());
    }
    sent.reverse();
    let page = async |params: Value| {
        let mut params = params;
        params["contextId"] = context.into();
        rpc(&server, "ListTasks", params).await[0]["result"].clone()
    };
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = page(json!({"pageSize": 7, "pageToken": token})).await;
        assert_eq!(page["totalSize"], 30, "{page}");
        seen.extend(page["tasks"].as_array().expect("tasks").iter().cloned());
        token = page["nextPageToken"].as_str().expect("a token").to_owned();
        if token.is_empty() {
            break;
        }
    }
    let without =
        |task: &Value| json!({"id": task["id"], "contextId": task["contextId"], "status": task["status"]});
    assert_eq!(seen, sent.iter().map(without).collect::<Vec<_>>());
    let failed =
        page(json!({"status": "TASK_STATE_FAILED", "historyLength": 5, "includeArtifacts": true})).await;
    assert_eq!((&failed["totalSize"], &failed["tasks"][0]), (&json!(1), &sent[26]), "{failed}");
    assert_eq!(failed["tasks"][0]["history"][0]["parts"][0]["text"], "hi");
    let time = seen[10]["status"]["timestamp"].clone();
    let newer = page(json!({"statusTimestampAfter": time})).await;
    assert_eq!(newer["totalSize"], 10, "{newer}");
    let oldest = sent.last().expect("tasks");
    let kept = &rpc(&server, "GetTask", json!({"id": oldest["id"]})).await[0]["result"];
    assert_eq!(kept, oldest);
    let bare = &rpc(&server, "GetTask", json!({"id": oldest["id"], "historyLength": 0})).await[0]["result"];
    assert!(bare["history"].is_null(), "{bare}");
    for params in [
        json!({"pageSize": 0}),
        json!({"pageSize": 101}),
        json!({"pageToken": "x"}),
        json!({"status": "ASLEEP"}),
    ] {
        let mut params = params;
        params["contextId"] = context.into();
        assert_eq!(rpc(&server, "ListTasks", params).await[0]["error"]["code"], -32602);
    }
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_pushed_and_agents_are_told_to_those_with_a_key() {
    let server = scripted().await;
    let mut ask = message("m9", "text");
    ask["configuration"] = json!({"taskPushNotificationConfig": {"url": "https://example.com/hook"}});
    for (method, params) in [
        ("CreateTaskPushNotificationConfig", json!({"taskId": "t"})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": "t"})),
        ("SendMessage", ask),
    ] {
        let refused = &rpc(&server, method, params).await[0]["error"];
        assert_eq!(refused["code"], -32003, "{method}: {refused}");
        assert!(refused["message"].as_str().is_some_and(|text| text.contains("SubscribeToTask")));
    }
    let public = server.get("/.well-known/agent-card.json").await;
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    let card = &rpc(&server, "GetExtendedAgentCard", json!({})).await[0]["result"];
    let skills: Vec<&str> =
        card["skills"].as_array().expect("skills").iter().filter_map(|skill| skill["id"].as_str()).collect();
    assert_eq!(skills, ["approval", "error", "slow", "text", "tool"]);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "x"}}).to_string();
    let old = server.call("POST /a2a", &[JSON, ("a2a-version", "0.3")], body).await.json();
    assert_eq!(old["error"]["code"], -32009, "{old}");
    server.stop().await;
}

#[tokio::test]
async fn a_message_whose_parts_are_blank_is_refused() {
    let server = scripted().await;
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": ""}, {"text": " "}]});
    let refused = &rpc(&server, "SendMessage", json!({ "message": message })).await[0]["error"];
    assert_eq!(refused["code"], -32602, "{refused}");
    server.stop().await;
}
