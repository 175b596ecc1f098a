//! What counts as the answer of a task, however many messages it comes in.

use std::sync::Arc;

use riverrun_event::Part;
use riverrun_provider::{HistoryEntry, ItemKind, ModelEvent, StopReason};
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::{Approval, Checked, Guardrail, GuardrailFuture};
use serde_json::json;

use crate::script::{NOW, Say, Script, calls, completed, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, READ, tool};

/// An answer in several messages, and why it ended.
fn several(texts: &[&str], stop: StopReason) -> Say {
    let mut events = Vec::new();
    for (index, text) in (0..).zip(texts) {
        events.push((NOW, ModelEvent::ItemStarted { index, kind: ItemKind::Message }));
        events.push((NOW, ModelEvent::Text { index, delta: (*text).to_owned() }));
        events.push((NOW, ModelEvent::ItemDone { index, opaque: None }));
    }
    events.push(completed(stop));
    Say(events)
}

/// Words, then a call of `read`.
fn words_and_call(words: &str) -> Say {
    let mut say = several(&[words], StopReason::ToolUse);
    let end = say.0.pop().expect("it has an end");
    let call = calls(&[("c1", "read", "{}")]).0.into_iter().filter_map(|(pause, event)| match event {
        ModelEvent::ItemStarted { index: 1, kind } => {
            Some((pause, ModelEvent::ItemStarted { index: 1, kind }))
        }
        ModelEvent::Arguments { .. } | ModelEvent::ItemDone { index: 1, .. } => Some((pause, event)),
        _ => None,
    });
    say.0.extend(call);
    say.0.push(end);
    say
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_several_messages_is_one_output() {
    let script = Script::new(vec![several(&["Grass ", "is ", "green."], StopReason::End)]);
    let stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "Grass is green.");
}

#[tokio::test(start_paused = true)]
async fn json_in_several_messages_is_one_value() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let spec = AgentSpec { output_schema: Some(schema), ..agent() };
    let script = Script::new(vec![
        several(&[r#"{"n":"#, "x}"], StopReason::End),
        several(&[r#"{"n":"#, "1}"], StopReason::End),
    ]);
    let stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, r#"{"n":1}"#);
    assert_eq!(stage.count("item.retracted").await, 2, "all of what did not fit is taken back");
}

/// Refuses outputs with this word.
struct Without(&'static str);

impl Guardrail for Without {
    fn name(&self) -> &str {
        "without"
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let is_bad = matches!(checked, Checked::Output(text) if text.contains(self.0));
        Box::pin(async move { if is_bad { Err("it has the word".to_owned()) } else { Ok(()) } })
    }
}

#[tokio::test(start_paused = true)]
async fn a_guardrail_sees_every_message_of_an_answer() {
    let spec = AgentSpec { guardrails: vec![Arc::new(Without("secret"))], ..agent() };
    let stage =
        Stage::new(Script::new(vec![several(&["A secret. ", "Grass."], StopReason::End)]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let state = stage.state().await;
    assert_eq!(state.tasks[0].retracted.len(), 2, "nothing of it stands");
}

#[tokio::test(start_paused = true)]
async fn words_before_a_call_are_no_answer() {
    let tools = vec![tool("read", READ, Approval::Never, &Calls::default())];
    let script = Script::new(vec![words_and_call("Let me look."), several(&[], StopReason::End)]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    assert_eq!(state.turns[0].final_output, None);
}

#[tokio::test(start_paused = true)]
async fn a_parent_reads_all_of_its_child_and_whether_it_is_all() {
    for (stop, note) in [
        (StopReason::End, None),
        (StopReason::MaxTokens, Some("limit of output tokens")),
        (StopReason::ContentFilter, Some("content filter")),
    ] {
        let named = |name: &str| AgentSpec {
            name: name.to_owned(),
            models: vec![format!("script/{name}")],
            ..AgentSpec::default()
        };
        let main = AgentSpec { subagents: vec!["helper".to_owned()], ..named("main") };
        let script = Script::new(vec![])
            .model("main", vec![calls(&[("c1", "helper", r#"{"input":"go"}"#)]), text("ok")])
            .model("helper", vec![several(&["Grass ", "is gr"], stop)]);
        let stage = Stage::new(script, vec![main, named("helper")]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        let told: String = {
            let requests = stage.script.requests.lock().unwrap();
            let history = &requests.last().expect("the parent was asked").history;
            let Some(HistoryEntry::ToolResult { parts, .. }) = history.last() else { panic!("{history:?}") };
            parts.iter().filter_map(Part::text).collect()
        };
        assert!(told.starts_with("Grass is gr"), "{told}");
        assert_eq!(told.contains("incomplete"), note.is_some(), "{told}");
        assert!(note.is_none_or(|note| told.contains(note)), "{told}");
        let state = stage.state().await;
        let status = state.tasks[0].output.iter().find_map(|item| match item {
            riverrun_event::Item::ToolResult(result) => result.status.clone(),
            _ => None,
        });
        assert_eq!(status.as_deref(), Some(if note.is_some() { "incomplete" } else { "completed" }));
    }
}
