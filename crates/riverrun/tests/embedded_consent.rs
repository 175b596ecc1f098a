//! The embedded API: who is asked, and what the model reads of a no.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use riverrun::schemars::{self, JsonSchema};
use riverrun::{
    Agent, Approval, AskedCall, FunctionTool, Limits, OnTimeout, Outcome, Predicate, Rejection, RunStream,
    ask_when, run_streamed,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

fn clerk(approval: Approval) -> Agent {
    let delete = FunctionTool::new("delete_file", "Deletes a file.", |file: File| async move {
        format!("{} is gone", file.path)
    });
    Agent::new("clerk").model("scripted/approval").tool_with(delete, approval)
}

async fn said(run: &RunStream) -> Value {
    match run.outcome().await.unwrap() {
        Outcome::Completed(output) => output,
        other => panic!("{other:?}"),
    }
}

/// What the run failed with.
async fn failure(run: &RunStream) -> String {
    match run.outcome().await.unwrap() {
        Outcome::Failed(error) => error.code.unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_function_says_which_calls_wait_for_a_person() {
    let harmless = |call: &AskedCall<'_>| Ok(call.tool == "delete_file" && call.arguments["path"] != "x");
    let run = run_streamed(clerk(ask_when(harmless)), "Delete x").await.unwrap();
    assert_eq!(said(&run).await, "The file x was deleted.");

    for predicate in
        [ask_when(|call| Ok(call.agent == "clerk")), ask_when(|_| Err("I cannot say".to_owned()))]
    {
        let run = run_streamed(clerk(predicate), "Delete x").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Paused(_)));
    }
    let shared: Predicate = std::sync::Arc::new(|_| Ok(true));
    let run = run_streamed(clerk(Approval::Predicate(shared)), "Delete x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Paused(_)));
}

#[tokio::test]
async fn an_agent_words_its_rejections() {
    let words = |rejection: &Rejection<'_>| Some(format!("{} is off limits", rejection.tool));
    let run = run_streamed(clerk(Approval::Always).rejection(words), "Delete x").await.unwrap();
    let Outcome::Paused(asked) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    run.reject(&asked[0], false, None).await.unwrap();
    assert_eq!(said(&run).await, "The file x was not deleted.");
    assert!(run.to_state().await.unwrap().contains("delete_file is off limits"));
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_told_or_fails_the_run() {
    let agent = || Agent::new("clerk").model("scripted/approval");
    let run = run_streamed(agent(), "Delete x").await.unwrap();
    said(&run).await;
    let run = run_streamed(agent().fail_on_unknown_tool(), "Delete x").await.unwrap();
    assert_eq!(failure(&run).await, "unknown_tool");
}

#[tokio::test]
async fn an_action_that_nobody_decides_may_fail_the_run() {
    let limits = Limits {
        action_timeout: Duration::from_millis(50),
        on_action_timeout: OnTimeout::Fail,
        ..Limits::default()
    };
    let run = run_streamed(clerk(Approval::Always).limits(limits), "Delete x").await.unwrap();
    while let Outcome::Paused(_) = run.outcome().await.unwrap() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(failure(&run).await, "action_timeout");
}
