//! Several threads in one session: each has its own turn, queue and conversation.

use std::time::Duration;

use riverrun_event::{ThreadId, TurnId};
use riverrun_provider::{HistoryEntry, ModelRequest};
use riverrun_runner::{Busy, CancelMode, Submit};

use crate::script::{Script, slow_text, text};
use crate::stage::{Stage, agent, turn_of};

const SECOND: Duration = Duration::from_secs(1);

fn on(thread: &str, turn: &str, input: &str) -> Submit {
    Submit { thread_id: Some(ThreadId::new(thread).unwrap()), ..turn_of(turn, input) }
}

fn asked(request: &ModelRequest) -> Vec<String> {
    let asked = request.history.iter().filter_map(|entry| match entry {
        HistoryEntry::User { parts } => parts[0].text().map(ToOwned::to_owned),
        _ => None,
    });
    asked.collect()
}

#[tokio::test(start_paused = true)]
async fn threads_run_side_by_side_and_do_not_read_each_other() {
    let slow = || slow_text("a b c d", SECOND);
    let stage = Stage::new(Script::new(vec![slow(), slow(), text("x"), text("y")]), vec![agent()]).await;
    for (thread, turn) in [("left", "turn_l1"), ("right", "turn_r1")] {
        let told = stage.runner.submit(&stage.key, on(thread, turn, turn)).await.unwrap();
        assert_eq!(told.status, "accepted", "another thread's turn keeps nobody waiting");
    }
    let queued = stage.runner.submit(&stage.key, on("left", "turn_l2", "turn_l2")).await.unwrap();
    assert_eq!(queued.status, "queued");
    let rejected =
        stage.runner.submit(&stage.key, Submit { busy: Busy::Reject, ..on("right", "turn_x", "x") }).await;
    assert!(rejected.is_err());
    let left = ThreadId::new("left").unwrap();
    assert_eq!(stage.runner.queue(&stage.key, Some(&left)).await.unwrap().len(), 1);
    let right = ThreadId::new("right").unwrap();
    assert_eq!(stage.runner.queue(&stage.key, Some(&right)).await.unwrap().len(), 0);
    stage.until_count("model.delta", 4).await;
    let deltas = stage.events().await;
    let deltas = deltas.iter().filter(|event| event.kind.as_str() == "model.delta");
    let of: Vec<_> = deltas.map(|event| event.scope.turn_id.clone().unwrap().to_string()).collect();
    assert!(of.contains(&"turn_l1".to_owned()) && of.contains(&"turn_r1".to_owned()), "{of:?}");
    for turn in ["turn_l1", "turn_r1", "turn_l2"] {
        assert_eq!(stage.ended(turn).await, "completed");
    }
    stage.runner.submit(&stage.key, on("right", "turn_r2", "turn_r2")).await.unwrap();
    assert_eq!(stage.ended("turn_r2").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    assert_eq!(asked(&requests[2]), ["turn_l1", "turn_l2"]);
    assert_eq!(asked(&requests[3]), ["turn_r1", "turn_r2"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_and_a_crash_concern_one_thread_each() {
    let slow = || slow_text("a b c d", SECOND);
    let mut stage = Stage::new(Script::new(vec![slow(), slow(), text("again")]), vec![agent()]).await;
    stage.runner.submit(&stage.key, on("left", "turn_l", "l")).await.unwrap();
    stage.runner.submit(&stage.key, on("right", "turn_r", "r")).await.unwrap();
    stage.until_count("model.delta", 2).await;
    let left = TurnId::new("turn_l").unwrap();
    stage.runner.cancel(&stage.key, &left, CancelMode::Immediate, None).await.unwrap();
    assert_eq!(stage.ended("turn_l").await, "cancelled");
    assert_eq!(stage.take_over().await, 1, "one turn is left");
    assert_eq!(stage.ended("turn_r").await, "completed");
    assert_eq!(stage.said("turn_r").await, "again");
}
