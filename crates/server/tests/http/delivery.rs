//! How streams end, who may hold them up, and what they cost.

use std::time::{Duration, Instant};

use riverrun_server::edge::Limits;
use serde_json::{Value, json};

use crate::client::{Client, Dialect, shown};
use crate::generate::session;
use crate::harness::Server;
use crate::stream::{End, Stream};

async fn live(server: &Server, query: &str) -> Stream {
    let mut stream = Stream::open(server, &format!("/v1/sessions/s1/events?{query}"), &[]).await;
    stream.until("stream.caught_up").await;
    stream
}

#[tokio::test]
async fn a_drain_cuts_streams_without_a_clean_end() {
    let mut server = Server::start().await;
    server.make("s1").await;
    let mut streams =
        [live(&server, "").await, live(&server, "dialect=task").await, live(&server, "turn=t1").await];
    server.begin_drain();
    for stream in &mut streams {
        let (frames, end) = stream.rest().await;
        assert_eq!(
            (frames.last().and_then(|frame| frame.word()).as_deref(), end),
            (Some("stream.draining"), End::Cut)
        );
    }
    server.drained().await;
}

#[tokio::test]
async fn deleting_a_session_cuts_its_streams() {
    let server = Server::start().await;
    server.make("s1").await;
    let mut streams = [live(&server, "").await, live(&server, "dialect=task").await];
    assert_eq!(server.call("DELETE /v1/sessions/s1", &[], "").await.status, 204);
    for stream in &mut streams {
        assert_eq!(stream.rest().await.1, End::Cut);
    }
    assert_eq!(server.call("GET /v1/sessions/s1/events", &[], "").await.status, 410);
    server.stop().await;
}

#[tokio::test]
async fn a_revoked_key_cuts_its_streams_and_no_other() {
    let server = Server::start().await;
    server.make("s1").await;
    let (reader, id) = server.key("default", &["read"]).await;
    let mut theirs = Stream::open(&reader, "/v1/sessions/s1/events", &[]).await;
    theirs.until("stream.caught_up").await;
    let mut mine = live(&server, "").await;
    let asked = Instant::now();
    assert_eq!(server.call(&format!("DELETE /v1/keys/{id}"), &[], "").await.status, 204);
    assert_eq!(theirs.rest().await.1, End::Cut);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    server.tell("s1", &[json!({"type": "x.a"})]).await;
    assert_eq!(mine.next().await.expect("the other stream goes on").json()["type"], "x.a");
    server.stop().await;
}

/// A key that another process revokes is found in the store.
#[tokio::test]
async fn a_key_revoked_behind_our_back_is_cut_within_its_time() {
    let server = Server::start().await;
    server.make("s1").await;
    let (reader, id) = server.key("default", &["read"]).await;
    let mut stream = Stream::open(&reader, "/v1/sessions/s1/events", &[]).await;
    stream.until("stream.caught_up").await;
    let asked = Instant::now();
    let now = riverrun_log::Clock::now(&riverrun_log::SystemClock);
    server.log.revoke_key(&id.parse().expect("an id"), now).await.expect("it is revoked");
    assert_eq!(stream.rest().await.1, End::Cut);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    server.stop().await;
}

fn large(at: usize) -> Value {
    json!({"type": "x.large", "payload": {"at": at, "text": "x".repeat(20_000)}})
}

/// A reader that does not read costs its place. Others get everything at once; later it gets everything too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_holds_up_nobody_and_loses_nothing() {
    const EVENTS: usize = 1500;
    let server = Server::start().await;
    server.make("s1").await;
    let mut slow = live(&server, "").await;
    let mut quick = live(&server, "").await;
    let before = memory();
    for at in (0..EVENTS).step_by(10) {
        server.tell("s1", &(at..at + 10).map(large).collect::<Vec<_>>()).await;
        for expected in at..at + 10 {
            assert_eq!(
                quick.next().await.expect("a quick reader is not held up").json()["payload"]["at"],
                expected
            );
        }
    }
    // The log itself is in memory here: 30 MB of events and a ring beside them.
    let grown = memory().saturating_sub(before);
    assert!(grown < 160 << 20, "{grown} bytes for a reader that does not read");
    for expected in 0..EVENTS {
        assert_eq!(slow.next().await.expect("nothing is lost").json()["payload"]["at"], expected);
    }
    server.stop().await;
}

fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// Readers of a dialect with state share one projector while they keep up, and get one of their own when they fall
/// behind what is kept in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_fell_behind_the_ring_is_told_the_same() {
    let server = Server::start().await;
    server.make("s1").await;
    let mut behind = live(&server, "dialect=task").await;
    let mut client = Client::new(Dialect::Task, "s1");
    let mut ahead = live(&server, "dialect=task").await;
    let mut events = session(9, 6);
    let filler = |at| json!({"type": "x.large", "payload": {"at": at, "text": "x".repeat(9_000)}});
    for at in 0..400 {
        events.insert(at * events.len() / 400, filler(at));
    }
    let mut last = 0;
    for part in events.chunks(3) {
        last = server.tell("s1", part).await;
    }
    server
        .tell("s1", &[json!({"type": "task.created", "turnId": "t_end", "taskId": "end", "payload": {}})])
        .await;
    let mut other = Client::new(Dialect::Task, "s1");
    for (stream, client) in [(&mut behind, &mut client), (&mut ahead, &mut other)] {
        loop {
            let frame = stream.next().await.expect("the stream goes on");
            client.take("s1", &frame);
            if frame.event.is_none() && frame.json()["task_id"] == "end" {
                break;
            }
        }
    }
    assert!(last > 400);
    for turn in 0..6 {
        let task = format!("task_{turn}");
        let expected = Some(shown(server.get(&format!("/v1/tasks/{task}")).await));
        assert_eq!((client.object(&task), other.object(&task)), (expected.clone(), expected), "{task}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_that_does_not_follow_ends() {
    let server = Server::start().await;
    server.make("s1").await;
    for events in [0, 1, 30] {
        for at in 0..events {
            server.tell("s1", &[json!({"type": "x.a", "payload": {"at": at}})]).await;
        }
        for dialect in ["native", "task"] {
            for mode in ["replay", "coalesce", "snapshot"] {
                let path = format!("/v1/sessions/s1/events?follow=false&dialect={dialect}&catchup={mode}");
                let (frames, end) = Stream::open(&server, &path, &[]).await.rest().await;
                let last = frames.last().expect("a goodbye").json();
                assert_eq!(
                    (end, &last["type"], &last["reason"]),
                    (End::Clean, &json!("stream.end"), &json!("caught_up"))
                );
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn an_idle_stream_says_that_it_is_alive() {
    let server =
        Server::with_limits(Limits { ping_every: Duration::from_secs(1), ..Limits::default() }).await;
    server.make("s1").await;
    let mut stream = live(&server, "types=x.nothing").await;
    server.tell("s1", &[json!({"type": "x.other"})]).await;
    let beat = stream.until("stream.heartbeat").await.pop().expect("a word");
    assert!(beat.id.as_deref().is_some_and(|id| id.starts_with("1.")), "{beat:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_ticket_opens_one_stream() {
    let log = std::sync::Arc::new(riverrun_log::memory::MemoryLog::new(std::sync::Arc::new(
        riverrun_log::SystemClock,
    )));
    let server = Server::on(log, tempfile::TempDir::new().expect("a directory"), Limits::default()).await;
    server.make("s1").await;
    let (ticketed, _) = server.key("default", &["read"]).await;
    let ticket = ticketed.call("POST /v1/tickets", &[], "").await.json()["ticket"]
        .as_str()
        .expect("a ticket")
        .to_owned();
    let path = format!("/v1/sessions/s1/events?follow=false&ticket={ticket}");
    let mut first = Stream::open(&server, &path, &[("authorization", "")]).await;
    assert_eq!(first.rest().await.1, End::Clean);
    let again = server.call(&format!("GET {path}"), &[("authorization", "")], "").await;
    assert_eq!(again.refusal(), (401, "unauthenticated".to_owned()), "a ticket works once");
    server.stop().await;
}
