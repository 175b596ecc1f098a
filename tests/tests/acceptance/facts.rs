//! Facts of the standard that the numbered scenarios do not need: each is written where it happens, once.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::configured::scenario;
use crate::stage::{Stage, find, kinds, place};

fn count(events: &[Value], wanted: &str) -> usize {
    kinds(events).iter().filter(|kind| **kind == wanted).count()
}

#[test]
fn a_task_waits_with_its_question_and_goes_on_with_the_answer() {
    let stage = Stage::new("waits", "", &[]);
    stage.submit("t1", "pair");
    let asked = stage.world.wait_actions("s", 2).unwrap();
    let events = stage.events();
    assert_eq!(count(&events, "task.waiting"), 1, "two questions are one wait: {:?}", kinds(&events));
    let waiting = find(&events, "task.waiting");
    assert_eq!(waiting["payload"]["status"], "waiting_permission", "{waiting}");
    let tasks = stage.world.get("/v1/sessions/s/tasks").unwrap();
    assert_eq!(tasks["tasks"][0]["status"], "waiting_permission", "{tasks}");
    assert_eq!(stage.world.decide("s", &asked[0], "approve").unwrap().status, 200);
    assert_eq!(count(&stage.events(), "task.resumed"), 0, "the other question is open");
    assert_eq!(stage.world.decide("s", &asked[1], "approve").unwrap().status, 200);
    let events = stage.until_ended("t1");
    assert_eq!((count(&events, "task.waiting"), count(&events, "task.resumed")), (1, 1));
    assert_eq!(count(&events, "run.status"), 1, "one attempt");
    assert!(place(&events, "task.created") < place(&events, "task.accepted"));
    assert!(place(&events, "task.accepted") < place(&events, "turn.started"));
    let started = find(&events, "thread.started");
    assert_eq!(started["threadId"], "main", "{started}");
    let state = stage.world.get("/v1/sessions/s/state").unwrap();
    assert_eq!(state["problems"]["count"].as_u64().unwrap_or(0), 0, "{}", state["problems"]);
}

#[test]
fn a_decision_for_always_is_a_rule() {
    let stage = Stage::new("always", "", &[]);
    stage.submit("t1", "asker");
    let asked = stage.world.wait_actions("s", 1).unwrap().remove(0);
    let digest = if asked["digest"].is_null() { &asked["payload"]["digest"] } else { &asked["digest"] };
    let body = json!({"decision": "approve", "digest": digest, "always": true});
    let path = format!("/v1/sessions/s/actions/{}", asked["actionId"].as_str().unwrap());
    assert_eq!(stage.world.post(&path, &body).unwrap().0, 200);
    assert!(kinds(&stage.until_ended("t1")).contains(&"policy.changed"));
}

#[test]
fn a_kept_task_goes_through_its_life_and_is_put_away() {
    let stage = Stage::new("kept", "", &[]);
    let named = json!({"sessionId": "named", "title": "Work that others do"});
    assert_eq!(stage.world.post("/v1/sessions", &named).unwrap().0, 201);
    let task = json!({"taskId": "wall", "title": "Build a wall"});
    assert_eq!(stage.world.post("/v1/sessions/named/tasks", &task).unwrap().0, 201);
    let command = |verb: &str, body: Value| {
        let (status, answer) =
            stage.world.post(&format!("/v1/sessions/named/tasks/wall/{verb}"), &body).unwrap();
        (status, answer["status"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(command("archive", json!({})).0, 409, "it has not ended");
    for (verb, body, status) in [
        ("update", json!({"title": "Build a higher wall"}), "accepted"),
        ("start", json!({}), "running"),
        ("progress", json!({"fraction": 0.5}), "running"),
        ("fail", json!({"error": {"message": "it fell"}}), "failed"),
        ("retry", json!({}), "running"),
        ("complete", json!({"completionSummary": "it stands"}), "completed"),
        ("archive", json!({"reason": "done"}), "archived"),
        ("archive", json!({}), "archived"),
    ] {
        assert_eq!(command(verb, body), (200, status.to_owned()), "{verb}");
    }
    let events = stage.world.events("named").unwrap();
    assert_eq!(count(&events, "task.archived"), 1, "{:?}", kinds(&events));
    stage.saw(&events);
}

const BROKE: &str = "[[step]]\nplay = [ { fail = { category = \"quota\", message = \"no money left\" } } ]\n";

#[test]
fn models_that_fail_are_told_with_what_it_means_for_the_task() {
    let config = "[agents.saved]\nmodel = [\"scripted/broke\", \"scripted/text\"]\n\
         [agents.lost]\nmodel = [\"scripted/broke\", \"scripted/broke\"]\n\
         [agents.patient]\nmodel = \"scripted/fail-then-ok?fails=1\"\n";
    let stage = Stage::new("broke", config, &[("broke.toml", BROKE)]);
    stage.submit("t1", "saved");
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));
    assert!(!kinds(&events).contains(&"task.blocked"), "another model answered");
    stage.submit("t2", "lost");
    let events = stage.until_ended("t2");
    let error = find(&events, "runtime.error");
    assert_eq!((&error["turnId"], &error["payload"]["category"]), (&json!("t2"), &json!("quota")), "{error}");
    assert!(place(&events, "task.blocked") < place(&events, "task.failed"), "{:?}", kinds(&events));
    stage.submit("t3", "patient");
    let events = stage.until_ended("t3");
    let retrying = |event: &&Value| event["type"] == "run.status" && event["payload"]["status"] == "retrying";
    assert_eq!(events.iter().filter(retrying).count(), 1, "{:?}", kinds(&events));
}

#[test]
fn a_turn_that_takes_too_long_has_timed_out() {
    let config = "[agents.late]\nmodel = \"scripted/slow\"\nlimits = { time = \"300ms\" }\n";
    let stage = Stage::new("late", config, &[]);
    stage.submit("t1", "late");
    let events = stage.until_ended("t1");
    let timed_out = find(&events, "task.timed_out");
    assert!(timed_out["payload"]["reason"].as_str().is_some_and(|why| why.contains("longer")), "{timed_out}");
    assert_eq!(find(&events, "turn.failed")["payload"]["error"]["code"], "max_time_exceeded");
    assert!(kinds(&events).contains(&"limit.changed") && !kinds(&events).contains(&"task.failed"));
    let tasks = stage.world.get("/v1/sessions/s/tasks").unwrap();
    assert_eq!(tasks["tasks"][0]["status"], "timed_out", "{tasks}");
}

const PARENT: &str = r#"
[[step]]
when = { results = 1 }
play = [ { text = { pieces = ["it said: {result}"] } } ]
[[step]]
play = [ { call = { name = "child", arguments = ['{"input":"look"}'] } } ]
"#;

#[test]
fn what_a_fork_leaves_open_is_lost_and_its_history_is_put_together() {
    let config = "[agents.parent]\nmodel = \"scripted/parent\"\nsubagents = [\"child\"]\n\
         [agents.child]\nmodel = \"scripted/slow\"\n\
         [agents.short]\nmodel = \"scripted/parent\"\nsubagents = [\"quick\"]\n\
         [agents.quick]\nmodel = \"scripted/text\"\n";
    let quick = PARENT.replace("child", "quick");
    let config = config.replace("short]\nmodel = \"scripted/parent\"", "short]\nmodel = \"scripted/quick\"");
    let stage = Stage::new("fork", &config, &[("parent.toml", PARENT), ("quick.toml", &quick)]);
    stage.submit("t1", "parent");
    let events = stage.until("text of the child", |event| {
        event["type"] == "model.delta" && event["depth"].as_u64().unwrap_or(0) > 0
    });
    let at = events.last().unwrap()["sequence"].clone();
    let (status, answer) =
        stage.world.post("/v1/sessions/s/fork", &json!({"at": at, "sessionId": "f"})).unwrap();
    assert_eq!(status, 201, "{answer}");
    let forked = stage.world.events("f").unwrap();
    assert_eq!(
        (count(&forked, "task.lost"), count(&forked, "subagent.failed")),
        (2, 1),
        "{:?}",
        kinds(&forked)
    );
    let rebuilt = &find(&forked, "history.reconstructed")["payload"];
    assert_eq!((&rebuilt["reason"], &rebuilt["degraded"]), (&json!("forked"), &json!(true)), "{rebuilt}");
    let state = stage.world.get("/v1/sessions/f/state").unwrap();
    assert_eq!(state["problems"]["count"].as_u64().unwrap_or(0), 0, "{}", state["problems"]);
    stage.saw(&forked);
    // A child that comes to its end puts out what it came to, once.
    assert!(stage.world.post("/v1/sessions/s/turns/t1/cancel", &json!({})).unwrap().0 < 300);
    stage.until_ended("t1");
    stage.submit("t2", "short");
    let events = stage.until_ended("t2");
    assert_eq!(count(&events, "subagent.output"), 1, "{:?}", kinds(&events));
    assert!(find(&events, "subagent.output")["payload"]["block"]["text"].is_string());
    assert!(place(&events, "subagent.output") < place(&events, "subagent.completed"));
}

#[test]
fn older_turns_are_a_window_that_is_loaded_and_a_retry_is_a_rollback() {
    let mut stage = Stage::new("window", "", &[]);
    for number in 0..12 {
        stage.submit(&format!("t{number}"), "writer");
        stage.until_ended(&format!("t{number}"));
    }
    stage.restart();
    stage.submit("last", "writer");
    let events = stage.until_ended("last");
    let window = find(&events, "history.window.loaded");
    assert!(window["payload"]["toSequence"].as_u64().is_some_and(|last| last > 0), "{window}");
    let (status, answer) = stage.world.post("/v1/sessions/s/turns/last/retry", &json!({})).unwrap();
    assert_eq!(status, 202, "{answer}");
    let events = stage.until("the end of the second run", |event| {
        event["type"] == "turn.completed" && event["runId"] == answer["runId"]
    });
    let started = &find(&events, "history.rollback.started")["payload"];
    assert_eq!(
        (&started["target"], &started["survivingBaseline"]),
        (&json!("last"), &json!("input")),
        "{started}"
    );
    assert!(place(&events, "history.rollback.started") < place(&events, "item.retracted"));
    assert!(place(&events, "item.retracted") < place(&events, "history.rollback.completed"));
}

/// Answers every request with a picture.
fn pictures() -> std::net::SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                line.clear();
            }
            let png = b"\x89PNG\r\n\x1a\nno more than a beginning";
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                png.len()
            );
            stream.write_all(&[head.as_bytes(), png].concat()).unwrap();
        }
    });
    address
}

#[test]
fn outputs_say_what_was_made_cut_and_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "correct-horse-battery").unwrap();
    let script = folder.path().join("step.sh");
    let partial = r#"::progress {"partial":{"type":"text","text":"half"}}"#;
    std::fs::write(&script, format!("echo '{partial}'\nsleep 0.1\necho whole\n")).unwrap();
    let config = format!(
        r#"
[agents.maker]
model = "scripted/make"
tools = ["draw", "flood", "tell", "step"]
[tools.draw]
url = "http://{pictures}/"
method = "GET"
approval = "never"
allow_hosts = ["127.0.0.1"]
[tools.flood]
command = ["sh", "-c", "head -c 1500000 /dev/zero | tr '\\0' x"]
approval = "never"
[tools.tell]
command = ["sh", "-c", "echo $SESAME"]
approval = "never"
env = {{ SESAME = {{ file = "{file}" }} }}
[tools.step]
command = ["sh", "{script}"]
approval = "never"
"#,
        pictures = pictures(),
        file = file.display(),
        script = script.display(),
    );
    let calls = [("draw", "{}"), ("flood", "{}"), ("tell", "{}"), ("step", "{}")];
    let stage = Stage::new("outputs", &config, &[("make.toml", &scenario(&calls))]);
    stage.submit("t1", "maker");
    let events = stage.until_ended("t1");
    let artifact = find(&events, "artifact.changed");
    assert!(artifact["artifactId"].is_string(), "{artifact}");
    let reference = artifact["payload"]["readRef"].as_str().unwrap();
    let (status, bytes) = stage.world.place.ask("GET", &format!("/v1/blobs/{reference}"), &[], b"").unwrap();
    assert!(status == 200 && bytes.starts_with(b"\x89PNG"), "{status}");
    let cut = find(&events, "output.truncated");
    assert!(cut["payload"]["truncatedBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{cut}");
    assert_eq!(find(&events, "output.redacted")["payload"]["owner"], "tell");
    assert!(find(&events, "output.spilled")["payload"]["outputRef"].is_string());
    assert!(kinds(&events).contains(&"item.updated"), "{:?}", kinds(&events));
}

const HANDS_OVER: &str =
    "[[step]]\nplay = [ { call = { name = \"transfer_to_writer\", arguments = ['{}'] } } ]\n";
const THINKS: &str = "[[step]]\nplay = [\n  { reasoning = { part = 0, pieces = [\"First\"] } },\n  \
     { reasoning = { part = 1, pieces = [\"then\"] } },\n  { text = { pieces = [\"so\"] } },\n]\n";

#[test]
fn handovers_summaries_and_words_in_between_are_facts() {
    let config = "[agents.first]\nmodel = \"scripted/hands\"\nhandoffs = [\"writer\"]\n\
         [agents.thinker]\nmodel = \"scripted/thinks\"\n";
    let stage = Stage::new("hands", config, &[("hands.toml", HANDS_OVER), ("thinks.toml", THINKS)]);
    stage.submit("t1", "first");
    let events = stage.until_ended("t1");
    assert!(place(&events, "handoff.requested") < place(&events, "handoff.completed"));
    stage.submit("t2", "thinker");
    let events = stage.until_ended("t2");
    let of_turn = |event: &&Value| event["turnId"] == "t2" && event["type"] == "reasoning.summary";
    let told: Vec<&str> =
        events.iter().filter(of_turn).filter_map(|event| event["payload"]["text"].as_str()).collect();
    assert_eq!(told, ["First", "then"], "each part once, the last one too");
    stage.submit("t3", "slow");
    stage.until("text", |event| event["turnId"] == "t3" && event["type"] == "model.delta");
    let (status, answer) =
        stage.world.post("/v1/sessions/s/turns/t3/steer", &json!({"input": "shorter"})).unwrap();
    assert!(status < 300, "{status} {answer}");
    assert!(kinds(&stage.until_ended("t3")).contains(&"input.steered"));
}

const MUTE: &str = "[[step]]\nwhen = { input_contains = \"summar\" }\n\
     play = [ { fail = { category = \"invalid_request\", message = \"I sum up nothing\" } } ]\n\
     [[step]]\nplay = [ { text = { pieces = [\"said\"] } } ]\n";

#[test]
fn a_summary_that_cannot_be_made_is_told_and_the_turn_goes_on() {
    let config = "[agents.talker]\nmodel = \"scripted/mute\"\ncompact_at_tokens = 1\n";
    let stage = Stage::new("mute", config, &[("mute.toml", MUTE)]);
    for turn in ["t1", "t2"] {
        stage.submit(turn, "talker");
        stage.until_ended(turn);
    }
    let events = stage.events();
    assert!(kinds(&events).contains(&"context.compaction.failed"), "{:?}", kinds(&events));
    assert_eq!(events.last().unwrap()["type"], "turn.completed");
}
