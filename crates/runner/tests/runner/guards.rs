//! Guardrails of calls that need a person: before anybody is asked, and again before anything runs.

use std::sync::{Arc, Mutex};

use riverrun_event::RawJson;
use riverrun_runner::agent::{Approval, Checked, Guardrail, GuardrailFuture};
use riverrun_runner::hook::{HookOutput, HookPoint, HookUse};
use riverrun_runner::{AgentSpec, Decide, Decision};
use serde_json::Value;

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, tool};
use crate::tools::{decide, pending, result};

/// Refuses calls whose `x` is 13, and remembers what it was asked.
#[derive(Default)]
struct Thirteen(Arc<Mutex<Vec<Value>>>);

impl Guardrail for Thirteen {
    fn name(&self) -> &str {
        "thirteen"
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let mut is_bad = false;
        if let Checked::ToolCall { arguments, .. } = checked {
            self.0.lock().unwrap().push(arguments["x"].clone());
            is_bad = arguments["x"] == 13;
        }
        Box::pin(async move { if is_bad { Err("it brings bad luck".to_owned()) } else { Ok(()) } })
    }
}

struct Scene {
    stage: Stage,
    made: Calls,
    asked: Arc<Mutex<Vec<Value>>>,
}

async fn scene(arguments: &str) -> Scene {
    let (made, guard) = (Calls::default(), Thirteen::default());
    let asked = guard.0.clone();
    let tools = vec![tool("erase", ONCE, Approval::Always, &made)];
    let spec = AgentSpec { guardrails: vec![Arc::new(guard)], tools, ..agent() };
    let stage =
        Stage::new(Script::new(vec![calls(&[("c1", "erase", arguments)]), text("so")]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    Scene { stage, made, asked }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_call_that_a_guardrail_refuses() {
    let Scene { stage, made, asked } = scene(r#"{"x":13}"#).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((stage.count("action.required").await, stage.count("tool.started").await), (0, 0));
    assert_eq!((made.lock().unwrap().len(), asked.lock().unwrap().len()), (0, 1));
    let (told, is_error) = result(&stage, "c1");
    assert!(is_error && told.contains("thirteen") && told.contains("bad luck"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_approved_is_checked_again_before_it_runs() {
    let Scene { stage, made, asked } = scene(r#"{"x":1}"#).await;
    let open = pending(&stage, 1).await;
    assert_eq!(*asked.lock().unwrap(), [1], "the guardrail came before the question");
    let approve = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((made.lock().unwrap().len(), asked.lock().unwrap().clone()), (1, vec![1.into(), 1.into()]));
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_meet_the_guardrail_too() {
    let Scene { stage, made, asked } = scene(r#"{"x":1}"#).await;
    let open = pending(&stage, 1).await;
    let edit = Decision::Edit(RawJson::parse(r#"{"x":13}"#).unwrap());
    stage.runner.decide(&stage.key, decide(&open[0].0, edit, open[0].1.digest.clone())).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((made.lock().unwrap().len(), asked.lock().unwrap().clone()), (0, vec![1.into(), 13.into()]));
    assert!(result(&stage, "c1").0.contains("bad luck"));
}

#[tokio::test(start_paused = true)]
async fn guardrails_see_the_arguments_that_a_hook_left() {
    let (made, guard) = (Calls::default(), Thirteen::default());
    let asked = guard.0.clone();
    let hook = HookUse::new("thirteen", [HookPoint::PreToolUse], |_| async {
        HookOutput::update(serde_json::json!({"x": 13}))
    });
    let tools = vec![tool("erase", ONCE, Approval::Always, &made)];
    let spec = AgentSpec { guardrails: vec![Arc::new(guard)], hooks: vec![hook], tools, ..agent() };
    let script = Script::new(vec![calls(&[("c1", "erase", r#"{"x":1}"#)]), text("so")]);
    let stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((stage.count("action.required").await, made.lock().unwrap().len()), (0, 0));
    assert_eq!(*asked.lock().unwrap(), [13]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_always_beats_a_policy_that_needs_nobody() {
    let made = Calls::default();
    // Only even numbers need somebody's consent.
    let is_even: riverrun_runner::agent::Predicate =
        Arc::new(|call| Ok(call.arguments["x"].as_i64().is_some_and(|x| x % 2 == 0)));
    let tools = vec![tool("erase", ONCE, Approval::Predicate(is_even), &made)];
    let script = Script::new(vec![
        calls(&[("c1", "erase", r#"{"x":2}"#)]),
        calls(&[("c2", "erase", r#"{"x":3}"#)]),
        text("so"),
    ]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let never = Decide { always: true, ..decide(&open[0].0, Decision::Reject, open[0].1.digest.clone()) };
    stage.runner.decide(&stage.key, never).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 0, "deny beats allow");
}
