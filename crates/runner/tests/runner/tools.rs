//! Tool calls, and the consent that they need.

use std::time::Duration;

use riverrun_event::{ActionId, ActionRequired, Block, BlockChange, Item, Part, Payload, RawJson};
use riverrun_provider::{HistoryEntry, ModelEvent, StopReason};
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CommandError, Decide, Decision};

use crate::script::{Say, Script, calls, completed, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, slow_tool, tool};

fn with(tools: Vec<riverrun_runner::agent::ToolUse>) -> AgentSpec {
    AgentSpec { tools, ..agent() }
}

/// What the model read as the result of this call, in its newest request.
pub fn result(stage: &Stage, id: &str) -> (String, bool) {
    let requests = stage.script.requests.lock().unwrap();
    let history = &requests.last().expect("the model was asked").history;
    let found = history.iter().rev().find_map(|entry| match entry {
        HistoryEntry::ToolResult { call_id, parts, is_error, .. } if call_id == id => {
            Some((parts.iter().filter_map(Part::text).collect(), *is_error))
        }
        _ => None,
    });
    found.expect("the call has a result")
}

/// The pending actions and what they ask, once there are this many.
pub async fn pending(stage: &Stage, count: usize) -> Vec<(ActionId, ActionRequired)> {
    stage.until_count("action.required", count).await;
    let state = stage.state().await;
    let open = state.actions.iter().filter(|action| action.status == riverrun_fold::ActionStatus::Pending);
    open.map(|action| (action.action_id.clone(), action.request.to().unwrap())).collect()
}

pub fn decide(action: &ActionId, decision: Decision, digest: Option<String>) -> Decide {
    Decide { action: action.clone(), decision, digest, message: None, always: false, decided_by: None }
}

#[tokio::test(start_paused = true)]
async fn tools_run_and_the_model_reads_their_results() {
    let made = Calls::default();
    let script =
        Script::new(vec![calls(&[("c1", "read", r#"{"x":1}"#), ("c2", "read", "")]), text("all done")]);
    let stage = Stage::new(script, vec![with(vec![tool("read", READ, Approval::Policy, &made)])]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "all done");
    assert_eq!(made.lock().unwrap().len(), 2);
    assert!(result(&stage, "c1").0.contains(r#"read says {"x":1}"#));
    let kinds = stage.kinds().await.join(" ");
    assert!(kinds.contains("permission.evaluated tool.started permission.evaluated tool.started item.started item.completed tool.result"), "{kinds}");
    // What the model thought goes back with its calls, to whoever made it.
    let requests = stage.script.requests.lock().unwrap();
    assert!(requests[1].history.iter().any(
        |entry| matches!(entry, HistoryEntry::Reasoning { opaque: Some(_), provider, .. } if provider == "script")
    ));
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_a_call_is_read_by_the_model() {
    let made = Calls::default();
    let wrong = [
        ("c1", "nothing", "{}"),
        ("c2", "read", "{\"x\":"),
        ("c3", "read", r#"{"x":"one"}"#),
        ("c4", "read", r#"{"fail":true}"#),
        ("c5", "read", r#"{"panic":true}"#),
        ("c6", "slow", "{}"),
        ("c7", "denied", "{}"),
        ("c8", "read", r#"{"y":18446744073709551616}"#),
        ("c9", "read", r#"{"x":1,"x":2}"#),
    ];
    let tools = vec![
        tool("read", READ, Approval::Policy, &made),
        slow_tool("slow", READ, Approval::Never, &made, Duration::from_secs(600)),
        tool("denied", READ, Approval::Denied("not here".to_owned()), &made),
    ];
    let stage = Stage::new(Script::new(vec![calls(&wrong), text("ok")]), vec![with(tools)]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    for (id, words) in [
        ("c1", "no tool"),
        ("c2", "not JSON"),
        ("c3", "schema"),
        ("c4", "does not work"),
        ("c5", "failed"),
        ("c6", "longer"),
        ("c7", "not here"),
        ("c8", "`/y`: the number 18446744073709551616"),
        ("c9", "`/x` is there twice"),
    ] {
        let (told, is_error) = result(&stage, id);
        assert!(is_error && told.contains(words), "{id}: {told}");
    }
    assert_eq!(made.lock().unwrap().len(), 3, "only what fits runs");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_consent_and_its_siblings_do_not() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "erase", r#"{"x":1}"#), ("c2", "read", "{}")]), text("ok")]);
    let tools =
        vec![tool("erase", ONCE, Approval::Policy, &made), tool("read", READ, Approval::Policy, &made)];
    let stage = Stage::new(script, vec![with(tools)]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    stage.until("tool.result").await;
    assert_eq!(made.lock().unwrap().len(), 1, "the sibling ran, the call did not");
    let (action, asked) = &open[0];
    assert_eq!(stage.state().await.turns[0].status.as_str(), "waiting_permission");

    let wrong = stage
        .runner
        .decide(&stage.key, decide(action, Decision::Approve, Some("sha256:00".to_owned())))
        .await;
    assert!(matches!(wrong, Err(CommandError::DigestMismatch)));
    let blind = stage.runner.decide(&stage.key, decide(action, Decision::Approve, None)).await;
    assert!(matches!(blind, Err(CommandError::DigestMismatch)));
    let won = stage
        .runner
        .decide(&stage.key, decide(action, Decision::Approve, asked.digest.clone()))
        .await
        .unwrap();
    assert!(won.won);
    let late = stage.runner.decide(&stage.key, decide(action, Decision::Reject, None)).await.unwrap();
    assert_eq!((late.won, late.decision.as_str()), (false, "approve"));
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 2);
    let gone = stage.runner.decide(&stage.key, decide(action, Decision::Reject, None)).await.unwrap();
    assert_eq!((gone.won, gone.decision.as_str()), (false, "approve"));
}

#[tokio::test(start_paused = true)]
async fn rejected_edited_and_answered_calls() {
    let made = Calls::default();
    let three = [("c1", "erase", r#"{"x":1}"#), ("c2", "erase", r#"{"x":2}"#), ("c3", "erase", r#"{"x":3}"#)];
    let stage = Stage::new(
        Script::new(vec![calls(&three), text("ok")]),
        vec![with(vec![tool("erase", ONCE, Approval::Policy, &made)])],
    )
    .await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 3).await;
    let bad = Decision::Edit(RawJson::parse(r#"{"x":"nine"}"#).unwrap());
    let refused = stage.runner.decide(&stage.key, decide(&open[1].0, bad, open[1].1.digest.clone())).await;
    assert!(matches!(refused, Err(CommandError::Invalid { .. })));
    let edit = Decision::Edit(RawJson::parse(r#"{"x":9}"#).unwrap());
    let respond = Decision::Respond(RawJson::parse(r#""it is gone already""#).unwrap());
    stage.runner.decide(&stage.key, decide(&open[1].0, edit, open[1].1.digest.clone())).await.unwrap();
    stage.runner.decide(&stage.key, decide(&open[2].0, respond, open[2].1.digest.clone())).await.unwrap();
    let mut reject = decide(&open[0].0, Decision::Reject, None);
    reject.message = Some("not on my watch".to_owned());
    stage.runner.decide(&stage.key, reject).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().iter().map(|call| call.2["x"].clone()).collect::<Vec<_>>(), [9]);
    assert_eq!(result(&stage, "c1"), ("not on my watch".to_owned(), true));
    assert!(result(&stage, "c2").0.contains(r#"{"x":9}"#));
    assert_eq!(result(&stage, "c3"), ("it is gone already".to_owned(), false));
}

#[tokio::test(start_paused = true)]
async fn an_always_holds_for_the_tool_and_survives_a_restart() {
    let made = Calls::default();
    let erase = |x: u8| calls(&[("c", "erase", &format!(r#"{{"x":{x}}}"#))]);
    let script = Script::new(vec![
        erase(1),
        text("ok"),
        erase(2),
        text("ok"),
        calls(&[("d", "burn", "{}")]),
        text("ok"),
    ]);
    let tools =
        vec![tool("erase", ONCE, Approval::Policy, &made), tool("burn", ONCE, Approval::Policy, &made)];
    let mut stage = Stage::new(script, vec![with(tools)]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let mut always = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    always.always = true;
    stage.runner.decide(&stage.key, always).await.unwrap();
    stage.ended("turn_1").await;
    stage.take_over().await;
    stage.submit("turn_2", "again").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    assert_eq!(stage.count("action.required").await, 1);
    assert_eq!(made.lock().unwrap().len(), 2);
    stage.submit("turn_3", "other").await;
    pending(&stage, 2).await;
    assert_eq!(made.lock().unwrap().len(), 2, "another tool is asked about");
}

#[tokio::test(start_paused = true)]
async fn nobody_decides_in_time_not_even_over_a_restart() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "erase", "{}")]), text("fine")]);
    let mut stage = Stage::new(script, vec![with(vec![tool("erase", ONCE, Approval::Policy, &made)])]).await;
    stage.submit("turn_1", "go").await;
    pending(&stage, 1).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(stage.take_over().await, 1);
    tokio::time::sleep(Duration::from_secs(190)).await;
    assert_eq!(stage.count("action.resolved").await, 0);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "fine");
    assert!(made.lock().unwrap().is_empty());
    let events = stage.events().await;
    let resolved = events.iter().find(|event| event.kind.as_str() == "action.resolved").unwrap();
    assert!(resolved.raw_payload.as_ref().unwrap().get().contains(r#""source":"timeout""#));
    assert_eq!(stage.count("task.attempt.failed").await, 0, "waiting costs no attempt");
}

#[tokio::test(start_paused = true)]
async fn fifty_deciders_one_decision() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "erase", "{}")]), text("fine")]);
    let stage = Stage::new(script, vec![with(vec![tool("erase", ONCE, Approval::Policy, &made)])]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let racers = (0..50).map(|n| {
        let decision = if n % 2 == 0 { Decision::Approve } else { Decision::Reject };
        stage.runner.decide(&stage.key, decide(&open[0].0, decision, open[0].1.digest.clone()))
    });
    let answers: Vec<_> =
        futures_util::future::join_all(racers).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers.iter().filter(|answer| answer.won).count(), 1);
    assert!(answers.iter().all(|answer| answer.decision == answers[0].decision));
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("action.resolved").await, 1);
}

#[tokio::test(start_paused = true)]
async fn writes_run_one_after_the_other() {
    let made = Calls::default();
    let pause = Duration::from_secs(10);
    let two = [("c1", "write", r#"{"x":1}"#), ("c2", "write", r#"{"x":2}"#)];
    let tools = vec![slow_tool("write", ONCE, Approval::Never, &made, pause)];
    let stage = Stage::new(Script::new(vec![calls(&two), text("ok")]), vec![with(tools)]).await;
    stage.submit("turn_1", "go").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(made.lock().unwrap().len(), 1);
    assert_eq!(stage.ended("turn_1").await, "completed");
    let order: Vec<_> = made.lock().unwrap().iter().map(|call| call.2["x"].clone()).collect();
    assert_eq!(order, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn results_that_both_see_are_numbered() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "read", "{}")]), text("As it says [^1] there")]);
    let stage = Stage::new(script, vec![with(vec![tool("read", READ, Approval::Policy, &made)])]).await;
    stage.submit("turn_1", "go").await;
    stage.ended("turn_1").await;
    let state = stage.state().await;
    let message = state.tasks[0].output.iter().find_map(|item| match item {
        Item::Message(message) => message.block_list.clone(),
        _ => None,
    });
    let block = serde_json::to_value(&message.unwrap()[0]).unwrap();
    assert_eq!(block["annotations"][0]["referenceId"], 1, "{block}");
}

/// Drafts of a picture stand in the call's result while the tool runs, numbered, and give way to the final one.
#[tokio::test(start_paused = true)]
async fn a_running_tool_shows_drafts_in_its_result() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c1", "read", r#"{"drafts":2}"#)]), text("ok")]);
    let stage = Stage::new(script, vec![with(vec![tool("read", READ, Approval::Policy, &made)])]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let mut shown = Vec::new();
    for event in stage.events().await {
        if let Ok(Payload::ItemUpdated(updated)) = &event.payload {
            let Block::Image(image) = &updated.block else { panic!("{updated:?}") };
            let url = image.image_url.as_ref().map(|image| image.url.clone());
            shown.push((updated.block_index, updated.change, updated.partial_index, url.unwrap_or_default()));
        }
    }
    let expected = [
        (0, BlockChange::Added, None, String::new()),
        (0, BlockChange::Replaced, Some(0), "draft 0".to_owned()),
        (0, BlockChange::Replaced, Some(1), "draft 1".to_owned()),
    ];
    assert_eq!(shown, expected);
    let state = stage.state().await;
    let results: Vec<_> = state.tasks[0]
        .output
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult(result) => Some(serde_json::to_value(&result.block_list).unwrap()),
            _ => None,
        })
        .collect();
    assert_eq!(results, [serde_json::json!([{"type": "image", "imageUrl": {"url": "whole"}}])]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_is_never_run() {
    let made = Calls::default();
    let whole = || calls(&[("c1", "read", r#"{"x":1}"#)]).0;
    // The answer ends at the limit of tokens, in the middle of the arguments.
    let mut cut = whole();
    cut.retain(|(_, event)| !matches!(event, ModelEvent::ItemDone { index: 1, .. }));
    cut.pop();
    cut.push(completed(StopReason::MaxTokens));
    // The connection ends behind a whole call, but before the end of the answer.
    let mut lost = whole();
    lost.pop();
    let script = Script::new(vec![Say(cut), Say(lost), text("ok")]);
    let stage = Stage::new(script, vec![with(vec![tool("read", READ, Approval::Policy, &made)])]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let events = stage.events().await;
    let error = events.iter().find_map(|event| match &event.payload {
        Ok(riverrun_event::Payload::TurnFailed(failed)) => Some(failed.error.clone()),
        _ => None,
    });
    let error = error.unwrap();
    assert_eq!(error.code.as_deref(), Some("answer_cut"));
    assert!(error.message.contains("max_tokens") && error.message.contains("`read`"), "{}", error.message);
    stage.submit("turn_2", "go").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    assert_eq!(stage.said("turn_2").await, "ok");
    assert!(made.lock().unwrap().is_empty());
    assert_eq!((stage.count("tool.started").await, stage.count("model.failed").await), (0, 1));
}

/// A command of this machine under the name `danger`, for which somebody must be asked.
fn danger(command: &str) -> riverrun_runner::agent::ToolUse {
    let program =
        riverrun_tool::Program { argv: vec!["echo".to_owned(), command.to_owned()], ..Default::default() };
    let config = riverrun_tool::CommandConfig { name: "danger".to_owned(), program, ..Default::default() };
    let tool = std::sync::Arc::new(riverrun_tool::CommandTool::new(config).unwrap());
    riverrun_runner::agent::ToolUse { tool, approval: Approval::Policy }
}

async fn restart_with(stage: &mut Stage, command: &str) {
    let registry = crate::stage::registry(&stage.script, vec![with(vec![danger(command)])]);
    stage.registry = std::sync::Arc::new(registry);
    stage.take_over().await;
}

#[tokio::test]
async fn consent_does_not_cover_a_command_that_was_swapped() {
    let turn = || calls(&[("c1", "danger", "{}")]);
    let script = Script::new(vec![turn(), text("ok"), turn(), text("ok")]);
    let mut stage = Stage::new(script, vec![with(vec![danger("ORIGINAL")])]).await;
    stage.submit("turn_1", "go").await;
    let (action, asked) = pending(&stage, 1).await.remove(0);
    assert_eq!(asked.runs.unwrap().get(), r#"{"command":["echo","ORIGINAL"]}"#);

    restart_with(&mut stage, "SWAPPED").await;
    let approve = Decide { always: true, ..decide(&action, Decision::Approve, asked.digest.clone()) };
    let swapped = stage.runner.decide(&stage.key, approve.clone()).await;
    assert!(matches!(swapped, Err(CommandError::ToolChanged(name)) if name == "danger"));

    restart_with(&mut stage, "ORIGINAL").await;
    stage.runner.decide(&stage.key, approve).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(result(&stage, "c1").0.contains("ORIGINAL"));

    restart_with(&mut stage, "SWAPPED").await;
    stage.submit("turn_2", "go").await;
    stage.until_count("action.required", 2).await;
}

#[tokio::test]
async fn an_approved_call_whose_command_was_swapped_does_not_run() {
    let made = Calls::default();
    let script = Script::new(vec![calls(&[("c0", "erase", "{}"), ("c1", "danger", "{}")]), text("ok")]);
    let slow = || slow_tool("erase", ONCE, Approval::Never, &made, Duration::from_secs(60));
    let mut stage = Stage::new(script, vec![with(vec![slow(), danger("ORIGINAL")])]).await;
    stage.submit("turn_1", "go").await;
    let (action, asked) = pending(&stage, 1).await.remove(0);
    // It was approved and waits for the call before it when the server goes.
    stage.runner.decide(&stage.key, decide(&action, Decision::Approve, asked.digest)).await.unwrap();
    let registry = crate::stage::registry(&stage.script, vec![with(vec![slow(), danger("SWAPPED")])]);
    stage.registry = std::sync::Arc::new(registry);
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let (told, is_error) = result(&stage, "c1");
    assert!(is_error && told.contains("no longer what was approved"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_whole_says_why() {
    let stops = [StopReason::MaxTokens, StopReason::Refusal, StopReason::ContentFilter, StopReason::End];
    let said = |stop: &StopReason| {
        let mut said = text("half").0;
        said.pop();
        said.push(completed(stop.clone()));
        Say(said)
    };
    let stage = Stage::new(Script::new(stops.iter().map(said).collect()), vec![agent()]).await;
    let mut told = Vec::new();
    for (turn, _) in stops.iter().enumerate() {
        stage.submit(&format!("turn_{turn}"), "go").await;
        assert_eq!(stage.ended(&format!("turn_{turn}")).await, "completed");
    }
    for event in stage.events().await {
        if let Ok(riverrun_event::Payload::TurnCompleted(completed)) = event.payload {
            told.push(completed.stop_reason.unwrap_or_default());
        }
    }
    assert_eq!(told, ["max_tokens", "refusal", "content_filter", ""]);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_cannot_be_read_is_told_as_unknown_unless_it_may_be_repeated() {
    for (flags, unknown, words) in
        [(ONCE, 1, "Find out before you call it again"), (READ, 0, "failed. Error")]
    {
        let made = Calls::default();
        let script = Script::new(vec![calls(&[("c", "send", r#"{"vanish":true}"#)]), text("oh")]);
        let stage = Stage::new(script, vec![with(vec![tool("send", flags, Approval::Never, &made)])]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        let (told, is_error) = result(&stage, "c");
        assert!(told.contains("it answered with a cough") && told.contains(words) && is_error, "{told}");
        assert_eq!(stage.count("tool.outcome_unknown").await, unknown);
        assert_eq!(stage.count("tool.failed").await, 1 - unknown);
    }
}
