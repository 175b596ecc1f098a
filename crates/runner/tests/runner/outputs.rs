//! Guardrails, structured output, and tools that the caller runs.

use std::sync::Arc;

use riverrun_event::{Item, Part, RawJson, ToolResultItem};
use riverrun_provider::History;
use riverrun_runner::agent::{Approval, Checked, Guardrail, GuardrailFuture};
use riverrun_runner::{AgentSpec, Decision, Settings, Submit};
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
                    .any(|entry| matches!(entry, History::ToolResult { is_error: true, .. }))
            );
        }
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
        let Some(History::ToolResult { parts, is_error: false, .. }) = requests[1].history.last() else {
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
    let respond = Decision::Respond(RawJson::parse(r#""blue""#).unwrap());
    stage.runner.decide(&stage.key, decide(&open[0].0, respond, open[0].1.digest.clone())).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "thanks");
}
