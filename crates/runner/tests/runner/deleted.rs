//! Sessions that are deleted below their runner, and made anew with the same id.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use riverrun_log::SessionSpec;
use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_runner::{AgentSpec, CommandError};
use riverrun_tool::{CommandConfig, CommandTool, Program};

use crate::script::{Script, calls, slow_text, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, slow_tool};

const SECOND: Duration = Duration::from_secs(1);

async fn anew(stage: &Stage) {
    assert!(stage.log.delete_session(&stage.key).await.unwrap());
    stage.log.create_session(&stage.key, SessionSpec::default()).await.unwrap();
}

/// Nobody told the runner: the journal alone keeps the two apart.
#[tokio::test(start_paused = true)]
async fn a_run_that_outlives_its_session_writes_nothing_into_the_next() {
    let seen = Calls::default();
    let tools = vec![slow_tool("look", ONCE, Approval::Never, &seen, 5 * SECOND)];
    let looks = || vec![calls(&[("c1", "look", "{}")]), text("Said")];
    let talks = || vec![slow_text("a b c d", SECOND)];
    for (answers, begun) in [(looks(), "tool.started"), (talks(), "model.delta")] {
        let agents = vec![AgentSpec { tools: tools.clone(), ..agent() }];
        let stage = Stage::new(Script::new(answers), agents).await;
        stage.submit("turn_1", "go").await;
        stage.until(begun).await;
        anew(&stage).await;
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!((stage.kinds().await, stage.script.calls()), (Vec::<String>::new(), 1));
        stage.script.push(text("New"));
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_is_told_ends_at_once_and_who_waits_hears_of_it() {
    let stage = Stage::new(Script::new(vec![slow_text("a b c d", SECOND)]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    assert_eq!(stage.runner.resident(), 1);
    let (waits, ()) = tokio::join!(stage.runner.submit(&stage.key, turn_of("turn_2", "go")), async {
        stage.runner.end(&stage.key);
        anew(&stage).await;
    });
    assert!(matches!(waits, Err(CommandError::NoSession)), "{waits:?}");
    assert_eq!(stage.runner.resident(), 0);
    stage.script.push(text("New"));
    let fresh = stage.submit("turn_3", "go").await;
    assert_eq!(fresh.status, "accepted", "nothing is before it");
    assert_eq!(stage.ended("turn_3").await, "completed");
    assert_eq!(stage.count("turn.submitted").await, 1);
}

/// The command was begun, and its events are durable, when the session is deleted.
#[tokio::test(start_paused = true)]
async fn a_command_that_is_cut_by_a_deletion_finds_no_session() {
    let stage = Stage::new(Script::new(vec![text("Said")]), vec![agent()]).await;
    let (runner, key) = (stage.runner.clone(), stage.key.clone());
    stage.journal.at(1, move || runner.end(&key));
    let cut = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await;
    assert!(matches!(cut, Err(CommandError::NoSession)), "{cut:?}");
}

#[tokio::test]
async fn the_process_of_a_tool_ends_with_its_session() {
    let directory = tempfile::TempDir::new().unwrap();
    let (begun, done) = (directory.path().join("begun"), directory.path().join("done"));
    let shown = |path: &Path| path.display().to_string();
    let script = format!("touch {}; sleep 1; touch {}", shown(&begun), shown(&done));
    let argv = ["sh", "-c", &script].map(ToOwned::to_owned).to_vec();
    let program = Program { argv, ..Program::default() };
    let config = CommandConfig { name: "work".to_owned(), flags: ONCE, program, ..CommandConfig::default() };
    let tool = Arc::new(CommandTool::new(config).unwrap());
    let tools = vec![ToolUse { tool, approval: Approval::Never }];
    let stage =
        Stage::new(Script::new(vec![calls(&[("c1", "work", "{}")])]), vec![AgentSpec { tools, ..agent() }]);
    let stage = stage.await;
    stage.submit("turn_1", "go").await;
    while !begun.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stage.runner.end(&stage.key);
    anew(&stage).await;
    tokio::time::sleep(2 * SECOND).await;
    assert!(!done.exists(), "it was ended");
    assert_eq!(stage.kinds().await, Vec::<String>::new());
}
