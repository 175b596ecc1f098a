//! The owner dies at every append of a turn with tools, an approval and a sub-agent; another goes on.

use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, Decision};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, turn_of};
use crate::tool::{Calls, ONCE, READ, slow_tool};
use crate::tools::decide;

fn scene() -> (Script, Vec<AgentSpec>, Calls) {
    let made = Calls::default();
    let pause = Duration::from_secs(1);
    let step = [
        ("c1", "read", "{}"),
        ("c2", "erase", "{}"),
        ("c3", "helper", r#"{"input":"help"}"#),
        ("c4", "note", "{}"),
    ];
    // A lost model call is made again, so the script answers by how far the conversation is.
    let script = Script::new(vec![])
        .scene("main", vec![calls(&step), text("All of it")])
        .scene("helper", vec![calls(&[("k1", "read", "{}"), ("k2", "note", "{}")]), text("Helped")]);
    let tools = || {
        vec![
            slow_tool("read", READ, Approval::Policy, &made, pause),
            slow_tool("note", ONCE, Approval::Never, &made, pause),
            slow_tool("erase", ONCE, Approval::Policy, &made, pause),
        ]
    };
    let named = |name: &str| AgentSpec {
        name: name.to_owned(),
        models: vec![format!("script/{name}")],
        tools: tools(),
        ..AgentSpec::default()
    };
    let main = AgentSpec { subagents: vec!["helper".to_owned()], ..named("main") };
    (script, vec![main, named("helper")], made)
}

/// Approves whatever asks, until the turn ends.
async fn see_through(stage: &Stage) -> String {
    for _ in 0..5_000 {
        let record = stage.log.turn(&stage.key, &"turn_1".parse().unwrap()).await.unwrap();
        if record.is_some_and(|record| record.fact.progress == riverrun_log::WorkProgress::Terminal) {
            return stage.ended("turn_1").await;
        }
        let state = stage.state().await;
        for action in
            state.actions.iter().filter(|action| action.status == riverrun_fold::ActionStatus::Pending)
        {
            let asked: riverrun_event::ActionRequired = action.request.to().unwrap();
            let _ = stage
                .runner
                .decide(&stage.key, decide(&action.action_id, Decision::Approve, asked.digest))
                .await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    panic!("the turn does not end: {:?}", stage.kinds().await);
}

/// Dies after `first` appends, and again `then` appends later.
async fn die_at(first: i64, then: i64) {
    let (script, agents, made) = scene();
    let mut stage = Stage::new(script, agents).await;
    stage.journal.left.store(first, Ordering::SeqCst);
    let submitted = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await;
    for left in [Some(then), None] {
        for _ in 0..40 {
            if stage.journal.left.load(Ordering::SeqCst) < 0 {
                break;
            }
            let state = stage.state().await;
            for action in
                state.actions.iter().filter(|action| action.status == riverrun_fold::ActionStatus::Pending)
            {
                let asked: riverrun_event::ActionRequired = action.request.to().unwrap();
                let _ = stage
                    .runner
                    .decide(&stage.key, decide(&action.action_id, Decision::Approve, asked.digest))
                    .await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        stage.take_over().await;
        if let Some(left) = left {
            stage.journal.left.store(left, Ordering::SeqCst);
        }
    }
    if submitted.is_err() {
        let _ = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await;
    }
    assert_eq!(see_through(&stage).await, "completed", "at {first} and {then}");
    assert_eq!(stage.said("turn_1").await, "All of it");
    let calls = made.lock().unwrap().clone();
    for call in &calls {
        let same = calls.iter().filter(|other| other.1 == call.1).count();
        assert!(call.0 == "read" || same <= 1, "{call:?} ran {same} times, at {first} and {then}");
        assert!(call.1.starts_with("ses_a/turn_1/"), "{call:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_finished_whenever_its_owner_dies() {
    for first in 0..45 {
        die_at(first, 3).await;
        die_at(first, 1_000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_run_twice_does_and_what_may_not_is_told_as_unknown() {
    let made = Calls::default();
    let pause = Duration::from_secs(5);
    let step = [("c1", "read", "{}"), ("c2", "note", "{}")];
    let script = Script::new(vec![]).scene("main", vec![calls(&step), text("I see")]);
    let tools = vec![
        slow_tool("read", READ, Approval::Policy, &made, pause),
        slow_tool("note", ONCE, Approval::Never, &made, pause),
    ];
    let main = AgentSpec {
        name: "main".to_owned(),
        models: vec!["script/main".to_owned()],
        tools,
        ..AgentSpec::default()
    };
    let mut stage = Stage::new(script, vec![main]).await;
    stage.submit("turn_1", "go").await;
    stage.until_count("tool.started", 2).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((stage.count("tool.outcome_unknown").await, stage.count("tool.result").await), (1, 1));
    assert_eq!((stage.count("task.attempt.failed").await, stage.count("task.attempt.started").await), (1, 2));
    let made = made.lock().unwrap();
    let keys =
        |name: &str| made.iter().filter(|call| call.0 == name).map(|call| call.1.clone()).collect::<Vec<_>>();
    assert_eq!(keys("note"), ["ses_a/turn_1/c2"]);
    assert_eq!(keys("read"), ["ses_a/turn_1/c1", "ses_a/turn_1/c1"]);
    let requests = stage.script.requests.lock().unwrap();
    let told = format!("{:?}", requests.last().unwrap().history);
    assert!(told.contains("not known; it was not run again"), "{told}");
}
