//! Jobs of an application and the trials of its benchmarks, over HTTP.

use serde_json::{Value, json};

use crate::harness::{JSON, NDJSON, Server};

fn item(kind: &str, item: &str, payload: Value) -> Value {
    json!({"type": format!("job.item.{kind}"), "jobId": "j", "jobItemId": item, "payload": payload})
}

/// A job `j` in session `s` whose item `b` failed, and which has ended.
async fn failed_job(server: &Server) {
    let body = r#"{"jobId":"j","title":"Pages","metadata":{"by":"app"},
        "items":[{"itemId":"a","title":"one"},{"itemId":"b","metadata":{"page":2}},{"itemId":"c"},{"itemId":"d"}]}"#;
    let made = server.call("POST /v1/sessions/s/jobs", &[JSON], body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let error = json!({"message": "no answer", "code": "timeout"});
    let events = [
        json!({"type": "job.started", "jobId": "j"}),
        item("started", "a", json!({})),
        item("completed", "a", json!({"outputRef": "sha256:a"})),
        item("started", "b", json!({})),
        item("failed", "b", json!({"lastError": error, "retryable": true})),
        item("failed", "c", json!({"retryable": false})),
        json!({"type": "job.failed", "jobId": "j", "payload": {"error": {"message": "2 of 4"}}}),
    ];
    server.tell("s", &events).await;
}

#[tokio::test]
async fn one_failed_item_is_retried_and_the_others_keep_their_results() {
    let server = Server::start().await;
    server.make("s").await;
    failed_job(&server).await;
    let before = server.get("/v1/sessions/s/jobs/j").await;
    assert_eq!((&before["status"], &before["counts"]["failed"]), (&json!("failed"), &json!(2)), "{before}");
    let key = ("idempotency-key", "k1");
    let retry = "POST /v1/sessions/s/jobs/j/items/b/retry";
    let first = server.call(retry, &[JSON, key], r#"{"reason":"the network is back"}"#).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(
        first.json(),
        json!({"jobId": "j", "itemId": "b", "status": "running", "attempts": 2, "jobStatus": "running"})
    );
    let head = server.get("/v1/sessions/s").await["head"].clone();
    let again = server.call(retry, &[JSON, key], r#"{"reason":"the network is back"}"#).await;
    assert_eq!((again.status, again.json()), (200, first.json()));
    assert_eq!(server.get("/v1/sessions/s").await["head"], head, "it is retried once");
    let other = server.call(retry, &[JSON, key], r#"{"reason":"another"}"#).await;
    assert_eq!(other.refusal(), (422, "idempotency_mismatch".to_owned()), "{}", other.text());
    let job = server.get("/v1/sessions/s/jobs/j").await;
    assert_eq!((&job["status"], &job["items"][0]), (&json!("running"), &before["items"][0]), "{job}");
    assert_eq!(
        (&job["items"][1]["attempts"], &job["items"][1]["lastError"]["code"]),
        (&json!(2), &json!("timeout"))
    );
    server.tell("s", &[item("completed", "b", json!({"attempts": 2, "outputRef": "sha256:b"}))]).await;
    server.tell("s", &[json!({"type": "job.completed", "jobId": "j"})]).await;
    let job = server.get("/v1/sessions/s/jobs/j").await;
    assert_eq!(
        (&job["status"], &job["items"][1]["outputRef"]),
        (&json!("completed"), &json!("sha256:b")),
        "{job}"
    );
    let listed = server.get("/v1/sessions/s/jobs?status=completed").await;
    assert_eq!(
        (&listed["jobs"][0]["jobId"], &listed["jobs"][0]["items"]),
        (&json!("j"), &Value::Null),
        "{listed}"
    );
    assert_eq!(server.get("/v1/sessions/s/jobs?status=failed").await["jobs"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_retried_is_refused_with_its_status() {
    let server = Server::start().await;
    server.make("s").await;
    failed_job(&server).await;
    let retry = async |item: &str, body: &str| {
        let answer =
            server.call(&format!("POST /v1/sessions/s/jobs/j/items/{item}/retry"), &[JSON], body).await;
        let code = if answer.status == 200 { String::new() } else { answer.refusal().1 };
        (answer.status, code)
    };
    assert_eq!(retry("a", "").await, (409, "job_status".to_owned()), "it is complete");
    assert_eq!(retry("c", "").await, (409, "job_status".to_owned()), "its worker gave it up");
    assert_eq!(retry("d", "").await, (409, "job_status".to_owned()), "it was not tried");
    assert_eq!(retry("absent", "").await, (404, "not_found".to_owned()));
    assert_eq!(retry("%00%2e%2e", "").await, (404, "not_found".to_owned()));
    assert_eq!(retry("b", r#"{"more":1}"#).await, (400, "unknown_field".to_owned()));
    assert_eq!(retry("b", r#"{"force":"yes"}"#).await, (400, "invalid_field".to_owned()));
    assert_eq!(retry("c", r#"{"force":true}"#).await, (200, String::new()));
    assert_eq!(retry("c", r#"{"force":true}"#).await, (409, "job_status".to_owned()), "it is under way");
    let absent = server.call("POST /v1/sessions/s/jobs/none/items/b/retry", &[JSON], "{}").await;
    assert_eq!(absent.refusal(), (404, "not_found".to_owned()), "{}", absent.text());
    let cancelled = server.call("POST /v1/sessions/s/jobs/j/cancel", &[JSON], r#"{"reason":"enough"}"#).await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
    let again = server.call("POST /v1/sessions/s/jobs/j/cancel", &[], "").await;
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &json!(true)));
    assert_eq!(retry("b", "").await, (409, "job_status".to_owned()), "its job was cancelled");
    let job = server.get("/v1/sessions/s/jobs/j").await;
    let statuses: Vec<&Value> =
        job["items"].as_array().expect("items").iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["completed", "failed", "cancelled", "cancelled"], "{job}");
    server.stop().await;
}

#[tokio::test]
async fn jobs_are_bounded_checked_and_created_once() {
    let server = Server::start().await;
    server.make("s").await;
    let create = async |body: &str| {
        let answer = server.call("POST /v1/sessions/s/jobs", &[JSON], body).await;
        (answer.status, if answer.status < 300 { String::new() } else { answer.refusal().1 })
    };
    assert_eq!(create(r#"{"jobId":"a/b"}"#).await, (400, "invalid_id".to_owned()));
    assert_eq!(create(r#"{"items":[{"itemId":".."}]}"#).await, (400, "invalid_id".to_owned()));
    assert_eq!(
        create(r#"{"items":[{"itemId":"a"},{"itemId":"a"}]}"#).await,
        (400, "invalid_field".to_owned())
    );
    assert_eq!(create(r#"{"items":[{"title":"a"}]}"#).await.0, 400);
    assert_eq!(create(r#"{"items":{}}"#).await.0, 400);
    let many = |count: usize| {
        let items: Vec<Value> = (0..count).map(|at| json!({"itemId": format!("i{at}")})).collect();
        json!({"jobId": "many", "items": items}).to_string()
    };
    assert_eq!(create(&many(1001)).await, (400, "invalid_field".to_owned()));
    assert_eq!(create(&many(1000)).await, (201, String::new()));
    assert_eq!(create(&many(1000)).await, (200, String::new()), "the same again");
    assert_eq!(create(&many(999)).await, (409, "job_exists".to_owned()));
    let heavy = json!({"metadata": "x".repeat(20_000)}).to_string();
    assert_eq!(create(&heavy).await, (400, "invalid_field".to_owned()));
    for at in 1..32 {
        assert_eq!(create(&format!(r#"{{"jobId":"j{at}"}}"#)).await.0, 201);
    }
    assert_eq!(create("{}").await, (400, "invalid_request".to_owned()), "jobs that are open are bounded");
    let others = server.key("others", &["admin"]).await.0;
    let theirs = others.call("GET /v1/sessions/s/jobs/many", &[], "").await;
    assert_eq!(theirs.refusal(), (404, "not_found".to_owned()));
    let reader = server.key("default", &["read"]).await.0;
    let refused = reader.call("POST /v1/sessions/s/jobs/many/cancel", &[JSON], "{}").await;
    assert_eq!(refused.refusal(), (403, "forbidden".to_owned()));
    assert_eq!(reader.call("GET /v1/sessions/s/jobs/many", &[], "").await.status, 200);
    server.assert_no_panic().await;
    server.stop().await;
}

#[tokio::test]
async fn the_jobs_of_a_task_are_cancelled_with_it() {
    let server = Server::start().await;
    server.make("s").await;
    server.call("POST /v1/sessions/s/tasks", &[JSON], r#"{"taskId":"t"}"#).await;
    server.call("POST /v1/sessions/s/tasks", &[JSON], r#"{"taskId":"below","parentTaskId":"t"}"#).await;
    for (job, task) in [("own", "t"), ("under", "below"), ("other", "elsewhere")] {
        let body = json!({"jobId": job, "taskId": task, "items": [{"itemId": "a"}]}).to_string();
        assert_eq!(server.call("POST /v1/sessions/s/jobs", &[JSON], body).await.status, 201);
    }
    let ended = server.call("POST /v1/sessions/s/tasks/t/cancel", &[JSON], r#"{"reason":"enough"}"#).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    for (job, status) in [("own", "cancelled"), ("under", "cancelled"), ("other", "pending")] {
        let job = server.get(&format!("/v1/sessions/s/jobs/{job}")).await;
        assert_eq!((&job["status"], &job["items"][0]["status"]), (&json!(status), &json!(status)), "{job}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_servers_own_jobs_take_no_commands() {
    let server = Server::start().await;
    server.make("s").await;
    let file = json!({"type": "x.a", "sessionId": "made"}).to_string();
    assert_eq!(server.call("POST /v1/import", &[NDJSON], file).await.status, 201);
    let listed = server.get("/v1/sessions/riverrun-jobs/jobs").await;
    let job = listed["jobs"][0]["jobId"].as_str().expect("a job").to_owned();
    assert_eq!(listed["jobs"][0]["title"], "import of made", "{listed}");
    for path in ["cancel", "items/absent/retry"] {
        let answer =
            server.call(&format!("POST /v1/sessions/riverrun-jobs/jobs/{job}/{path}"), &[], "").await;
        let expected = if path == "cancel" { (501, "unsupported_operation") } else { (404, "not_found") };
        assert_eq!(answer.refusal(), (expected.0, expected.1.to_owned()), "{}", answer.text());
    }
    let answer = server.call("POST /v1/sessions/riverrun-jobs/jobs", &[JSON], "{}").await;
    assert_eq!(answer.refusal(), (501, "unsupported_operation".to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn trials_are_exported_in_three_forms_with_their_gaps() {
    let server = Server::start().await;
    server.make("s").await;
    let ids = json!({"datasetId": "lime", "datasetVersion": "1", "taskId": "approve", "trialId": "=t1",
        "configurationId": "candidate"});
    let events = [
        json!({"type": "benchmark.trial.started", "threadId": "main", "turnId": "turn1", "taskId": "task1",
            "runId": "run1", "benchmark": ids, "payload": {"attempt": 1}}),
        json!({"type": "benchmark.reward.recorded", "benchmark": {"trialId": "=t1"},
            "refs": {"trajectoryRef": "/t.json"}, "payload": {"reward": 0.5, "failureCategory": "none"}}),
        json!({"type": "benchmark.trial.completed", "payload": {"benchmark": {"trialId": "=t1"}}}),
        json!({"type": "benchmark.trial.failed", "payload": {"benchmark": {"trialId": "t2"},
            "error": {"message": "too slow"}, "failureCategory": "timeout"}}),
    ];
    server.tell("s", &events).await;
    let whole = server.get("/v1/sessions/s/benchmark").await;
    let first = &whole["trials"][0];
    assert_eq!(first["knownGaps"], json!([]), "{first}");
    assert_eq!(first["runtimeCorrelation"]["runId"], "run1", "{first}");
    assert_eq!((&first["reward"]["value"], &first["status"]), (&json!(0.5), &json!("completed")));
    let second = &whole["trials"][1];
    assert_eq!(second["reward"], Value::Null, "no reward is no zero");
    let gaps = second["knownGaps"].as_array().expect("gaps");
    assert!(gaps.contains(&json!("reward")) && gaps.contains(&json!("turnId")), "{second}");
    let lines = server.call("GET /v1/sessions/s/benchmark?format=ndjson", &[], "").await;
    assert_eq!(lines.text().lines().count(), 2, "{}", lines.text());
    let table = server.call("GET /v1/sessions/s/benchmark?format=csv", &[], "").await;
    assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8"));
    let rows: Vec<String> = table.text().lines().map(str::to_owned).collect();
    assert!(
        rows[0].starts_with("trialId,datasetId,") && rows[1].starts_with("'=t1,lime,1,approve,"),
        "{rows:?}"
    );
    let one = server.get("/v1/sessions/s/benchmark?trial=t2").await;
    assert_eq!(one["trials"].as_array().map(Vec::len), Some(1));
    let absent = server.call("GET /v1/sessions/s/benchmark?trial=none", &[], "").await;
    assert_eq!(absent.refusal(), (404, "not_found".to_owned()));
    let odd = server.call("GET /v1/sessions/s/benchmark?format=xml", &[], "").await;
    assert_eq!(odd.status, 400, "{}", odd.text());
    let malformed = r#"{"type":"benchmark.reward.recorded","reward":"good","payload":{}}"#;
    let refused = server.call("POST /v1/sessions/s/events", &[JSON], malformed).await;
    assert_eq!(refused.refusal(), (400, "invalid_event".to_owned()), "{}", refused.text());
    server.assert_no_panic().await;
    server.stop().await;
}
