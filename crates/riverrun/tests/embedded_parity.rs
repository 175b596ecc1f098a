//! Runs beside recorded runs of the OpenAI Agents SDK: the names and the order of the events that tell items and
//! agents. The recordings are read if they are there; what is expected stands here in any case.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use futures_util::StreamExt;
use riverrun::schemars::{self, JsonSchema};
use riverrun::{
    Agent, Approval, CancelMode, Dialect, FunctionTool, InputCheck, InputListMode, Outcome, OutputCheck,
    Riverrun, RunStream, Sequence, SessionId, Submit, ThreadId,
};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct City {
    city: String,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Trade {
    symbol: String,
    n: u32,
}

fn agent(name: &str, script: &str) -> Agent {
    let weather = FunctionTool::new("get_weather", "Weather.", |_: City| async { "15C" }).read_only();
    let trade = FunctionTool::new("trade", "Buys.", |_: Trade| async { "done" });
    Agent::new(name).model(format!("scripted/{script}")).tool(weather).tool_with(trade, Approval::Always)
}

const CALL: &str = r#"{ call = { name = "get_weather", arguments = ['{"city":"Paris"}'] } }"#;
const TRADE: &str = r#"{ call = { name = "trade", arguments = ['{"symbol":"VNM","n":1}'] } }"#;
const AGAIN: &str = r#"{ call = { name = "trade", arguments = ['{"symbol":"VNM","n":2}'] } }"#;

fn text(text: &str) -> String {
    format!("{{ text = {{ pieces = ['{text}'] }} }}")
}

/// Steps by the least number of results that they follow, the largest first.
fn script(steps: &[(u32, String)]) -> String {
    let step = |(results, play): &(u32, String)| {
        format!("[[step]]\nwhen = {{ results = {results} }}\nplay = [{play}]\n")
    };
    steps.iter().map(step).collect()
}

async fn started(agent: Agent, script: &str) -> RunStream {
    started_with(agent, &[("s", script)]).await
}

async fn started_with(agent: Agent, scripts: &[(&str, &str)]) -> RunStream {
    let name = agent.name().to_owned();
    let mut builder = Riverrun::builder().agent(agent);
    for (name, text) in scripts {
        builder = builder.script(*name, *text);
    }
    builder.start().await.unwrap().run_streamed(&name, "go").await.unwrap()
}

/// The events of a run, in the words of the recordings.
async fn told(run: &RunStream) -> Vec<String> {
    told_until(run, |_| None).await
}

async fn told_until(run: &RunStream, cancel: impl Fn(&str) -> Option<CancelMode>) -> Vec<String> {
    let (mut told, mut events) = (Vec::new(), run.stream_events_as(Dialect::AgentsSdk));
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        let kind = event["type"].as_str().unwrap();
        match kind {
            "agent_updated_stream_event" => {
                told.push(format!("agent_updated {}", event["new_agent"]["name"].as_str().unwrap()));
            }
            "run_item_stream_event" => {
                let agent = event["item"]["agent"]["name"].as_str().unwrap();
                told.push(format!("item {} agent={agent}", event["name"].as_str().unwrap()));
            }
            _ => {
                assert_eq!(kind, "raw_response_event");
                let raw = format!("raw {}", event["data"]["type"].as_str().unwrap());
                // How many deltas a text comes in is the model's affair.
                if told.last() != Some(&raw) {
                    told.push(raw);
                }
            }
        }
        if let Some(mode) = cancel(kind) {
            run.cancel(mode).await.unwrap();
        }
    }
    assert!(run.is_complete().await.unwrap(), "the stream ends when nothing more comes");
    told
}

/// What was recorded of the SDK; None where it is not there.
fn recordings() -> Option<String> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("RIVERRUN_SHARED").map_or(beside, PathBuf::from);
    let file = shared.join("spec/agents-sdk-traces.txt");
    let text = std::fs::read_to_string(&file).ok();
    if text.is_none() {
        println!("skipped: {} is not there, so nothing is compared with recordings", file.display());
    }
    text
}

fn section_lines(section: &str) -> Option<Vec<String>> {
    let text = recordings()?;
    let title = format!("## {section}");
    let lines = text.lines().skip_while(|line| *line != title).skip(1);
    let lines: Vec<String> =
        lines.take_while(|line| !line.starts_with("## ")).map(|line| line.trim().to_owned()).collect();
    assert!(!lines.is_empty(), "the recordings have no `{section}`");
    Some(lines)
}

/// The events of a recorded run, in the same words; None without the recordings.
fn recorded(section: &str) -> Option<Vec<String>> {
    let words = section_lines(section)?.into_iter().filter_map(|line| {
        if let Some(raw) = line.strip_prefix("raw ") {
            return raw.split(' ').next().map(|kind| format!("raw {kind}"));
        }
        let is_told = line.starts_with("agent_updated ") || line.starts_with("item ");
        // `item NAME (TYPE) agent=A` loses the type, which follows from the name.
        is_told.then(|| line.split(' ').filter(|word| !word.starts_with('(')).collect::<Vec<_>>().join(" "))
    });
    let mut words: Vec<String> = words.collect();
    words.dedup_by(|next, before| next.starts_with("raw ") && next == before);
    assert!(!words.is_empty(), "the recordings have no events of `{section}`");
    Some(words)
}

#[test]
fn every_recorded_run_is_compared() {
    let here = include_str!("embedded_parity.rs");
    for title in recordings().iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("## "))
    {
        assert!(here.contains(&format!("\"{title}\"")), "`{title}` is compared with nothing");
    }
}

/// Names and order of the items and agents, and of the raw events too.
fn same(section: &str, told: &[String], expected: &[&str]) {
    items_are_the_same(section, told, expected);
    if let Some(recorded) = recorded(section) {
        assert_eq!(told, recorded, "{section}: as recorded");
    }
}

/// The same without the raw events, where a recording was broken off at another place.
fn items_are_the_same(section: &str, told: &[String], expected: &[&str]) {
    assert_eq!(items(told), expected, "{section}");
    if let Some(recorded) = recorded(section) {
        assert_eq!(items(told), items(&recorded), "{section}: as recorded");
    }
}

/// Reads the run to its end or pause; it gives what the recorded one gave.
async fn compare(section: &str, run: &RunStream, expected: &[&str]) {
    same(section, &told(run).await, expected);
    ends_the_same(section, run).await;
}

/// The same without the raw events.
async fn compare_items(section: &str, run: &RunStream, expected: &[&str]) {
    items_are_the_same(section, &told(run).await, expected);
    ends_the_same(section, run).await;
}

/// The final output, the types of the new items, and the tools that wait, as the SDK's result had them.
async fn ends_the_same(section: &str, run: &RunStream) {
    let Some(lines) = section_lines(section) else { return };
    let line = lines.iter().find_map(|line| line.strip_prefix("-> is_complete True final ")).unwrap();
    let output = run.final_output().await.unwrap();
    let output = output.map_or_else(|| "None".to_owned(), |output| output.as_str().unwrap().to_owned());
    let remainder = line.strip_prefix(&output);
    let remainder =
        remainder.unwrap_or_else(|| panic!("{section}: the output is `{output}`, recorded was `{line}`"));
    let types: Vec<String> =
        run.new_items().await.unwrap().iter().map(|item| kind(item).to_owned()).collect();
    let (_, recorded) = remainder.split_once("items [").unwrap();
    let recorded = recorded.split(']').next().unwrap().replace('\'', "");
    assert_eq!(types.join(", "), recorded, "{section}: the new items");
    let tools: Vec<_> = run.interruptions().await.unwrap().into_iter().filter_map(|it| it.tool).collect();
    let asked =
        remainder.split_once("interruptions [").map_or("", |(_, asked)| asked.split(']').next().unwrap());
    let asked: Vec<&str> = asked.split("('").skip(1).filter_map(|asked| asked.split('\'').next()).collect();
    assert_eq!(tools, asked, "{section}: what waits");
}

fn kind(item: &serde_json::Value) -> &str {
    item["type"].as_str().unwrap()
}

fn items(told: &[String]) -> Vec<&str> {
    told.iter().map(String::as_str).filter(|word| !word.starts_with("raw ")).collect()
}

const A: &str = "agent_updated A";
const CALLED: &str = "item tool_called agent=A";
const OUTPUT: &str = "item tool_output agent=A";
const MESSAGE: &str = "item message_output_created agent=A";

/// Projectors must see every event of a session, and tell those of one run.
#[tokio::test]
async fn two_runs_at_once_in_a_session_are_told_apart() {
    let agent = Agent::new("A").model("scripted/text?pace_ms=5");
    let riverrun = Riverrun::builder().agent(agent).start().await.unwrap();
    let session = SessionId::new("ses_two").unwrap();
    let submit = |thread: &str| Submit {
        agent: Some("A".to_owned()),
        input: Some("go".into()),
        thread_id: Some(ThreadId::new(thread).unwrap()),
        ..Submit::default()
    };
    let one = riverrun.submit(&session, submit("one")).await.unwrap();
    let two = riverrun.submit(&session, submit("two")).await.unwrap();
    for told in [told(&one).await, told(&two).await] {
        assert_eq!(items(&told), [A, "item reasoning_item_created agent=A", MESSAGE]);
    }
    let all = |run: &RunStream| {
        run.events_after(Sequence::ZERO).map(|event| event.unwrap().json).collect::<Vec<_>>()
    };
    let native = riverrun.run(&session, one.turn_id()).await.unwrap().stream_events_as(Dialect::Native);
    let native: Vec<String> = native.map(|frame| frame.unwrap()["eventId"].to_string()).collect().await;
    let events = all(&one).await;
    assert_eq!(native.len(), events.len());
    assert!(native.iter().zip(&events).all(|(id, event)| event.contains(id)));
    let answer = riverrun.run(&session, two.turn_id()).await.unwrap().stream_events_as(Dialect::Responses);
    let frames: Vec<serde_json::Value> = answer.map(|frame| frame.unwrap()).collect().await;
    assert_eq!(frames.last().unwrap()["type"], "response.completed");
}

#[tokio::test]
async fn a_tool_then_an_answer() {
    let run = started(agent("A", "s"), &script(&[(1, text("It is 15C.")), (0, CALL.into())])).await;
    compare("tool then answer", &run, &[A, CALLED, OUTPUT, MESSAGE]).await;
    assert_eq!(run.final_output().await.unwrap().unwrap(), "It is 15C.");
}

#[tokio::test]
async fn a_pause_lets_siblings_run_and_the_decision_goes_on() {
    let run =
        started(agent("A", "s"), &script(&[(2, text("Bought.")), (0, format!("{TRADE}, {CALL}"))])).await;
    compare("approval pause (sibling ungated)", &run, &[A, CALLED, CALLED, OUTPUT]).await;
    assert_eq!(run.final_output().await.unwrap(), None);
    let asked = run.interruptions().await.unwrap();
    assert_eq!((asked.len(), asked[0].tool.as_deref()), (1, Some("trade")));
    assert_eq!(asked[0].arguments["symbol"], "VNM");
    run.approve(&asked[0], false).await.unwrap();
    compare("resume approve", &run, &[A, OUTPUT, MESSAGE]).await;
    assert_eq!(run.final_output().await.unwrap().unwrap(), "Bought.");
}

async fn rejected(always: bool, message: Option<&str>) -> (RunStream, Vec<String>) {
    let steps = [(2, text("ok")), (1, AGAIN.into()), (0, TRADE.into())];
    let run = started(agent("A", "s"), &script(&steps)).await;
    told(&run).await;
    let asked = run.interruptions().await.unwrap();
    run.reject(&asked[0], always, message).await.unwrap();
    let told = told(&run).await;
    (run, told)
}

#[tokio::test]
async fn a_rejection_is_a_result_and_the_next_call_asks_again() {
    for (section, message) in [("reject default", None), ("reject msg", Some("No, too risky."))] {
        let (run, told) = rejected(false, message).await;
        same(section, &told, &[A, OUTPUT, CALLED]);
        ends_the_same(section, &run).await;
        assert_eq!(run.interruptions().await.unwrap()[0].arguments["n"], 2);
        let state = run.to_state().await.unwrap();
        assert!(state.contains(message.unwrap_or("Tool execution was not approved.")), "{state}");
    }
}

#[tokio::test]
async fn a_rejection_for_always_asks_no_more() {
    let (run, told) = rejected(true, Some("never")).await;
    same("reject always", &told, &[A, OUTPUT, CALLED, OUTPUT, MESSAGE]);
    ends_the_same("reject always", &run).await;
    assert_eq!(run.final_output().await.unwrap().unwrap(), "ok");
}

#[tokio::test]
async fn without_a_decision_nothing_happens() {
    let run = started(agent("A", "s"), &script(&[(0, TRADE.into())])).await;
    told(&run).await;
    compare("resume undecided", &run, &[A]).await;
    assert_eq!(run.interruptions().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_limit_of_steps_ends_a_run_that_goes_in_circles() {
    let run = started(agent("A", "s").max_steps(2), &script(&[(0, CALL.into())])).await;
    compare("max turns=2", &run, &[A, CALLED, OUTPUT, CALLED, OUTPUT]).await;
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    // What it did before it failed is there: two calls and their results.
    assert_eq!(run.new_items().await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_cancel_ends_at_once_or_after_the_step() {
    let slow = script(&[(1, text("no")), (0, format!("{{ wait_ms = 300 }}, {CALL}"))]);
    let at_start = |mode| move |kind: &str| (kind == "agent_updated_stream_event").then_some(mode);
    let run = started(agent("A", "s"), &slow).await;
    items_are_the_same("cancel immediate", &told_until(&run, at_start(CancelMode::Immediate)).await, &[A]);
    ends_the_same("cancel immediate", &run).await;
    let run = started(agent("A", "s"), &slow).await;
    same("cancel after_turn", &told_until(&run, at_start(CancelMode::AfterTurn)).await, &[A, CALLED, OUTPUT]);
    ends_the_same("cancel after_turn", &run).await;
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
}

#[tokio::test]
async fn a_handoff_changes_the_agent() {
    let run = started_with(
        agent("A", "a").handoff(agent("B", "b")),
        &[
            ("a", "[[step]]\nplay = [{ call = { name = 'transfer_to_B', arguments = ['{}'] } }]"),
            ("b", &script(&[(0, text("I am B"))])),
        ],
    )
    .await;
    let expected = [
        A,
        "item handoff_requested agent=A",
        "item handoff_occured agent=A",
        "agent_updated B",
        "item message_output_created agent=B",
    ];
    compare("handoff", &run, &expected).await;
    assert_eq!(run.current_agent().await.unwrap().as_deref(), Some("B"));
}

#[tokio::test]
async fn an_unknown_tool_is_told_to_the_model() {
    let call = "{ call = { name = 'nope', arguments = ['{}'] } }".to_owned();
    let run = started(agent("A", "s"), &script(&[(1, text("sorry")), (0, call)])).await;
    compare("unknown tool->model", &run, &[A, CALLED, OUTPUT, MESSAGE]).await;
}

#[tokio::test]
async fn an_unknown_tool_that_fails_the_run_streams_no_item() {
    let unknown = "{ call = { name = 'nope', arguments = ['{}'] } }";
    let run = started(agent("A", "s").fail_on_unknown_tool(), &script(&[(0, unknown.to_owned())])).await;
    compare("unknown tool", &run, &[A]).await;
    let Outcome::Failed(error) = run.outcome().await.unwrap() else { panic!("it failed") };
    assert_eq!(error.code.as_deref(), Some("unknown_tool"));
    assert!(run.new_items().await.unwrap().is_empty());
    // A known call beside it does not run either.
    let both = script(&[(0, format!("{CALL}, {unknown}"))]);
    let run = started(agent("A", "s").fail_on_unknown_tool(), &both).await;
    assert_eq!(items(&told(&run).await), [A]);
}

#[tokio::test]
async fn a_run_goes_on_after_a_cancel_without_new_input() {
    let slow = script(&[(1, text("done")), (0, format!("{{ wait_ms = 300 }}, {CALL}"))]);
    let run = started(agent("A", "s"), &slow).await;
    let at_start = |kind: &str| (kind == "agent_updated_stream_event").then_some(CancelMode::AfterTurn);
    told_until(&run, at_start).await;
    let types = |items: &[serde_json::Value]| -> Vec<String> {
        items.iter().map(|item| item["type"].as_str().unwrap_or("user").to_owned()).collect()
    };
    let items = run.new_items().await.unwrap();
    assert_eq!(types(&items), ["tool_call_item", "tool_call_output_item"]);
    run.retry().await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Completed(_)));
    assert_eq!(run.final_output().await.unwrap().unwrap(), "done");
    assert_eq!(run.last_agent().await.unwrap().as_deref(), Some("A"));
    assert_eq!(run.raw_responses().await.unwrap().len(), 2);
    let list = run.to_input_list(InputListMode::Normalized).await.unwrap();
    assert_eq!(types(&list), ["user", "function_call", "function_call_output", "message"]);
    assert!(list.iter().all(|item| item.get("id").is_none()), "{list:?}");
    assert_eq!(list[0]["content"], "go");
    let all = run.to_input_list(InputListMode::PreserveAll).await.unwrap();
    assert!(all[1]["id"].is_string() && all.len() == 4, "{all:?}");
}

#[tokio::test]
async fn guardrails_end_a_run_before_and_after() {
    let hello = script(&[(0, text("hello there"))]);
    let refuse = |_: &str| Err("no".to_owned());
    let run = started(agent("A", "s").guardrail(InputCheck::new("in", refuse)), &hello).await;
    compare_items("input tripwire", &run, &[A]).await;
    let run = started(agent("A", "s").guardrail(OutputCheck::new("out", refuse)), &hello).await;
    compare("output tripwire", &run, &[A, MESSAGE]).await;
    let Outcome::Failed(error) = run.outcome().await.unwrap() else { panic!("it failed") };
    assert_eq!(error.code.as_deref(), Some("guardrail_tripped"));
}

#[tokio::test]
async fn a_pause_below_shows_above() {
    let call = "{ call = { name = 'Inner', arguments = ['{\"input\":\"do\"}'] } }".to_owned();
    let run = started_with(
        agent("Outer", "outer").sub_agent(agent("Inner", "inner")),
        &[
            ("outer", &script(&[(1, text("outer ok")), (0, call)])),
            ("inner", &script(&[(1, text("inner ok")), (0, TRADE.into())])),
        ],
    )
    .await;
    let outer = ["agent_updated Outer", "item tool_called agent=Outer"];
    compare("nested pause", &run, &outer).await;
    let asked = run.interruptions().await.unwrap();
    assert_eq!((asked[0].tool.as_deref(), asked[0].agent.as_deref()), (Some("trade"), Some("Inner")));
    run.approve(&asked[0], false).await.unwrap();
    let outer =
        ["agent_updated Outer", "item tool_output agent=Outer", "item message_output_created agent=Outer"];
    compare("nested resume", &run, &outer).await;
}
