//! Owners that come and go, others that write too, and many that wait.

use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_event::{Author, Draft, EventScope, EventType, SessionInfo, TurnCancelled, TurnId};
use riverrun_log::{SessionKey, SessionSpec, Shard, WorkScope};
use riverrun_provider::Price;
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CommandError, Decision, Entry, Journal};

use crate::script::{Script, calls, slow_text, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, tool};
use crate::tools::{decide, pending};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_runner_that_drains_writes_nothing_terminal_and_the_next_goes_on() {
    let mut stage =
        Stage::new(Script::new(vec![slow_text("a b c d", SECOND), text("whole")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    stage.runner.drain(5 * SECOND).await;
    let refused = stage.runner.submit(&stage.key, turn_of("turn_2", "go")).await;
    assert!(matches!(refused, Err(CommandError::Draining)));
    let before = stage.kinds().await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.kinds().await, before);
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "whole");
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_lost_its_lease_writes_nothing_more() {
    let stage = Stage::new(Script::new(vec![slow_text("a b c d", SECOND)]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    stage.journal.left.store(0, Ordering::SeqCst);
    let before = stage.kinds().await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.kinds().await, before);
    let refused = stage.runner.submit(&stage.key, turn_of("turn_2", "go")).await;
    assert!(matches!(refused, Err(CommandError::Fenced)), "{refused:?}");
}

/// Nobody waits for text to be durable, but the failure is heard though nothing else happens, and nothing is lost.
#[tokio::test(start_paused = true)]
async fn text_that_finds_no_room_later_is_written_again_in_its_place() {
    let script = Script::new(vec![slow_text("a b c d", 60 * SECOND)]);
    let stage = Stage::new(script, vec![agent()]).await;
    stage.journal.late.store(3, Ordering::SeqCst);
    stage.submit("turn_1", "go").await;
    // The next word is a minute away: who wrote the first is woken by its failure.
    let began = tokio::time::Instant::now();
    stage.until("model.delta").await;
    let waited = began.elapsed();
    assert!(waited < 61 * SECOND, "{waited:?}");
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "a b c d");
}

#[tokio::test(start_paused = true)]
async fn others_may_write_in_between() {
    let stage = Stage::new(Script::new(vec![slow_text("a b c d", SECOND), text("ok")]), vec![agent()]).await;
    let submitted = stage.submit("turn_1", "go").await;
    for count in 1..4 {
        stage.until_count("model.delta", count).await;
        let info = SessionInfo { title: Some(format!("title {count}")), ..SessionInfo::default() };
        let events = vec![
            Draft::new(EventType::SessionUpdated, &EventScope::default(), &info).into_decoded().unwrap(),
        ];
        stage
            .journal
            .append(&stage.journal.open(&stage.key).await.unwrap(), &mut Entry { events, ..Entry::default() })
            .await
            .unwrap();
    }
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "a b c d");
    // Somebody may even end the turn.
    stage.submit("turn_2", "go").await;
    stage.ended("turn_2").await;
    let _ = submitted;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_somebody_else_ended_is_left_alone() {
    let stage = Stage::new(Script::new(vec![slow_text("a b c d", SECOND), text("ok")]), vec![agent()]).await;
    let submitted = stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let scope = EventScope {
        thread_id: Some("main".parse().unwrap()),
        turn_id: Some(TurnId::new("turn_1").unwrap()),
        task_id: Some(submitted.task_id),
        ..EventScope::default()
    };
    // Another owner of the session: what a producer writes about a hosted turn does not count.
    let cancelled = Draft::new(EventType::TurnCancelled, &scope, &TurnCancelled::default());
    let events = vec![cancelled.into_decoded().unwrap().by(Author::Runner)];
    stage
        .journal
        .append(&stage.journal.open(&stage.key).await.unwrap(), &mut Entry { events, ..Entry::default() })
        .await
        .unwrap();
    stage.runner.wake(&stage.key);
    tokio::time::sleep(30 * SECOND).await;
    assert_eq!(stage.kinds().await.last().map(String::as_str), Some("turn.cancelled"));
    stage.submit("turn_2", "go").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
}

#[tokio::test(start_paused = true)]
async fn what_a_turn_costs_is_recorded_and_limited() {
    let price = Price { input: 2.0, cached_input: Some(1.0), cache_write: None, output: 8.0 };
    let script = Script::new(vec![text("ok")]).priced(price);
    let limits = riverrun_runner::agent::Limits { cost: Some(0.00001), ..Default::default() };
    let stage = Stage::new(script, vec![AgentSpec { limits, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let state = stage.state().await;
    assert_eq!(state.turns[0].error.as_ref().unwrap().code.as_deref(), Some("max_cost_exceeded"));
    assert!((state.cost["USD"] - 0.00006).abs() < 1e-9, "{:?}", state.cost);
    // What is read is estimated before it is counted, and an estimate costs nothing.
    let kinds = stage.kinds().await;
    let costs: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|kind| kind.starts_with("cost.")).collect();
    assert_eq!(costs, ["cost.estimated", "cost.recorded"]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_waiting_sessions_hold_no_actor_and_all_time_out() {
    let made = Calls::default();
    let script = Script::new(vec![]).scene("m", vec![calls(&[("c1", "erase", "{}")]), text("fine")]);
    let spec = AgentSpec { tools: vec![tool("erase", ONCE, Approval::Policy, &made)], ..agent() };
    let stage = Stage::new(script, vec![spec]).await;
    let mut keys = Vec::new();
    for place in 0..1_000 {
        let key = SessionKey::new(stage.key.tenant.clone(), format!("ses_{place}").parse().unwrap());
        stage
            .log
            .create_session(&key, SessionSpec { status: "idle".to_owned(), ..SessionSpec::default() })
            .await
            .unwrap();
        stage.runner.submit(&key, turn_of("turn_1", "go")).await.unwrap();
        keys.push(key);
    }
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.runner.resident(), 0, "who waits costs nothing");
    assert_eq!(stage.log.open_turns(WorkScope::Shard(Shard(0))).await.unwrap().len(), 1_000);
    tokio::time::sleep(300 * SECOND).await;
    assert_eq!(stage.log.open_turns(WorkScope::Shard(Shard(0))).await.unwrap().len(), 0);
    assert!(made.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_decision_after_the_turn_was_stopped_is_told_so() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "erase", "{}")])]);
    let stage = Stage::new(
        script,
        vec![AgentSpec { tools: vec![tool("erase", ONCE, Approval::Policy, &made)], ..agent() }],
    )
    .await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    stage.runner.cancel(&stage.key, &"turn_1".parse().unwrap(), Default::default(), None).await.unwrap();
    stage.ended("turn_1").await;
    let late = stage
        .runner
        .decide(&stage.key, decide(&open[0].0, Decision::Approve, open[0].1.digest.clone()))
        .await
        .unwrap();
    assert_eq!((late.won, late.decision.as_str(), late.source.as_str()), (false, "reject", "cancel"));
    assert!(made.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_the_log_does_not_take_fails_the_turn_and_leaves_nobody_stuck() {
    let huge = "x".repeat(2 << 20);
    let stage = Stage::new(Script::new(vec![text(&huge), text("ok")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let state = stage.state().await;
    assert_eq!(state.turns[0].error.as_ref().unwrap().code.as_deref(), Some("not_recordable"));
    stage.submit("turn_2", "go").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
}
