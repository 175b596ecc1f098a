//! Content blocks of hosted turns: large results, approvals together, texts in the reader's language.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use riverrun_provider::{Scenario, Scripted};
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_server::Agents;
use riverrun_tool::FunctionTool;
use serde_json::{Value, json};

use crate::agents::agents;
use crate::harness::Server;
use crate::socket::Socket;

const PATH: &str = "/v1/ws/blocks";
const LARGE: usize = 400_000;

/// `agents` with one that reads a large file, and texts of its own.
pub(crate) fn with_reader(runs: &Arc<AtomicUsize>) -> Agents {
    let mut agents = agents(runs);
    let registry = Arc::get_mut(&mut agents.registry).expect("nobody else has it yet");
    let script = "[[step]]\nwhen = { results = 1 }\nplay = [ { text = { pieces = [\"read\"] } } ]\n[[step]]\nplay = [ { reasoning = { pieces = [\"hm\"] } }, { call = { name = \"read_all\", arguments = ['{\"path\":\"a.txt\"}'] } } ]\n";
    let scenario = Scenario::parse("read.toml", script).expect("a scenario");
    let two = Scenario::parse("two.toml", crate::agents::TWO_CALLS).expect("a scenario");
    let scripted = Scripted::new().with("read", scenario).with("two", two);
    registry.providers.insert("scripted".to_owned(), Arc::new(scripted));
    type Arguments = std::collections::BTreeMap<String, Value>;
    let tool = FunctionTool::new("read_all", "Reads a file.", |_: Arguments| async { "x".repeat(LARGE) });
    let tools = vec![ToolUse { tool: Arc::new(tool), approval: Approval::Never }];
    let label = |text: &str| [("tool.read_all".to_owned(), text.to_owned())].into();
    let texts = [("default".to_owned(), label("Reading {path}")), ("vi".to_owned(), label("Đọc {path}"))];
    let spec = AgentSpec {
        name: "reader".to_owned(),
        models: vec!["scripted/read".to_owned()],
        tools,
        texts: texts.into(),
        ..AgentSpec::default()
    };
    registry.agents.insert("reader".to_owned(), Arc::new(spec));
    agents
}

fn block<'a>(all: &'a [Value], kind: &str) -> &'a Value {
    let found = all.iter().find(|message| message["content_block"]["type"] == kind);
    &found.unwrap_or_else(|| panic!("no {kind}: {all:#?}"))["content_block"]
}

#[tokio::test]
async fn a_large_result_tells_its_size_and_can_be_fetched() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.say(json!({"type": "chat", "message": "go", "agent": "reader"})).await;
    let all = socket.until("message_stop").await;
    let result = block(&all, "tool_result");
    assert_eq!((&result["size"], &result["truncated"]), (&json!(LARGE), &json!(true)), "{result:#}");
    assert_eq!(result["content"], "x".repeat(500));
    let whole =
        server.call(&format!("GET {}", result["content_ref"].as_str().expect("a reference")), &[], "").await;
    assert_eq!((whole.status, whole.text().len()), (200, LARGE));
    // The route of a result that is not in a blob of its own gives the same.
    let session =
        all.iter().find(|it| it["type"] == "session_created").expect("it is new")["session_id"].clone();
    let session = session.as_str().expect("an id");
    let call = result["tool_use_id"].as_str().expect("an id");
    let again = server.call(&format!("GET /v2/sessions/{session}/results/{call}"), &[], "").await;
    assert_eq!((again.status, again.text()), (200, whole.text()));
    let absent = server.call(&format!("GET /v2/sessions/{session}/results/nothing"), &[], "").await;
    assert_eq!(absent.status, 404);
    let history = server.get(&format!("/v2/sessions/{session}/history")).await;
    let told = history["messages"].as_array().expect("messages").iter().find(|it| it["role"] == "tool");
    assert_eq!(told.expect("a result")["size"], LARGE, "{history:#}");
    server.stop().await;
}

#[tokio::test]
async fn labels_and_texts_are_in_the_readers_language() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    let label = |all: &[Value]| block(all, "tool_use")["tool_content_message"].as_str().map(str::to_owned);
    let mut socket = Socket::open(&server, PATH, false).await;
    socket.until("connected").await;
    socket.say(json!({"type": "auth", "token": server.key, "language": "vi"})).await;
    socket.until("auth_ok").await;
    socket.say(json!({"type": "chat", "message": "go", "agent": "reader"})).await;
    let all = socket.until("message_stop").await;
    assert_eq!(label(&all).as_deref(), Some("Đọc a.txt"));
    let session =
        all.iter().find(|it| it["type"] == "session_created").expect("it is new")["session_id"].clone();
    let subscribe = json!({"type": "subscribe", "session_id": session, "last_event_id": "0"});
    let mut english = Socket::open(&server, PATH, true).await;
    english.until("auth_ok").await;
    english.say(subscribe.clone()).await;
    assert_eq!(label(&english.until("message_stop").await).as_deref(), Some("Reading a.txt"));
    let mut by_query = Socket::open(&server, &format!("{PATH}?language=vi"), true).await;
    by_query.until("auth_ok").await;
    by_query.say(subscribe).await;
    let again = by_query.until("message_stop").await;
    let of_turn = |all: &[Value]| -> Vec<Value> {
        all.iter().filter(|message| message["event_id"].is_string()).cloned().collect()
    };
    assert_eq!(of_turn(&again), of_turn(&all), "the same bytes for every reader of a language");
    socket.say(json!({"type": "auth", "token": server.key, "language": "not a tag"})).await;
    assert_eq!(socket.until("error").await.last().expect("an error")["code"], "INVALID_VALUE");

    // A stopped turn, told to a Vietnamese reader over SSE and by the history.
    socket.say(json!({"type": "chat", "message": "go", "agent": "slow"})).await;
    let begun = socket.until("content_block_delta").await;
    let session =
        begun.iter().find(|it| it["type"] == "session_created").expect("it is new")["session_id"].clone();
    socket.say(json!({"type": "stop", "session_id": session})).await;
    let rest = socket.until("message_stop").await;
    let stopped = rest.iter().find(|it| it["delta"]["extras"]["block_subtype"] == "user_stopped");
    let stopped = stopped.expect("a stop")["delta"]["text"].as_str().expect("a text");
    assert!(stopped.contains("đã dừng"), "{stopped}");
    let line =
        format!("GET /v1/sessions/{}/events?dialect=blocks&follow=false", session.as_str().expect("an id"));
    let vietnamese = server.call(&line, &[("accept-language", "vi-VN, en;q=0.5")], "").await.text();
    let english = server.call(&line, &[], "").await.text();
    assert!(vietnamese.contains("đã dừng") && !english.contains("đã dừng"), "{english}");
    server.stop().await;
}

#[tokio::test]
async fn a_chat_view_counts_from_zero_wherever_it_begins() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.say(json!({"type": "chat", "message": "go", "agent": "reader", "display_mode": "chat"})).await;
    let all = socket.until("message_stop").await;
    let starts = all.iter().filter(|message| message["type"] == "content_block_start");
    let indices: Vec<u64> = starts.filter_map(|message| message["index"].as_u64()).collect();
    assert_eq!(indices, [0, 1, 2], "{all:#?}");
    assert!(all.iter().all(|message| message.get("chat_index").is_none()));
    let session =
        all.iter().find(|it| it["type"] == "session_created").expect("it is new")["session_id"].clone();
    let turn: Vec<&Value> = all.iter().filter(|message| message["event_id"].is_string()).collect();
    for (at, seen) in turn[..turn.len() - 1].iter().enumerate() {
        let again = json!({"type": "subscribe", "session_id": session, "last_event_id": seen["event_id"]});
        socket.say(again).await;
        let rest = socket.until("message_stop").await;
        let rest: Vec<&Value> = rest[1..].iter().collect();
        assert_eq!(rest, turn[at + 1..], "after {at}");
    }
    server.stop().await;
}

/// Begins a turn with two calls to be approved; answers the session and the requests.
async fn asked(socket: &mut Socket, requests: usize) -> (Value, Vec<Value>) {
    socket.say(json!({"type": "chat", "message": "delete both", "agent": "twice"})).await;
    let session = socket.until("session_created").await.pop().expect("it is new")["session_id"].clone();
    let mut found = Vec::new();
    while found.len() < requests {
        let message = socket.hear().await;
        if message["content_block"]["type"] == "approval_request" {
            found.push(message["content_block"].clone());
        }
    }
    (session, found)
}

#[tokio::test]
async fn calls_that_are_asked_for_together_are_one_request() {
    let runs = Arc::new(AtomicUsize::new(0));
    let server = Server::with_agents(with_reader(&runs)).await;
    let mut socket = Socket::open(&server, PATH, true).await;
    let mut ran = 0;
    for by_id in [false, true] {
        let (session, requests) = asked(&mut socket, 1).await;
        let block = &requests[0];
        let actions = block["actions"].as_array().expect("actions");
        let paths: Vec<&Value> = actions.iter().map(|action| &action["args"]["path"]).collect();
        assert_eq!(paths, ["a", "b"], "in the order of the calls: {block:#}");
        assert_eq!(block["review_configs"].as_array().map(Vec::len), Some(2));
        let history = server.get(&format!("/v2/sessions/{}/history", session.as_str().expect("an id"))).await;
        assert_eq!(history["pending_approval"], *block);
        let answer = |decisions: Value| json!({"type": "approval", "session_id": session, "approval_key": block["approval_key"], "decisions": decisions});
        let call = |at: usize| actions[at]["tool_use_id"].clone();
        for wrong in [
            json!([{"type": "approve"}]),
            json!([{"type": "approve"}, {"type": "approve"}, {"type": "approve"}]),
            json!([{"type": "approve", "tool_use_id": call(0)}]),
            json!([{"type": "approve", "tool_use_id": call(0)}, {"type": "reject", "tool_use_id": call(0)}]),
            json!([{"type": "approve", "tool_use_id": call(0)}, {"type": "reject", "tool_use_id": "another"}]),
            json!([{"type": "approve", "tool_use_id": call(0)}, {"type": "reject"}]),
        ] {
            socket.say(answer(wrong.clone())).await;
            let refused = socket.until("error").await.pop().expect("an error");
            assert_eq!(refused["code"], "INVALID_DECISIONS", "{wrong}");
        }
        assert_eq!(runs.load(Ordering::SeqCst), ran, "what was refused decided nothing");
        let good = match by_id {
            true => {
                json!([{"type": "approve", "tool_use_id": call(1)}, {"type": "reject", "tool_use_id": call(0)}])
            }
            false => json!([{"type": "reject"}, {"type": "approve"}]),
        };
        socket.say(answer(good.clone())).await;
        let rest = socket.until("message_stop").await;
        let results: Vec<&Value> =
            rest.iter().filter(|message| message["content_block"]["type"] == "approval_result").collect();
        assert_eq!(results.len(), 1, "{rest:#?}");
        let told = rest.iter().find(|message| message["delta"]["type"] == "approval_result_delta");
        let decisions = &told.expect("decisions")["delta"]["decisions"];
        assert_eq!((&decisions[0]["type"], &decisions[1]["type"]), (&json!("reject"), &json!("approve")));
        ran += 1;
        assert_eq!(runs.load(Ordering::SeqCst), ran, "one of two ran");
        socket.say(answer(good)).await;
        assert_eq!(socket.hear().await["code"], "APPROVAL_ALREADY_RESOLVED");
    }
    // One by one, for a reader that asks for it.
    let mut single = Socket::open(&server, &format!("{PATH}?approvals=separate"), true).await;
    let (session, requests) = asked(&mut single, 2).await;
    for request in &requests {
        assert_eq!(request["actions"].as_array().map(Vec::len), Some(1));
        let key = &request["approval_key"];
        single.say(json!({"type": "approval", "session_id": session, "approval_key": key, "decisions": [{"type": "approve"}]})).await;
    }
    single.until("message_stop").await;
    assert_eq!(runs.load(Ordering::SeqCst), ran + 2);
    server.stop().await;
}

#[tokio::test]
async fn a_shared_session_is_read_without_a_key_and_goes_on_in_another() {
    let server = Server::with_agents(with_reader(&Arc::default())).await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.say(json!({"type": "chat", "message": "the first question", "agent": "reader"})).await;
    let all = socket.until("message_stop").await;
    let session =
        all.iter().find(|it| it["type"] == "session_created").expect("it is new")["session_id"].clone();
    let id = session.as_str().expect("an id");
    let made = server.call(&format!("POST /v2/sessions/{id}/share?title=Talk"), &[], "").await.json();
    assert_eq!((&made["title"], &made["is_existing"]), (&json!("Talk"), &json!(false)));
    let share = made["share_id"].as_str().expect("an id").to_owned();
    assert!(made["share_url"].as_str().expect("an address").ends_with(&format!("/share/{share}")));
    let read = |id: String| {
        let server = &server;
        async move { server.call(&format!("GET /share/{id}"), &[("authorization", "")], "").await }
    };
    let first = read(share.clone()).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert!(first.text().contains("the first question") && first.text().contains("\"read\""));
    assert!(!first.text().contains("thinking") && !first.text().contains(id), "{}", first.text());

    // What comes later is not shown until the session is shared again, by the same link.
    socket.say(json!({"type": "chat", "session_id": session, "message": "the second question", "agent": "reader"})).await;
    socket.until("message_stop").await;
    assert_eq!(read(share.clone()).await.text(), first.text());
    let again = server.call(&format!("POST /v2/sessions/{id}/share"), &[], "").await.json();
    assert_eq!((&again["share_id"], &again["is_existing"]), (&json!(share), &json!(true)));
    assert!(read(share.clone()).await.text().contains("the second question"));

    // Somebody goes on from it in a session of their own.
    let mut other = Socket::open(&server, PATH, true).await;
    other.say(json!({"type": "chat", "session_id": session, "share_id": share, "message": "x"})).await;
    assert_eq!(other.until("error").await.last().expect("an error")["code"], "INVALID_VALUE");
    other.say(json!({"type": "chat", "share_id": share, "message": "and then?", "agent": "writer"})).await;
    let begun = other.until("message_stop").await;
    let created = begun.iter().find(|it| it["type"] == "session_created").expect("it is new");
    assert_eq!(created["is_new_session_from_share"], true);
    assert_ne!(created["session_id"], session);
    let start = begun.iter().find(|it| it["type"] == "message_start").expect("it begins");
    assert_eq!(start["is_new_session_from_share"], true);
    let new = created["session_id"].as_str().expect("an id");
    let history = server.get(&format!("/v2/sessions/{new}/history")).await.to_string();
    assert!(history.contains("the second question") && history.contains("and then?"), "{history}");

    // Revoked, absent and malformed answer alike.
    let listed = server.get(&format!("/v1/sessions/{id}/shares")).await;
    assert_eq!(listed["shares"][0]["status"], "live", "{listed:#}");
    let gone = server.call(&format!("DELETE /v1/sessions/{id}/shares/{share}"), &[], "").await;
    assert_eq!(gone.status, 204);
    let (revoked, absent) = (read(share.clone()).await, read("shr_absent".to_owned()).await);
    assert_eq!((revoked.status, absent.status), (404, 404));
    let without_id = |text: String| {
        let mut body: Value = serde_json::from_str(&text).expect("JSON");
        (body["requestId"], body["error"]["requestId"]) = (Value::Null, Value::Null);
        body
    };
    assert_eq!(without_id(revoked.text()), without_id(absent.text()));
    other.say(json!({"type": "chat", "share_id": share, "message": "x"})).await;
    assert_eq!(other.until("error").await.last().expect("an error")["code"], "SHARE_NOT_FOUND");
    let next = server.call(&format!("POST /v2/sessions/{id}/share"), &[], "").await.json();
    assert_eq!(next["is_existing"], false, "a revoked link stays revoked");
    server.stop().await;
}

#[tokio::test]
async fn shares_are_bounded_and_their_tenants_own() {
    let server = Server::on_disk_with(with_reader(&Arc::default())).await;
    let session =
        server.call("POST /v1/sessions", &[("content-type", "application/json")], "{}").await.json();
    let path = format!("/v1/sessions/{}/shares", session["sessionId"].as_str().expect("an id"));
    let content = [("content-type", "application/json")];
    for (body, status) in [
        (r#"{"expiresIn":0}"#, 422),
        (r#"{"expiresIn":99999999}"#, 422),
        (r#"{"surprise":1}"#, 422),
        (r#"{"title":"Talk","expiresIn":60}"#, 201),
        ("", 201),
    ] {
        let answer = server.call(&format!("POST {path}"), &content, body).await;
        let is_refused = status >= 400 && (400..500).contains(&answer.status);
        assert!(answer.status == status || is_refused, "{body}: {} {}", answer.status, answer.text());
    }
    for _ in 2..100 {
        assert_eq!(server.call(&format!("POST {path}"), &content, "{}").await.status, 201);
    }
    let refused = server.call(&format!("POST {path}"), &content, "{}").await;
    assert_eq!((refused.status, &refused.json()["code"]), (429, &json!("quota_exceeded")));
    let nobody = server.call(&format!("GET {path}"), &[("authorization", "")], "").await;
    assert_eq!(nobody.status, 401);
    let (stranger, _) = server.key("other", &["read", "write"]).await;
    assert_eq!(stranger.call(&format!("GET {path}"), &[], "").await.status, 404);
    let share = server.get(&path).await["shares"][0]["shareId"].as_str().expect("an id").to_owned();
    let server = server.restart().await;
    let read = server.call(&format!("GET /share/{share}"), &[("authorization", "")], "").await;
    assert_eq!((read.status, &read.json()["title"]), (200, &json!("Talk")));
    server.stop().await;
}
