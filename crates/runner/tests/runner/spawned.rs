//! Sub-agents that no model called.

use std::time::Duration;

use riverrun_event::{Part, TaskId};
use riverrun_provider::{Category, HistoryEntry};
use riverrun_runner::agent::{Approval, Limits};
use riverrun_runner::{AgentSpec, CommandError, Decision, RequestKey, Spawn, Submitted};

use crate::script::{Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, tool};
use crate::tools::{decide, pending};

fn helper(tools: Vec<riverrun_runner::agent::ToolUse>) -> AgentSpec {
    AgentSpec {
        name: "helper".to_owned(),
        models: vec!["script/helper".to_owned()],
        tools,
        ..AgentSpec::default()
    }
}

fn slow() -> crate::script::Say {
    slow_text("a b c d", Duration::from_secs(2))
}

async fn spawn(
    stage: &Stage,
    parent: &TaskId,
    request: Option<RequestKey>,
) -> Result<Submitted, CommandError> {
    let (agent, input) = ("helper".to_owned(), "look".to_owned());
    stage.runner.spawn_subagent(&stage.key, Spawn { parent: parent.clone(), agent, input }, request).await
}

/// What the model of the root task read last.
fn read(stage: &Stage) -> Vec<HistoryEntry> {
    let requests = stage.script.requests.lock().unwrap();
    requests.iter().rev().find(|request| request.model == "m").expect("it was asked").history.clone()
}

fn words(entry: &HistoryEntry) -> String {
    let HistoryEntry::User { parts } = entry else { panic!("no input: {entry:?}") };
    parts.iter().filter_map(Part::text).collect()
}

#[tokio::test(start_paused = true)]
async fn its_parent_waits_for_it_and_reads_what_it_says_and_cites() {
    let made = Calls::default();
    let script = Script::new(vec![slow(), text("done")]).model(
        "helper",
        vec![calls(&[("k", "read", "{}")]), slow_text("Found [^1] it", Duration::from_secs(9))],
    );
    let read_tool = tool("read", READ, Approval::Policy, &made);
    let stage = Stage::new(script, vec![agent(), helper(vec![read_tool])]).await;
    let turn = stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let child = spawn(&stage, &turn.task_id, None).await.unwrap();
    assert_eq!((&child.turn_id, child.status.as_str()), (&turn.turn_id, "running"));
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "done");
    let state = stage.state().await;
    let task = state.tasks.iter().find(|task| task.task_id == child.task_id).expect("it is a task");
    assert_eq!((task.parent_task_id.as_ref(), task.depth), (Some(&turn.task_id), 1));
    assert_eq!((task.status.as_str(), task.parent_tool_call_id.as_ref()), ("completed", None));
    for kind in ["task.delegated", "subagent.spawned", "subagent.completed", "input.steered"] {
        assert_eq!(stage.count(kind).await, 1, "{kind}");
    }
    let history = read(&stage);
    let [HistoryEntry::User { .. }, HistoryEntry::Assistant { .. }, told] = history.as_slice() else {
        panic!("{history:?}")
    };
    let told = words(told);
    assert!(told.contains("helper") && told.contains(child.task_id.as_str()), "{told}");
    assert!(told.contains("Found [1] it") && told.contains("read says"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn it_works_while_its_parent_waits_for_a_decision_and_over_a_new_owner() {
    let made = Calls::default();
    let main = AgentSpec { tools: vec![tool("erase", ONCE, Approval::Policy, &made)], ..agent() };
    let script =
        Script::new(vec![calls(&[("c1", "erase", "{}")]), text("done")]).model("helper", vec![text("found")]);
    let mut stage = Stage::new(script, vec![main, helper(vec![])]).await;
    let turn = stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    spawn(&stage, &turn.task_id, None).await.unwrap();
    stage.until("input.steered").await;
    assert_eq!(stage.state().await.turns[0].status.as_str(), "waiting_permission");
    stage.take_over().await;
    let approve = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("input.steered").await, 1);
    assert_eq!(made.lock().unwrap().len(), 1);
    let history = read(&stage);
    let [.., HistoryEntry::ToolCall { .. }, HistoryEntry::ToolResult { .. }, told] = history.as_slice()
    else {
        panic!("{history:?}")
    };
    assert!(words(told).contains("found"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_closed_or_fails_is_told_of_too() {
    let script = Script::new(vec![slow(), text("one"), text("two")])
        .model("helper", vec![slow(), fails("", Category::InvalidRequest)]);
    let stage = Stage::new(script, vec![agent(), helper(vec![])]).await;
    let turn = stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let first = spawn(&stage, &turn.task_id, None).await.unwrap();
    stage.until_count("model.requested", 2).await;
    let second = spawn(&stage, &turn.task_id, None).await.unwrap();
    stage.runner.close_subagent(&stage.key, &first.task_id, Some("enough".to_owned())).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    let told: String =
        read(&stage).iter().filter(|entry| matches!(entry, HistoryEntry::User { .. })).map(words).collect();
    assert!(told.contains("enough") && told.contains(first.task_id.as_str()), "{told}");
    assert!(told.contains("it broke") && told.contains(second.task_id.as_str()), "{told}");
}

#[tokio::test(start_paused = true)]
async fn it_is_told_things_and_ends_with_a_turn_that_is_cancelled() {
    let script = Script::new(vec![slow()]).model("helper", vec![slow(), slow()]);
    let stage = Stage::new(script, vec![agent(), helper(vec![])]).await;
    let turn = stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let child = spawn(&stage, &turn.task_id, None).await.unwrap();
    stage.runner.subagent_input(&stage.key, &child.task_id, "and this".into(), None).await.unwrap();
    stage.until("model.completed").await;
    stage.runner.cancel(&stage.key, &turn.turn_id, Default::default(), None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    assert!(stage.state().await.tasks.iter().all(|task| task.status.is_terminal()));
    assert_eq!((stage.count("subagent.closed").await, stage.count("input.steered").await), (1, 0));
    let late = spawn(&stage, &turn.task_id, None).await;
    assert!(matches!(late, Err(CommandError::TurnEnded { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn there_are_only_so_many_and_so_deep_and_they_have_known_agents() {
    let main = AgentSpec { limits: Limits { children: 2, depth: 1, ..Limits::default() }, ..agent() };
    let script = Script::new(vec![slow(), text("ok"), text("ok")]).model("helper", vec![slow(), slow()]);
    let stage = Stage::new(script, vec![main, helper(vec![])]).await;
    let turn = stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let child = spawn(&stage, &turn.task_id, None).await.unwrap();
    let deep = spawn(&stage, &child.task_id, None).await;
    assert!(matches!(&deep, Err(CommandError::SubagentLimit(why)) if why.contains("deep")), "{deep:?}");
    spawn(&stage, &turn.task_id, None).await.unwrap();
    let third = spawn(&stage, &turn.task_id, None).await;
    assert!(
        matches!(&third, Err(CommandError::SubagentLimit(why)) if why.contains("may have 2")),
        "{third:?}"
    );
    let nobody = Spawn { parent: turn.task_id.clone(), agent: "nobody".to_owned(), input: "x".to_owned() };
    let nobody = stage.runner.spawn_subagent(&stage.key, nobody, None).await;
    assert!(matches!(nobody, Err(CommandError::UnknownAgent { .. })), "{nobody:?}");
    let nowhere = spawn(&stage, &TaskId::new("nowhere").unwrap(), None).await;
    assert!(matches!(nowhere, Err(CommandError::NoTask(_))), "{nowhere:?}");
    assert_eq!(stage.ended("turn_1").await, "completed");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_asked_for_twice_over_a_crash_is_started_once() {
    const ONE: RequestKey = RequestKey { id: [1; 16], digest: [7; 32] };
    let script = Script::new(vec![slow(), slow(), text("done")]).model("helper", vec![text("a"), text("b")]);
    let mut stage = Stage::new(script, vec![agent(), helper(vec![])]).await;
    let turn = stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    let first = spawn(&stage, &turn.task_id, Some(ONE)).await.unwrap();
    stage.take_over().await;
    let again = spawn(&stage, &turn.task_id, Some(ONE)).await.unwrap();
    assert_eq!((&again.task_id, again.duplicate), (&first.task_id, true));
    assert_eq!(stage.ended("turn_1").await, "completed");
    let later = spawn(&stage, &turn.task_id, Some(ONE)).await.unwrap();
    assert_eq!((later.task_id, later.status.as_str()), (first.task_id, "running"));
    assert_eq!(stage.count("subagent.spawned").await, 1);
}
