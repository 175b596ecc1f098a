//! The owner dies at every append of a turn with hooks at all points; another goes on.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_runner::AgentSpec;
use riverrun_runner::agent::Approval;
use riverrun_runner::hook::{HookOutput, HookPoint, HookUse};
use serde_json::json;

use crate::hooks::{Asked, runs, says};
use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, READ, tool};

fn hooks(asked: &Asked) -> Vec<HookUse> {
    let update = |x: i64| HookOutput::update(json!({"x": x}));
    vec![
        says("prompt", HookPoint::UserPromptSubmit, asked, HookOutput::update("go well").with_context("c")),
        says("before_1", HookPoint::PreToolUse, asked, update(2)),
        says("before_2", HookPoint::PreToolUse, asked, update(3)),
        says("after", HookPoint::PostToolUse, asked, HookOutput::replace("replaced")),
        says("stop", HookPoint::Stop, asked, HookOutput::proceed()),
    ]
}

/// The owner dies after so many appends; true if it died.
async fn dies_at(left: i64) -> bool {
    let (made, asked) = (Calls::default(), Asked::default());
    let tools = vec![tool("read", READ, Approval::Policy, &made), tool("note", ONCE, Approval::Never, &made)];
    let models = vec!["script/main".to_owned()];
    let spec = AgentSpec { hooks: hooks(&asked), tools, models, ..agent() };
    let step = calls(&[("c1", "read", r#"{"x":1}"#), ("c2", "note", r#"{"x":1}"#)]);
    let mut stage = Stage::new(Script::new(vec![]).scene("main", vec![step, text("so")]), vec![spec]).await;
    stage.journal.left.store(left, Ordering::SeqCst);
    let submitted = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let died = stage.journal.left.load(Ordering::SeqCst) < 0;
    stage.take_over().await;
    if submitted.is_err() {
        stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await.unwrap();
    }
    assert_eq!(stage.ended("turn_1").await, "completed", "after {left} appends");
    assert_eq!(stage.said("turn_1").await, "so");
    check_runs(&stage, left).await;
    let made = made.lock().unwrap();
    assert!(made.iter().all(|call| call.2 == json!({"x": 3})), "after {left} appends: {made:?}");
    assert!(made.iter().filter(|call| call.0 == "note").count() <= 1, "after {left} appends: {made:?}");
    died
}

/// Every asking has one end, and what has an answer was not asked again.
async fn check_runs(stage: &Stage, left: i64) {
    let events = stage.events().await;
    let mut asked: BTreeMap<(String, Option<String>), Vec<&str>> = BTreeMap::new();
    let told = events.iter().filter(|event| event.kind.as_str().starts_with("hook."));
    for (event, (kind, run)) in told.zip(runs(&events)) {
        let call = event.scope.tool_call_id.as_ref().map(ToString::to_string);
        asked.entry((run.hook_name.clone().unwrap(), call)).or_default().push(kind);
    }
    for (hook, kinds) in &asked {
        let (started, others): (Vec<&str>, Vec<&str>) =
            kinds.iter().partition(|kind| **kind == "hook.started");
        assert_eq!(started.len(), others.len(), "after {left} appends: {hook:?} {kinds:?}");
        let answers = kinds.iter().filter(|kind| **kind == "hook.completed").count();
        assert!(
            answers <= 1 && kinds.last() == Some(&"hook.completed"),
            "after {left} appends: {hook:?} {kinds:?}"
        );
    }
    for hook in ["prompt", "stop"] {
        assert!(asked.contains_key(&(hook.to_owned(), None)), "after {left} appends: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_hooks_goes_on_after_a_death_at_any_append() {
    let mut deaths = 0;
    while dies_at(deaths).await {
        deaths += 1;
    }
    assert!(deaths >= 15, "only {deaths} deaths");
}
