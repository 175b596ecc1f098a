//! The methods answer what HTTP answers.

use serde_json::{Value, json};

use crate::support::{delta, server};

#[tokio::test]
async fn methods_and_routes_answer_alike() {
    let server = server().await;
    let mut client = server.connect().await;
    let made =
        client.ok("session.create", json!({"sessionId": "s1", "title": "Weather", "tags": ["a"]})).await;
    assert_eq!(made, server.json("GET /v1/sessions/s1", Value::Null).await);
    let landed = client.append_deltas("s1", ["a".to_owned(), "b".to_owned()]).await;
    assert_eq!((&landed["first"], &landed["last"]), (&json!(2), &json!(3)));
    for (method, params, path) in [
        ("session.get", json!({"sessionId": "s1"}), "/v1/sessions/s1"),
        ("session.list", json!({"limit": 5}), "/v1/sessions?limit=5"),
        ("session.state", json!({"sessionId": "s1"}), "/v1/sessions/s1/state"),
        ("session.state", json!({"sessionId": "s1", "at": 2}), "/v1/sessions/s1/state?at=2"),
        ("action.list", json!({}), "/v1/actions"),
        ("action.list", json!({"sessionId": "s1"}), "/v1/sessions/s1/actions"),
    ] {
        let over_http = server.json(&format!("GET {path}"), Value::Null).await;
        assert_eq!(client.ok(method, params).await, over_http, "{method}");
    }
    assert_eq!(client.ok("session.delete", json!({"sessionId": "s1"})).await, json!({}));
    assert_eq!(client.fails("session.get", json!({"sessionId": "s1"})).await.1, "session_deleted");
}

#[tokio::test]
async fn a_task_is_found_by_its_id() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let events = json!([
        {"type": "turn.submitted", "turnId": "t1", "taskId": "k1", "payload": {"input": "hello"}},
        {"type": "task.created", "turnId": "t1", "taskId": "k1", "payload": {}},
    ]);
    client.ok("session.append", json!({"sessionId": "s1", "events": events})).await;
    let task = client.ok("task.get", json!({"taskId": "k1"})).await;
    assert_eq!(task, server.json("GET /v1/tasks/k1", Value::Null).await);
    assert_eq!(task["task_id"], "k1");
    assert_eq!(client.fails("task.get", json!({"taskId": "k1", "sessionId": "other"})).await.1, "not_found");
}

#[tokio::test]
async fn a_producer_that_repeats_itself_changes_nothing() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let append = |sequence: u64| json!({"sessionId": "s1", "events": delta("x"), "producer": {"id": "p", "sequence": sequence}});
    let first = client.ok("session.append", append(0)).await;
    let again = client.ok("session.append", append(0)).await;
    assert_eq!((&again["last"], &again["duplicate"]), (&first["last"], &json!(true)));
    client.ok("session.append", append(1)).await;
    let older = client.ok("session.append", append(0)).await;
    assert_eq!((older.get("first"), older.get("last"), &older["duplicate"]), (None, None, &json!(true)));
    let gap = client.fails("session.append", append(5)).await;
    assert_eq!((gap.0, gap.1.as_str()), (-32014, "producer_gap"));
}

#[tokio::test]
async fn one_bad_event_stores_none_and_is_counted() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    let events = json!([delta("a"), {"type": "model.delta", "payload": {"delta": 7}}]);
    let error = client
        .call("session.append", json!({"sessionId": "s1", "events": events}))
        .await
        .expect_err("refused");
    assert_eq!((&error["data"]["index"], &error["data"]["field"]), (&json!(1), &json!("payload.delta")));
    assert_eq!(client.ok("session.get", json!({"sessionId": "s1"})).await["head"], 0);
}

#[tokio::test]
async fn a_batch_is_answered_in_order_and_notifications_are_not() {
    let server = server().await;
    let mut client = server.connect().await;
    let call = |id: Option<u64>, method: &str, params: Value| {
        let mut call = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            call["id"] = id.into();
        }
        call
    };
    let batch = json!([
        call(Some(1), "session.create", json!({"sessionId": "s1"})),
        call(None, "session.append", json!({"sessionId": "s1", "events": delta("a")})),
        call(None, "no.such.method", json!({})),
        call(Some(2), "session.get", json!({"sessionId": "s1"})),
        7,
    ]);
    client.send(batch.to_string()).await;
    let answers = client.answer().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(3), "{answers}");
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(1), &json!(2)));
    assert_eq!(answers[1]["result"]["head"], 1);
    assert_eq!(answers[2]["error"]["code"], -32600);
    client.send(json!([call(None, "ping", json!({}))]).to_string()).await;
    client.send(call(None, "ping", json!({})).to_string()).await;
    assert_eq!(client.ok("ping", json!({})).await, json!({}), "nothing else was answered");
}

#[tokio::test]
async fn requests_are_carried_out_in_the_order_they_came() {
    let server = server().await;
    let mut client = server.connect().await;
    let mut lines =
        vec![json!({"jsonrpc": "2.0", "id": 0, "method": "session.create", "params": {"sessionId": "s1"}})];
    lines.extend((1..=200).map(|id| {
        json!({"jsonrpc": "2.0", "id": id, "method": "session.append", "params": {"sessionId": "s1", "events": delta("x")}})
    }));
    for line in &lines {
        client.send(line.to_string()).await;
    }
    for id in 0..=200 {
        let answer = client.answer().await;
        assert_eq!(answer["id"], id, "{answer}");
        assert!(id == 0 || answer["result"]["first"] == id, "{answer}");
    }
}

#[tokio::test]
async fn an_acknowledgement_lasts_as_long_as_the_connection() {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session("s1").await;
    client.append_deltas("s1", (0..5).map(|n| n.to_string())).await;
    let ack = |sequence: u64| json!({"sessionId": "s1", "sequence": sequence});
    assert_eq!(client.ok("session.ack", ack(4)).await, json!({"acknowledged": 4}));
    assert_eq!(client.ok("session.ack", ack(2)).await, json!({"acknowledged": 4}), "nothing is taken back");
    assert_eq!(client.fails("session.ack", ack(6)).await.1, "cursor_ahead");
    assert_eq!(client.ok("session.get", json!({"sessionId": "s1"})).await["acknowledged"], 4);
    let other = server.connect().await.ok("session.get", json!({"sessionId": "s1"})).await;
    assert_eq!(other.get("acknowledged"), None);
}

#[tokio::test]
async fn the_methods_describe_themselves() {
    let server = server().await;
    let document = server.connect().await.ok("rpc.discover", json!({})).await;
    let methods = document["methods"].as_array().expect("a list");
    let names: Vec<_> = methods.iter().map(|method| method["name"].as_str().unwrap_or("")).collect();
    assert!(
        names.contains(&"session.follow") && names.contains(&"turn.submit") && names.len() == 124,
        "{names:?}"
    );
    let actions = document["x-agent-runtime"].as_array().expect("the standard's actions");
    assert_eq!(actions.len(), 48);
}
