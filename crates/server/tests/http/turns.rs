//! Turns over HTTP: submitted, streamed, cancelled, tried again, steered.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::{agents, events, kinds, server};
use crate::harness::{JSON, Server};

/// Parts that say nothing.
const BLANK: &str = r#"{"input":[{"type":"text","text":""},{"type":"text","text":" \n"}]}"#;

#[tokio::test]
async fn a_submitted_turn_runs_to_its_end() {
    let server = server().await;
    server.make("s").await;
    let answer = server.post("/v1/sessions/s/turns", json!({"input": "weather?", "turnId": "t1"})).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let turn = answer.json();
    assert_eq!((&turn["turnId"], &turn["status"]), (&json!("t1"), &json!("accepted")));
    let location = format!("/v1/tasks/{}", turn["taskId"].as_str().expect("a task"));
    assert_eq!(answer.header("location"), Some(location.as_str()));
    let told = server.turn("s", "t1").await;
    assert_eq!(kinds(&told).first(), Some(&"turn.submitted"));
    assert_eq!(kinds(&told).last(), Some(&"turn.completed"));
    // The cursor stands before the turn's first event.
    let cursor = turn["cursor"].as_str().expect("a cursor");
    let page = server.get(&format!("/v1/sessions/s/events?after={cursor}&follow=false")).await;
    assert_eq!(page["events"][0]["type"], "turn.submitted");
    let task = server.get(&location).await;
    assert_eq!(task["status"], "completed", "{task}");
    server.stop().await;
}

#[tokio::test]
async fn the_same_turn_again_answers_the_first_and_another_one_is_refused() {
    let server = server().await;
    server.make("s").await;
    let first = server.submit("s", json!({"input": "weather?", "turnId": "t1"})).await;
    let again = server.submit("s", json!({"input": "weather?", "turnId": "t1"})).await;
    assert_eq!((&again["runId"], &again["duplicate"]), (&first["runId"], &json!(true)));
    let other = server.post("/v1/sessions/s/turns", json!({"input": "other", "turnId": "t1"})).await;
    assert_eq!(other.refusal(), (409, "turn_exists".to_owned()));
    server.turn("s", "t1").await;
    let submitted = server.get("/v1/sessions/s/events?follow=false&types=turn.submitted").await;
    assert_eq!(submitted["events"].as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_makes_one_turn() {
    let server = server().await;
    server.make("s").await;
    let key = ("idempotency-key", "k1");
    let body = json!({"input": "weather?"}).to_string();
    let first = server.call("POST /v1/sessions/s/turns", &[JSON, key], &body).await;
    let again = server.call("POST /v1/sessions/s/turns", &[JSON, key], &body).await;
    assert_eq!((first.status, first.json()), (again.status, again.json()));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = json!({"input": "other"}).to_string();
    let other = server.call("POST /v1/sessions/s/turns", &[JSON, key], &other).await;
    assert_eq!(other.refusal(), (422, "idempotency_mismatch".to_owned()));
    // As a stream the same request is the same turn.
    let sse = ("accept", "application/x-ndjson");
    let stream = server.call("POST /v1/sessions/s/turns", &[JSON, key, sse], &body).await;
    let told = events(&stream.text());
    assert_eq!(told[0]["turnId"], first.json()["turnId"]);
    let submitted = server.get("/v1/sessions/s/events?follow=false&types=turn.submitted").await;
    assert_eq!(submitted["events"].as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[tokio::test]
async fn a_submit_that_wants_a_stream_gets_the_turn_to_its_terminal_event() {
    let server = server().await;
    server.make("s").await;
    let body = json!({"input": "weather?", "turnId": "t1"}).to_string();
    for (accept, dialect) in
        [("text/event-stream", "native"), ("application/x-ndjson", "native"), ("text/event-stream", "task")]
    {
        let line = format!("POST /v1/sessions/s/turns?dialect={dialect}");
        let answer = server.call(&line, &[JSON, ("accept", accept)], &body).await;
        assert_eq!((answer.status, answer.is_complete), (200, true), "{accept} {dialect}");
        assert_eq!(answer.header("riverrun-turn"), Some("t1"));
        assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with(accept)));
        let text = answer.text();
        if dialect == "native" {
            let last = text.rfind("turn.completed").expect("the turn ends");
            assert!(text[last..].contains("stream.end"), "{accept}: nothing but the end follows the end");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_that_is_cut_goes_on_where_it_was() {
    let server = server().await;
    server.make("s").await;
    let body = json!({"input": "weather?", "agent": "slow", "turnId": "t1"}).to_string();
    let request = server.request(
        "POST /v1/sessions/s/turns",
        &[JSON, ("accept", "application/x-ndjson"), ("connection", "")],
        body.as_bytes(),
    );
    // Half of the stream is read, then the connection goes.
    let mut stream = server.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, &request).await.expect("the server reads");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("sunny") {
        let mut bytes = [0; 4096];
        let count = tokio::io::AsyncReadExt::read(&mut stream, &mut bytes).await.expect("the server writes");
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&bytes[..count]);
    }
    drop(stream);
    let text = String::from_utf8_lossy(&seen).into_owned();
    let lines = text.lines().filter(|line| line.starts_with('{') && line.ends_with('}'));
    let head: Vec<Value> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    let head: Vec<Value> = head
        .into_iter()
        .filter(|line| line["sequence"].is_u64() && line["schemaVersion"].is_string())
        .collect();
    let after = head.last().expect("some events came")["sequence"].as_u64().expect("a sequence");
    let line = format!("GET /v1/sessions/s/events?turn=t1&after={after}");
    let rest = server.call(&line, &[("accept", "application/x-ndjson")], "").await;
    assert!(rest.is_complete);
    let mut joined = head;
    joined.extend(events(&rest.text()));
    assert_eq!(joined, server.turn("s", "t1").await, "nothing is lost and nothing comes twice");
    server.stop().await;
}

#[tokio::test]
async fn a_running_turn_is_cancelled_and_can_be_tried_again() {
    let server = server().await;
    server.make("s").await;
    server.submit("s", json!({"input": "weather?", "agent": "slow", "turnId": "t1"})).await;
    let running = server.post("/v1/sessions/s/turns/t1/retry", json!({})).await;
    assert_eq!(running.refusal(), (409, "turn_running".to_owned()));
    let cancelled = server.post("/v1/sessions/s/turns/t1/cancel", json!({"mode": "immediate"})).await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (202, &json!("cancelling")));
    assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.cancelled"));
    // A turn that has ended is left as it is.
    let again = server.call("POST /v1/sessions/s/turns/t1/cancel", &[], "").await;
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("cancelled")));
    let steered = server.post("/v1/sessions/s/turns/t1/steer", json!({"input": "and Rome"})).await;
    assert_eq!(steered.refusal(), (409, "turn_ended".to_owned()));
    let retried = server.call("POST /v1/sessions/s/turns/t1/retry", &[], "").await;
    assert_eq!((retried.status, &retried.json()["turnId"]), (202, &json!("t1")), "{}", retried.text());
    server.stop().await;
}

#[tokio::test]
async fn a_running_turn_takes_more_input() {
    let server = server().await;
    server.make("s").await;
    server.submit("s", json!({"input": "weather?", "agent": "slow", "turnId": "t1"})).await;
    let steered = server.post("/v1/sessions/s/turns/t1/steer", json!({"input": "and Rome"})).await;
    assert_eq!(steered.status, 202, "{}", steered.text());
    assert!(kinds(&server.turn("s", "t1").await).contains(&"input.steered"));
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_is_done() {
    let server = server().await;
    server.make("s").await;
    for (path, body, status, code, field) in [
        ("/turns", "{}", 400, "invalid_field", Some("input")),
        ("/turns", r#"{"input":""}"#, 400, "invalid_field", Some("input")),
        ("/turns", r#"{"input":[]}"#, 400, "invalid_field", Some("input")),
        ("/turns", r#"{"input":7}"#, 400, "invalid_field", Some("input")),
        ("/turns", r#"{"input":"x","modle":"y"}"#, 400, "unknown_field", Some("modle")),
        ("/turns", r#"{"input":"x","turnId":"a b"}"#, 400, "invalid_id", Some("turnId")),
        ("/turns", r#"{"input":"x","busy":"wait"}"#, 400, "invalid_field", Some("busy")),
        ("/turns", r#"{"input":"x","agent":"wrtier"}"#, 400, "unknown_agent", Some("agent")),
        ("/turns", r#"{"input":"x","agent":"scripted/text"}"#, 400, "unknown_agent", Some("agent")),
        (
            "/turns",
            r#"{"input":"x","settings":{"temprature":1}}"#,
            400,
            "unknown_field",
            Some("settings.temprature"),
        ),
        ("/turns", r#"{"input":"x","base_url":"http://127.0.0.1"}"#, 400, "unknown_field", Some("base_url")),
        ("/turns", "", 400, "body_empty", None),
        ("/turns?frob=task", r#"{"input":"x"}"#, 400, "unknown_field", Some("frob")),
        ("/turns/none/cancel", "{}", 404, "not_found", None),
        ("/turns/none/cancel", r#"{"mode":"later"}"#, 400, "invalid_field", Some("mode")),
        ("/turns/none/retry", "{}", 404, "not_found", None),
        ("/turns/none/retry", r#"{"input":"x"}"#, 400, "unknown_field", Some("input")),
        ("/turns/none/steer", r#"{"input":"x"}"#, 404, "not_found", None),
        ("/turns/none/steer", "{}", 400, "invalid_field", Some("input")),
        ("/turns", BLANK, 400, "invalid_field", Some("input")),
        ("/turns/none/steer", BLANK, 400, "invalid_field", Some("input")),
        ("/subagents/none/input", BLANK, 400, "invalid_field", Some("input")),
        ("/actions/none", r#"{"decision":"approve"}"#, 400, "invalid_field", Some("digest")),
        ("/actions/none", r#"{"decision":"APPROVE "}"#, 400, "invalid_field", Some("decision")),
        ("/actions/none", r#"{"decision":"edit","digest":"d"}"#, 400, "invalid_field", Some("arguments")),
        (
            "/actions/none",
            r#"{"decision":"approve","digest":"d","arguments":{}}"#,
            400,
            "invalid_field",
            Some("arguments"),
        ),
        ("/actions/none", r#"{"decision":"respond","digest":"d"}"#, 400, "invalid_field", Some("response")),
        ("/actions/none", r#"{"decision":"reject"}"#, 404, "not_found", None),
        ("/queue/none/promote", "", 404, "not_found", None),
        ("/subagents", "{}", 400, "invalid_field", Some("parentTaskId")),
        (
            "/subagents",
            r#"{"parentTaskId":"none","agent":"nobody","input":"x"}"#,
            400,
            "unknown_agent",
            Some("agent"),
        ),
        (
            "/subagents",
            r#"{"parentTaskId":"none","agent":"writer","input":" "}"#,
            400,
            "invalid_field",
            Some("input"),
        ),
        (
            "/subagents",
            r#"{"parentTaskId":"none","agent":"writer","input":"x"}"#,
            404,
            "not_found",
            Some("parentTaskId"),
        ),
        ("/subagents/none/input", r#"{"input":"x"}"#, 404, "not_found", None),
        ("/subagents/none/close", "", 404, "not_found", None),
    ] {
        let answer = server.call(&format!("POST /v1/sessions/s{path}"), &[JSON], body).await;
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{path} {body}: {}", answer.text());
        assert_eq!(answer.json()["field"].as_str(), field, "{path} {body}: {}", answer.text());
    }
    let near = server.post("/v1/sessions/s/turns", json!({"input": "x", "agent": "wrtier"})).await.json();
    assert!(near["detail"].as_str().is_some_and(|text| text.contains("did you mean `writer`")), "{near}");
    assert_eq!(near["known"], json!(["deleter", "slow", "twice", "writer"]));
    assert_eq!(server.get("/v1/sessions/s").await["head"], 0);
    server.stop().await;
}

#[tokio::test]
async fn a_sub_agent_is_started_under_a_waiting_task_once() {
    let server = server().await;
    server.make("s").await;
    let turn = server.submit("s", json!({"input": "delete it", "agent": "deleter", "turnId": "t1"})).await;
    let action = server.action("s").await;
    let body = json!({"parentTaskId": turn["taskId"], "agent": "writer", "input": "look"}).to_string();
    let spawn = async |body: &str| {
        server.call("POST /v1/sessions/s/subagents", &[JSON, ("idempotency-key", "k")], body.to_owned()).await
    };
    let first = spawn(&body).await;
    assert_eq!(first.status, 202, "{}", first.text());
    assert_eq!(spawn(&body).await.text(), first.text());
    let child = first.json();
    assert_eq!((&child["turnId"], &child["status"]), (&json!("t1"), &json!("running")), "{child}");
    let listed = server.get("/v1/sessions/s/subagents?wait=20").await;
    let [only] = listed["subagents"].as_array().map(Vec::as_slice).unwrap_or_default() else {
        panic!("{listed}")
    };
    assert_eq!((&only["taskId"], &only["status"]), (&child["subagentId"], &json!("completed")));
    assert_eq!(server.action("s").await["actionId"], action["actionId"], "it still waits");
    assert_eq!(server.post("/v1/sessions/s/turns/t1/cancel", json!({})).await.status, 202);
    let events = server.turn("s", "t1").await;
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "subagent.spawned").count(), 1);
    assert_eq!(kinds(&events).last(), Some(&"turn.cancelled"));
    let late = server.post("/v1/sessions/s/subagents", serde_json::from_str(&body).expect("JSON")).await;
    assert_eq!(late.refusal(), (409, "turn_ended".to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn turns_of_another_tenant_are_not_there() {
    let server = server().await;
    let (theirs, _) = server.key("theirs", &["admin"]).await;
    let (mine, _) = server.key("mine", &["admin"]).await;
    theirs.make("s").await;
    theirs.submit("s", json!({"input": "weather?", "turnId": "t1"})).await;
    for line in [
        "POST /v1/sessions/s/turns",
        "POST /v1/sessions/s/turns/t1/cancel",
        "POST /v1/sessions/s/turns/t1/steer",
        "POST /v1/sessions/s/subagents/t1/input",
    ] {
        let answer = mine.call(line, &[JSON], r#"{"input":"x"}"#).await;
        assert_eq!(answer.refusal().0, 404, "{line}: {}", answer.text());
    }
    for line in ["GET /v1/sessions/s/queue", "GET /v1/sessions/s/subagents", "DELETE /v1/sessions/s/queue/t1"]
    {
        assert_eq!(mine.call(line, &[], "").await.status, 404, "{line}");
    }
    // The same names in another tenant are other things.
    mine.make("s").await;
    assert_eq!(mine.post("/v1/sessions/s/turns/t1/cancel", json!({})).await.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_key_does_what_its_scopes_allow() {
    let server = server().await;
    let (reader, _) = server.key("default", &["read"]).await;
    let (writer, _) = server.key("default", &["write"]).await;
    server.make("s").await;
    let submit = async |api: &crate::harness::Api, accept: &str| {
        let body = json!({"input": "weather?"}).to_string();
        api.call("POST /v1/sessions/s/turns", &[JSON, ("accept", accept)], body).await.status
    };
    assert_eq!(submit(&reader, "application/json").await, 403);
    assert_eq!(submit(&writer, "application/json").await, 202);
    assert_eq!(submit(&writer, "text/event-stream").await, 403, "who may not read gets no stream");
    let decide = writer.post("/v1/sessions/s/actions/a", json!({"decision": "reject"})).await;
    assert_eq!(decide.refusal(), (403, "forbidden".to_owned()));
    assert_eq!(reader.get("/v1/agents").await["agents"].as_array().map(Vec::len), Some(4));
    server.stop().await;
}

#[tokio::test]
async fn scripts_are_for_all_only_where_the_server_says_so() {
    let agents = agents(&Arc::default());
    let server = Server::with_agents(riverrun_server::Agents { scripts_for_all: true, ..agents }).await;
    server.make("s").await;
    server.submit("s", json!({"input": "x", "agent": "scripted/text", "turnId": "t1"})).await;
    assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.completed"));
    let refused = server.post("/v1/sessions", json!({"agent": "openai/gpt"})).await;
    assert_eq!(refused.refusal(), (400, "unknown_agent".to_owned()));
    // A bare name may be a foreign agent's, whose events come through ingest.
    assert_eq!(server.post("/v1/sessions", json!({"agent": "theirs"})).await.status, 201);
    server.stop().await;
}

#[tokio::test]
async fn turns_and_commands_are_counted() {
    let server = server().await;
    server.make("s").await;
    server.submit("s", json!({"input": "x", "turnId": "t1"})).await;
    server.turn("s", "t1").await;
    let metrics = server.call("GET /metrics", &[], "").await.text();
    for line in [
        "riverrun_turns_started_total 1",
        "riverrun_turns_total{outcome=\"completed\"} 1",
        "riverrun_turns_active 0",
        "riverrun_commands_total{command=\"submit\",result=\"ok\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_no_model_can_be_shown_is_refused_with_its_place() {
    let server = server().await;
    server.make("s").await;
    let image = |url: &str| json!({"input": [{"type": "image", "image_url": {"url": url}}]});
    let given = |settings: Value| json!({"input": "x", "settings": settings});
    for (body, status, code, field) in [
        (json!({"input": [{"type": "bogus"}]}), 400, "invalid_field", "input[0].type"),
        (
            json!({"input": [{"type": "text", "text": "x"}, {"type": "image"}]}),
            400,
            "invalid_field",
            "input[1]",
        ),
        (image("http://169.254.169.254/"), 422, "url_blocked", "input[0].image_url"),
        (image("http://127.0.0.1/"), 422, "url_blocked", "input[0].image_url"),
        (image("file:///etc/passwd"), 422, "url_blocked", "input[0].image_url"),
        (
            json!({"input": [{"type": "file", "url": "http://2130706433/"}]}),
            422,
            "url_blocked",
            "input[0].url",
        ),
        (
            json!({"input": [{"type": "text", "text": "x"}, {"type": "image", "fileRef": "../../etc/passwd"}]}),
            400,
            "bad_ref",
            "input[1].file_ref",
        ),
        (
            json!({"input": [{"type": "file", "file_ref": format!("blob_{}", "0".repeat(64))}]}),
            404,
            "not_found",
            "input[0].file_ref",
        ),
        (json!({"input": [{"type": "audio", "data": "aGk="}]}), 400, "invalid_field", "input[0]"),
        (given(json!({"tools": [{"nme": "x"}]})), 400, "unknown_field", "settings.tools[0].nme"),
        (given(json!({"tools": [{}]})), 400, "invalid_field", "settings.tools[0].name"),
        (
            given(json!({"tools": [{"name": "x", "parameters": {"type": "objekt"}}]})),
            400,
            "invalid_field",
            "settings.tools[0].parameters",
        ),
        (given(json!({"toolChoice": "bogus"})), 400, "invalid_field", "settings.toolChoice"),
        (given(json!({"clientTools": "bogus"})), 400, "invalid_field", "settings.clientTools"),
        (given(json!({"outputSchema": 5})), 400, "invalid_field", "settings.outputSchema"),
        (given(json!({"outputSchema": fan_out()})), 400, "invalid_field", "settings.outputSchema"),
        (
            given(json!({"tools": [{"name": "x", "parameters": fan_out()}]})),
            400,
            "invalid_field",
            "settings.tools[0].parameters",
        ),
    ] {
        let answer = server.post("/v1/sessions/s/turns", body.clone()).await;
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{body}");
        assert_eq!(answer.json()["field"], field, "{body}");
    }
    let shown = image("data:image/png;base64,aGk=");
    assert_eq!(server.post("/v1/sessions/s/turns", shown).await.status, 202);
    server.stop().await;
}

/// A kilobyte that leads to four to the thirty-first parts.
fn fan_out() -> Value {
    let mut schema = json!({"$defs": {"a0": {}}, "$ref": "#/$defs/a31"});
    for level in 1..=31 {
        let before = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        schema["$defs"][format!("a{level}")] = json!({"allOf": [before, before, before, before]});
    }
    schema
}
