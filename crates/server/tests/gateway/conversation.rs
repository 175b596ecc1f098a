//! Conversations of OpenAI's Responses: turns that follow each other, and what is left of the old ones.

use serde_json::{Value, json};

use crate::gateway::gateway;
use crate::harness::{JSON, Server};
use crate::upstream::TEXT;
use crate::wire::Answer;

/// More turns than the state of a session holds.
const MANY: usize = 11;

async fn respond(server: &Server, input: &str, previous: Option<&str>) -> String {
    let body = json!({"model": "responses/plain", "input": input, "previous_response_id": previous});
    let answer = server.call("POST /v1/responses", &[JSON], body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id"].as_str().expect("an id").to_owned()
}

async fn chain(server: &Server, count: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for at in 0..count {
        let id = respond(server, &format!("line {at}"), ids.last().map(String::as_str)).await;
        ids.push(id);
    }
    ids
}

#[tokio::test]
async fn an_old_response_is_found_whole_behind_many_others() {
    let (server, _) = gateway().await;
    let ids = chain(&server, MANY).await;
    for (at, id) in ids.iter().enumerate() {
        let found = server.call(&format!("GET /v1/responses/{id}"), &[], "").await;
        assert_eq!(found.status, 200, "{at}: {}", found.text());
        let found = found.json();
        let text = &found["output"][0]["content"][0]["text"];
        assert_eq!((&found["id"], &found["status"], text), (&json!(id), &json!("completed"), &json!(TEXT)));
        let cancelled = server.call(&format!("POST /v1/responses/{id}/cancel"), &[JSON], "").await;
        assert_eq!((cancelled.status, cancelled.json()), (200, found), "{at}");
        let items = server.get(&format!("/v1/responses/{id}/input_items")).await;
        assert_eq!(items["data"][0]["content"][0]["text"], format!("line {at}"), "{items}");
    }
    server.stop().await;
}

async fn post(server: &Server, headers: &[(&str, &str)], body: Value) -> Answer {
    server.call("POST /v1/responses", &[&[JSON], headers].concat(), body.to_string()).await
}

/// The texts of a request that came to the service, in order.
fn texts(call: &Value) -> Vec<String> {
    let of = |item: &Value| match &item["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    match &call["input"] {
        Value::String(text) => vec![text.clone()],
        items => items.as_array().expect("a list of items").iter().map(of).collect(),
    }
}

async fn sessions(server: &Server) -> usize {
    server.get("/v1/sessions").await["sessions"].as_array().expect("sessions").len()
}

#[tokio::test]
async fn a_response_goes_on_from_the_response_that_it_names() {
    let (server, upstream) = gateway().await;
    let one = respond(&server, "one", None).await;
    let two = respond(&server, "two", Some(&one)).await;
    let three = respond(&server, "three", Some(&one)).await;
    let four = respond(&server, "four", Some(&three)).await;
    let five = respond(&server, "five", Some(&two)).await;
    let heard: Vec<_> = upstream.calls().iter().map(texts).collect();
    let line = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(heard[2], line(&["one", TEXT, "three"]));
    assert_eq!(heard[3], line(&["one", TEXT, "three", TEXT, "four"]));
    assert_eq!(heard[4], line(&["one", TEXT, "two", TEXT, "five"]));
    assert_eq!(sessions(&server).await, 2, "one branch");
    for id in [&one, &two, &three, &four, &five] {
        let found = server.get(&format!("/v1/responses/{id}")).await;
        assert_eq!((&found["id"], &found["status"]), (&json!(id), &json!("completed")));
    }
    // Copies do not answer for the original, however many there are.
    for _ in 0..11 {
        respond(&server, "again", Some(&one)).await;
    }
    let last = upstream.calls().last().map(texts).expect("a call");
    assert_eq!(last, line(&["one", TEXT, "again"]));
    server.stop().await;
}

#[tokio::test]
async fn branches_that_come_together_run_together() {
    let (server, upstream) = gateway().await;
    let one = respond(&server, "one", None).await;
    let body = |input: &str| json!({"model": "responses/slow", "input": input, "previous_response_id": one});
    let (left, right) = tokio::join!(post(&server, &[], body("left")), post(&server, &[], body("right")));
    assert_eq!((left.status, right.status), (200, 200), "{} {}", left.text(), right.text());
    let mut heard: Vec<_> = upstream.calls()[1..].iter().map(texts).collect();
    heard.sort();
    assert_eq!(heard, [["one", TEXT, "left"], ["one", TEXT, "right"]]);
    server.stop().await;
}

#[tokio::test]
async fn a_retry_finds_its_branch() {
    let (server, upstream) = gateway().await;
    let one = respond(&server, "one", None).await;
    let body = |input: &str| json!({"model": "responses/plain", "input": input, "previous_response_id": one});
    // The first goes on in the session, the second branches; both are asked for twice.
    for key in ["a", "b"] {
        let headers = [("idempotency-key", key)];
        let first = post(&server, &headers, body(key)).await;
        let again = post(&server, &headers, body(key)).await;
        assert_eq!((first.status, first.json()), (200, again.json()), "{key}: {}", again.text());
    }
    assert_eq!((sessions(&server).await, upstream.calls().len()), (2, 3));
    let other = post(&server, &[("idempotency-key", "b")], body("something else")).await;
    assert_eq!((other.status, other.header("x-should-retry")), (409, Some("false")), "{}", other.text());
    let error = other.json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("idempotency_mismatch"), &json!("Idempotency-Key"))
    );
    assert!(!other.text().contains("turn"), "{}", other.text());
    server.stop().await;
}

#[tokio::test]
async fn a_branch_has_nothing_of_what_waits_behind_its_root() {
    let (server, upstream) = gateway().await;
    let slow = json!({"model": "responses/slow", "input": "one", "background": true});
    let one = post(&server, &[], slow).await.json()["id"].as_str().expect("an id").to_owned();
    let queued =
        json!({"model": "responses/plain", "input": "two", "background": true, "previous_response_id": one});
    let two = post(&server, &[], queued.clone()).await;
    assert_eq!(two.status, 200, "{}", two.text());
    let early = post(&server, &[], queued).await;
    assert_eq!(early.status, 400, "{}", early.text());
    assert_eq!(early.json()["error"]["code"], "previous_response_in_progress");
    server.call(&format!("GET /v1/responses/{one}?stream=true"), &[], "").await;
    respond(&server, "three", Some(&one)).await;
    let two = two.json()["id"].as_str().expect("an id").to_owned();
    server.call(&format!("GET /v1/responses/{two}?stream=true"), &[], "").await;
    let mut heard: Vec<_> = upstream.calls().iter().map(texts).collect();
    heard.sort();
    assert_eq!(heard, [vec!["one"], vec!["one", TEXT, "three"], vec!["one", TEXT, "two"]]);
    server.stop().await;
}

#[tokio::test]
async fn a_place_that_no_event_has_is_refused() {
    let (server, _) = gateway().await;
    let done = respond(&server, "one", None).await;
    let whole = server.call(&format!("GET /v1/responses/{done}?stream=true"), &[], "").await.text();
    let last = whole.matches("event: ").count() - 1;
    let ask = async |id: &str, after: usize| {
        server.call(&format!("GET /v1/responses/{id}?stream=true&starting_after={after}"), &[], "").await
    };
    let rest = ask(&done, last - 1).await;
    assert!(rest.status == 200 && rest.text().contains("event: response.completed"), "{}", rest.text());
    let slow = json!({"model": "responses/slow", "input": "hi", "background": true});
    let open = post(&server, &[], slow).await.json()["id"].as_str().expect("an id").to_owned();
    for (id, after) in [(&done, last + 1), (&done, 100_000), (&open, 100_000)] {
        let refused = ask(id, after).await;
        assert_eq!(refused.status, 400, "{after}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], "starting_after");
    }
    server.stop().await;
}

#[tokio::test]
async fn input_items_are_what_was_sent_in_pages() {
    let (server, _) = gateway().await;
    let input = json!([
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
    ]);
    let made = post(&server, &[], json!({"model": "responses/plain", "input": input})).await.json();
    let path = format!("/v1/responses/{}/input_items", made["id"].as_str().expect("an id"));
    let all = server.get(&format!("{path}?order=asc")).await;
    let items = all["data"].as_array().expect("items");
    let kinds: Vec<_> = items.iter().map(|item| item["type"].as_str().expect("a type")).collect();
    assert_eq!(kinds, ["message", "message", "function_call", "function_call_output"]);
    assert_eq!(items[0]["content"], json!([{"type": "input_text", "text": "weather?"}]));
    assert_eq!(items[1]["role"], "assistant");
    assert_eq!(items[3]["output"], "sunny");
    assert_eq!(all["has_more"], false);
    let newest = server.get(&format!("{path}?limit=3")).await;
    let mut back = items.clone();
    back.reverse();
    assert_eq!((newest["data"].clone(), &newest["has_more"]), (json!(back[..3]), &json!(true)));
    let after = newest["last_id"].as_str().expect("an id");
    let rest = server.get(&format!("{path}?limit=3&after={after}")).await;
    assert_eq!((rest["data"].clone(), &rest["has_more"]), (json!(back[3..]), &json!(false)));
    for bad in ["order=up", "limit=0", "after=nobody"] {
        assert_eq!(server.call(&format!("GET {path}?{bad}"), &[], "").await.status, 400, "{bad}");
    }
    server.stop().await;
}

/// A request to what is below `/v1/conversations`; the answer must be 200.
async fn ask(server: &Server, line: &str, body: Value) -> Value {
    let (method, rest) = line.split_once(' ').unwrap_or((line, ""));
    let text = if method == "POST" { body.to_string() } else { String::new() };
    let answer = server.call(&format!("{method} /v1/conversations{rest}"), &[JSON], text).await;
    assert_eq!(answer.status, 200, "{line}: {}", answer.text());
    answer.json()
}

/// What the items of a page say, in order.
fn said(page: &Value) -> Vec<String> {
    let list = page["data"].as_array().expect("a list").iter();
    list.map(|item| item["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_conversation_is_a_session_that_responses_name() {
    let (server, upstream) = gateway().await;
    let user = |text: &str| json!({"role": "user", "content": text});
    let first = json!({"items": [user("call me Ada")], "metadata": {"topic": "names"}});
    let made = ask(&server, "POST", first).await;
    let id = made["id"].as_str().expect("an id").to_owned();
    assert_eq!((&made["object"], &made["metadata"]["topic"]), (&json!("conversation"), &json!("names")));
    let respond = async |input: &str, named: Value| {
        let answer =
            post(&server, &[], json!({"model": "responses/plain", "input": input, "conversation": named}))
                .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let response = respond("who am I?", json!(id)).await;
    assert_eq!(response["conversation"], json!({"id": id}));
    assert_eq!(texts(&upstream.calls()[0]), ["call me Ada", "who am I?"]);
    assert!(upstream.calls()[0]["conversation"].is_null(), "the service knows nothing of it");
    // The runner knows the session by now; what is added to it is read all the same.
    let added = ask(&server, &format!("POST /{id}/items"), json!({"items": [user("now call me Bob")]})).await;
    assert_eq!(said(&added), ["now call me Bob"]);
    respond("and now?", json!({"id": id})).await;
    let all = ["call me Ada", "who am I?", TEXT, "now call me Bob", "and now?"];
    assert_eq!(texts(&upstream.calls()[1]), all);
    let whole = ask(&server, &format!("GET /{id}/items?order=asc"), Value::Null).await;
    assert_eq!(said(&whole), [&all[..], &[TEXT]].concat());
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = ask(&server, &format!("GET /{id}/items?limit=2{after}"), Value::Null).await;
        seen.extend(said(&page));
        if page["has_more"] == false {
            break;
        }
        after = format!("&after={}", page["last_id"].as_str().expect("the last"));
    }
    seen.reverse();
    assert_eq!(seen, said(&whole), "pages neither skip nor repeat");
    let one = whole["data"][2].clone();
    let path = format!("GET /{id}/items/{}", one["id"].as_str().expect("an id"));
    assert_eq!(ask(&server, &path, Value::Null).await, one);
    let renamed = ask(&server, &format!("POST /{id}"), json!({"metadata": {"k": "v"}})).await;
    assert_eq!(renamed["metadata"], json!({"k": "v"}));
    assert_eq!(ask(&server, &format!("GET /{id}"), Value::Null).await, renamed);
    let gone = ask(&server, &format!("DELETE /{id}"), Value::Null).await;
    assert_eq!((&gone["object"], &gone["deleted"]), (&json!("conversation.deleted"), &json!(true)));
    let absent = server.call(&format!("GET /v1/conversations/{id}"), &[], "").await;
    assert_eq!((absent.status, &absent.json()["error"]["code"]), (404, &json!("session_deleted")));
    server.stop().await;
}

#[tokio::test]
async fn what_a_conversation_cannot_have_is_refused() {
    let (server, _) = gateway().await;
    let made = ask(&server, "POST", json!({})).await;
    let id = made["id"].as_str().expect("an id");
    let items = format!("POST /v1/conversations/{id}/items");
    let many: Vec<Value> = (0..21).map(|_| json!({"role": "user", "content": "x"})).collect();
    let respond = |more: Value| {
        let mut body = json!({"model": "responses/plain", "input": "hi"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let create = "POST /v1/responses".to_owned();
    let bad = [
        (items.clone(), json!({"items": []}), 400, "items"),
        (items.clone(), json!({"items": many}), 400, "items"),
        (items.clone(), json!({"items": [{"role": "system", "content": "x"}]}), 400, "items[0]"),
        (items.clone(), json!({"items": [{"type": "item_reference", "id": "x"}]}), 400, "items[0]"),
        (items, json!({"items": 7}), 400, "items"),
        ("POST /v1/conversations".to_owned(), json!({"metadata": 7}), 400, "metadata"),
        (create.clone(), respond(json!({"conversation": "conv_nobody"})), 404, "conversation"),
        (create.clone(), respond(json!({"conversation": "nobody"})), 404, "conversation"),
        (create.clone(), respond(json!({"conversation": 7})), 400, "conversation"),
        (
            create,
            respond(json!({"conversation": id, "previous_response_id": "resp_x"})),
            400,
            "previous_response_id",
        ),
    ];
    for (line, body, status, param) in bad {
        let answer = server.call(&line, &[JSON], body.to_string()).await;
        let error = &answer.json()["error"];
        assert_eq!((answer.status, &error["param"]), (status, &json!(param)), "{line} {body}: {error}");
    }
    let deleted = server.call(&format!("DELETE /v1/conversations/{id}/items/x"), &[], "").await;
    assert_eq!((deleted.status, deleted.header("x-should-retry")), (501, Some("false")));
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_provided_is_said_by_its_name() {
    let (server, _) = gateway().await;
    for path in ["/v1/responses/input_tokens", "/v1/responses/compact"] {
        let answer = server.call(&format!("POST {path}"), &[JSON], "{}").await;
        assert_eq!(answer.status, 501, "{}", answer.text());
        assert!(answer.json()["error"]["message"].as_str().is_some_and(|text| text.contains(path)));
        assert_eq!(answer.header("x-should-retry"), Some("false"));
    }
    let none =
        post(&server, &[], json!({"model": "responses/plain", "input": "hi", "conversation": null})).await;
    assert_eq!(none.status, 200, "{}", none.text());
    assert_eq!(server.get("/v1/models/responses/plain").await["id"], "responses/plain");
    assert_eq!(server.call("GET /v1/models/nobody/plain", &[], "").await.status, 404);
    let chained = chain(&server, 2).await;
    let refused = server.call(&format!("DELETE /v1/responses/{}", chained[0]), &[], "").await;
    assert_eq!((refused.status, refused.header("x-should-retry")), (409, Some("false")));
    server.stop().await;
}

#[tokio::test]
async fn turns_beyond_what_is_told_are_counted() {
    let (server, _) = gateway().await;
    const ALL: usize = 130;
    server.make("long").await;
    for at in 0..ALL {
        let turn = format!("turn_{at:03}");
        let event = |kind: &str, payload: Value| json!({"type": kind, "turnId": turn, "payload": payload});
        let events = [
            event("turn.submitted", json!({"input": format!("line {at}")})),
            event("turn.started", json!({})),
            event("turn.completed", json!({})),
        ];
        server.tell("long", &events).await;
    }
    let count = |list: &Value, name: &str, word: &str| {
        list.as_array().expect("a list").iter().filter(|it| it[name] == word).count()
    };
    let values = server.get("/threads/long/state").await["values"].clone();
    let missing = values["earlier_turns"].as_u64().expect("a count") as usize;
    assert!(missing > 0, "{values}");
    assert_eq!(count(&values["messages"], "type", "human") + missing, ALL);
    let history = server.get("/v2/sessions/long/history").await;
    assert_eq!((&history["has_more"], &history["earlier_turns"]), (&json!(true), &json!(missing)));
    assert_eq!(count(&history["messages"], "role", "user") + missing, ALL);
    let path = "GET /v1/sessions/long/events?dialect=ag-ui&turn=turn_129&catchup=snapshot";
    let opened = server.call(path, &[("accept", "text/event-stream")], "").await.text();
    let earlier = opened.lines().find(|line| line.contains("riverrun.earlier")).expect("a count");
    assert!(earlier.contains(&missing.to_string()), "{earlier}");
    let snapshot = opened.lines().find(|line| line.contains("MESSAGES_SNAPSHOT")).expect("a snapshot");
    assert_eq!(snapshot.matches("\"role\":\"user\"").count() + missing, ALL);
    // Lists and histories that go by pages tell all of them.
    let runs = server.get("/threads/long/runs?limit=1000").await;
    assert_eq!(runs.as_array().map(Vec::len), Some(ALL));
    let items = server.get("/v1/conversations/conv_long/items?limit=100&order=asc").await;
    assert_eq!((said(&items)[0].as_str(), &items["has_more"]), ("line 0", &json!(true)));
    let rest = format!(
        "/v1/conversations/conv_long/items?limit=100&order=asc&after={}",
        items["last_id"].as_str().expect("an id")
    );
    assert_eq!(said(&server.get(&rest).await).last().map(String::as_str), Some("line 129"));
    server.stop().await;
}

#[tokio::test]
async fn what_was_said_in_old_turns_is_told_to_those_who_open_a_session() {
    let (server, _) = gateway().await;
    let ids = chain(&server, MANY).await;
    let list = server.get("/v1/sessions").await;
    let session = list["sessions"][0]["sessionId"].as_str().expect("a session").to_owned();
    let history = server.get(&format!("/v2/sessions/{session}/history")).await;
    let asked = |messages: &Value, role: &str, word: &str| {
        messages.as_array().expect("messages").iter().filter(|it| it[role] == word).count()
    };
    assert_eq!(asked(&history["messages"], "role", "user"), MANY, "{history}");
    assert_eq!((&history["has_more"], &history["earlier_turns"]), (&json!(false), &json!(0)));
    let state = server.get(&format!("/threads/{session}/state")).await;
    assert_eq!(asked(&state["values"]["messages"], "type", "human"), MANY, "{state}");
    let runs = server.get(&format!("/threads/{session}/runs?limit=100&offset=0")).await;
    assert_eq!(runs.as_array().map(Vec::len), Some(MANY));
    let first = ids[0].strip_prefix("resp_").expect("a response");
    let joined = server.get(&format!("/threads/{session}/runs/{first}/join")).await;
    assert_eq!(asked(&joined["messages"], "type", "human"), 1, "{joined}");
    let last = ids[MANY - 1].strip_prefix("resp_").expect("a response");
    let path = format!("GET /v1/sessions/{session}/events?dialect=ag-ui&turn={last}&catchup=snapshot");
    let opened = server.call(&path, &[("accept", "text/event-stream")], "").await.text();
    let snapshot = opened.lines().find(|line| line.contains("MESSAGES_SNAPSHOT")).expect("a snapshot");
    assert_eq!(snapshot.matches("\"role\":\"user\"").count(), MANY, "{snapshot}");
    server.stop().await;
}
