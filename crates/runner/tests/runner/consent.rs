//! What somebody must agree to: what is shown, what a rule covers, what happens while some of it is undecided.

use std::sync::Arc;
use std::time::Duration;

use riverrun_runner::agent::{Approval, Predicate};
use riverrun_runner::{AgentSpec, CancelMode, Decide, Decision, Submit};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, READ, slow_tool, tool};
use crate::tools::{decide, pending, result};

#[tokio::test(start_paused = true)]
async fn a_rule_over_arguments_that_fails_asks() {
    let made = Calls::default();
    let fails: Predicate = Arc::new(|call| match call.arguments["x"].as_i64() {
        Some(1) => Ok(false),
        _ => Err("no number".to_owned()),
    });
    let tools = vec![tool("erase", ONCE, Approval::Predicate(fails), &made)];
    let both = [("c1", "erase", r#"{"x":1}"#), ("c2", "erase", r#"{"x":2}"#)];
    let script = Script::new(vec![calls(&both), text("ok")]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    stage.until("tool.result").await;
    assert_eq!(made.lock().unwrap().len(), 1, "the call that the rule could judge ran");
    let prompt = open[0].1.prompt.clone().unwrap_or_default();
    assert!(prompt.contains("the rule for this tool failed: no number"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn an_always_of_one_agent_is_none_of_another() {
    let made = Calls::default();
    let erase = || calls(&[("c", "erase", r#"{"x":1}"#)]);
    let script = Script::new(vec![erase(), text("ok"), erase()]);
    let tools = || vec![tool("erase", ONCE, Approval::Policy, &made)];
    let other = AgentSpec { name: "other".to_owned(), tools: tools(), ..agent() };
    let stage = Stage::new(script, vec![AgentSpec { tools: tools(), ..agent() }, other]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let always = Decide { always: true, ..decide(&open[0].0, Decision::Approve, open[0].1.digest.clone()) };
    stage.runner.decide(&stage.key, always).await.unwrap();
    stage.ended("turn_1").await;
    let submit = Submit { agent: Some("other".to_owned()), ..turn_of("turn_2", "go") };
    stage.runner.submit(&stage.key, submit).await.unwrap();
    pending(&stage, 2).await;
    assert_eq!(made.lock().unwrap().len(), 1, "the other agent's call waits");
}

#[tokio::test(start_paused = true)]
async fn what_is_decided_runs_while_the_rest_waits() {
    let made = Calls::default();
    let three = [("c1", "erase", r#"{"x":1}"#), ("c2", "erase", r#"{"x":2}"#), ("c3", "erase", r#"{"x":3}"#)];
    let tools = vec![tool("erase", ONCE, Approval::Policy, &made)];
    let script = Script::new(vec![calls(&three), text("ok")]);
    let mut stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 3).await;
    let approve = |place: usize| decide(&open[place].0, Decision::Approve, open[place].1.digest.clone());
    stage.runner.decide(&stage.key, approve(1)).await.unwrap();
    stage.until("tool.result").await;
    let ran = || made.lock().unwrap().iter().map(|call| call.2["x"].clone()).collect::<Vec<_>>();
    assert_eq!(ran(), [2]);
    // The same two still wait, also for another owner, and the model was not asked again.
    stage.take_over().await;
    let left: Vec<_> = pending(&stage, 3).await.into_iter().map(|(action, _)| action).collect();
    assert_eq!(left, [open[0].0.clone(), open[2].0.clone()]);
    assert_eq!(stage.script.calls(), 1);
    stage.runner.decide(&stage.key, approve(2)).await.unwrap();
    stage.runner.decide(&stage.key, decide(&open[0].0, Decision::Reject, None)).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(ran(), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_action_tells_all_that_a_decision_needs() {
    let made = Calls::default();
    let tools = vec![tool("erase", ONCE, Approval::Policy, &made)];
    let script = Script::new(vec![calls(&[("c1", "erase", r#"{"x":1}"#)])]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let (action, asked) = pending(&stage, 1).await.remove(0);
    assert_eq!((asked.action_type.as_str(), asked.tool_name.as_deref()), ("tool_permission", Some("erase")));
    assert_eq!(asked.arguments.as_ref().map(|raw| raw.get()), Some(r#"{"x":1}"#));
    assert_eq!(asked.decisions.unwrap_or_default(), ["approve", "edit", "reject", "respond"]);
    assert!(asked.prompt.is_some() && asked.schema.is_some() && asked.digest.is_some());
    assert!(asked.timeout_seconds.is_some() && asked.expires_at.is_some());
    let events = stage.events().await;
    let told = events.iter().find(|event| event.kind.as_str() == "action.required").unwrap();
    let scope = &told.scope;
    assert_eq!(scope.action_id.as_ref(), Some(&action));
    assert!(scope.turn_id.is_some() && scope.task_id.is_some() && scope.tool_call_id.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_wish_to_cancel_is_written_before_anything_ends() {
    let made = Calls::default();
    let tools = vec![slow_tool("read", READ, Approval::Never, &made, Duration::from_secs(50))];
    let script = Script::new(vec![calls(&[("c1", "read", "{}")])]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    stage.until("tool.started").await;
    let turn = "turn_1".parse().unwrap();
    stage.runner.cancel(&stage.key, &turn, CancelMode::Immediate, None).await.unwrap();
    stage.ended("turn_1").await;
    let kinds = stage.kinds().await;
    let place = |kind: &str| kinds.iter().position(|known| known == kind).unwrap();
    assert!(place("task.cancel_requested") < place("tool.cancelled"), "{kinds:?}");
    assert!(place("tool.cancelled") < place("turn.cancelled"), "{kinds:?}");
}

/// What is approved is what runs, also where it is longer than an event and somebody else reads it from the log.
#[tokio::test(start_paused = true)]
async fn long_arguments_are_approved_at_the_next_owner() {
    let made = Calls::default();
    let arguments = format!(r#"{{"text":"{}"}}"#, "word ".repeat(52_400));
    let script = Script::new(vec![calls(&[("c1", "erase", &arguments)]), text("done")]);
    let tools = vec![tool("erase", ONCE, Approval::Always, &made)];
    let mut stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    stage.take_over().await;
    let decision = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, decision).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 1);
    assert!(!result(&stage, "c1").1, "the model reads no error");
}
