//! A server that is asked to go, and the one that comes after it.

use std::time::{Duration, Instant};

use riverrun_tests::crash::Server;
use serde_json::{Value, json};

use crate::stage::{Stage, find, kinds};

/// A step that takes two seconds and ends with a call, and a step after it.
const TWO_STEPS: &str = r#"
[[step]]
when = { step = 1 }
play = [
  { text = { pieces = ["word "], times = 20, pace_ms = 100 } },
  { call = { name = "charge", arguments = ['{"path":"a"}'] } },
]
[[step]]
play = [ { text = { pieces = ["paid"] } } ]
"#;

const CALLS: &str = r#"
[[step]]
when = { step = 1 }
play = [ { call = { id = "c1", name = "TOOL", arguments = ['{}'] } } ]
[[step]]
play = [ { text = { pieces = ["gone on"] } } ]
"#;

const HANGS: &str = r#"
[[step]]
play = [ { text = { pieces = ["well "] } }, { hang = true } ]
"#;

fn agent(name: &str, tools: &str) -> String {
    format!("[agents.{name}]\nmodel = \"scripted/{name}\"\ntools = [{tools}]\n")
}

fn count(events: &[Value], kind: &str) -> usize {
    kinds(events).iter().filter(|known| **known == kind).count()
}

impl Stage {
    fn server(&mut self) -> &mut Server {
        self.server.as_mut().unwrap()
    }

    fn go(&mut self) -> Duration {
        let (status, took) = self.server.take().unwrap().terminate().unwrap();
        assert!(status.success(), "{status}: {}", self.world.place.said());
        took
    }

    fn come(&mut self) {
        self.server = Some(Server::start(&self.world.program, &self.world.place).unwrap().0);
    }
}

#[test]
fn a_turn_in_mid_stream_ends_its_step_and_the_next_server_goes_on_with_the_next() {
    let config = agent("payer", "\"charge\"");
    let mut stage = Stage::new("hand-over", &config, &[("payer.toml", TWO_STEPS)]);
    stage.submit("t1", "payer");
    stage.until_kind("model.delta");
    let lines = [("accept", "application/x-ndjson".to_owned())];
    let place = stage.world.place.clone();
    let reader =
        std::thread::spawn(move || place.ask("GET", "/v1/sessions/s/events?follow=true", &lines, b""));
    std::thread::sleep(Duration::from_millis(100));
    stage.server().ask_to_go().unwrap();
    std::thread::sleep(Duration::from_millis(300));

    let (status, body) = stage.world.place.ask("GET", "/readyz", &[], b"").unwrap();
    assert_eq!(status, 503, "{}", String::from_utf8_lossy(&body));
    let turn = json!({"turnId": "t2", "agent": "writer", "input": "go"});
    let (status, refused) = stage.world.post("/v1/sessions/s/turns", &turn).unwrap();
    assert_eq!((status, &refused["code"]), (503, &json!("draining")), "{refused}");

    let ended = stage.server().wait(Duration::from_secs(10)).unwrap().expect("it goes when the step is over");
    assert!(ended.success(), "{ended}");
    // The reader was cut, so that no client takes the end of the server for the end of the turn.
    let cut = reader.join().unwrap();
    assert!(cut.is_err(), "the stream ended cleanly: {cut:?}");

    stage.come();
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["payload"]["finalOutput"], "paid", "{:?}", kinds(&events));
    assert_eq!(count(&events, "model.requested"), 2, "one call of the model for each step");
    assert_eq!(stage.world.counter.effects("s", "charge").len(), 1);
    let words = events.iter().filter(|event| event["type"] == "model.delta");
    let words: String = words.filter_map(|event| event["payload"]["delta"].as_str()).collect();
    assert_eq!(words, format!("{}paid", "word ".repeat(20)), "all was said, and once");
    for kind in ["model.failed", "task.attempt.failed", "item.retracted", "tool.outcome_unknown"] {
        assert_eq!(count(&events, kind), 0, "{kind}");
    }
}

#[test]
fn a_tool_that_outlasts_the_time_is_cut_and_repeated_only_if_it_may_be() {
    for (flag, runs, unknown) in [("destructive", 1, 1), ("idempotent", 2, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let marks = folder.path().join("marks");
        let config = format!(
            "[server]\ndrain = \"400ms\"\n{}[tools.nap]\ncommand = [\"sh\", \"-c\", \"echo $$ >> {marks}; \
             test $(wc -l < {marks}) = 2 || sleep 60\"]\napproval = \"never\"\n{flag} = true\n",
            agent("sleeper", "\"nap\""),
            marks = marks.display(),
        );
        let play = CALLS.replace("TOOL", "nap");
        let mut stage = Stage::new("outlast", &config, &[("sleeper.toml", &play)]);
        stage.submit("t1", "sleeper");
        stage.until_kind("tool.started");
        while std::fs::read_to_string(&marks).is_ok_and(|marks| marks.is_empty()) || !marks.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let took = stage.go();
        assert!(took < Duration::from_secs(5), "{took:?}");
        let first = std::fs::read_to_string(&marks).unwrap();
        assert!(!std::path::Path::new(&format!("/proc/{}", first.trim())).exists(), "it outlived its server");
        stage.come();
        let events = stage.until_ended("t1");
        assert_eq!(events.last().unwrap()["payload"]["finalOutput"], "gone on", "{:?}", kinds(&events));
        assert_eq!(std::fs::read_to_string(&marks).unwrap().lines().count(), runs, "{flag}");
        assert_eq!(count(&events, "tool.outcome_unknown"), unknown, "{flag}");
        assert_eq!(count(&events, "model.requested"), 2, "{flag}");
    }
}

#[test]
fn a_server_with_nothing_to_do_goes_at_once() {
    let mut stage = Stage::new("idle", "", &[]);
    stage.submit("t1", "writer");
    stage.until_ended("t1");
    stage.submit("t2", "asker");
    stage.world.wait_actions("s", 1).unwrap();
    let took = stage.go();
    assert!(took < Duration::from_secs(1), "{took:?}, though a waiting turn is no work");
    stage.come();
    let events = stage.world.finish("s", &["t2"]).unwrap();
    assert_eq!(find(&events[events.len() - 1..], "turn.completed")["turnId"], "t2");
}

#[test]
fn a_second_signal_cuts_at_once() {
    let mut stage = Stage::new("twice", &agent("hanger", ""), &[("hanger.toml", HANGS)]);
    stage.submit("t1", "hanger");
    stage.until_kind("model.delta");
    stage.server().ask_to_go().unwrap();
    assert_eq!(stage.server().wait(Duration::from_millis(700)).unwrap(), None, "it waits for the call");
    let began = Instant::now();
    stage.server().ask_to_go().unwrap();
    let ended = stage.server().wait(Duration::from_secs(5)).unwrap().expect("it goes");
    assert_eq!(ended.code(), Some(130), "{ended}");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    stage.come();
    let events = stage.until("the next run", |event| event["type"] == "task.attempt.failed");
    assert_eq!(find(&events, "model.failed")["payload"]["error"]["code"], "interrupted");
}
