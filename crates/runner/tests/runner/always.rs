//! A decision for always decides what it covers and waits already, and nothing else.

use riverrun_event::{ActionId, ActionRequired, ActionResolved, Payload};
use riverrun_runner::agent::Approval;
use riverrun_runner::hook::{HookInput, HookOutput, HookPoint, HookUse};
use riverrun_runner::{AgentSpec, Decide, Decision, Fate};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, tool};
use crate::tools::{decide, pending, result};

type Open = [(ActionId, ActionRequired)];

const THREE: &[(&str, &str, &str)] =
    &[("c1", "erase", r#"{"x":1}"#), ("c2", "erase", r#"{"x":2}"#), ("c3", "burn", r#"{"x":3}"#)];

fn erase_and_burn(made: &Calls) -> AgentSpec {
    let tools = ["erase", "burn"].map(|name| tool(name, ONCE, Approval::Policy, made)).to_vec();
    AgentSpec { tools, ..agent() }
}

async fn stage(made: &Calls) -> (Stage, Vec<(ActionId, ActionRequired)>) {
    let stage = Stage::new(Script::new(vec![calls(THREE), text("ok")]), vec![erase_and_burn(made)]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 3).await;
    (stage, open)
}

fn always(open: &Open, place: usize, decision: Decision) -> Decide {
    let decided_by = Some("ann".to_owned());
    let digest = open[place].1.digest.clone();
    Decide { always: true, decided_by, ..decide(&open[place].0, decision, digest) }
}

/// The decisions in the order of the log: action, decision, source, who.
async fn decided(stage: &Stage) -> Vec<(ActionId, ActionResolved)> {
    let told = |event: riverrun_event::Event| match event.payload {
        Ok(Payload::ActionResolved(resolved)) => Some((event.scope.action_id?, *resolved)),
        _ => None,
    };
    stage.events().await.into_iter().filter_map(told).collect()
}

fn ran(made: &Calls) -> Vec<serde_json::Value> {
    made.lock().unwrap().iter().map(|call| call.2["x"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_approval_for_always_lets_waiting_calls_of_its_tool_run() {
    let made = Calls::default();
    let (mut stage, open) = stage(&made).await;
    stage.runner.decide(&stage.key, always(&open, 0, Decision::Approve)).await.unwrap();
    let told = decided(&stage).await;
    let found: Vec<_> =
        told.iter().map(|(action, told)| (action, told.decision.as_str(), told.source.as_deref())).collect();
    let expected = [(&open[0].0, "approve", Some("person")), (&open[1].0, "approve", Some("rule"))];
    assert_eq!(found, expected, "another tool waits on");
    assert_eq!((&told[1].1.digest, told[1].1.decided_by.as_deref()), (&open[1].1.digest, Some("ann")));
    stage.until_count("tool.result", 2).await;
    assert_eq!(ran(&made), [1, 2]);
    // A new owner decides nothing anew, and who comes later is told.
    stage.take_over().await;
    let late = decide(&open[1].0, Decision::Reject, None);
    let late = stage.runner.decide(&stage.key, late).await.unwrap();
    assert_eq!((late.fate(), late.source.as_str()), (Fate::DecidedByOther, "rule"));
    let same = decide(&open[1].0, Decision::Approve, open[1].1.digest.clone());
    assert_eq!(stage.runner.decide(&stage.key, same).await.unwrap().fate(), Fate::AlreadyDecided);
    stage.runner.decide(&stage.key, decide(&open[2].0, Decision::Reject, None)).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((decided(&stage).await.len(), ran(&made)), (3, vec![1.into(), 2.into()]));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_always_refuses_waiting_calls_of_its_tool() {
    let made = Calls::default();
    let (stage, open) = stage(&made).await;
    let never = Decide { message: Some("never".to_owned()), ..always(&open, 1, Decision::Reject) };
    stage.runner.decide(&stage.key, never).await.unwrap();
    let told = decided(&stage).await;
    let found: Vec<_> = told.iter().map(|(action, told)| (action, told.source.as_deref())).collect();
    assert_eq!(found, [(&open[1].0, Some("person")), (&open[0].0, Some("rule"))]);
    assert!(told.iter().all(|(_, told)| told.decision == "reject"));
    let approve = decide(&open[2].0, Decision::Approve, open[2].1.digest.clone());
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(ran(&made), [3]);
    assert_eq!(result(&stage, "c2"), ("never".to_owned(), true));
    assert_eq!(result(&stage, "c1"), ("Tool execution was not approved.".to_owned(), true));
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_by_itself_before_holds() {
    let made = Calls::default();
    let (stage, open) = stage(&made).await;
    stage.runner.decide(&stage.key, decide(&open[1].0, Decision::Reject, None)).await.unwrap();
    stage.runner.decide(&stage.key, always(&open, 0, Decision::Approve)).await.unwrap();
    stage.runner.decide(&stage.key, decide(&open[2].0, Decision::Reject, None)).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((decided(&stage).await.len(), ran(&made)), (3, vec![1.into()]));
}

/// Two `helper`s and one `other` wait, each with the same tool, under `main`.
async fn below(made: &Calls) -> (Stage, Vec<(ActionId, ActionRequired)>) {
    let named = |name: &str| AgentSpec {
        name: name.to_owned(),
        models: vec![format!("script/{name}")],
        tools: vec![tool("erase", ONCE, Approval::Policy, made)],
        ..AgentSpec::default()
    };
    let subagents = ["helper", "other"].map(str::to_owned).to_vec();
    let main = AgentSpec { subagents, tools: Vec::new(), ..named("main") };
    let go = r#"{"input":"go"}"#;
    let asked = calls(&[("h1", "helper", go), ("h2", "helper", go), ("o1", "other", go)]);
    let erase = |id: &str, x: u8| calls(&[(id, "erase", &format!(r#"{{"x":{x}}}"#))]);
    let script = Script::new(vec![])
        .model("main", vec![asked, text("done")])
        .model("helper", vec![erase("e1", 1), erase("e2", 2), text("found"), text("found")])
        .model("other", vec![erase("e3", 3), text("found")]);
    let stage = Stage::new(script, vec![main, named("helper"), named("other")]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 3).await;
    (stage, open)
}

#[tokio::test(start_paused = true)]
async fn sub_agents_of_the_same_agent_go_on_and_others_wait() {
    let made = Calls::default();
    let (stage, open) = below(&made).await;
    let state = stage.state().await;
    let agent_of = |action: &ActionId| {
        let action = state.actions.iter().find(|known| known.action_id == *action).unwrap();
        let task = state.tasks.iter().find(|task| Some(&task.task_id) == action.task_id.as_ref()).unwrap();
        task.agent.clone().unwrap_or_default()
    };
    let first = open.iter().position(|(action, _)| agent_of(action) == "helper").unwrap();
    stage.runner.decide(&stage.key, always(&open, first, Decision::Approve)).await.unwrap();
    let told = decided(&stage).await;
    assert_eq!(told.iter().map(|(action, _)| agent_of(action)).collect::<Vec<_>>(), ["helper", "helper"]);
    stage.until_count("tool.result", 2).await;
    let left = pending(&stage, 3).await;
    assert_eq!(left.iter().map(|(action, _)| agent_of(action)).collect::<Vec<_>>(), ["other"]);
    let approve = decide(&left[0].0, Decision::Approve, left[0].1.digest.clone());
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(ran(&made).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_asks_about_is_not_covered() {
    let made = Calls::default();
    let hook = HookUse::new("one", [HookPoint::PreToolUse], |input: HookInput| async move {
        let is_second = format!("{input:?}").contains("c2");
        if is_second { HookOutput::ask("really?") } else { HookOutput::default() }
    });
    let spec = AgentSpec { hooks: vec![hook], ..erase_and_burn(&made) };
    let stage = Stage::new(Script::new(vec![calls(THREE), text("ok")]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 3).await;
    let is_first = |asked: &ActionRequired| asked.arguments.as_ref().unwrap().get().contains("1");
    let first = open.iter().position(|(_, asked)| is_first(asked)).unwrap();
    stage.runner.decide(&stage.key, always(&open, first, Decision::Approve)).await.unwrap();
    assert_eq!(decided(&stage).await.len(), 1);
}
