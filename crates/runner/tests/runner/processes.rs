//! The process of a call: whatever happens to its owner, it is begun once and ended once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_event::{Payload, ProcessId};
use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_runner::{AgentSpec, CancelMode, CommandError, ProcessWrite, RequestKey, Terminate};
use riverrun_tool::{CommandConfig, CommandTool, Flags, Program};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, turn_of};
use crate::tool::{ONCE, READ};

/// The model calls the tool once; a model call that was lost is made again.
async fn stage(script: &str, flags: Flags) -> Stage {
    let spoken = Script::new(vec![]).scene("main", vec![calls(&[("c1", "talk", "{}")]), text("Said")]);
    spoken_stage(spoken, script, flags).await
}

async fn spoken_stage(spoken: Script, script: &str, flags: Flags) -> Stage {
    let argv = ["sh", "-c", script].map(ToOwned::to_owned).to_vec();
    let tool = CommandTool::new(CommandConfig {
        name: "talk".to_owned(),
        flags,
        program: Program { argv, ..Program::default() },
        interactive: true,
        ..CommandConfig::default()
    });
    let tools = vec![ToolUse { tool: Arc::new(tool.unwrap()), approval: Approval::Never }];
    let (name, models) = ("main".to_owned(), vec!["script/main".to_owned()]);
    Stage::new(spoken, vec![AgentSpec { name, models, tools, ..AgentSpec::default() }]).await
}

/// What was told of each process, in order.
async fn told(stage: &Stage) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in stage.events().await.iter().filter(|event| event.kind.as_str().starts_with("process.")) {
        let process = event.subject.clone().expect("a process is named");
        told.entry(process).or_default().push(event.kind.as_str().to_owned());
    }
    told
}

/// Begun first, ended last, each once. How many were completed.
async fn check(stage: &Stage) -> usize {
    let told = told(stage).await;
    let ends = |kind: &String| {
        matches!(kind.as_str(), "process.completed" | "process.failed" | "process.terminated")
    };
    for (process, kinds) in &told {
        assert_eq!(kinds[0], "process.started", "{process}: {kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| *kind == "process.started").count(), 1, "{process}: {kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| ends(kind)).count(), 1, "{process}: {kinds:?}");
        assert!(kinds.last().is_some_and(ends), "{process}: {kinds:?}");
    }
    told.values().filter(|kinds| kinds.contains(&"process.completed".to_owned())).count()
}

/// The process that runs now.
async fn running(stage: &Stage) -> ProcessId {
    stage.until("process.output").await;
    let state = stage.state().await;
    ProcessId::new(&state.processes.entries.last().expect("there is one").process_id).unwrap()
}

async fn die_at(left: i64, flags: Flags) -> usize {
    let mut stage = stage("echo one; sleep 0.02; echo two", flags).await;
    stage.journal.left.store(left, Ordering::SeqCst);
    let submitted = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await;
    for _ in 0..100 {
        let is_over = stage.count("turn.completed").await > 0;
        if is_over || stage.journal.left.load(Ordering::SeqCst) < 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stage.take_over().await;
    if submitted.is_err() {
        stage.submit("turn_1", "go").await;
    }
    assert_eq!(stage.ended("turn_1").await, "completed", "at {left}");
    let (begun, completed) = (told(&stage).await.len(), check(&stage).await);
    // What may not be done twice is begun once; what may be is done to its end.
    let is_right = if flags.idempotent { completed == 1 } else { begun <= 1 };
    assert!(is_right, "{begun} begun and {completed} completed, at {left}");
    completed
}

#[tokio::test]
async fn a_process_is_begun_and_ended_once_whenever_its_owner_dies() {
    let mut completed = 0;
    for left in 0..14 {
        completed += die_at(left, ONCE).await;
        assert_eq!(die_at(left, READ).await, 1);
    }
    assert!(
        (1..14).contains(&completed),
        "{completed} of 14 were completed: the owner died too early or too late"
    );
}

fn write(process: &ProcessId, text: &str) -> ProcessWrite {
    let (process, text) = (process.clone(), text.to_owned());
    ProcessWrite { process, text, secret: false, end_of_input: false, written_by: None }
}

#[tokio::test]
async fn a_write_with_a_name_comes_once_and_another_with_the_same_name_is_refused() {
    let stage = stage("echo one; while read -r x; do echo \"<$x>\"; done", ONCE).await;
    stage.submit("turn_1", "go").await;
    let process = running(&stage).await;
    let key = |digest| Some(RequestKey { id: [7; 16], digest: [digest; 32] });
    for _ in 0..3 {
        stage.runner.write_process(&stage.key, write(&process, "x\n"), key(1)).await.unwrap();
    }
    let other = stage.runner.write_process(&stage.key, write(&process, "y\n"), key(2)).await;
    assert!(matches!(other, Err(CommandError::RequestMismatch)), "{other:?}");
    let last = ProcessWrite { end_of_input: true, ..write(&process, "end\n") };
    stage.runner.write_process(&stage.key, last, None).await.unwrap();
    let late = stage.runner.write_process(&stage.key, write(&process, "late\n"), None).await;
    assert!(matches!(late, Err(CommandError::ProcessUnavailable { .. })), "{late:?}");
    assert_eq!(stage.ended("turn_1").await, "completed");
    let mut output = String::new();
    for event in stage.events().await {
        if let Ok(Payload::ProcessOutput(told)) = &event.payload {
            output += told.text.as_deref().unwrap_or_default();
        }
    }
    assert_eq!(output, "one\n<x>\n<end>\n");
    assert_eq!((stage.count("process.input").await, check(&stage).await), (2, 1));
}

#[tokio::test]
async fn an_end_with_a_name_is_answered_again_and_a_cancel_ends_what_is_left() {
    let spoken =
        Script::new(vec![calls(&[("c1", "talk", "{}")]), text("Said"), calls(&[("c2", "talk", "{}")])]);
    let stage = spoken_stage(spoken, "echo one; while :; do sleep 0.05; done", ONCE).await;
    stage.submit("turn_1", "go").await;
    let process = running(&stage).await;
    let order = || Terminate { by: "key_1".to_owned(), reason: None };
    let key = Some(RequestKey { id: [7; 16], digest: [1; 32] });
    let over = stage.runner.terminate_process(&stage.key, &process, order(), key).await.unwrap();
    assert_eq!(over.status, "cancelled");
    let again = stage.runner.terminate_process(&stage.key, &process, order(), key).await.unwrap();
    assert_eq!(again, over);
    let other = stage.runner.terminate_process(&stage.key, &process, order(), None).await;
    assert!(matches!(other, Err(CommandError::ProcessUnavailable { .. })), "{other:?}");
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.submit("turn_2", "go").await;
    stage.until_count("process.output", 2).await;
    let turn = "turn_2".parse().unwrap();
    stage.runner.cancel(&stage.key, &turn, CancelMode::Immediate, None).await.unwrap();
    assert_eq!(stage.ended("turn_2").await, "cancelled");
    assert_eq!((stage.count("process.terminated").await, check(&stage).await), (2, 0));
}
