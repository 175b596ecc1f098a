//! Hooks: what they are asked, what they change, and what happens without an answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_event::{Event, HookRun, Input, Payload, RawJson};
use riverrun_runner::agent::Approval;
use riverrun_runner::hook::{HookInput, HookOutput, HookPoint, HookUse, OnFailure};
use riverrun_runner::{AgentSpec, Decide, Decision};
use serde_json::{Value, json};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, tool};
use crate::tools::{decide, pending, result};

pub type Asked = Arc<Mutex<Vec<HookInput>>>;

/// A hook that always gives this answer, and remembers what it was asked.
pub fn says(name: &str, point: HookPoint, asked: &Asked, answer: HookOutput) -> HookUse {
    let asked = asked.clone();
    HookUse::new(name, [point], move |input: HookInput| {
        asked.lock().unwrap().push(input);
        let answer = answer.clone();
        async move { answer }
    })
}

struct Scene {
    stage: Stage,
    made: Calls,
    asked: Asked,
}

/// One call of `read`, which needs nobody, or of `erase`, which needs a person; then a last word.
async fn scene(name: &str, hooks: impl Fn(&Asked) -> Vec<HookUse>) -> Scene {
    let (made, asked) = (Calls::default(), Asked::default());
    let tools = vec![
        tool("read", READ, Approval::Policy, &made),
        tool("erase", ONCE, Approval::Always, &made),
        crate::tool::tool("never", READ, Approval::Denied("not here".to_owned()), &made),
    ];
    let spec = AgentSpec { hooks: hooks(&asked), tools, ..agent() };
    let script = Script::new(vec![calls(&[("c1", name, r#"{"x":1}"#)]), text("so"), text("and more")]);
    let stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    Scene { stage, made, asked }
}

/// The runs of hooks that the log tells of: type and payload.
pub fn runs(events: &[Event]) -> Vec<(&str, &HookRun)> {
    let run = |event: &'_ Event| match &event.payload {
        Ok(Payload::HookStarted(_) | Payload::HookCompleted(_) | Payload::HookFailed(_)) => true,
        Ok(_) | Err(_) => false,
    };
    let found = events.iter().filter(|event| run(event));
    found
        .filter_map(|event| match &event.payload {
            Ok(Payload::HookStarted(run) | Payload::HookCompleted(run) | Payload::HookFailed(run)) => {
                Some((event.kind.as_str(), run.as_ref()))
            }
            Ok(_) | Err(_) => None,
        })
        .collect()
}

fn value(raw: &Option<RawJson>) -> Value {
    raw.as_ref().map(|raw| raw.to().unwrap()).unwrap_or_default()
}

/// What the tool was started with, as its event tells.
fn told_arguments(events: &[Event]) -> Value {
    let found = events.iter().find_map(|event| match &event.payload {
        Ok(Payload::ToolStarted(started)) => Some(value(&started.safe_args)),
        _ => None,
    });
    found.expect("a tool was started")
}

#[tokio::test(start_paused = true)]
async fn other_arguments_are_told_beside_the_first_and_are_those_that_run() {
    let update = |asked: &Asked| {
        let first = says("one", HookPoint::PreToolUse, asked, HookOutput::update(json!({"x": 2})));
        vec![first, says("two", HookPoint::PreToolUse, asked, HookOutput::proceed().with_context("mind x"))]
    };
    let Scene { stage, made, asked } = scene("read", update).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap()[0].2, json!({"x": 2}));
    let events = stage.events().await;
    let told = runs(&events);
    let kinds: Vec<_> = told.iter().map(|(kind, run)| (*kind, run.hook_name.as_deref().unwrap())).collect();
    let (started, completed) = ("hook.started", "hook.completed");
    assert_eq!(kinds, [(started, "one"), (completed, "one"), (started, "two"), (completed, "two")]);
    let rewrite = told[1].1;
    let before_and_after = (value(&rewrite.original_input), value(&rewrite.updated_input));
    assert_eq!(before_and_after, (json!({"x": 1}), json!({"x": 2})));
    assert_eq!(
        (rewrite.point.as_deref(), rewrite.outcome.as_deref()),
        (Some("pre_tool_use"), Some("continue"))
    );
    assert_eq!(told_arguments(&events), json!({"x": 2}));
    for event in events.iter().filter(|event| event.kind.as_str().starts_with("hook.")) {
        let scope = &event.scope;
        assert!(scope.thread_id.is_some() && scope.turn_id.is_some(), "{event:?}");
        assert_eq!(scope.tool_call_id.as_ref().map(|id| id.as_str()), Some("c1"));
    }
    assert_eq!(
        asked.lock().unwrap()[1].arguments,
        Some(json!({"x": 2})),
        "the second hook sees what the first left"
    );
    assert!(result(&stage, "c1").0.ends_with("mind x"), "{:?}", result(&stage, "c1"));
}

#[tokio::test(start_paused = true)]
async fn people_are_asked_about_what_the_hook_left_and_their_consent_binds_to_it() {
    let update =
        |asked: &Asked| vec![says("one", HookPoint::PreToolUse, asked, HookOutput::update(json!({"x": 2})))];
    let Scene { mut stage, made, asked } = scene("erase", update).await;
    let open = pending(&stage, 1).await;
    assert_eq!(value(&open[0].1.arguments), json!({"x": 2}));
    // Another owner knows the same arguments, and asks no hook again.
    stage.take_over().await;
    let approve = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((made.lock().unwrap()[0].2.clone(), asked.lock().unwrap().len()), (json!({"x": 2}), 1));
}

#[tokio::test(start_paused = true)]
async fn what_a_person_edits_is_the_last_word_and_meets_no_hook_again() {
    let update =
        |asked: &Asked| vec![says("one", HookPoint::PreToolUse, asked, HookOutput::update(json!({"x": 2})))];
    let Scene { stage, made, asked } = scene("erase", update).await;
    let open = pending(&stage, 1).await;
    let edit = Decision::Edit(RawJson::parse(r#"{"x":3}"#).unwrap());
    stage.runner.decide(&stage.key, decide(&open[0].0, edit, open[0].1.digest.clone())).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((made.lock().unwrap()[0].2.clone(), asked.lock().unwrap().len()), (json!({"x": 3}), 1));
    assert_eq!(told_arguments(&stage.events().await), json!({"x": 3}));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_hook_blocks_does_not_run_and_nobody_is_asked() {
    for name in ["read", "erase"] {
        let block = |asked: &Asked| {
            let block = says("one", HookPoint::PreToolUse, asked, HookOutput::block("not today"));
            vec![block, says("two", HookPoint::PreToolUse, asked, HookOutput::proceed())]
        };
        let Scene { stage, made, asked } = scene(name, block).await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        assert_eq!((stage.count("action.required").await, made.lock().unwrap().len()), (0, 0));
        assert_eq!(asked.lock().unwrap().len(), 1, "hooks behind a refusal are not asked");
        let (told, is_error) = result(&stage, "c1");
        assert!(is_error && told.contains("hook `one`: not today"), "{told}");
        let denied = stage.events().await.into_iter().find_map(|event| match event.payload {
            Ok(Payload::PermissionEvaluated(told)) => told.decision.zip(told.decision_source),
            _ => None,
        });
        assert_eq!(denied, Some(("deny".to_owned(), "hook".to_owned())));
    }
}

#[tokio::test(start_paused = true)]
async fn ask_beats_an_automatic_allow_and_allow_beats_no_policy() {
    let ask =
        |asked: &Asked| vec![says("one", HookPoint::PreToolUse, asked, HookOutput::ask("is it yours?"))];
    let Scene { stage, .. } = scene("read", ask).await;
    let open = pending(&stage, 1).await;
    assert!(open[0].1.prompt.as_ref().unwrap().contains("is it yours?"), "{:?}", open[0].1);
    let always = Decide { always: true, ..decide(&open[0].0, Decision::Approve, open[0].1.digest.clone()) };
    stage.runner.decide(&stage.key, always).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");

    let allow = |asked: &Asked| {
        let answer = HookOutput::parse(r#"{"decision":"allow"}"#).unwrap();
        vec![says("one", HookPoint::PreToolUse, asked, answer)]
    };
    let Scene { stage, made, .. } = scene("erase", allow).await;
    pending(&stage, 1).await;
    assert_eq!(made.lock().unwrap().len(), 0, "a person must agree all the same");
    let Scene { stage, made, .. } = scene("never", allow).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(
        (made.lock().unwrap().len(), result(&stage, "c1").1),
        (0, true),
        "the policy denies it all the same"
    );
}

/// How a call ends whose hook does this: did it run, and how the failure was told.
async fn without_answer(on_failure: Option<OnFailure>, hook: HookUse) -> (bool, String, usize) {
    let used = |_: &Asked| vec![HookUse { on_failure, ..hook.clone() }];
    let Scene { stage, made, .. } = scene("read", used).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let events = stage.events().await;
    let failed =
        runs(&events).into_iter().find(|(kind, _)| *kind == "hook.failed").expect("a failure is told").1;
    let code = failed.error.as_ref().unwrap().code.clone().unwrap();
    let did_run = !made.lock().unwrap().is_empty();
    (did_run, code, stage.count("runtime.warning").await)
}

#[tokio::test(start_paused = true)]
async fn no_answer_before_a_call_is_a_no_unless_it_is_told_to_be_a_yes() {
    let before = [HookPoint::PreToolUse];
    let slow = HookUse::new("slow", before, |_| async {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        HookOutput::proceed()
    });
    let broken = HookUse::new("broken", before, |_| async { Err::<HookOutput, _>("no disk") });
    let panics = HookUse::new("panics", before, |input: HookInput| async move {
        assert!(input.hook.is_empty(), "it breaks");
        HookOutput::proceed()
    });
    let misfit = HookUse::new("misfit", before, |_| async { HookOutput::update(json!({"x": "two"})) });
    let misplaced = HookUse::new("misplaced", before, |_| async { HookOutput::replace("x") });
    let flood =
        HookUse::new("flood", before, |_| async { HookOutput::proceed().with_context("x".repeat(2 << 20)) });
    for (hook, code) in [
        (slow, "timeout"),
        (broken, "failed"),
        (panics, "crashed"),
        (misfit, "bad_answer"),
        (misplaced, "bad_answer"),
        (flood, "bad_answer"),
    ] {
        let closed = without_answer(None, hook.clone()).await;
        assert_eq!(closed, (false, code.to_owned(), 0), "{}", hook.name);
        let open = without_answer(Some(OnFailure::Allow), hook.clone()).await;
        assert_eq!(open, (true, code.to_owned(), 1), "{}", hook.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_changes_or_withholds_what_a_tool_gave() {
    let replace = |asked: &Asked| {
        let replaced =
            HookOutput { suppress_output: true, ..HookOutput::replace("[cut]").with_context("ask a person") };
        vec![says("one", HookPoint::PostToolUse, asked, replaced)]
    };
    let Scene { stage, asked, .. } = scene("read", replace).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(asked.lock().unwrap()[0].output, Some(Input::Text(r#"read says {"x":1}"#.to_owned())));
    let told = result(&stage, "c1");
    assert!(
        told.0.contains("[cut]") && told.0.ends_with("ask a person") && !told.0.contains("says"),
        "{told:?}"
    );
    let state = serde_json::to_value(stage.state().await).unwrap();
    let items = state["tasks"][0]["output"].as_array().unwrap();
    let shown = items.iter().find(|item| item["type"] == "tool_result").unwrap();
    assert_eq!(shown["blockList"], json!([]), "the user is not shown it");

    let withhold =
        |asked: &Asked| vec![says("one", HookPoint::PostToolUse, asked, HookOutput::block("a secret"))];
    let Scene { stage, .. } = scene("read", withhold).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(result(&stage, "c1"), ("the result was refused by hook `one`: a secret".to_owned(), true));
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_has_its_own_point_and_a_failed_hook_leaves_it_as_it_is() {
    let (made, asked) = (Calls::default(), Asked::default());
    let hooks = vec![
        says("after", HookPoint::PostToolUse, &asked, HookOutput::proceed()),
        HookUse::new("broken", [HookPoint::PostToolFailure], |_| async { Err::<HookOutput, _>("no disk") }),
        says("failure", HookPoint::PostToolFailure, &asked, HookOutput::proceed().with_context("try x = 2")),
    ];
    let spec = AgentSpec { hooks, tools: vec![tool("read", READ, Approval::Policy, &made)], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "read", r#"{"fail":true}"#)]), text("so")]);
    let stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let names: Vec<_> = asked.lock().unwrap().iter().map(|input| input.hook.clone()).collect();
    assert_eq!((names, stage.count("runtime.warning").await), (vec!["failure".to_owned()], 1));
    let (told, is_error) = result(&stage, "c1");
    assert!(is_error && told.contains("it does not work") && told.ends_with("try x = 2"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_input_is_changed_and_added_to_before_the_model_reads_it_and_ever_after() {
    let update = |asked: &Asked| {
        let answer = HookOutput::update("go slowly").with_context("It is Monday.");
        vec![says("one", HookPoint::UserPromptSubmit, asked, answer)]
    };
    let Scene { mut stage, asked, .. } = scene("read", update).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(asked.lock().unwrap()[0].input, Some(Input::Text("go".to_owned())));
    let read = |place: usize| format!("{:?}", stage.script.requests.lock().unwrap()[place].history);
    assert!(
        read(0).contains("go slowly") && read(0).contains("It is Monday.") && !read(0).contains("\"go\"")
    );
    stage.take_over().await;
    stage.submit("turn_2", "go").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    let newest = format!("{:?}", stage.script.requests.lock().unwrap().last().unwrap().history);
    assert_eq!(
        (newest.matches("go slowly").count(), newest.matches("It is Monday.").count()),
        (2, 2),
        "{newest}"
    );
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_input_that_a_hook_blocks_never_reaches_a_model() {
    let block =
        |asked: &Asked| vec![says("one", HookPoint::UserPromptSubmit, asked, HookOutput::block("no names"))];
    let Scene { stage, .. } = scene("read", block).await;
    assert_eq!((stage.ended("turn_1").await.as_str(), stage.script.calls()), ("failed", 0));
    let error = stage.state().await.turns[0].error.clone().unwrap();
    assert_eq!(error.code.as_deref(), Some("hook_blocked"));
    assert_eq!(error.message, "the input was refused by hook `one`: no names");
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_until_the_hook_lets_it_stop() {
    let asked = Asked::default();
    let heard = asked.clone();
    let hook = HookUse::new("stop", [HookPoint::Stop], move |input: HookInput| {
        heard.lock().unwrap().push(input.clone());
        async move {
            if input.stops == Some(0) { HookOutput::block("the tests fail") } else { HookOutput::proceed() }
        }
    });
    let spec = AgentSpec { hooks: vec![hook], ..agent() };
    let stage = Stage::new(Script::new(vec![text("done"), text("now it is")]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "now it is");
    let heard: Vec<_> =
        asked.lock().unwrap().iter().map(|input| input.final_output.clone().unwrap()).collect();
    assert_eq!(heard, ["done", "now it is"]);
    let newest = format!("{:?}", stage.script.requests.lock().unwrap()[1].history);
    assert!(newest.contains("the tests fail"), "{newest}");
}

#[tokio::test(start_paused = true)]
async fn a_large_rewrite_is_told_by_its_beginning_and_a_reference() {
    let long = "y".repeat(20_000);
    let arguments = json!({"x": 2, "note": long});
    let update = |asked: &Asked| {
        vec![says("one", HookPoint::PreToolUse, asked, HookOutput::update(arguments.clone()))]
    };
    let Scene { mut stage, made, .. } = scene("erase", update).await;
    let open = pending(&stage, 1).await;
    stage.take_over().await;
    let approve = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap()[0].2, arguments);
    let events = stage.events().await;
    let rewrite = runs(&events)[1].1;
    assert_eq!((rewrite.updated_input.clone(), rewrite.preview.as_ref().unwrap().len()), (None, 512));
    let reference =
        riverrun_log::BlobId::parse(rewrite.updated_input_ref.as_ref().unwrap().as_str()).unwrap();
    let blob = stage.log.blob(&stage.key.tenant, &reference).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&blob.bytes).unwrap(), arguments);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_asking_too() {
    let slow = |_: &Asked| {
        vec![HookUse::new("slow", [HookPoint::PreToolUse], |_| async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            HookOutput::proceed()
        })]
    };
    let Scene { stage, made, .. } = scene("read", slow).await;
    stage.until("hook.started").await;
    let turn = riverrun_event::TurnId::new("turn_1").unwrap();
    stage.runner.cancel(&stage.key, &turn, riverrun_runner::CancelMode::Immediate, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    assert_eq!((stage.count("hook.failed").await, made.lock().unwrap().len()), (1, 0));
}
