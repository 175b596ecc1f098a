//! Requests that are sent again, with a crash in between.

use std::time::Duration;

use riverrun_event::{CommandId, TaskId, TurnId};
use riverrun_provider::{Category, HistoryEntry};
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CancelMode, CommandError, Decision, RequestKey};

use crate::script::{Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, tool};
use crate::tools::{decide, pending};

const ONE: RequestKey = RequestKey { id: [1; 16], digest: [7; 32] };

fn turn() -> TurnId {
    TurnId::new("turn_1").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_steer_and_its_name_are_one_append() {
    let slow = slow_text("a b c d e f", Duration::from_secs(1));
    let mut stage = Stage::new(Script::new(vec![slow.clone(), slow, text("done")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let steer = async |stage: &Stage, request| {
        stage.runner.steer(&stage.key, &turn(), "and this".into(), Some(request)).await
    };
    let first = steer(&stage, ONE).await.unwrap();
    let stored = stage.log.command(&stage.key, &CommandId::from_bytes(ONE.id)).await.unwrap();
    assert!(stored.is_some(), "the name is not stored with the event");
    // The answer never reached the sender: the server died, and the sender asks again.
    stage.take_over().await;
    let again = steer(&stage, ONE).await.unwrap();
    assert_eq!((again.status.as_str(), again.duplicate), ("steered", true));
    assert_eq!((again.turn_id, again.task_id), (first.turn_id, first.task_id));
    let other = steer(&stage, RequestKey { digest: [8; 32], ..ONE }).await;
    assert!(matches!(other, Err(CommandError::RequestMismatch)), "{other:?}");
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("input.steered").await, 1);
    let requests = stage.script.requests.lock().unwrap();
    let is_it = |entry: &&HistoryEntry| matches!(entry, HistoryEntry::User { parts } if parts[0].text() == Some("and this"));
    assert_eq!(requests.last().unwrap().history.iter().filter(is_it).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_steer_that_does_not_get_into_the_log_leaves_no_name() {
    let slow = slow_text("a b c d e f", Duration::from_secs(1));
    let mut stage = Stage::new(Script::new(vec![slow, text("x"), text("y")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    stage.journal.left.store(0, std::sync::atomic::Ordering::SeqCst);
    assert!(stage.runner.steer(&stage.key, &turn(), "and this".into(), Some(ONE)).await.is_err());
    stage.take_over().await;
    let again = stage.runner.steer(&stage.key, &turn(), "and this".into(), Some(ONE)).await.unwrap();
    assert!(!again.duplicate);
    assert_eq!(stage.count("input.steered").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_asked_for_twice_is_one_run() {
    let script = Script::new(vec![fails("", Category::InvalidRequest), text("now"), text("never")]);
    let mut stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let first = stage.runner.retry(&stage.key, &turn(), Some(ONE)).await.unwrap();
    stage.until("turn.completed").await;
    stage.take_over().await;
    let again = stage.runner.retry(&stage.key, &turn(), Some(ONE)).await.unwrap();
    assert_eq!((again.run_id, again.status.as_str(), again.duplicate), (first.run_id, "completed", true));
    assert_eq!((stage.count("turn.started").await, stage.script.calls()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_word_to_a_sub_agent_is_heard_once() {
    let helper =
        AgentSpec { name: "helper".to_owned(), models: vec!["script/h".to_owned()], ..AgentSpec::default() };
    let spec = AgentSpec { subagents: vec!["helper".to_owned()], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "helper", r#"{"input":"look"}"#)]), text("done")])
        .model("h", vec![slow_text("a b c d", Duration::from_secs(1))]);
    let stage = Stage::new(script, vec![spec, helper]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    for _ in 0..2 {
        let child = TaskId::new("c1").unwrap();
        stage.runner.subagent_input(&stage.key, &child, "and this".into(), Some(ONE)).await.unwrap();
    }
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("subagent.input").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_is_sent_again_leaves_the_next_run_alone() {
    let slow = slow_text("a b c d e f", Duration::from_secs(1));
    let mut stage = Stage::new(Script::new(vec![slow.clone(), slow]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let cancel = async |stage: &Stage, request| {
        let mode = CancelMode::Immediate;
        stage.runner.idempotent(Some(request)).cancel(&stage.key, &turn(), mode, None).await
    };
    assert_eq!(cancel(&stage, ONE).await.unwrap().status, "cancelling");
    stage.until("turn.cancelled").await;
    stage.runner.retry(&stage.key, &turn(), None).await.unwrap();
    stage.take_over().await;
    assert_eq!(cancel(&stage, ONE).await.unwrap().status, "cancelling");
    let other = cancel(&stage, RequestKey { digest: [8; 32], ..ONE }).await;
    assert!(matches!(other, Err(CommandError::RequestMismatch)), "{other:?}");
    stage.until("turn.completed").await;
    assert_eq!(stage.count("task.cancel_requested").await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_changed_once_by_a_command_that_is_sent_again() {
    let slow = slow_text("a b c d e f", Duration::from_secs(100));
    let mut stage = Stage::new(Script::new(vec![slow.clone(), slow]), vec![agent()]).await;
    for turn in ["turn_1", "turn_2", "turn_3", "turn_4"] {
        stage.submit(turn, "go").await;
    }
    const TWO: RequestKey = RequestKey { id: [2; 16], digest: [7; 32] };
    let id = |turn: &str| TurnId::new(turn).unwrap();
    stage.runner.idempotent(Some(ONE)).promote(&stage.key, &id("turn_3")).await.unwrap();
    stage.runner.promote(&stage.key, &id("turn_4")).await.unwrap();
    let first = stage.runner.idempotent(Some(TWO)).unqueue(&stage.key, &id("turn_2")).await.unwrap();
    stage.take_over().await;
    let queue = stage.runner.idempotent(Some(ONE)).promote(&stage.key, &id("turn_3")).await.unwrap();
    let order: Vec<&str> = queue.iter().map(|entry| entry.turn_id.as_str()).collect();
    assert_eq!(order, ["turn_4", "turn_3"], "who was promoted later is still in front");
    let again = stage.runner.idempotent(Some(TWO)).unqueue(&stage.key, &id("turn_2")).await.unwrap();
    assert_eq!((again.turn_id, again.status), (first.turn_id, first.status));
    assert_eq!(stage.count("turn.cancelled").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_is_sent_again_is_answered_as_the_first_time() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![tool("erase", ONCE, Approval::Policy, &made)], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "erase", "{}")]), text("done")]);
    let mut stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let approve = || decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    let first = stage.runner.idempotent(Some(ONE)).decide(&stage.key, approve()).await.unwrap();
    assert!(first.won);
    stage.until("tool.result").await;
    stage.take_over().await;
    let again = stage.runner.idempotent(Some(ONE)).decide(&stage.key, approve()).await.unwrap();
    assert_eq!((again.won, again.decision), (true, first.decision));
    assert!(!stage.runner.decide(&stage.key, approve()).await.unwrap().won, "another request comes too late");
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_is_closed_once() {
    let helper =
        AgentSpec { name: "helper".to_owned(), models: vec!["script/h".to_owned()], ..AgentSpec::default() };
    let spec = AgentSpec { subagents: vec!["helper".to_owned()], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "helper", r#"{"input":"look"}"#)]), text("done")])
        .model("h", vec![slow_text("a b c d", Duration::from_secs(1))]);
    let mut stage = Stage::new(script, vec![spec, helper]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let child = TaskId::new("c1").unwrap();
    stage.runner.idempotent(Some(ONE)).close_subagent(&stage.key, &child, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.take_over().await;
    stage.runner.idempotent(Some(ONE)).close_subagent(&stage.key, &child, None).await.unwrap();
    let again = stage.runner.close_subagent(&stage.key, &child, None).await.unwrap();
    assert!(again.is_some_and(|status| status.is_terminal()));
}
