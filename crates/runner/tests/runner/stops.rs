//! A turn is stopped at every one of its events; every provider takes the history of the next turn, and of a retry.

use std::time::Duration;

use riverrun_event::{Item, TurnId};
use riverrun_provider::{HistoryEntry, ModelRequest, anthropic, chat, gemini, openai};
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CancelMode};

use crate::script::{Say, Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, slow_tool};

/// Every event of the model in an append of its own.
fn paced(say: Say) -> Say {
    Say(say.0.into_iter().map(|(_, event)| (Duration::from_millis(5), event)).collect())
}

fn refused(request: &ModelRequest) -> Option<String> {
    if matches!(request.history.last(), Some(HistoryEntry::Assistant { .. } | HistoryEntry::Reasoning { .. }))
    {
        return Some("the model is asked to go on with its own words".to_owned());
    }
    let checks = [
        ("anthropic", anthropic::check::check(&anthropic::encode(request, "another"))),
        ("chat", chat::check::check(&chat::encode(request, "another"))),
        ("gemini", gemini::check::check(&gemini::encode(request, "another"))),
        ("openai", openai::check::check(&openai::encode(request, "another"))),
    ];
    checks.into_iter().find_map(|(name, check)| Some(format!("{name}: {}", check.err()?)))
}

/// A turn that was stopped at its nth event, maybe right after somebody said more to it; None if it had ended before.
async fn stopped_at(place: u64, said: Option<&'static str>) -> Option<Stage> {
    let made = Calls::default();
    let pause = Duration::from_millis(20);
    let three = [("c1", "read", r#"{"x":1}"#), ("c2", "note", "{}"), ("c3", "erase", "{}")];
    let script = Script::new(vec![
        paced(calls(&three)),
        paced(calls(&[("c4", "read", "{}")])),
        paced(text("so it is")),
    ]);
    let tools = vec![
        slow_tool("read", READ, Approval::Policy, &made, pause),
        slow_tool("note", ONCE, Approval::Never, &made, pause),
        slow_tool("erase", ONCE, Approval::Never, &made, pause),
    ];
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    let (runner, key, turn) = (stage.runner.clone(), stage.key.clone(), TurnId::new("turn_1").unwrap());
    stage.journal.at(place, move || {
        tokio::spawn(async move {
            if let Some(said) = said {
                runner.steer(&key, &turn, said.into(), None).await.ok();
            }
            runner.cancel(&key, &turn, CancelMode::Immediate, None).await
        });
    });
    stage.submit("turn_1", "go").await;
    (stage.ended("turn_1").await == "cancelled").then_some(stage)
}

fn check_requests(stage: &Stage, place: u64, asked: usize) {
    let requests = stage.script.requests.lock().unwrap();
    for request in &requests[..] {
        assert_eq!(refused(request), None, "stopped at {place}: {:#?}", request.history);
    }
    assert!(requests.len() > asked);
}

/// Goes on with another turn.
async fn next_turn(stage: Stage, place: u64) {
    let asked = stage.script.calls();
    stage.submit("turn_2", "and now").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    check_requests(&stage, place, asked);
}

/// Goes on with the same turn, whose answer is given once.
async fn retried(stage: Stage, place: u64) {
    let (asked, turn) = (stage.script.calls(), TurnId::new("turn_1").unwrap());
    let results = |stage: &riverrun_fold::State| {
        stage.tasks[0].output.iter().filter(|item| matches!(item, Item::ToolResult(_))).count()
    };
    let before = results(&stage.state().await);
    stage.runner.retry(&stage.key, &turn, None).await.unwrap();
    stage.until("turn.completed").await;
    stage.check(&turn).await;
    check_requests(&stage, place, asked);
    let state = stage.state().await;
    let root = &state.tasks[0];
    let standing = root.output.iter().enumerate().filter(|(place, _)| !root.retracted.contains(place));
    let standing: Vec<&Item> = standing.map(|(_, item)| item).collect();
    let is_answer =
        |item: &&&Item| matches!(item, Item::Message(said) if said.role.as_deref() != Some("user"));
    let texts = standing.iter().filter(is_answer).count();
    assert_eq!(texts, 1, "stopped at {place}: {standing:#?}");
    let kept = standing.iter().filter(|item| matches!(item, Item::ToolResult(_))).count();
    assert!(kept >= before, "stopped at {place}: results are kept");
}

/// Stops turns at every event, and goes on with each.
async fn at_every_event<F: Future<Output = ()>>(said: Option<&'static str>, go_on: impl Fn(Stage, u64) -> F) {
    let mut stopped = 0;
    for place in 1..200 {
        let Some(stage) = stopped_at(place, said).await else { break };
        go_on(stage, place).await;
        stopped += 1;
    }
    assert!(stopped > 40, "only {stopped} stops");
}

/// What was said to the turn in its last moment is read once, by whatever comes next.
fn check_said(stage: &Stage, place: u64, more: &str) {
    let requests = stage.script.requests.lock().unwrap();
    let read = &requests.last().expect("a model was asked").history;
    let is_it = |entry: &&HistoryEntry| matches!(entry, HistoryEntry::User { parts } if parts[0].text() == Some(more));
    assert_eq!(read.iter().filter(is_it).count(), 1, "stopped at {place}: {read:#?}");
}

#[tokio::test(start_paused = true)]
async fn every_provider_takes_the_history_after_a_stop_at_any_event() {
    at_every_event(None, next_turn).await;
}

#[tokio::test(start_paused = true)]
async fn every_provider_takes_a_retry_after_a_stop_at_any_event() {
    at_every_event(None, retried).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_said_right_before_a_stop_at_any_event_is_read_later() {
    let go_on = async |stage: Stage, place: u64| {
        let (runner, key) = (stage.runner.clone(), stage.key.clone());
        let (asked, turn) = (stage.script.calls(), TurnId::new("turn_1").unwrap());
        if place.is_multiple_of(2) {
            runner.retry(&key, &turn, None).await.unwrap();
            stage.until("turn.completed").await;
        } else {
            stage.submit("turn_2", "and now").await;
            assert_eq!(stage.ended("turn_2").await, "completed");
        }
        check_requests(&stage, place, asked);
        check_said(&stage, place, "and this");
    };
    at_every_event(Some("and this"), go_on).await;
}
