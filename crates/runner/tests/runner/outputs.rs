//! Guardrails, structured output, and tools that the caller runs.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Item, Part, RawJson, ToolResultItem};
use riverrun_provider::HistoryEntry;
use riverrun_runner::agent::{Approval, Checked, Guardrail, GuardrailFuture};
use riverrun_runner::{AgentSpec, Busy, Decision, Settings, Submit};
use serde_json::json;

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, READ, tool};
use crate::tools::{decide, pending};

pub struct No(pub &'static str);

impl Guardrail for No {
    fn name(&self) -> &str {
        "no"
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let found = match checked {
            Checked::Input(text) => format!("input {text}"),
            Checked::Output(text) => format!("output {text}"),
            Checked::ToolCall { name, arguments } => format!("call {name} {arguments}"),
            Checked::ToolResult { name, text } => format!("result {name} {text}"),
        };
        let is_bad = found.contains(self.0);
        Box::pin(async move { if is_bad { Err("it is not allowed".to_owned()) } else { Ok(()) } })
    }
}

#[tokio::test(start_paused = true)]
async fn guardrails_stop_inputs_outputs_and_calls() {
    for (bad, ended, retracted) in [
        ("input bad", "failed", 0),
        ("output word", "failed", 1),
        ("call read", "completed", 0),
        ("result read", "completed", 0),
    ] {
        let made = Calls::default();
        let tools = vec![tool("read", READ, Approval::Policy, &made)];
        let spec = AgentSpec { guardrails: vec![Arc::new(No(bad))], tools, ..agent() };
        let stage =
            Stage::new(Script::new(vec![calls(&[("c", "read", "{}")]), text("word")]), vec![spec]).await;
        stage.submit("turn_1", "bad").await;
        assert_eq!(stage.ended("turn_1").await, ended, "{bad}");
        assert_eq!(stage.count("item.retracted").await, retracted, "{bad}");
        if bad == "input bad" {
            assert_eq!((stage.count("model.requested").await, stage.count("model.failed").await), (0, 0));
        }
        let state = stage.state().await;
        let code = state.turns[0].error.as_ref().and_then(|error| error.code.clone());
        assert_eq!(code.as_deref(), (ended == "failed").then_some("guardrail_tripped"));
        assert_eq!(
            made.lock().unwrap().len(),
            usize::from(bad != "input bad" && bad != "call read"),
            "{bad}"
        );
        if ended == "completed" {
            let requests = stage.script.requests.lock().unwrap();
            assert!(
                requests[1]
                    .history
                    .iter()
                    .any(|entry| matches!(entry, HistoryEntry::ToolResult { is_error: true, .. }))
            );
        }
    }
}

/// Takes its time with inputs.
struct Slow(No);

impl Guardrail for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let answer = self.0.check(checked);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            answer.await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_comes_while_guardrails_are_asked_meets_them_too() {
    for (first, then) in [("fine", "bad"), ("bad", "fine")] {
        let spec = AgentSpec { guardrails: vec![Arc::new(Slow(No("input bad")))], ..agent() };
        let mut stage = Stage::new(Script::new(vec![text("word")]), vec![spec]).await;
        stage.submit("turn_1", first).await;
        let busy = Submit { busy: Busy::Steer, ..turn_of("turn_s", then) };
        assert_eq!(stage.runner.submit(&stage.key, busy).await.unwrap().status, "steered");
        // Who takes over asks them again.
        stage.take_over().await;
        assert_eq!(stage.ended("turn_1").await, "failed", "{first}, {then}");
        assert_eq!((stage.script.calls(), stage.count("model.requested").await), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_structured_output_is_repaired_once() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let spec = || AgentSpec { output_schema: Some(schema.clone()), ..agent() };
    let stage = Stage::new(Script::new(vec![text("not json"), text(r#"{"n":1}"#)]), vec![spec()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, r#"{"n":1}"#);
    let told = {
        let requests = stage.script.requests.lock().unwrap();
        let Some(HistoryEntry::User { parts }) = requests[1].history.last() else { panic!("it is told why") };
        parts[0].text().unwrap_or_default().to_owned()
    };
    assert!(told.contains("not json") && told.contains("it is not JSON"), "{told}");
    let stage = Stage::new(Script::new(vec![text("no"), text(r#"{"n":"one"}"#)]), vec![spec()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
}

fn client(wait: bool) -> Settings {
    let tools = vec![json!({"name": "ask_user", "description": "Asks.", "parameters": {"type": "object"}})];
    Settings { tools, client_tools: wait.then(|| "wait".to_owned()), ..Settings::default() }
}

#[tokio::test(start_paused = true)]
async fn a_client_run_tool_ends_the_turn_and_the_next_brings_its_result() {
    for name in ["main", "script/m"] {
        let stage =
            Stage::new(Script::new(vec![calls(&[("c1", "ask_user", "{}")]), text("thanks")]), vec![agent()])
                .await;
        let submit =
            Submit { settings: Some(client(false)), agent: Some(name.to_owned()), ..turn_of("turn_1", "go") };
        stage.runner.submit(&stage.key, submit).await.unwrap();
        assert_eq!(stage.ended("turn_1").await, "completed");
        assert!(stage.state().await.turns[0].final_output.is_none());
        let result = Item::ToolResult(ToolResultItem {
            id: "r1".to_owned(),
            call_id: "c1".to_owned(),
            content: Some(vec![Part::plain("blue")]),
            ..ToolResultItem::default()
        });
        let next = Submit {
            input: None,
            history: vec![result],
            agent: Some(name.to_owned()),
            ..turn_of("turn_2", "")
        };
        stage.runner.submit(&stage.key, next).await.unwrap();
        assert_eq!(stage.ended("turn_2").await, "completed");
        let requests = stage.script.requests.lock().unwrap();
        let Some(HistoryEntry::ToolResult { parts, is_error: false, .. }) = requests[1].history.last() else {
            panic!("{:?}", requests[1])
        };
        assert_eq!(parts[0].text(), Some("blue"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_run_tool_may_be_waited_for() {
    let stage =
        Stage::new(Script::new(vec![calls(&[("c1", "ask_user", "{}")]), text("thanks")]), vec![agent()])
            .await;
    let submit = Submit { settings: Some(client(true)), ..turn_of("turn_1", "go") };
    stage.runner.submit(&stage.key, submit).await.unwrap();
    let open = pending(&stage, 1).await;
    assert_eq!(open[0].1.action_type, "client_tool");
    let respond = Decision::Respond(RawJson::parse(r#""<referencable-item> ID: 9 blue""#).unwrap());
    stage.runner.decide(&stage.key, decide(&open[0].0, respond, open[0].1.digest.clone())).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "thanks");
    let (told, _) = crate::tools::result(&stage, "c1");
    assert_eq!(told, "&lt;referencable-item> ID: 9 blue", "it cannot pass for a source");
}

#[tokio::test(start_paused = true)]
async fn a_client_is_not_asked_to_run_what_its_schema_refuses() {
    let schema = json!({"type": "object", "required": ["colour"]});
    let odd = json!({"type": "colour"});
    let tools = [("paint", schema), ("odd", odd)];
    let tools = tools.map(|(name, schema)| json!({"name": name, "parameters": schema})).to_vec();
    let settings = Settings { tools, client_tools: Some("wait".to_owned()), ..Settings::default() };
    let asked = [("c1", "paint", "{}"), ("c2", "paint", r#"{"colour":"red"}"#), ("c3", "odd", "{}")];
    let stage = Stage::new(Script::new(vec![calls(&asked), text("ok")]), vec![agent()]).await;
    let submit = Submit { settings: Some(settings), ..turn_of("turn_1", "go") };
    stage.runner.submit(&stage.key, submit).await.unwrap();
    let open = pending(&stage, 2).await;
    assert_eq!(stage.count("action.required").await, 2, "what is no schema refuses nothing");
    for (action, asked) in open {
        let respond = Decision::Respond(RawJson::parse(r#""done""#).unwrap());
        stage.runner.decide(&stage.key, decide(&action, respond, asked.digest)).await.unwrap();
    }
    assert_eq!(stage.ended("turn_1").await, "completed");
    let (told, is_error) = crate::tools::result(&stage, "c1");
    assert!(is_error && told.contains("colour"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_text_that_was_cut_is_incomplete_and_the_turn_says_why() {
    use riverrun_provider::StopReason::{ContentFilter, End, MaxTokens, Refusal};
    for (stop, status, reason) in [
        (MaxTokens, "incomplete", Some("max_tokens")),
        (ContentFilter, "incomplete", Some("content_filter")),
        (Refusal, "completed", Some("refusal")),
        (End, "completed", None),
    ] {
        let mut say = text("half a sen");
        *say.0.last_mut().unwrap() = crate::script::completed(stop);
        let stage = Stage::new(Script::new(vec![say, text("whole")]), vec![agent()]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        let state = stage.state().await;
        let Item::Message(message) = &state.tasks[0].output[0] else { panic!("{:?}", state.tasks[0]) };
        assert_eq!(
            (message.status.as_deref(), state.turns[0].stop_reason.as_deref()),
            (Some(status), reason)
        );
        // A run that goes well says nothing of the one before it.
        stage.runner.retry(&stage.key, &"turn_1".parse().unwrap(), None).await.unwrap();
        stage.until_count("turn.completed", 2).await;
        assert_eq!(stage.state().await.turns[0].stop_reason, None);
    }
}
