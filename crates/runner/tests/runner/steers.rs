//! What is said to a turn while it works is read, however the turn ends and however often it is tried.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::TurnId;
use riverrun_provider::{Category, HistoryEntry};
use riverrun_runner::agent::{Approval, Checked, Guardrail, GuardrailFuture};
use riverrun_runner::{AgentSpec, CancelMode, Decision};

use crate::script::{Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, slow_tool};
use crate::tools::{decide, pending};

const SECOND: Duration = Duration::from_secs(1);

fn turn(id: &str) -> TurnId {
    TurnId::new(id).unwrap()
}

async fn steer(stage: &Stage, id: &str, input: &str) {
    stage.runner.steer(&stage.key, &turn(id), input.into(), None).await.unwrap();
}

/// Who said what in the newest request.
fn asked(stage: &Stage) -> Vec<String> {
    let requests = stage.script.requests.lock().unwrap();
    let history = &requests.last().expect("a model was asked").history;
    let texts = history.iter().map(|entry| match entry {
        HistoryEntry::User { parts } => format!("user: {}", parts[0].text().unwrap_or_default()),
        HistoryEntry::Assistant { parts, .. } => format!("model: {}", parts[0].text().unwrap_or_default()),
        HistoryEntry::ToolCall { name, .. } => format!("call: {name}"),
        HistoryEntry::ToolResult { .. } => "result".to_owned(),
        _ => "other".to_owned(),
    });
    texts.collect()
}

async fn cancelled(stage: &Stage, mode: CancelMode) {
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    steer(stage, "turn_1", "and this").await;
    stage.runner.cancel(&stage.key, &turn("turn_1"), mode, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_retry_reads_what_was_said_before_a_cancel() {
    let script = Script::new(vec![slow_text("a b c d", SECOND), text("done")]);
    let mut stage = Stage::new(script, vec![agent()]).await;
    cancelled(&stage, CancelMode::Immediate).await;
    stage.take_over().await;
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until("turn.completed").await;
    assert_eq!(asked(&stage), ["user: go", "user: and this"], "the cut answer is asked for anew");
    stage.check(&turn("turn_1")).await;
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_reads_what_was_said_before_a_cancel() {
    for mode in [CancelMode::Immediate, CancelMode::AfterTurn] {
        let stage =
            Stage::new(Script::new(vec![slow_text("a b", SECOND), text("done")]), vec![agent()]).await;
        cancelled(&stage, mode).await;
        stage.submit("turn_2", "next").await;
        assert_eq!(stage.ended("turn_2").await, "completed");
        let asked = asked(&stage);
        assert_eq!(asked.first().map(String::as_str), Some("user: go"));
        assert_eq!(asked[asked.len() - 2..], ["user: and this", "user: next"], "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_reads_what_was_said_before_a_failure() {
    let fails = || fails("half", Category::InvalidRequest);
    let script = Script::new(vec![slow_text("a b", SECOND), fails(), text("done")]);
    let stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    steer(&stage, "turn_1", "and this").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until("turn.completed").await;
    assert_eq!(asked(&stage), ["user: go", "model: a b", "user: and this"]);
}

/// A turn that went well begins anew, with everything that its user said.
#[tokio::test(start_paused = true)]
async fn a_turn_that_begins_anew_keeps_what_its_user_said() {
    let stage =
        Stage::new(Script::new(vec![slow_text("a b", SECOND), text("c"), text("d")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    steer(&stage, "turn_1", "and this").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until_count("turn.completed", 2).await;
    assert_eq!(asked(&stage), ["user: go", "user: and this"]);
}

/// What is told again of a turn that left the state is nothing new.
#[tokio::test(start_paused = true)]
async fn a_retry_of_an_old_turn_is_steered_too() {
    let script = Script::new(vec![slow_text("a b", SECOND), fails("", Category::InvalidRequest)]);
    let stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    steer(&stage, "turn_1", "and this").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    crate::control::seal(&stage, "turn_1", 2).await;
    let ended = stage.count("turn.completed").await;
    let words = stage.count("model.delta").await;
    stage.script.push(slow_text("c d", SECOND));
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until_count("model.delta", words + 1).await;
    steer(&stage, "turn_1", "and that").await;
    stage.until_count("turn.completed", ended + 1).await;
    let asked = asked(&stage);
    assert_eq!(asked[asked.len() - 2..], ["model: c d", "user: and that"], "{asked:?}");
}

/// Refuses inputs with "this" in them.
struct NoThis;

impl Guardrail for NoThis {
    fn name(&self) -> &str {
        "no_this"
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let is_bad = matches!(checked, Checked::Input(text) if text.contains("this"));
        Box::pin(async move { if is_bad { Err("not this".to_owned()) } else { Ok(()) } })
    }
}

/// An input that a guardrail refused is not put into the conversation by the turn's end.
#[tokio::test(start_paused = true)]
async fn what_a_guardrail_refused_is_not_read_later() {
    let spec = AgentSpec { guardrails: vec![Arc::new(NoThis)], ..agent() };
    let stage = Stage::new(Script::new(vec![slow_text("a b", SECOND), text("done")]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    steer(&stage, "turn_1", "and this").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    stage.submit("turn_2", "next").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    assert_eq!(asked(&stage), ["user: go", "model: a b", "user: next"]);
    // Nor is the input of a turn that was refused as a whole.
    stage.submit("turn_3", "this").await;
    assert_eq!(stage.ended("turn_3").await, "failed");
    stage.submit("turn_4", "last").await;
    assert_eq!(stage.ended("turn_4").await, "completed");
    assert!(!asked(&stage).contains(&"user: this".to_owned()), "{:?}", asked(&stage));
}

#[tokio::test(start_paused = true)]
async fn a_call_stands_before_what_was_said_meanwhile() {
    let made = Calls::default();
    let tools = vec![slow_tool("read", READ, Approval::Never, &made, SECOND * 50)];
    let script = Script::new(vec![calls(&[("c1", "read", "{}")]), text("done")]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    stage.until("tool.started").await;
    steer(&stage, "turn_1", "and this").await;
    stage.runner.cancel(&stage.key, &turn("turn_1"), CancelMode::Immediate, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until("turn.completed").await;
    assert_eq!(asked(&stage), ["user: go", "call: read", "result", "user: and this"]);
}

/// An owner that reads it from the log reads all of it, however long it is.
#[tokio::test(start_paused = true)]
async fn a_long_input_is_read_whole_by_the_next_owner() {
    let made = Calls::default();
    let tools = vec![slow_tool("erase", ONCE, Approval::Always, &made, SECOND)];
    let script = Script::new(vec![calls(&[("c1", "erase", "{}")]), text("done")]);
    let mut stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let long = "word ".repeat(80_000);
    steer(&stage, "turn_1", &long).await;
    stage.take_over().await;
    let decision = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, decision).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(asked(&stage).last().map(String::len), Some("user: ".len() + long.len()));
}
