//! Long conversations, and those that are too long for their model.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Event, Part, Payload, TurnId};
use riverrun_provider::{Category, HistoryEntry, ModelRequest, Price};
use riverrun_runner::agent::{Approval, Guardrail};
use riverrun_runner::{AgentSpec, CancelMode};

use crate::script::{Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, READ, tool};

const LONG: usize = 200;

fn short() -> AgentSpec {
    AgentSpec { compact_at_tokens: Some(100), ..agent() }
}

fn long() -> crate::script::Say {
    text(&"word ".repeat(LONG))
}

/// The types of the events that tell of model calls and summaries.
fn told(events: &[Event]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event.kind.as_str());
    kinds
        .filter(|kind| {
            kind.starts_with("context.compaction")
                || kind.starts_with("cost.")
                || (kind.starts_with("model.") && *kind != "model.delta")
        })
        .collect()
}

fn size(request: &ModelRequest) -> usize {
    format!("{:?}", request.history).len()
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

#[tokio::test(start_paused = true)]
async fn the_call_that_makes_a_summary_is_told_and_paid_like_any_other() {
    let price = Price { input: 1e6, ..Price::default() };
    let script = Script::new(vec![long(), text("they spoke of words"), text("second")]).priced(price);
    let stage = Stage::new(script, vec![short()]).await;
    for turn in ["turn_1", "turn_2"] {
        stage.submit(turn, "go").await;
        assert_eq!(stage.ended(turn).await, "completed");
    }
    let events = stage.events().await;
    let call = ["model.requested", "model.completed", "cost.recorded"];
    let mut expected = call.to_vec();
    expected.push("context.compaction.started");
    expected.extend(call);
    expected.push("context.compaction.completed");
    expected.extend(call);
    // Nobody waits for the estimate of a summary.
    let told: Vec<_> = told(&events).into_iter().filter(|kind| *kind != "cost.estimated").collect();
    assert_eq!(told, expected);
    let step = |kind: &str, place: usize| {
        let found = events.iter().filter(|event| event.kind.as_str() == kind).nth(place).unwrap();
        found.scope.step_id.clone().unwrap()
    };
    assert_eq!(step("model.requested", 1), step("model.completed", 1));
    assert_eq!(step("model.requested", 1), step("context.compaction.completed", 0));
    assert_ne!(step("model.requested", 1), step("model.requested", 2));
    let state = stage.state().await;
    assert_eq!(state.turns[1].usage.total_tokens, Some(30), "the summary's tokens belong to its turn");
    assert_eq!(state.cost["USD"], 30.0);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_too_long_is_summarised_once_and_tried_again() {
    let script = Script::new(vec![
        long(),
        fails("", Category::ContextTooLong),
        text("they spoke of words"),
        text("second"),
    ]);
    let stage = Stage::new(script, vec![agent()]).await;
    for turn in ["turn_1", "turn_2"] {
        stage.submit(turn, "go").await;
        assert_eq!(stage.ended(turn).await, "completed");
    }
    assert_eq!(stage.said("turn_2").await, "second");
    let events = stage.events().await;
    let expected = [
        "model.requested",
        "model.completed",
        "model.requested",
        "model.failed",
        "context.compaction.started",
        "model.requested",
        "model.completed",
        "context.compaction.completed",
        "model.requested",
        "model.completed",
    ];
    assert_eq!(told(&events), expected);
    let trigger = events.iter().find_map(|event| match &event.payload {
        Ok(Payload::ContextCompactionStarted(told)) => told.trigger.clone(),
        _ => None,
    });
    assert_eq!(trigger.as_deref(), Some("context_too_long"));
    let requests = stage.script.requests.lock().unwrap();
    assert!(size(&requests[2]) < size(&requests[1]), "the summary is asked with less than was too long");
    assert!(size(&requests[3]) < size(&requests[1]) / 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_with_a_summary_too_fails_and_says_so() {
    let too_long = || fails("", Category::ContextTooLong);
    let script = Script::new(vec![long(), too_long(), text("words"), too_long(), text("never")]);
    let stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.submit("turn_2", "go").await;
    assert_eq!(stage.ended("turn_2").await, "failed");
    let state = stage.state().await;
    let error = state.turns[1].error.clone().unwrap();
    assert_eq!(error.code.as_deref(), Some("context_too_long"));
    assert!(error.message.contains("older turns summarised"), "{}", error.message);
    assert_eq!((stage.script.calls(), stage.count("context.compaction.started").await), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_first_turn_that_is_too_long_has_nothing_to_give_way() {
    let stage = Stage::new(Script::new(vec![fails("", Category::ContextTooLong)]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let error = stage.state().await.turns[0].error.clone().unwrap();
    assert_eq!(error.code.as_deref(), Some("context_too_long"));
    assert!(error.message.contains("no older turns"), "{}", error.message);
    assert_eq!(stage.script.calls(), 1);
}

/// A call whose result is as long as its arguments.
fn reads_much(id: &str) -> crate::script::Say {
    calls(&[(id, "read", &format!(r#"{{"y":"{}"}}"#, "word ".repeat(LONG)))])
}

/// The texts of the results that a request has, each right behind its call.
fn results(request: &ModelRequest) -> Vec<String> {
    let mut found = Vec::new();
    for pair in request.history.windows(2) {
        if let [HistoryEntry::ToolCall { call_id: asked, .. }, next] = pair {
            let HistoryEntry::ToolResult { call_id, parts, .. } = next else { panic!("no result: {next:?}") };
            assert_eq!(asked, call_id);
            found.push(parts.iter().filter_map(Part::text).collect());
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn a_first_turn_that_is_too_long_reads_less_of_its_own_results() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![tool("read", READ, Approval::Never, &made)], ..agent() };
    let too_long = || fails("", Category::ContextTooLong);
    let script = Script::new(vec![
        reads_much("c1"),
        reads_much("c2"),
        too_long(),
        too_long(),
        slow_text("a b", Duration::from_secs(9)),
        text("done"),
    ]);
    let mut stage = Stage::new(script, vec![spec]).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    // The next owner's model reads the same.
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let completed: Vec<_> = stage
        .events()
        .await
        .iter()
        .filter_map(|event| match &event.payload {
            Ok(Payload::ContextCompactionCompleted(told)) => Some((told.trigger.clone(), told.tokens_after)),
            _ => None,
        })
        .collect();
    assert_eq!(completed.len(), 2, "{completed:?}");
    assert!(completed.iter().all(|(trigger, _)| trigger.as_deref() == Some("tool_results")), "{completed:?}");
    let requests = stage.script.requests.lock().unwrap().clone();
    let lengths: Vec<Vec<usize>> =
        requests.iter().map(|request| results(request).iter().map(String::len).collect()).collect();
    assert_eq!(lengths.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 2, 2, 2, 2], "{lengths:?}");
    let (whole, half, quarter) = (&lengths[2], &lengths[3], &lengths[4]);
    assert!(half[0] < whole[0] && half[1] < whole[1] && half[0] <= half[1], "{lengths:?}");
    assert!(quarter[0] < half[0], "{lengths:?}");
    assert_eq!(quarter, &lengths[5]);
    assert_eq!(made.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_is_too_long_reads_less_of_its_own_results() {
    let made = Calls::default();
    let main = AgentSpec { subagents: vec!["helper".to_owned()], ..agent() };
    let helper = AgentSpec {
        name: "helper".to_owned(),
        models: vec!["script/helper".to_owned()],
        tools: vec![tool("read", READ, Approval::Never, &made)],
        ..AgentSpec::default()
    };
    let script = Script::new(vec![calls(&[("k", "helper", r#"{"input":"look"}"#)]), text("done")])
        .model("helper", vec![reads_much("c1"), fails("", Category::ContextTooLong), text("found")]);
    let stage = Stage::new(script, vec![main, helper]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("subagent.completed").await, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_with_short_results_too_fails_and_says_so() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![tool("read", READ, Approval::Never, &made)], ..agent() };
    let mut says = vec![reads_much("c1")];
    says.extend((0..9).map(|_| fails("", Category::ContextTooLong)));
    let stage = Stage::new(Script::new(says), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let error = stage.state().await.turns[0].error.clone().unwrap();
    assert!(error.message.contains("results shortened"), "{}", error.message);
    assert!(stage.count("context.compaction.completed").await <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_summary_stands_when_results_give_way_after_it() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![tool("read", READ, Approval::Never, &made)], ..agent() };
    let too_long = || fails("", Category::ContextTooLong);
    let script = Script::new(vec![
        long(),
        reads_much("c1"),
        too_long(),
        text("they spoke of words"),
        too_long(),
        text("second"),
    ]);
    let stage = Stage::new(script, vec![spec]).await;
    for turn in ["turn_1", "turn_2", "turn_3"] {
        stage.submit(turn, "go").await;
        assert_eq!(stage.ended(turn).await, "completed");
    }
    let requests = stage.script.requests.lock().unwrap();
    for request in &requests[4..] {
        let read = format!("{:?}", request.history);
        assert!(read.contains("they spoke of words"), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_cannot_be_made_leaves_the_failure_standing() {
    let too_long = || fails("", Category::ContextTooLong);
    let script = Script::new(vec![long(), too_long(), fails("", Category::Server), text("never")]);
    let stage = Stage::new(script, vec![agent()]).await;
    for turn in ["turn_1", "turn_2"] {
        stage.submit(turn, "go").await;
        stage.ended(turn).await;
    }
    assert_eq!(stage.state().await.turns[1].status.as_str(), "failed");
    assert_eq!((stage.script.calls(), stage.count("context.compaction.failed").await), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_cut_off_is_closed_and_made_again_by_the_next_owner() {
    let slow = slow_text("they spoke of words", Duration::from_secs(1));
    let script = Script::new(vec![long(), slow.clone(), slow, text("second")]);
    let mut stage = Stage::new(script, vec![short()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.submit("turn_2", "go").await;
    stage.until_count("model.requested", 2).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    let events = stage.events().await;
    let expected = [
        "context.compaction.started",
        "model.requested",
        "model.failed",
        "context.compaction.failed",
        "context.compaction.started",
        "model.requested",
        "model.completed",
        "context.compaction.completed",
        "model.requested",
        "model.completed",
    ];
    assert_eq!(told(&events)[2..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_summary_too() {
    let slow = slow_text("they spoke of words", Duration::from_secs(1));
    let stage = Stage::new(Script::new(vec![long(), slow, text("second")]), vec![short()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.submit("turn_2", "go").await;
    stage.until_count("model.requested", 2).await;
    let turn = TurnId::new("turn_2").unwrap();
    stage.runner.cancel(&stage.key, &turn, CancelMode::Immediate, None).await.unwrap();
    assert_eq!(stage.ended("turn_2").await, "cancelled");
    let events = stage.events().await;
    assert_eq!(told(&events)[4..], ["model.failed", "context.compaction.failed"]);
}

/// Every model call has one end, and every summary that was begun too.
fn is_closed(events: &[Event]) -> bool {
    let count = |wanted: &[&str]| events.iter().filter(|event| wanted.contains(&event.kind.as_str())).count();
    let steps = |wanted: &[&str]| {
        let found = events.iter().filter(|event| wanted.contains(&event.kind.as_str()));
        let mut steps: Vec<_> = found.filter_map(|event| event.scope.step_id.clone()).collect();
        steps.sort();
        steps
    };
    let begun = count(&["context.compaction.started"]);
    begun == count(&["context.compaction.completed", "context.compaction.failed"])
        && steps(&["model.requested"]) == steps(&["model.completed", "model.failed"])
}

/// The owner dies after so many appends of a turn that is summarised first, guarded and kept; true if it died.
async fn dies_at(left: i64) -> bool {
    let guardrails: Vec<Arc<dyn Guardrail>> = vec![Arc::new(crate::outputs::No("no such word"))];
    let made = crate::tool::Calls::default();
    let tools = vec![crate::tool::tool("read", crate::tool::READ, Approval::Always, &made)];
    let spec = AgentSpec { guardrails, tools, keep_raw: true, ..short() };
    let mut stage = Stage::new(Script::new(vec![long()]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    stage.journal.left.store(left, std::sync::atomic::Ordering::SeqCst);
    let submit = || crate::stage::turn_of("turn_2", "go");
    let submitted = stage.runner.submit(&stage.key, submit()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let died = stage.journal.left.load(std::sync::atomic::Ordering::SeqCst) < 0;
    stage.take_over().await;
    if submitted.is_err() {
        stage.runner.submit(&stage.key, submit()).await.unwrap();
    }
    assert_eq!(stage.ended("turn_2").await, "completed", "after {left} appends");
    let events = stage.events().await;
    assert!(is_closed(&events), "after {left} appends: {:?}", told(&events));
    died
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_a_summary_goes_on_after_a_death_at_any_append() {
    let mut deaths = 0;
    while dies_at(deaths).await {
        deaths += 1;
    }
    assert!(deaths >= 6, "only {deaths} deaths");
}
