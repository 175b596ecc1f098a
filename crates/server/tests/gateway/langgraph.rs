//! LangGraph's classic client: it comes back by `Location` and `Last-Event-ID`.

use serde_json::{Value, json};

use crate::harness::JSON;
use crate::socket::scripted;

fn run(agent: &str) -> String {
    let messages = json!([{"role": "user", "content": "hi"}]);
    json!({"assistant_id": agent, "input": {"messages": messages}, "stream_mode": ["messages", "values"]})
        .to_string()
}

/// The frames, and the id of each.
fn frames(text: &str) -> Vec<(String, String)> {
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    text.split_terminator("\n\n").map(|frame| (field(frame, "id: "), frame.to_owned())).collect()
}

#[tokio::test]
async fn a_run_is_joined_behind_every_id() {
    let server = scripted().await;
    let made = server.call("POST /threads", &[JSON], "{}").await.json();
    let thread = made["thread_id"].as_str().expect("a thread");
    let answer = server.call(&format!("POST /threads/{thread}/runs/stream"), &[JSON], run("text")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let all = frames(&answer.text());
    assert!(all[0].1.contains("event: metadata") && all.last().expect("frames").1.contains("event: end"));
    let location = answer.header("location").expect("where to come back").to_owned();
    assert_eq!(format!("{}/stream", answer.header("content-location").expect("the run")), location);
    for (at, (id, _)) in all.iter().enumerate().take(all.len() - 1) {
        let rest = server.call(&format!("GET {location}"), &[("last-event-id", id)], "").await;
        assert_eq!(frames(&rest.text()), all[at + 1..], "after {id}");
    }
    let whole = server.call(&format!("GET {location}"), &[], "").await;
    assert_eq!(frames(&whole.text()), all);
    let run = server.get(answer.header("content-location").expect("the run")).await;
    assert_eq!(run["status"], "success");
    assert_eq!(server.get(&format!("/threads/{thread}")).await["status"], "idle");
    server.stop().await;
}

#[tokio::test]
async fn a_client_gets_the_modes_that_it_asked_for() {
    let server = scripted().await;
    let ask = |mode: Value| {
        let mut body: Value = serde_json::from_str(&run("text")).expect("a body");
        body["stream_mode"] = mode;
        body.to_string()
    };
    for (mode, other) in [("values", "messages"), ("messages-tuple", "values")] {
        let answer = server.call("POST /runs/stream", &[JSON], ask(json!(mode))).await;
        let text = answer.text();
        let told = mode.trim_end_matches("-tuple");
        assert!(text.contains(&format!("event: {told}\n")) && !text.contains(&format!("event: {other}\n")));
        assert!(text.contains("event: metadata\n") && text.contains("event: end\n"), "{text}");
        let location = answer.header("location").expect("where to come back");
        let again = server.call(&format!("GET {location}"), &[], "").await;
        assert_eq!(again.text(), text, "who comes back by {location} gets the same");
    }
    for mode in [json!("updates"), json!(["values", "events"]), json!(7)] {
        let answer = server.call("POST /runs/stream", &[JSON], ask(mode)).await;
        assert_eq!(answer.status, 422, "{}", answer.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_in_detail() {
    let server = scripted().await;
    let thread = server.call("POST /threads", &[JSON], "").await.json()["thread_id"].clone();
    let path = format!("POST /threads/{}/runs/stream", thread.as_str().expect("a thread"));
    let bad = ["", "{", "[]", "{}", "{\"input\":7}", "{\"assistant_id\":7}", "{\"input\":{\"messages\":[]}}"];
    for body in bad {
        let answer = server.call(&path, &[JSON], body).await;
        assert!((400..500).contains(&answer.status), "{body}: {} {}", answer.status, answer.text());
        assert!(answer.json()["detail"].is_string(), "{body}: {}", answer.text());
    }
    let unknown = server.call(&path, &[JSON], run("nobody")).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    assert!(unknown.json()["detail"].as_str().is_some_and(|detail| detail.contains("nobody")));
    let absent: Value = server.call("POST /threads/nobody/runs/stream", &[JSON], run("text")).await.json();
    assert!(absent["detail"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn threads_are_searched_described_copied_and_deleted() {
    let server = scripted().await;
    let post = async |path: &str, body: Value| {
        let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    let made = post("/threads", json!({"metadata": {"user": "ada"}})).await;
    let thread = made["thread_id"].as_str().expect("a thread").to_owned();
    post("/threads", json!({})).await;
    let body = json!({"metadata": {"kind": "chat"}}).to_string();
    let updated = server.call(&format!("PATCH /threads/{thread}"), &[JSON], body).await.json();
    assert_eq!(updated["metadata"], json!({"user": "ada", "kind": "chat"}));
    let run: Value = serde_json::from_str(&run("text")).expect("a body");
    for _ in 0..2 {
        post(&format!("/threads/{thread}/runs/wait"), run.clone()).await;
    }
    let found = post("/threads/search", json!({"metadata": {"user": "ada"}})).await;
    assert_eq!((found.as_array().map(Vec::len), &found[0]["thread_id"]), (Some(1), &json!(thread)));
    assert_eq!(post("/threads/count", json!({})).await, 2);
    let history = post(&format!("/threads/{thread}/history"), json!({"limit": 9})).await;
    let counts: Vec<usize> = history.as_array().expect("states").iter().map(messages).collect();
    assert_eq!(counts, [4, 2], "{history}");
    let copy = post(&format!("/threads/{thread}/copy"), json!({})).await;
    assert_eq!(copy["values"], found[0]["values"]);
    assert_eq!(copy["metadata"], found[0]["metadata"]);
    assert_eq!(server.call(&format!("DELETE /threads/{thread}"), &[], "").await.status, 204);
    assert_eq!(server.call(&format!("GET /threads/{thread}"), &[], "").await.status, 404);
    for (path, body) in [
        ("/threads/search", json!({"status": "asleep"})),
        ("/threads/search", json!({"sort_by": "colour"})),
        ("/runs/cancel", json!({})),
    ] {
        let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
        assert_eq!(answer.status, 422, "{path}: {}", answer.text());
        assert!(answer.json()["detail"].is_string(), "{path}: {}", answer.text());
    }
    let asleep = server
        .call(
            &format!("GET /threads/{}/runs?status=asleep", copy["thread_id"].as_str().expect("an id")),
            &[],
            "",
        )
        .await;
    assert_eq!(asleep.status, 422, "{}", asleep.text());
    let absent = server.call("GET /store/items", &[], "").await;
    assert_eq!((absent.status, &absent.json()["code"]), (501, &json!("not_provided")));
    server.stop().await;
}

fn messages(state: &Value) -> usize {
    state["values"]["messages"].as_array().map_or(0, Vec::len)
}
