//! Clients that keep their list of messages themselves: the model reads what they show, whatever the log has besides.

use std::sync::Arc;

use riverrun_provider::ProviderConfig;
use serde_json::{Value, json};

use crate::harness::{JSON, Server};
use crate::socket::scripted;
use crate::upstream::{TEXT, Upstream};

async fn gateway() -> (Server, Upstream) {
    let upstream = Upstream::start().await;
    let mut registry = riverrun_runner::Registry::default();
    let config = json!({"api": "chat", "base_url": format!("http://{}/v1", upstream.address)});
    let config: ProviderConfig = serde_json::from_value(config).expect("a configuration");
    registry.providers.insert("chat".to_owned(), config.build("chat").expect("a provider"));
    let agents = riverrun_server::Agents { registry: Arc::new(registry), ..Default::default() };
    (Server::with_agents(agents).await, upstream)
}

/// Posts, reads to the end, and gives the frames.
async fn post(server: &Server, path: &str, body: &Value) -> Vec<Value> {
    let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What the model read at its last call: role and text of each message.
fn read(upstream: &Upstream) -> Vec<(String, String)> {
    let calls = upstream.calls();
    let messages = calls.last().expect("the model was called")["messages"].clone();
    let text = |content: &Value| match content.as_array() {
        Some(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        None => content.as_str().unwrap_or_default().to_owned(),
    };
    let message = |it: &Value| (it["role"].as_str().unwrap_or_default().to_owned(), text(&it["content"]));
    messages.as_array().into_iter().flatten().map(message).collect()
}

fn told(messages: &[(&str, &str)]) -> Vec<(String, String)> {
    messages.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

fn part(id: &str, role: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]})
}

fn message(id: &str, role: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "content": text})
}

/// Sends a chat and gives the answer as the client keeps it.
async fn chat(server: &Server, id: &str, messages: &[Value], more: Value) -> Value {
    let mut body = json!({"id": id, "messages": messages, "model": "chat/plain"});
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let frames = post(server, "/api/chat", &body).await;
    part(frames[0]["messageId"].as_str().unwrap_or_default(), "assistant", TEXT)
}

async fn run(server: &Server, thread: &str, run: &str, messages: &[Value], more: Value) -> Vec<Value> {
    let props = json!({"model": "chat/plain"});
    let mut body = json!({"threadId": thread, "runId": run, "messages": messages, "forwardedProps": props});
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    post(server, "/ag-ui", &body).await
}

#[tokio::test]
async fn an_edited_message_takes_the_place_of_what_stood_behind_it() {
    let (server, upstream) = gateway().await;
    let (u1, u2) = (part("u1", "user", "first"), part("u2", "user", "second"));
    let a1 = chat(&server, "c", std::slice::from_ref(&u1), json!({})).await;
    let a2 = chat(&server, "c", &[u1.clone(), a1.clone(), u2.clone()], json!({})).await;
    assert_eq!(read(&upstream), told(&[("user", "first"), ("assistant", TEXT), ("user", "second")]));

    let edited = part("u1", "user", "first edited");
    let a3 = chat(&server, "c", std::slice::from_ref(&edited), json!({"messageId": "u1"})).await;
    assert_eq!(read(&upstream), told(&[("user", "first edited")]));
    let u4 = part("u4", "user", "on");
    chat(&server, "c", &[edited, a3, u4.clone()], json!({})).await;
    assert_eq!(read(&upstream), told(&[("user", "first edited"), ("assistant", TEXT), ("user", "on")]));

    // Back in the line that was left, which goes on where it ended.
    chat(&server, "c", &[u1, a1, u2, a2, u4], json!({})).await;
    let line =
        [("user", "first"), ("assistant", TEXT), ("user", "second"), ("assistant", TEXT), ("user", "on")];
    assert_eq!(read(&upstream), told(&line));
}

#[tokio::test]
async fn an_answer_is_made_anew_from_what_stood_before_it() {
    let (server, upstream) = gateway().await;
    let (u1, u2) = (part("u1", "user", "first"), part("u2", "user", "second"));
    let a1 = chat(&server, "c", std::slice::from_ref(&u1), json!({})).await;
    let a2 = chat(&server, "c", &[u1.clone(), a1.clone(), u2.clone()], json!({})).await;
    let again = |message: &Value| json!({"trigger": "regenerate-message", "messageId": message["id"]});

    // The last one is the same turn again.
    let same = chat(&server, "c", &[u1.clone(), a1.clone(), u2], again(&a2)).await;
    assert_eq!(same["id"], a2["id"]);
    assert_eq!(read(&upstream), told(&[("user", "first"), ("assistant", TEXT), ("user", "second")]));
    let other = chat(&server, "c", &[u1], again(&a1)).await;
    assert_ne!(other["id"], a1["id"]);
    assert_eq!(read(&upstream), told(&[("user", "first")]));
}

#[tokio::test]
async fn what_a_client_brings_is_read_once() {
    let (server, upstream) = gateway().await;
    let call = json!({"id": "a1", "role": "assistant", "content": "one", "toolCalls": [
        {"id": "k1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    let result = json!({"id": "t1", "role": "tool", "toolCallId": "k1", "content": "seen"});
    let mut list = vec![message("s", "system", "Be brief."), message("q1", "user", "first"), call, result];
    list.push(message("q2", "user", "second"));
    let more = json!({"state": {"unit": "C"}, "context": [{"description": "place", "value": "Paris"}]});
    let frames = run(&server, "t", "r1", &list, more.clone()).await;
    let first = [
        ("system", "Be brief.\n\nplace: Paris"),
        ("user", "first"),
        ("assistant", "one"),
        ("tool", "seen"),
        ("user", "second"),
    ];
    assert_eq!(read(&upstream), told(&first));
    let snapshot = frames.iter().find(|frame| frame["type"] == "STATE_SNAPSHOT").expect("the state is told");
    assert_eq!(snapshot["snapshot"], json!({"unit": "C"}));

    // The same run again is the same run.
    let again = run(&server, "t", "r1", &list, more.clone()).await;
    assert_eq!((again, upstream.calls().len()), (frames.clone(), 1));

    let said = frames.iter().find(|frame| frame["type"] == "TEXT_MESSAGE_START").expect("an answer");
    list.push(message(said["messageId"].as_str().unwrap_or_default(), "assistant", TEXT));
    list.push(message("q3", "user", "third"));
    run(&server, "t", "r2", &list, more).await;
    let mut second = first.to_vec();
    second.extend([("assistant", TEXT), ("user", "third")]);
    assert_eq!(read(&upstream), told(&second));

    let brought = [part("s", "system", "Be brief."), part("q", "user", "one"), part("a", "assistant", "1")];
    chat(&server, "c", &[&brought[..], &[part("u", "user", "two")]].concat(), json!({})).await;
    let expected = [("system", "Be brief."), ("user", "one"), ("assistant", "1"), ("user", "two")];
    assert_eq!(read(&upstream), told(&expected));
}

#[tokio::test]
async fn the_result_of_the_applications_tool_goes_on_with_the_run() {
    let server = scripted().await;
    let tools = json!([{"name": "get_weather", "description": "", "parameters": {"type": "object"}}]);
    let more = json!({"tools": tools, "forwardedProps": {"agent": "scripted/tool"}});
    let asked = message("u1", "user", "weather?");
    let frames = run(&server, "t", "r1", std::slice::from_ref(&asked), more.clone()).await;
    let call =
        frames.iter().find(|it| it["type"] == "TOOL_CALL_START").expect("a call")["toolCallId"].clone();
    let outcome = &frames.last().expect("an end")["outcome"];
    assert_eq!(*outcome, json!({"type": "success", "pendingToolCallIds": [call]}));

    let made = json!({"id": "a", "role": "assistant", "toolCalls": [
        {"id": call, "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]});
    let result = json!({"id": "t1", "role": "tool", "toolCallId": call, "content": "18 degrees"});
    let list = [asked, made, result];
    let frames = run(&server, "t", "r2", &list, more.clone()).await;
    let types: Vec<&str> = frames.iter().filter_map(|frame| frame["type"].as_str()).collect();
    assert!(types.contains(&"TEXT_MESSAGE_CONTENT") && !types.contains(&"TOOL_CALL_RESULT"), "{types:?}");
    assert_eq!(frames.last().expect("an end")["outcome"], json!({"type": "success"}));
    let state = server.get("/v1/sessions/t/state").await;
    assert_eq!(state["turns"].as_array().map(Vec::len), Some(1));

    // Sent again, it is told again and nothing is asked anew.
    let again = run(&server, "t", "r2", &list, more).await;
    assert_eq!(again.last().expect("an end")["outcome"], json!({"type": "success"}));
    assert_eq!(server.get("/v1/sessions/t/state").await["turns"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn who_asks_anew_while_a_result_is_owed_has_moved_on() {
    let server = scripted().await;
    let tools = json!([{"name": "get_weather", "description": "", "parameters": {"type": "object"}}]);
    let more = json!({"tools": tools, "forwardedProps": {"agent": "scripted/tool"}});
    let asked = message("u1", "user", "weather?");
    run(&server, "t", "r1", std::slice::from_ref(&asked), more).await;
    let more = json!({"forwardedProps": {"agent": "scripted/echo"}});
    let frames = run(&server, "t", "r2", &[asked, message("u2", "user", "never mind")], more).await;
    assert_eq!(frames.last().expect("an end")["outcome"], json!({"type": "success"}));
    assert_eq!(server.get("/v1/sessions/t/state").await["turns"][0]["status"], "cancelled");
}
