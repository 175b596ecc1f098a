//! Parts of a log: a turn, a task with those below it, some types. Exactly these, and a place that moves on.

use serde_json::{Value, json};

use crate::generate::session;
use crate::harness::Server;
use crate::stream::{End, Stream};
use crate::wire::Frame;

async fn filled(seed: u64) -> (Server, Vec<Value>) {
    let server = Server::start().await;
    server.make("s1").await;
    for part in session(seed, 6).chunks(11) {
        server.tell("s1", part).await;
    }
    let export = server.call("GET /v1/sessions/s1/export", &[], "").await.text();
    (server, export.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

fn events(frames: &[Frame]) -> Vec<Value> {
    frames.iter().filter(|frame| frame.event.is_none()).map(Frame::json).collect()
}

async fn check(server: &Server, query: &str, expected: &[&Value]) {
    for mode in ["replay", "coalesce"] {
        let path = format!("/v1/sessions/s1/events?follow=false&{query}&catchup={mode}");
        let (frames, end) = Stream::open(server, &path, &[]).await.rest().await;
        assert_eq!(end, End::Clean, "{query}");
        let last = frames.last().expect("a stream has words").json();
        assert_eq!(last["type"], "stream.end", "{query}");
        assert_eq!(frames[0].json()["type"], "stream.opened");
        if mode == "replay" {
            assert_eq!(events(&frames).iter().collect::<Vec<_>>(), expected, "{query}");
        } else {
            assert_eq!(
                texts(&events(&frames)),
                texts(&expected.iter().copied().cloned().collect::<Vec<_>>()),
                "{query}"
            );
        }
    }
}

/// All text that events tell, however it was joined.
fn texts(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["payload"]["delta"].as_str()).collect()
}

#[tokio::test]
async fn a_filter_gives_exactly_its_events() {
    for seed in [1, 2, 3, 4, 5] {
        let (server, log) = filled(seed).await;
        for turn in 0..6 {
            let turn = format!("turn_{turn}");
            let of_turn: Vec<&Value> = log.iter().filter(|event| event["turnId"] == turn.as_str()).collect();
            // A turn is over at its first end.
            let over = of_turn.iter().position(|event| is_end(event)).map_or(of_turn.len(), |at| at + 1);
            check(&server, &format!("turn={turn}"), &of_turn[..over]).await;
            let deltas: Vec<&Value> = of_turn[..over]
                .iter()
                .copied()
                .filter(|event| event["type"] == "model.delta" || is_end(event))
                .collect();
            check(&server, &format!("turn={turn}&types=model.delta"), &deltas).await;
        }
        let families = |event: &&Value| {
            let kind = event["type"].as_str().unwrap_or_default();
            kind.starts_with("item.") || kind == "tool.args"
        };
        check(&server, "types=item.*,tool.args", &log.iter().filter(families).collect::<Vec<_>>()).await;
        for task in tasks(&log) {
            let below = descendants(&log, &task);
            let of_task = log.iter().filter(|event| {
                event["taskId"].as_str().is_some_and(|task| below.contains(&task.to_owned()))
            });
            check(&server, &format!("task={task}"), &of_task.collect::<Vec<_>>()).await;
        }
        server.stop().await;
    }
}

fn is_end(event: &Value) -> bool {
    ["turn.completed", "turn.failed", "turn.cancelled"].iter().any(|kind| event["type"] == *kind)
}

fn tasks(log: &[Value]) -> Vec<String> {
    let mut tasks: Vec<String> =
        log.iter().filter_map(|event| event["taskId"].as_str().map(str::to_owned)).collect();
    tasks.sort();
    tasks.dedup();
    tasks
}

fn descendants(log: &[Value], task: &str) -> Vec<String> {
    let mut below = vec![task.to_owned()];
    for event in log {
        let (Some(child), Some(parent)) = (event["taskId"].as_str(), event["parentTaskId"].as_str()) else {
            continue;
        };
        if below.iter().any(|known| known == parent) {
            below.push(child.to_owned());
        }
    }
    below
}

/// A reader that joins late knows the sub-tasks that began before it came.
#[tokio::test]
async fn a_task_filter_that_resumes_knows_what_is_below() {
    let (server, log) = filled(2).await;
    for (at, event) in log.iter().enumerate().step_by(5) {
        let Some(task) = event["taskId"].as_str() else { continue };
        let below = descendants(&log, task);
        let rest = log[at + 1..]
            .iter()
            .filter(|event| event["taskId"].as_str().is_some_and(|task| below.contains(&task.to_owned())));
        let path = format!("/v1/sessions/s1/events?follow=false&task={task}&after={}", at + 1);
        let (frames, _) = Stream::open(&server, &path, &[]).await.rest().await;
        assert_eq!(events(&frames).iter().collect::<Vec<_>>(), rest.collect::<Vec<_>>(), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_of_a_turn_ends_with_the_turn() {
    let server = Server::start().await;
    server.make("s1").await;
    let of = |turn: &str, kind: &str| json!({"type": kind, "turnId": turn, "taskId": turn, "payload": {"input": "?"}});
    server.tell("s1", &[of("t1", "turn.submitted"), of("t2", "turn.submitted")]).await;
    let mut open = Vec::new();
    for dialect in ["native", "task"] {
        let mut stream =
            Stream::open(&server, &format!("/v1/sessions/s1/events?turn=t1&dialect={dialect}"), &[]).await;
        stream.until("stream.caught_up").await;
        open.push(stream);
    }
    server
        .tell("s1", &[of("t2", "turn.started"), of("t1", "turn.completed"), of("t2", "turn.completed")])
        .await;
    // It had ended before these readers came: there is nothing to wait for.
    for query in [
        "",
        "&after=3",
        "&after=5",
        "&dialect=task",
        "&dialect=task&after=4",
        "&catchup=snapshot",
        "&catchup=coalesce",
    ] {
        open.push(Stream::open(&server, &format!("/v1/sessions/s1/events?turn=t1{query}"), &[]).await);
    }
    for stream in &mut open {
        let (frames, end) = stream.rest().await;
        let last = frames.last().expect("it said goodbye").json();
        assert_eq!(
            (end, &last["type"], &last["reason"]),
            (End::Clean, &json!("stream.end"), &json!("turn_ended")),
            "{frames:?}"
        );
        for event in events(&frames) {
            assert!(event["turnId"] == "t1" || event["task_id"] == "t1", "{event}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn the_place_of_a_filtered_reader_moves_on() {
    let server = Server::start().await;
    server.make("s1").await;
    let mut stream = Stream::open(&server, "/v1/sessions/s1/events?types=x.wanted", &[]).await;
    stream.until("stream.caught_up").await;
    for _ in 0..50 {
        server.tell("s1", &[json!({"type": "x.other"})]).await;
    }
    server.tell("s1", &[json!({"type": "x.wanted"})]).await;
    let frame = stream.next().await.expect("the event that was asked for");
    assert_eq!(frame.json()["sequence"], 51);
    let mut late = Stream::open(&server, "/v1/sessions/s1/events?types=x.nothing", &[]).await;
    let caught_up = late.until("stream.caught_up").await.pop().expect("a word");
    assert!(caught_up.id.as_deref().is_some_and(|id| id.starts_with("51.")), "{caught_up:?}");
    server.stop().await;
}
