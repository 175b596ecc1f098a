//! A server that goes in order: what is open ends, nothing new begins, and the next owner goes on from there.

use std::time::Duration;

use riverrun_event::TurnId;
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CommandError, Decision};

use crate::script::{Say, Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, READ, slow_tool, tool};
use crate::tools::{decide, pending};

const SECOND: Duration = Duration::from_secs(1);

/// The same answer, a second before each of its parts.
fn slowly(say: Say) -> Say {
    Say(say.0.into_iter().map(|(_, event)| (SECOND, event)).collect())
}

async fn two_steps(first: Say, made: &Calls) -> Stage {
    let spec = AgentSpec { tools: vec![tool("note", ONCE, Approval::Never, made)], ..agent() };
    Stage::new(Script::new(vec![first, text("noted")]), vec![spec]).await
}

#[tokio::test(start_paused = true)]
async fn an_open_model_call_ends_and_the_next_owner_runs_what_it_asked_for() {
    let made = Calls::default();
    let mut stage = two_steps(slowly(calls(&[("c1", "note", "{}")])), &made).await;
    stage.submit("turn_1", "go").await;
    stage.until("reasoning.delta").await;
    assert!(stage.runner.hand_over(60 * SECOND).await, "the call ends in time");
    assert_eq!((stage.script.calls(), stage.count("model.completed").await), (1, 1));
    assert_eq!((stage.count("tool.started").await, made.lock().unwrap().len()), (0, 0));
    stage.runner.drain(SECOND).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "noted");
    assert_eq!((stage.script.calls(), made.lock().unwrap().len()), (2, 1));
    for kind in ["model.failed", "task.attempt.failed", "item.retracted", "tool.outcome_unknown"] {
        assert_eq!(stage.count(kind).await, 0, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_tool_call_ends_and_its_result_is_read_by_the_next_owners_model() {
    let made = Calls::default();
    let spec =
        AgentSpec { tools: vec![slow_tool("note", ONCE, Approval::Never, &made, 5 * SECOND)], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "note", "{}"), ("c2", "note", "{}")]), text("noted")]);
    let mut stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    stage.until("tool.started").await;
    assert!(stage.runner.hand_over(60 * SECOND).await);
    assert_eq!((stage.count("tool.result").await, made.lock().unwrap().len()), (1, 1), "the second waits");
    stage.runner.drain(SECOND).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((stage.script.calls(), made.lock().unwrap().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn what_outlasts_the_time_is_cut_and_follows_its_effect_class() {
    for (flags, runs, unknown) in [(ONCE, 1, 1), (READ, 2, 0)] {
        let made = Calls::default();
        let spec = AgentSpec {
            tools: vec![slow_tool("note", flags, Approval::Never, &made, 30 * SECOND)],
            ..agent()
        };
        let mut stage =
            Stage::new(Script::new(vec![calls(&[("c1", "note", "{}")]), text("ok")]), vec![spec]).await;
        stage.submit("turn_1", "go").await;
        stage.until("tool.started").await;
        assert!(!stage.runner.hand_over(5 * SECOND).await);
        stage.runner.drain(SECOND).await;
        stage.take_over().await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        assert_eq!((stage.count("tool.outcome_unknown").await, made.lock().unwrap().len()), (unknown, runs));
        let keys: Vec<String> = made.lock().unwrap().iter().map(|(_, key, _)| key.clone()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_last_step_ends_is_complete_and_a_waiting_one_is_left_for_the_next() {
    let made = Calls::default();
    let mut stage = two_steps(slow_text("a b c d", SECOND), &made).await;
    stage.submit("turn_1", "go").await;
    stage.submit("turn_2", "go").await;
    stage.until("model.delta").await;
    assert!(stage.runner.hand_over(60 * SECOND).await);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("turn.started").await, 1);
    stage.runner.drain(SECOND).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    assert_eq!(stage.script.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn meanwhile_new_work_is_refused_and_what_is_only_recorded_is_taken() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "erase", "{}"), ("c2", "wait", "{}")]), text("ok")]);
    let tools = vec![
        tool("erase", ONCE, Approval::Policy, &made),
        slow_tool("wait", READ, Approval::Never, &made, 20 * SECOND),
    ];
    let mut stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let runner = stage.runner.clone();
    let going = tokio::spawn(async move { runner.hand_over(60 * SECOND).await });
    tokio::time::sleep(SECOND).await;
    let refused = stage.runner.submit(&stage.key, turn_of("turn_2", "go")).await;
    assert!(matches!(refused, Err(CommandError::Draining)), "{refused:?}");
    let again = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await.unwrap();
    assert!(again.duplicate, "what was taken before is answered as before");
    let approve = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    assert!(stage.runner.decide(&stage.key, approve).await.unwrap().won);
    assert!(going.await.unwrap());
    assert_eq!(made.lock().unwrap().len(), 1, "what was approved is the next owner's to run");
    stage.runner.drain(SECOND).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_pause_before_another_try() {
    let overloaded = riverrun_provider::Category::Overloaded;
    let script = Script::new(vec![fails("", overloaded), fails("", overloaded), text("ok")]);
    let mut stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.failed").await;
    let began = tokio::time::Instant::now();
    assert!(stage.runner.hand_over(60 * SECOND).await);
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    stage.runner.drain(SECOND).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_carried_out_while_the_server_goes() {
    let made = Calls::default();
    let stage = two_steps(slow_text("a b c d e f g h", 10 * SECOND), &made).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let runner = stage.runner.clone();
    let going = tokio::spawn(async move { runner.hand_over(600 * SECOND).await });
    tokio::time::sleep(SECOND).await;
    let turn = TurnId::new("turn_1").unwrap();
    stage.runner.cancel(&stage.key, &turn, Default::default(), None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    assert!(going.await.unwrap());
}
