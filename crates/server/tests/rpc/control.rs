//! Turns and tasks over JSON-RPC: the standard's names, ours, and AgentLin's with its error codes.

use serde_json::{Value, json};

use crate::support::{Client, server};

/// Reads the notifications of one subscription until it says that it is complete; answers its frames.
async fn frames(client: &mut Client, subscription: &Value) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let note = client.notification().await;
        let params = &note["params"];
        if params["subscription"] != *subscription {
            continue;
        }
        match note["method"].as_str() {
            Some("session.event") => frames.push(params["event"].clone()),
            _ if params["type"] == "stream.end" => return frames,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_turn_is_submitted_under_either_name_and_is_one_turn() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let params = json!({"sessionId": "s1", "input": "weather?", "turnId": "t1"});
    let first = client.ok("turn.submit", params.clone()).await;
    let again = client.ok("submit_turn", params).await;
    assert_eq!((&again["runId"], &again["duplicate"]), (&first["runId"], &json!(true)));
    let opened = client.ok("session.follow", json!({"sessionId": "s1", "turn": "t1", "after": 0})).await;
    let told = frames(&mut client, &opened["subscription"]).await;
    assert_eq!(told.last().map(|event| &event["type"]), Some(&json!("turn.completed")));
    let ended = client.ok("interrupt_turn", json!({"sessionId": "s1", "turnId": "t1"})).await;
    assert_eq!(ended["status"], "completed", "an ended turn is left as it is");
    let thread = client.ok("get_thread_read", json!({"sessionId": "s1"})).await;
    assert_eq!(thread["lastOutcome"], "completed", "{thread}");
    assert_eq!(client.ok("queue.list", json!({"sessionId": "s1"})).await, json!({"queue": []}));
    let inventory = client.ok("get_tool_inventory", json!({})).await;
    assert_eq!(inventory, server.json("GET /v1/agents", Value::Null).await);
    let page = client.ok("export_replay", json!({"sessionId": "s1", "limit": 2})).await;
    assert_eq!(page["events"].as_array().map(Vec::len), Some(2), "{page}");
}

#[tokio::test]
async fn links_are_made_listed_and_revoked_as_over_http() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    client.make_session("s2").await;
    let new = json!({"sessionId": "s1", "title": "Talk", "expiresIn": 60, "commandId": "c1"});
    let made = client.ok("share.create", new.clone()).await;
    assert_eq!(client.ok("share.create", new).await, made, "a command is done once");
    let id = made["shareId"].as_str().expect("an id");
    assert_eq!((&made["title"], &made["status"]), (&json!("Talk"), &json!("live")));
    assert_eq!(made["url"], format!("http://{}/share/{id}", server.address));
    let over_http = server.json("GET /v1/sessions/s1/shares", Value::Null).await;
    let links = client.ok("share.list", json!({"sessionId": "s1"})).await;
    assert_eq!(links["shares"].as_array().map(Vec::len), Some(1));
    assert_eq!(links["shares"][0]["shareId"], over_http["shares"][0]["shareId"]);
    let of = |session: &str| json!({"sessionId": session, "shareId": id});
    assert_eq!(client.ok("share.get", of("s1")).await, made);
    let other = (-32001, "not_found".to_owned(), None);
    assert_eq!(client.fails("share.revoke", of("s2")).await, other, "it is of another session");
    assert_eq!(server.http(&format!("GET /share/{id}"), "application/json", "").await.0, 200);
    let gone = client.ok("share.revoke", of("s1")).await;
    assert_eq!(gone["status"], "revoked");
    assert_eq!(client.ok("share.revoke", of("s1")).await, gone, "once more changes nothing");
    assert_eq!(server.http(&format!("GET /share/{id}"), "application/json", "").await.0, 404);
    let read_only = server.json("POST /v1/keys", json!({"scopes": ["read"]})).await;
    let key = read_only["key"].as_str().expect("a key");
    let mut reader = server.connect_with(key).await;
    for method in ["share.create", "share.list"] {
        assert_eq!(reader.fails(method, json!({"sessionId": "s1"})).await.0, -32011, "{method}");
    }
}

#[tokio::test]
async fn what_is_wrong_has_its_code() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    for (method, params, code, name, field) in [
        ("turn.submit", json!({"input": "x"}), -32602, "invalid_field", Some("sessionId")),
        ("turn.submit", json!({"sessionId": "s1"}), -32602, "invalid_field", Some("input")),
        (
            "turn.submit",
            json!({"sessionId": "s1", "input": "x", "modle": 1}),
            -32602,
            "unknown_field",
            Some("modle"),
        ),
        (
            "turn.submit",
            json!({"sessionId": "s1", "input": "x", "agent": "no"}),
            -32602,
            "unknown_agent",
            Some("agent"),
        ),
        ("turn.submit", json!({"sessionId": "none", "input": "x"}), -32001, "not_found", None),
        ("turn.cancel", json!({"sessionId": "s1", "turnId": "none"}), -32001, "not_found", None),
        ("turn.retry", json!({"sessionId": "s1", "turnId": "none"}), -32001, "not_found", None),
        ("rule.revoke", json!({"sessionId": "s1", "ruleId": "none"}), -32001, "not_found", None),
        ("rule.list", json!({"sessionId": "none"}), -32001, "not_found", None),
        ("share.create", json!({"sessionId": "none"}), -32001, "not_found", None),
        (
            "share.create",
            json!({"sessionId": "s1", "expiresIn": 0}),
            -32602,
            "invalid_field",
            Some("expiresIn"),
        ),
        ("share.create", json!({"sessionId": "s1", "titel": "x"}), -32602, "unknown_field", Some("titel")),
        ("share.get", json!({"sessionId": "s1", "shareId": "none"}), -32001, "not_found", None),
        ("share.revoke", json!({"sessionId": "s1"}), -32602, "invalid_field", Some("shareId")),
        ("rule.revoke", json!({"sessionId": "s1"}), -32602, "invalid_field", Some("ruleId")),
        (
            "action.decide",
            json!({"sessionId": "s1", "actionId": "a", "decision": "approve"}),
            -32602,
            "invalid_field",
            Some("digest"),
        ),
        (
            "respond_action",
            json!({"sessionId": "s1", "actionId": "a", "decision": "reject"}),
            -32001,
            "not_found",
            None,
        ),
        ("tasks/get", json!({"task_id": "none"}), -32001, "not_found", None),
        ("tasks/cancel", json!({"task_id": "none"}), -32001, "not_found", None),
        ("tasks/get", json!({}), -32602, "invalid_field", Some("task_id")),
        ("tasks/cancel", json!({}), -32602, "invalid_field", Some("task_id")),
        ("tasks/pause", json!({}), -32602, "invalid_field", Some("task_id")),
        ("rpc/call", json!({}), -32601, "method_not_found", Some("method")),
        ("tasks/pushNotification/set", json!({"task_id": "none"}), -32003, "push_unsupported", None),
        ("tasks/stop", json!({}), -32601, "method_not_found", Some("method")),
    ] {
        let failed = client.fails(method, params.clone()).await;
        assert_eq!(failed, (code, name.to_owned(), field.map(str::to_owned)), "{method} {params}");
    }
}

#[tokio::test]
async fn agentlins_methods_make_show_and_follow_a_task() {
    let server = server().await;
    let mut client = server.connect().await;
    let made = client.ok("tasks/createSubscribe", json!({"input": "weather?", "request_id": "r1"})).await;
    let (task, session) = (made["task_id"].clone(), made["session_id"].clone());
    assert_eq!((&made["dialect"], &made["output"]), (&json!("task"), &json!([])));
    assert_eq!(made["status"], "created");
    let mut ended = false;
    while !ended {
        let note = client.notification().await;
        ended = note["params"]["type"] == "stream.end";
    }
    let shown = client.ok("tasks/get", json!({"task_id": task})).await;
    assert_eq!(shown["status"], "completed", "{shown}");
    let listed = client.ok("tasks/list", json!({"session_id": session})).await;
    assert_eq!(listed["tasks"], json!([shown]));
    for (status, count) in [("completed", 1), ("working", 0)] {
        let some = client.ok("tasks/list", json!({"session_id": session, "status": status})).await;
        assert_eq!(some["tasks"].as_array().map(Vec::len), Some(count), "{status}");
    }
    let bogus = client.fails("tasks/list", json!({"session_id": session, "status": "running"})).await;
    assert_eq!(bogus.2.as_deref(), Some("status"));
    assert_eq!(client.fails("tasks/list", json!({})).await.2.as_deref(), Some("session_id"));
    assert_eq!(client.fails("tasks/cancel", json!({"task_id": task})).await.0, -32002);
    assert_eq!(client.fails("tasks/pause", json!({"task_id": task})).await.0, -32009);
    let again = client.ok("tasks/resubscribe", json!({"task_id": task})).await;
    assert_eq!(again["dialect"], "task");
}

#[tokio::test]
async fn agentlins_cancel_speaks_its_words_and_knows_what_has_ended() {
    let server = server().await;
    let mut client = server.connect().await;
    let made = client.ok("tasks/create", json!({"input": "go", "agent": "scripted/slow"})).await;
    let of = json!({"task_id": made["task_id"]});
    let ended = client.ok("tasks/cancel", of.clone()).await;
    assert_eq!(ended, json!({"task_id": made["task_id"], "status": "canceled"}));
    assert_eq!(client.ok("tasks/get", of.clone()).await["status"], "canceled");
    assert_eq!(client.fails("tasks/cancel", of).await.0, -32002);
}

#[tokio::test]
async fn the_same_request_without_a_session_is_the_same_task() {
    let server = server().await;
    let mut client = server.connect().await;
    let request = |id: &str| json!({"input": "weather?", "request_id": id});
    let first = client.ok("tasks/create", request("r1")).await;
    let again = client.ok("tasks/create", request("r1")).await;
    let names = |made: &Value| [made["session_id"].clone(), made["task_id"].clone()];
    assert_eq!(names(&again), names(&first));
    let other = client.ok("tasks/create", request("r2")).await;
    assert_ne!(other["session_id"], first["session_id"]);
    let sessions = server.json("GET /v1/sessions", Value::Null).await;
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(2), "{sessions}");
}
