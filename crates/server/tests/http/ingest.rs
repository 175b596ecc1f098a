//! Events in: numbered by their producer, stored once, large parts apart.

use serde_json::{Value, json};

use crate::harness::{JSON, NDJSON, Server};
use crate::wire::Answer;

fn lines(count: usize) -> String {
    (0..count).map(|at| json!({"type": "x.note", "payload": {"at": at}}).to_string() + "\n").collect()
}

fn last(answer: &Answer) -> serde_json::Value {
    let text = answer.text();
    serde_json::from_str(text.lines().last().expect("an answer")).expect("each line is JSON")
}

/// A producer numbers its lines; how the network groups them must not matter.
#[tokio::test]
async fn lines_of_a_producer_that_were_stored_are_not_stored_again() {
    let server = Server::start().await;
    server.make("s1").await;
    let stamp = [NDJSON, ("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", "0")];
    let path = "POST /v1/sessions/s1/events";
    assert_eq!(last(&server.call(path, &stamp, lines(3)).await)["last"], 3);
    // The answer was lost: everything comes again, and more.
    let answer = server.call(path, &stamp, lines(8)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let older: Value = serde_json::from_str(answer.text().lines().next().expect("a line")).expect("JSON");
    let members: Vec<_> = older.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    assert_eq!(members, ["cursor", "duplicate"], "where an older append went is no longer known");
    assert_eq!(last(&answer)["last"], 8);
    let page = server.get("/v1/sessions/s1/events?limit=100").await;
    let seen: Vec<_> =
        page["events"].as_array().into_iter().flatten().map(|event| event["payload"]["at"].clone()).collect();
    assert_eq!(seen, (0..8).map(|at| json!(at)).collect::<Vec<_>>());
    server.stop().await;
}

#[tokio::test]
async fn a_producer_is_held_to_its_numbers() {
    let server = Server::start().await;
    server.make("s1").await;
    for (epoch, sequence, status, code) in [
        ("0", "0", 201, "none"),
        ("0", "0", 200, "none"),
        ("0", "2", 409, "producer_gap"),
        ("1", "0", 201, "none"),
        ("0", "1", 403, "producer_stale"),
        ("1", "x", 400, "invalid_field"),
        ("-1", "1", 400, "invalid_field"),
        ("1", "9007199254740992", 400, "invalid_field"),
    ] {
        let stamp = [JSON, ("producer-id", "p"), ("producer-epoch", epoch), ("producer-seq", sequence)];
        let answer = server.call("POST /v1/sessions/s1/events", &stamp, r#"{"type":"x.a"}"#).await;
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{epoch} {sequence}: {}", answer.text());
    }
    for stamp in [("producer-id", "p"), ("producer-seq", "0"), ("producer-epoch", "0")] {
        let answer = server.call("POST /v1/sessions/s1/events", &[JSON, stamp], r#"{"type":"x.a"}"#).await;
        assert_eq!(answer.refusal(), (400, "invalid_field".to_owned()));
    }
    assert_eq!(server.get("/v1/sessions/s1").await["head"], 2);
    server.stop().await;
}

#[tokio::test]
async fn a_large_string_goes_into_a_blob_whatever_the_form_of_the_body() {
    let server = Server::start().await;
    server.make("s1").await;
    let large = "x".repeat(300 * 1024);
    let event = json!({"type": "x.large", "payload": {"text": large}}).to_string();
    for kind in [JSON, NDJSON] {
        let answer = server.call("POST /v1/sessions/s1/events", &[kind], &event).await;
        assert!(answer.status < 300, "{kind:?}: {}", answer.text());
    }
    let page = server.get("/v1/sessions/s1/events").await;
    let reference = page["events"][1]["refs"]["spilled"][0]["ref"].as_str().expect("a reference").to_owned();
    assert_eq!(server.call(&format!("GET /v1/blobs/{reference}"), &[], "").await.text(), large);
    let kept = page["events"][1]["payload"]["text"].as_str().expect("a text");
    assert!(kept.ends_with(&format!("… [cut: 307200 bytes, whole in {reference}]")), "{kept}");
    server.stop().await;
}

#[tokio::test]
async fn what_was_acknowledged_before_a_bad_line_stays() {
    let server = Server::start().await;
    server.make("s1").await;
    let body = format!("{}{{\"type\":\"model.delta\"}}\n", lines(1));
    let stamp = [NDJSON, ("producer-id", "p"), ("producer-seq", "0")];
    let answer = server.call("POST /v1/sessions/s1/events", &stamp, &body).await;
    assert_eq!(
        (last(&answer)["code"].as_str(), &last(&answer)["line"]),
        (Some("invalid_event"), &json!(2)),
        "{}",
        answer.text()
    );
    assert_eq!(server.get("/v1/sessions/s1").await["head"], 1);
    server.stop().await;
}

/// Numbered lines are handed over together, but the end of a turn must see what the lines before it opened.
#[tokio::test]
async fn a_turn_that_ends_among_numbered_lines_leaves_no_action_open() {
    let server = Server::start().await;
    server.make("s1").await;
    let opened = json!({"type": "action.required", "turnId": "t1", "actionId": "a1", "payload": {"actionType": "approval"}});
    let ended = json!({"type": "turn.completed", "turnId": "t1", "payload": {}});
    let body = format!("{}{opened}\n{ended}\n{}", lines(3), lines(2));
    let stamp = [NDJSON, ("producer-id", "p"), ("producer-seq", "0")];
    let answer = server.call("POST /v1/sessions/s1/events", &stamp, &body).await;
    assert_eq!(answer.text().lines().count(), 7, "one answer for each line: {}", answer.text());
    assert_eq!(last(&answer)["last"], 7);
    assert_eq!(server.get("/v1/actions?status=pending").await["actions"].as_array().map(Vec::len), Some(0));
    server.stop().await;
}

#[tokio::test]
async fn an_action_whose_turn_ends_waits_no_longer() {
    let server = Server::start().await;
    server.make("s1").await;
    let opened = json!({"type": "action.required", "turnId": "t1", "actionId": "a1", "payload": {"actionType": "approval"}});
    let later = json!({"type": "action.required", "turnId": "t2", "actionId": "a2", "payload": {"actionType": "approval"}});
    let ended = json!({"type": "turn.completed", "turnId": "t1", "payload": {}});
    server.tell("s1", &[opened, ended, later]).await;
    let pending = server.get("/v1/actions?status=pending").await;
    assert_eq!(pending["actions"].as_array().map(Vec::len), Some(1), "{pending}");
    assert_eq!(pending["actions"][0]["actionId"], "a2");
    server.stop().await;
}

/// An AgentLin server publishes its frames as they are; readers of any dialect see the task.
#[tokio::test]
async fn agentlins_frames_are_taken_as_they_are() {
    let server = Server::start().await;
    server.make("s1").await;
    let frames = concat!(
        r#"{"type":"task.created","task_id":"task_1","task":{"task_id":"task_1","status":"created"}}"#,
        "\n",
        r#"{"type":"task.output_item.added","task_id":"task_1","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","block_list":[]}}"#,
        "\n",
        r#"{"type":"task.text.done","task_id":"task_1","item_id":"msg_1","output_index":0,"block_index":0,"item":{"type":"text","text":"Hello."}}"#,
        "\n",
        r#"{"type":"task.output_item.done","task_id":"task_1","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","block_list":[{"type":"text","text":"Hello."}]}}"#,
        "\n",
        r#"{"type":"task.completed","task_id":"task_1"}"#,
        "\n",
    );
    let path = "POST /v1/sessions/s1/events?dialect=task";
    let answer = server.call(path, &[NDJSON], frames.to_owned()).await;
    assert_eq!(last(&answer)["last"], 5, "{}", answer.text());
    let page = server.get("/v1/sessions/s1/events?limit=100").await;
    let kinds: Vec<_> =
        page["events"].as_array().into_iter().flatten().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["task.created", "item.started", "item.updated", "item.completed", "task.completed"]);
    let task = server.get("/v1/tasks/task_1").await;
    assert_eq!(
        (&task["status"], &task["output"][0]["block_list"][0]["text"]),
        (&json!("completed"), &json!("Hello."))
    );
    let refused = server.call(path, &[JSON], r#"{"type":"task.working"}"#.to_owned()).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("task_id"), "{}", refused.text());
    let unknown = server.call("POST /v1/sessions/s1/events?dialect=chat", &[JSON], "{}".to_owned()).await;
    assert_eq!(unknown.status, 400, "{}", unknown.text());
    server.stop().await;
}
