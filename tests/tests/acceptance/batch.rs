//! Jobs of an application and trials of a benchmark: done outside, recorded and read here.

use serde_json::{Value, json};

use crate::stage::{Stage, kinds};

fn post(stage: &Stage, path: &str, body: &Value) -> (u16, Value) {
    stage.world.post(path, body).unwrap()
}

fn append(stage: &Stage, events: &Value) {
    let (status, answer) = post(stage, "/v1/sessions/s/events", events);
    assert_eq!(status, 201, "{answer}");
}

fn item(kind: &str, id: &str, payload: Value) -> Value {
    json!({"type": format!("job.item.{kind}"), "jobId": "pages", "jobItemId": id, "payload": payload})
}

#[test]
fn scenario_17_one_failed_item_of_a_job_is_retried_alone() {
    let mut stage = Stage::new("job-items", "", &[]);
    let job = json!({"jobId": "pages", "title": "Translate pages",
        "items": [{"itemId": "p1"}, {"itemId": "p2"}, {"itemId": "p3"}]});
    assert_eq!(post(&stage, "/v1/sessions/s/jobs", &job).0, 201);
    let error = json!({"message": "no answer", "code": "timeout"});
    append(
        &stage,
        &json!([
            {"type": "job.started", "jobId": "pages"},
            item("started", "p1", json!({})),
            item("completed", "p1", json!({"outputRef": "store:p1"})),
            item("started", "p2", json!({})),
            item("failed", "p2", json!({"lastError": error, "retryable": true})),
            item("started", "p3", json!({})),
            item("completed", "p3", json!({"outputRef": "store:p3"})),
            {"type": "job.failed", "jobId": "pages", "payload": {"error": {"message": "1 of 3 items failed"}}},
        ]),
    );
    let before = stage.world.get("/v1/sessions/s/jobs/pages").unwrap();
    assert_eq!((&before["status"], &before["items"][1]["status"]), (&json!("failed"), &json!("failed")));
    // What was acknowledged is there after a kill, and so is the answer to the retry.
    stage.restart();
    assert_eq!(stage.world.get("/v1/sessions/s/jobs/pages").unwrap(), before);
    let retry = |stage: &Stage, item: &str| {
        let key =
            [("idempotency-key", format!("again-{item}")), ("content-type", "application/json".to_owned())];
        let path = format!("/v1/sessions/s/jobs/pages/items/{item}/retry");
        let (status, answer) = stage.world.place.ask("POST", &path, &key, b"{}").unwrap();
        (status, serde_json::from_slice::<Value>(&answer).unwrap())
    };
    let (status, first) = retry(&stage, "p2");
    assert_eq!((status, &first["attempts"]), (200, &json!(2)), "{first}");
    stage.restart();
    assert_eq!(retry(&stage, "p2"), (200, first), "the same command again is the same attempt");
    assert_eq!(retry(&stage, "p1").0, 409, "what is complete is not done twice");
    let events = stage.events();
    let attempts =
        events.iter().filter(|event| event["jobItemId"] == "p2" && event["type"] == "job.item.started");
    assert_eq!(attempts.count(), 2, "{:?}", kinds(&events));
    append(
        &stage,
        &json!([
            item("completed", "p2", json!({"attempts": 2, "outputRef": "store:p2"})),
            {"type": "job.completed", "jobId": "pages"},
        ]),
    );
    let job = stage.world.get("/v1/sessions/s/jobs/pages").unwrap();
    assert_eq!((&job["status"], &job["counts"]["completed"]), (&json!("completed"), &json!(3)), "{job}");
    for at in [0, 2] {
        assert_eq!(job["items"][at], before["items"][at], "the others keep their results");
    }
    let retried = &job["items"][1];
    assert_eq!((&retried["attempts"], &retried["outputRef"]), (&json!(2), &json!("store:p2")), "{retried}");
    assert_eq!(retried["lastError"]["code"], "timeout", "the last error is preserved: {retried}");
    let state = stage.world.get("/v1/sessions/s/state").unwrap();
    assert_eq!(state["jobs"]["entries"][0]["items"], job["items"], "the fold holds the same");
    assert_eq!(state["problems"]["count"].as_u64().unwrap_or(0), 0, "{}", state["problems"]);
}

#[test]
fn scenario_18_a_benchmark_trial_is_exported_with_its_ids_and_reward() {
    const SECRET: &str = "rr_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL";
    let mut stage = Stage::new("trials", "", &[]);
    assert_eq!(post(&stage, "/v1/sessions", &json!({"sessionId": "bench"})).0, 201);
    stage.world.submit("bench", "t1", "writer").unwrap();
    let turn = stage.world.finish("bench", &["t1"]).unwrap();
    let turn = turn.into_iter().find(|event| event["type"] == "turn.started").unwrap();
    let ids = json!({"datasetId": "runtime-tasks", "datasetVersion": "2026-11", "taskId": "write", "role": "candidate",
        "trialId": "trial-1", "configurationId": "feedback-v2"});
    let event = |kind: &str, benchmark: Value, refs: Value, payload: Value| {
        json!({"type": format!("benchmark.{kind}"), "threadId": turn["threadId"], "turnId": turn["turnId"],
            "taskId": turn["taskId"], "runId": turn["runId"], "benchmark": benchmark, "refs": refs, "payload": payload})
    };
    let dataset =
        json!({"datasetId": "runtime-tasks", "datasetVersion": "2026-11", "datasetRef": "benchmarks/rt"});
    let configuration = json!({"configurationId": "feedback-v2", "role": "candidate"});
    let events = json!([
        event("dataset.resolved", dataset, json!({}), json!({})),
        event("configuration.resolved", configuration, json!({}), json!({})),
        event(
            "trial.started",
            ids.clone(),
            json!({"taskTomlRef": "write/task.toml"}),
            json!({"attempt": 1, "timeoutSec": 300, "singleChangedVariable": "feedback"})
        ),
        event(
            "trial.completed",
            ids.clone(),
            json!({"trajectoryRef": "/logs/agent/trajectory.json"}),
            json!({"metrics": {"durationMs": 98000, "note": SECRET}})
        ),
        event(
            "reward.recorded",
            ids.clone(),
            json!({"rewardRef": "/logs/verifier/reward.json"}),
            json!({"reward": 1, "criteria": ["trajectory-present"], "failureCategory": "none"})
        ),
        event("comparison.completed", ids, json!({}), json!({"comparison": {"meanRewardDelta": 0.1}})),
    ]);
    let (status, answer) = post(&stage, "/v1/sessions/bench/events", &events);
    assert_eq!(status, 201, "{answer}");
    stage.restart();
    let export = stage.world.get("/v1/sessions/bench/benchmark").unwrap();
    let pack = &export["trials"][0];
    let expected = json!({"datasetId": "runtime-tasks", "datasetVersion": "2026-11", "taskId": "write",
        "role": "candidate", "trialId": "trial-1", "configurationId": "feedback-v2",
        "singleChangedVariable": "feedback"});
    assert_eq!(pack["benchmark"], expected, "{pack}");
    let correlation = &pack["runtimeCorrelation"];
    for name in ["threadId", "turnId", "taskId", "runId"] {
        assert_eq!(correlation[name], turn[name], "{name} joins the trial to its run");
    }
    assert_eq!(correlation["sessionId"], "bench", "{correlation}");
    assert_eq!(pack["runtime"]["turnStatus"], "completed", "what the session knows of the turn: {pack}");
    assert_eq!(
        (&pack["reward"]["value"], &pack["reward"]["criteria"][0]),
        (&json!(1.0), &json!("trajectory-present"))
    );
    assert_eq!((&pack["status"], &pack["knownGaps"]), (&json!("completed"), &json!([])), "{pack}");
    assert_eq!(pack["refs"]["trajectoryRef"], "/logs/agent/trajectory.json", "{pack}");
    assert_eq!(export["comparisons"][0]["comparison"]["meanRewardDelta"], 0.1, "{export}");
    assert_eq!(export["datasets"][0]["benchmark"]["datasetRef"], "benchmarks/rt");
    assert!(!export.to_string().contains(SECRET), "the export holds no secret");
    let table = stage.world.place.ask("GET", "/v1/sessions/bench/benchmark?format=csv", &[], b"").unwrap();
    let table = String::from_utf8(table.1).unwrap();
    assert!(
        table.lines().nth(1).is_some_and(|row| row.starts_with("trial-1,runtime-tasks,2026-11,write,")),
        "{table}"
    );
    let absent = stage.world.place.ask("GET", "/v1/sessions/bench/benchmark?trial=none", &[], b"").unwrap();
    assert_eq!(absent.0, 404);
}
