//! Tasks that are halted and go on.

use std::time::Duration;

use riverrun_event::{TaskId, TurnId};
use riverrun_fold::Status;
use riverrun_runner::agent::{Approval, Limits};
use riverrun_runner::{AgentSpec, CancelMode, CommandError, Decision, Pause, Paused};

use crate::script::{Script, calls, slow_text, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, slow_tool, tool};
use crate::tools::{decide, pending};

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);

fn turn() -> TurnId {
    TurnId::new("turn_1").unwrap()
}

async fn halt(stage: &Stage, task: &TaskId, halts: bool) -> Result<Paused, CommandError> {
    stage.runner.pause(&stage.key, &turn(), task, Pause { halts, reason: None }, None).await
}

async fn status(stage: &Stage, task: &TaskId) -> Status {
    stage.state().await.tasks.iter().find(|known| known.task_id == *task).expect("a task").status
}

#[tokio::test(start_paused = true)]
async fn a_halted_task_ends_its_step_and_begins_no_other_over_a_restart() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![slow_tool("read", READ, Approval::Never, &made, SECOND)], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "read", "{}")]), text("done")]);
    let mut stage = Stage::new(script, vec![spec]).await;
    let task = stage.submit("turn_1", "go").await.task_id;
    stage.until("tool.started").await;
    let told = halt(&stage, &task, true).await.unwrap();
    assert_eq!((told.status, told.duplicate), (Status::Paused, false));
    assert!(halt(&stage, &task, true).await.unwrap().duplicate);
    // The tool that ran is recorded; the model is not asked what to make of it.
    stage.until("tool.result").await;
    tokio::time::sleep(LONG).await;
    assert_eq!((status(&stage, &task).await, stage.script.calls()), (Status::Paused, 1));
    stage.take_over().await;
    tokio::time::sleep(LONG).await;
    assert_eq!((status(&stage, &task).await, stage.script.calls()), (Status::Paused, 1));
    let told = halt(&stage, &task, false).await.unwrap();
    assert_eq!((told.status, told.duplicate), (Status::Running, false));
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((stage.script.calls(), made.lock().unwrap().len()), (2, 1));
    let late = halt(&stage, &task, true).await.unwrap_err();
    assert!(
        matches!(&late, CommandError::NotPausable { why, .. } if why == "it has ended: completed"),
        "{late}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_read_to_its_end_and_ends_the_turn_when_it_goes_on() {
    let stage = Stage::new(Script::new(vec![slow_text("one two three", SECOND)]), vec![agent()]).await;
    let task = stage.submit("turn_1", "go").await.task_id;
    stage.until("model.delta").await;
    halt(&stage, &task, true).await.unwrap();
    stage.until("model.completed").await;
    tokio::time::sleep(LONG).await;
    assert_eq!(stage.count("turn.completed").await, 0);
    assert!(!halt(&stage, &task, false).await.unwrap().duplicate);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "one two three");
}

#[tokio::test(start_paused = true)]
async fn what_is_decided_meanwhile_is_done_later() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![tool("write", ONCE, Approval::Always, &made)], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "write", "{}")]), text("done")]);
    let stage = Stage::new(script, vec![spec]).await;
    let task = stage.submit("turn_1", "go").await.task_id;
    let (action, asked) = pending(&stage, 1).await.remove(0);
    halt(&stage, &task, true).await.unwrap();
    assert_eq!(status(&stage, &task).await, Status::Paused);
    // Going on is waiting for the decision again.
    assert_eq!(halt(&stage, &task, false).await.unwrap().status, Status::WaitingPermission);
    assert_eq!(status(&stage, &task).await, Status::WaitingPermission);
    halt(&stage, &task, true).await.unwrap();
    stage.runner.decide(&stage.key, decide(&action, Decision::Approve, asked.digest)).await.unwrap();
    tokio::time::sleep(LONG).await;
    assert_eq!((status(&stage, &task).await, made.lock().unwrap().len()), (Status::Paused, 0));
    assert_eq!(halt(&stage, &task, false).await.unwrap().status, Status::Running);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn halted_time_counts_for_no_limit_and_a_cancel_does_not_wait() {
    let made = Calls::default();
    let limits = Limits { time: Some(10 * SECOND), ..Limits::default() };
    let tools = vec![slow_tool("read", READ, Approval::Never, &made, SECOND)];
    let spec = AgentSpec { tools, limits, ..agent() };
    let script = Script::new(vec![calls(&[("c1", "read", "{}")]), slow_text("one two three", 20 * SECOND)]);
    let stage = Stage::new(script, vec![spec]).await;
    let task = stage.submit("turn_1", "go").await.task_id;
    stage.until("tool.started").await;
    halt(&stage, &task, true).await.unwrap();
    tokio::time::sleep(LONG).await;
    halt(&stage, &task, false).await.unwrap();
    // It has most of its ten seconds left, and then no more.
    stage.until_count("model.requested", 2).await;
    assert_eq!(stage.ended("turn_1").await, "failed");

    let script = Script::new(vec![slow_text("one two three", SECOND)]);
    let stage = Stage::new(script, vec![agent()]).await;
    let task = stage.submit("turn_1", "go").await.task_id;
    stage.until("model.delta").await;
    halt(&stage, &task, true).await.unwrap();
    stage.until("model.completed").await;
    stage.runner.cancel(&stage.key, &turn(), CancelMode::AfterTurn, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_halted_task_halts_its_children_and_a_halted_child_only_itself() {
    let named = |name: &str| AgentSpec {
        name: name.to_owned(),
        models: vec![format!("script/{name}")],
        subagents: if name == "main" { vec!["helper".to_owned()] } else { Vec::new() },
        ..AgentSpec::default()
    };
    let made = Calls::default();
    let tools = vec![slow_tool("read", READ, Approval::Never, &made, SECOND)];
    let helper = AgentSpec { tools, ..named("helper") };
    let script = Script::new(vec![])
        .model("main", vec![calls(&[("c1", "helper", r#"{"input":"go"}"#)]), text("done")])
        .model("helper", vec![calls(&[("r1", "read", "{}")]), text("found")]);
    let stage = Stage::new(script, vec![named("main"), helper]).await;
    let root = stage.submit("turn_1", "go").await.task_id;
    let child = TaskId::new("c1").unwrap();
    for held in [&root, &child] {
        stage.until("tool.started").await;
        halt(&stage, held, true).await.unwrap();
        tokio::time::sleep(LONG).await;
        assert_eq!(stage.script.calls(), 2, "{held}");
        if *held == root {
            halt(&stage, &child, true).await.unwrap();
            halt(&stage, held, false).await.unwrap();
        }
    }
    halt(&stage, &child, false).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.script.calls(), 4);
    let nobody = halt(&stage, &TaskId::new("nobody").unwrap(), true).await.unwrap_err();
    assert!(matches!(nobody, CommandError::NotPausable { .. } | CommandError::NoSubagent(_)), "{nobody}");
}
