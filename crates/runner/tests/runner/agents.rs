//! Sub-agents, handoffs, guardrails, structured output, client-run tools, bare models.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Item, Part, RawJson, TaskId, ToolResultItem};
use riverrun_provider::History;
use riverrun_runner::agent::{Approval, Checked, Guardrail, GuardrailFuture, Limits};
use riverrun_runner::{AgentSpec, Decision, Settings, Submit};
use serde_json::json;

use crate::script::{Script, calls, slow_text, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, READ, tool};
use crate::tools::{decide, pending};

fn named(name: &str, model: &str) -> AgentSpec {
    AgentSpec { name: name.to_owned(), models: vec![format!("script/{model}")], ..AgentSpec::default() }
}

/// `main` may call `helper`, which may call `helper` too.
fn family(tools: Vec<riverrun_runner::agent::ToolUse>) -> Vec<AgentSpec> {
    let main = AgentSpec { subagents: vec!["helper".to_owned()], ..named("main", "main") };
    let helper = AgentSpec { subagents: vec!["helper".to_owned()], tools, ..named("helper", "helper") };
    vec![main, helper]
}

fn ask(id: &str, what: &str) -> crate::script::Say {
    calls(&[(id, "helper", &format!(r#"{{"input":"{what}"}}"#))])
}

fn read_by(stage: &Stage, model: &str) -> Vec<History> {
    let requests = stage.script.requests.lock().unwrap();
    requests.iter().rev().find(|request| request.model == model).expect("it was asked").history.clone()
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_works_and_its_parent_reads_its_message_alone() {
    let made = Calls::default();
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "find it"), text("It is there")])
        .model("helper", vec![calls(&[("c1", "read", "{}")]), text("Found [^1] it")]);
    let stage = Stage::new(script, family(vec![tool("read", READ, Approval::Policy, &made)])).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    let child = &state.tasks[1];
    assert_eq!((child.parent_task_id.as_ref(), child.depth), (Some(&state.tasks[0].task_id), 1));
    assert_eq!(child.task_id.as_str(), "c1");
    let history = read_by(&stage, "main");
    assert_eq!(history.len(), 4, "{history:?}");
    let Some(History::ToolResult { parts, .. }) = history.last() else { panic!("{history:?}") };
    let told: String = parts.iter().filter_map(Part::text).collect();
    assert!(told.contains("Found [^1] it") && told.contains("read says"), "{told}");
    let helper = read_by(&stage, "helper");
    assert!(matches!(&helper[0], History::User { parts } if parts[0].text() == Some("find it")));
    // The user sees everything: the child's items are inside the parent's result.
    let shown = riverrun_fold::view::nested_output(&state, &state.tasks[0].task_id).unwrap();
    let blocks = shown.iter().find_map(|item| match item {
        Item::ToolResult(result) => result.block_list.clone(),
        _ => None,
    });
    let blocks = blocks.expect("the result shows something");
    assert!(blocks.len() >= 4, "{blocks:?}");
}

#[tokio::test(start_paused = true)]
async fn an_action_in_a_child_shows_on_the_root_and_resumes_it() {
    let made = Calls::default();
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "erase it"), text("Gone")])
        .model("helper", vec![calls(&[("k", "erase", "{}")]), text("Erased")]);
    let mut stage = Stage::new(script, family(vec![tool("erase", ONCE, Approval::Policy, &made)])).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let state = stage.state().await;
    assert_eq!(state.actions[0].root_task_id, state.turns[0].task_id);
    assert_eq!(state.turns[0].status.as_str(), "waiting_permission");
    stage.take_over().await;
    stage
        .runner
        .decide(&stage.key, decide(&open[0].0, Decision::Approve, open[0].1.digest.clone()))
        .await
        .unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn children_run_side_by_side_within_their_limits() {
    let two = calls(&[
        ("c1", "helper", r#"{"input":"a"}"#),
        ("c2", "helper", r#"{"input":"b"}"#),
        ("c3", "helper", r#"{"input":"c"}"#),
    ]);
    let script = Script::new(vec![]).model("main", vec![two, text("ok")]).model(
        "helper",
        vec![slow_text("one two", Duration::from_secs(5)), slow_text("three four", Duration::from_secs(5))],
    );
    let mut agents = family(vec![]);
    agents[0].limits = Limits { children: 2, ..Limits::default() };
    let stage = Stage::new(script, agents).await;
    let before = tokio::time::Instant::now();
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(before.elapsed() < Duration::from_secs(15), "they did not wait for each other");
    assert_eq!(stage.count("subagent.completed").await, 2);
    let refused = read_by(&stage, "main")
        .into_iter()
        .filter(|entry| matches!(entry, History::ToolResult { is_error: true, .. }));
    assert_eq!(refused.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn agents_call_agents_only_so_deep() {
    let deeper = |n: usize| ask(&format!("d{n}"), "deeper");
    let script = Script::new(vec![])
        .model("main", vec![ask("d0", "deep"), text("ok")])
        .model("helper", vec![deeper(1), deeper(2), text("stop"), text("stop"), text("stop")]);
    let mut agents = family(vec![]);
    agents[0].limits = Limits { depth: 2, ..Limits::default() };
    let stage = Stage::new(script, agents).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    assert_eq!(state.tasks.iter().map(|task| task.depth).max(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_is_told_things_and_closed() {
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "look"), text("ok"), ask("c2", "look"), text("ok")])
        .model(
            "helper",
            vec![
                slow_text("a b", Duration::from_secs(5)),
                text("told"),
                slow_text("a b", Duration::from_secs(5)),
            ],
        );
    let stage = Stage::new(script, family(vec![])).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    stage.runner.subagent_input(&stage.key, &TaskId::new("c1").unwrap(), "and this".into()).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(read_by(&stage, "helper").len() >= 3);
    stage.submit("turn_2", "go").await;
    stage.until_count("subagent.spawned", 2).await;
    stage
        .runner
        .close_subagent(&stage.key, &TaskId::new("c2").unwrap(), Some("too slow".to_owned()))
        .await
        .unwrap();
    assert_eq!(stage.ended("turn_2").await, "completed");
    let history = read_by(&stage, "main");
    let Some(History::ToolResult { parts, is_error: true, .. }) = history.last() else {
        panic!("{history:?}")
    };
    assert!(parts[0].text().unwrap().contains("too slow"));
    let gone = stage.runner.close_subagent(&stage.key, &TaskId::new("c2").unwrap(), None).await;
    assert!(gone.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_handoff_gives_the_conversation_to_another_agent() {
    let main = AgentSpec { handoffs: vec!["expert".to_owned()], ..named("main", "main") };
    let script = Script::new(vec![])
        .model("main", vec![calls(&[("h", "transfer_to_expert", "{}"), ("i", "transfer_to_expert", "{}")])])
        .model("expert", vec![text("I take over")]);
    let stage = Stage::new(script, vec![main, named("expert", "expert")]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "I take over");
    assert_eq!((stage.count("handoff.completed").await, stage.count("agent.changed").await), (1, 1));
    assert_eq!(stage.state().await.agent.as_deref(), Some("expert"));
}

struct No(&'static str);

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

#[tokio::test(start_paused = true)]
async fn old_turns_are_read_after_they_left_the_state() {
    let mut stage = Stage::new(Script::new(vec![]), vec![agent()]).await;
    for turn in 0..14 {
        stage.submit(&format!("turn_{turn}"), &format!("input {turn}")).await;
        stage.ended(&format!("turn_{turn}")).await;
        if turn == 10 {
            stage.take_over().await;
        }
    }
    let requests = stage.script.requests.lock().unwrap();
    let users = requests[13].history.iter().filter(|entry| matches!(entry, History::User { .. })).count();
    assert_eq!(users, 14);
}

#[tokio::test(start_paused = true)]
async fn a_long_conversation_gives_way_to_a_summary() {
    let long = "word ".repeat(200);
    let script = Script::new(vec![text(&long), text("they spoke of words"), text("second"), text("third")]);
    let spec = AgentSpec { compact_at_tokens: Some(100), ..agent() };
    let mut stage = Stage::new(script, vec![spec]).await;
    for turn in ["turn_1", "turn_2", "turn_3"] {
        stage.submit(turn, "go").await;
        assert_eq!(stage.ended(turn).await, "completed");
        stage.take_over().await;
    }
    assert_eq!(stage.count("context.compaction.completed").await, 1);
    let requests = stage.script.requests.lock().unwrap();
    let newest = format!("{:?}", requests.last().unwrap().history);
    assert!(
        newest.contains("they spoke of words") && newest.contains("second") && !newest.contains("word word"),
        "{newest}"
    );
}
