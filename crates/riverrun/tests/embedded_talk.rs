//! What the model reads, and what is said to a run while it works.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use riverrun::schemars::{self, JsonSchema};
use riverrun::{
    Agent, CommandError, Error, FunctionTool, HistoryEntry, Outcome, Part, Riverrun, RunStream, SessionId,
};
use serde::Deserialize;
use tokio::sync::Notify;

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[expect(dead_code, reason = "the tool answers the same for every city")]
    city: String,
}

async fn said(run: &RunStream) -> String {
    match run.outcome().await.unwrap() {
        Outcome::Completed(output) => output.as_str().unwrap_or_default().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn user(text: String) -> HistoryEntry {
    HistoryEntry::User { parts: vec![Part::plain(text)] }
}

/// The script repeats the last thing that the model was given, so the answer shows what that was.
#[tokio::test]
async fn the_model_reads_what_the_agent_makes_of_the_conversation() {
    let agent = Agent::new("a").model("scripted/echo").merge_history(|before, input| {
        Ok(vec![user(format!("{} before, {} new", before.len(), input.len()))])
    });
    let riverrun = Riverrun::builder().agent(agent).start().await.unwrap();
    let session = SessionId::new("s").unwrap();
    let first = riverrun.run_in(&session, "a", "one").await.unwrap();
    assert_eq!(said(&first).await, "0 before, 1 new");
    let second = riverrun.run_in(&session, "a", "two").await.unwrap();
    assert_eq!(said(&second).await, "2 before, 1 new", "the question and the answer of the first run");
}

#[tokio::test]
async fn a_history_that_is_refused_fails_the_run_before_any_model_call() {
    let agent = Agent::new("a").model("scripted/echo").merge_history(|_, _| Err("too old".to_owned()));
    let run = Riverrun::builder().agent(agent).start().await.unwrap();
    let run = run.run_streamed("a", "one").await.unwrap();
    let Outcome::Failed(error) = run.outcome().await.unwrap() else { panic!("it must fail") };
    assert_eq!(error.code.as_deref(), Some("history_refused"));
    assert_eq!(error.message, "the history of agent `a` was refused: too old");
    let mut events = run.events_after(riverrun::Sequence::ZERO);
    while let Some(event) = events.next().await {
        assert_ne!(event.unwrap().kind.as_str(), "model.requested");
    }
}

const SCRIPT: &str = r#"
[[step]]
when = { input_contains = "rome" }
play = [{ text = { pieces = ["Rome it is."] } }]
[[step]]
when = { results = 1 }
play = [{ text = { pieces = ["Paris it is."] } }]
[[step]]
play = [{ call = { name = "get_weather", arguments = ['{"city":"Paris"}'] } }]
"#;

#[tokio::test]
async fn what_is_said_while_a_tool_runs_is_read_by_the_next_step() {
    let released = Arc::new(Notify::new());
    let waits = released.clone();
    let weather = FunctionTool::new("get_weather", "The weather in a city.", move |_: Place| {
        let waits = waits.clone();
        async move {
            waits.notified().await;
            "sunny".to_owned()
        }
    });
    let agent = Agent::new("a").model("scripted/steered").tool(weather.read_only());
    let riverrun = Riverrun::builder().agent(agent).script("steered", SCRIPT).start().await.unwrap();
    let run = riverrun.run_streamed("a", "weather?").await.unwrap();
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        if event.unwrap().kind.as_str() == "tool.started" {
            break;
        }
    }
    run.steer("No, in Rome").await.unwrap();
    released.notify_one();
    assert_eq!(said(&run).await, "Rome it is.");
    let late = run.steer("No, in Oslo").await;
    assert!(matches!(late, Err(Error::Command(CommandError::TurnEnded { .. }))), "{late:?}");
}

#[tokio::test]
async fn what_was_decided_for_always_is_listed_and_taken_back() {
    let delete = FunctionTool::new("delete_file", "Deletes a file.", |_: serde_json::Map<_, _>| async {
        "gone".to_owned()
    });
    let agent = Agent::new("clerk").model("scripted/approval").tool(delete);
    let riverrun = Riverrun::builder().agent(agent).start().await.unwrap();
    let session = SessionId::new("s").unwrap();
    let asks = async |turn: &str| {
        let run = riverrun.run_in(&session, "clerk", turn).await.unwrap();
        let asked = match run.outcome().await.unwrap() {
            Outcome::Paused(asked) => asked.into_iter().next(),
            _ => None,
        };
        (run, asked)
    };
    let (run, asked) = asks("one").await;
    run.approve(&asked.unwrap(), true).await.unwrap();
    run.outcome().await.unwrap();
    assert!(asks("two").await.1.is_none());
    let rules = run.rules().await.unwrap();
    let shown: Vec<_> = rules.iter().map(|rule| (rule.tool_name.as_str(), rule.decision.as_str())).collect();
    assert_eq!(shown, [("delete_file", "approve")]);
    run.revoke(&rules[0]).await.unwrap();
    assert!(run.rules().await.unwrap().is_empty());
    assert!(asks("three").await.1.is_some(), "the tool is asked about anew");
}
