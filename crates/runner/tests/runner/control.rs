//! Cancel, steer, queue, retry, failures.

use std::time::Duration;

use riverrun_event::TurnId;
use riverrun_provider::{Category, HistoryEntry};
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, Busy, CancelMode, CommandError, Submit};

use crate::script::{Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, ONCE, READ, slow_tool};
use crate::tools::{pending, result};

fn turn(id: &str) -> TurnId {
    TurnId::new(id).unwrap()
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn cancel_stops_the_model_and_keeps_what_was_shown() {
    let stage =
        Stage::new(Script::new(vec![slow_text("one two three four", SECOND), text("next")]), vec![agent()])
            .await;
    stage.submit("turn_1", "go").await;
    stage.until_count("model.delta", 2).await;
    let told = stage
        .runner
        .cancel(&stage.key, &turn("turn_1"), CancelMode::Immediate, Some("enough".to_owned()))
        .await;
    assert_eq!(told.unwrap().status, "cancelling");
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    let kinds = stage.kinds().await.join(" ");
    assert!(
        kinds.ends_with("task.cancel_requested item.completed model.failed task.cancelled turn.cancelled"),
        "{kinds}"
    );
    let late = stage.runner.cancel(&stage.key, &turn("turn_1"), CancelMode::Immediate, None).await.unwrap();
    assert_eq!(late.status, "cancelled");
    stage.submit("turn_2", "and now").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    let said = requests[1].history.iter().any(
        |entry| matches!(entry, HistoryEntry::Assistant { parts, .. } if parts[0].text() == Some("one two ")),
    );
    assert!(said, "{:?}", requests[1].history);
}

#[tokio::test(start_paused = true)]
async fn cancel_after_the_turn_lets_the_step_finish() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![slow_tool("read", READ, Approval::Never, &made, SECOND)], ..agent() };
    let stage =
        Stage::new(Script::new(vec![calls(&[("c1", "read", "{}")]), text("never")]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    stage.until("tool.started").await;
    stage.runner.cancel(&stage.key, &turn("turn_1"), CancelMode::AfterTurn, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    assert_eq!((stage.count("tool.result").await, stage.script.calls()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_tools_and_actions_and_the_next_turn_goes_on() {
    let made = Calls::default();
    let tools = vec![
        slow_tool("read", READ, Approval::Never, &made, Duration::from_secs(50)),
        slow_tool("erase", ONCE, Approval::Policy, &made, SECOND),
    ];
    let script = Script::new(vec![calls(&[("c1", "read", "{}"), ("c2", "erase", "{}")]), text("next")]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    pending(&stage, 1).await;
    stage.runner.cancel(&stage.key, &turn("turn_1"), CancelMode::Immediate, None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    assert_eq!((stage.count("tool.cancelled").await, stage.count("action.resolved").await), (2, 1));
    stage.submit("turn_2", "and now").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    let results: Vec<&str> = requests[1]
        .history
        .iter()
        .filter_map(|entry| match entry {
            HistoryEntry::ToolResult { is_error: true, parts, .. } => parts[0].text(),
            _ => None,
        })
        .collect();
    let unbegun = "The call was cancelled before it ran. It had no effect.";
    assert_eq!(results, ["The call was cancelled while it ran.", unbegun], "`read` changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_what_an_agent_without_tools_does_not_have_is_told_so() {
    let stage =
        Stage::new(Script::new(vec![calls(&[("c1", "danger", "{}")]), text("so")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let (told, _) = result(&stage, "c1");
    assert_eq!(told, "There is no tool `danger`. This agent has no tools.");
}

#[tokio::test(start_paused = true)]
async fn a_busy_thread_queues_rejects_interrupts_or_is_steered() {
    let stage = Stage::new(
        Script::new(vec![slow_text("a b c d", SECOND), text("two"), slow_text("x y", SECOND), text("z")]),
        vec![agent()],
    )
    .await;
    stage.submit("turn_1", "one").await;
    let queued = stage.submit("turn_2", "two").await;
    assert_eq!(queued.status, "queued");
    let rejected =
        stage.runner.submit(&stage.key, Submit { busy: Busy::Reject, ..turn_of("turn_x", "x") }).await;
    assert!(matches!(rejected, Err(CommandError::Busy(_))));
    stage.submit("turn_3", "three").await;
    stage.submit("turn_4", "four").await;
    let order = |queue: &[riverrun_runner::QueueEntry]| {
        queue.iter().map(|entry| entry.turn_id.to_string()).collect::<Vec<_>>()
    };
    let queue = stage.runner.queue(&stage.key, None).await.unwrap();
    assert_eq!(order(&queue), ["turn_2", "turn_3", "turn_4"]);
    let queue = stage.runner.promote(&stage.key, &turn("turn_4")).await.unwrap();
    assert_eq!(order(&queue), ["turn_4", "turn_2", "turn_3"]);
    let gone = stage.runner.unqueue(&stage.key, &turn("turn_2")).await.unwrap();
    assert_eq!(gone.status, "cancelled");
    let steered = stage
        .runner
        .submit(&stage.key, Submit { busy: Busy::Steer, ..turn_of("turn_s", "also this") })
        .await
        .unwrap();
    assert_eq!((steered.status.as_str(), steered.turn_id.as_str()), ("steered", "turn_1"));
    let again = stage
        .runner
        .submit(&stage.key, Submit { busy: Busy::Steer, ..turn_of("turn_s", "also this") })
        .await
        .unwrap();
    assert!(again.duplicate);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "two", "the steered input made another step");
    stage.ended("turn_4").await;
    let now = stage
        .runner
        .submit(&stage.key, Submit { busy: Busy::Interrupt, ..turn_of("turn_5", "five") })
        .await
        .unwrap();
    let _ = now;
    assert_eq!(stage.ended("turn_5").await, "completed");
    stage.ended("turn_3").await;
    assert_eq!(stage.count("input.steered").await, 1);
    let starts: Vec<String> = stage
        .events()
        .await
        .iter()
        .filter(|event| event.kind.as_str() == "turn.started")
        .map(|event| event.scope.turn_id.clone().unwrap().to_string())
        .collect();
    assert_eq!(starts.len(), 4, "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn the_queue_survives_a_restart() {
    let mut stage = Stage::new(Script::new(vec![slow_text("a b c d", SECOND)]), vec![agent()]).await;
    stage.submit("turn_1", "one").await;
    stage.submit("turn_2", "two").await;
    stage.until("model.delta").await;
    assert_eq!(stage.take_over().await, 2);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.ended("turn_2").await, "completed");
    assert_eq!(stage.count("task.attempt.failed").await, 1);
    assert!(stage.count("item.retracted").await >= 1, "what the lost call showed is taken back");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_is_tried_again_without_saying_things_twice() {
    let stage = Stage::new(
        Script::new(vec![
            fails("", Category::Overloaded),
            fails("half a", Category::Connection),
            text("whole"),
        ]),
        vec![agent()],
    )
    .await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "whole");
    assert_eq!((stage.count("model.failed").await, stage.count("item.retracted").await), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn when_a_model_stays_broken_the_next_one_answers_and_then_the_turn_fails() {
    let broken = || fails("", Category::Server);
    let script =
        Script::new(vec![]).model("a", (0..9).map(|_| broken()).collect()).model("b", vec![text("from b")]);
    let spec = AgentSpec { models: vec!["script/a".to_owned(), "script/b".to_owned()], ..agent() };
    let alone = AgentSpec { name: "alone".to_owned(), models: vec!["script/a".to_owned()], ..agent() };
    let stage = Stage::new(script, vec![spec, alone]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "from b");
    assert_eq!(stage.count("routing.fallback.applied").await, 1);
    stage
        .runner
        .submit(&stage.key, Submit { agent: Some("alone".to_owned()), ..turn_of("turn_2", "go") })
        .await
        .unwrap();
    assert_eq!(stage.ended("turn_2").await, "failed");
    let state = stage.state().await;
    assert_eq!(state.turns[1].error.as_ref().unwrap().code.as_deref(), Some("model_failed"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_tried_again_as_a_new_run() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![slow_tool("read", READ, Approval::Never, &made, SECOND)], ..agent() };
    let script = Script::new(vec![
        calls(&[("c1", "read", "{}")]),
        fails("", Category::InvalidRequest),
        text("now"),
        text("anew"),
    ]);
    let stage = Stage::new(script, vec![spec]).await;
    let first = stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let again = stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    assert_eq!(again.task_id, first.task_id);
    assert_ne!(again.run_id, first.run_id);
    stage.until("turn.completed").await;
    assert_eq!(stage.said("turn_1").await, "now");
    assert_eq!(made.lock().unwrap().len(), 1, "a finished tool is not run again");
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until_count("turn.completed", 2).await;
    assert_eq!(stage.said("turn_1").await, "anew");
    stage.check(&turn("turn_1")).await;
}

#[tokio::test(start_paused = true)]
async fn steps_tokens_and_time_are_limited() {
    let made = Calls::default();
    let code = async |limits: riverrun_runner::agent::Limits| {
        let spec = AgentSpec {
            tools: vec![slow_tool("read", READ, Approval::Never, &made, SECOND)],
            limits,
            ..agent()
        };
        let script = Script::new((0..20).map(|_| calls(&[("c1", "read", "{}")])).collect());
        let stage = Stage::new(script, vec![spec]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "failed");
        stage.state().await.turns[0].error.clone().unwrap().code.unwrap()
    };
    let limits = riverrun_runner::agent::Limits::default;
    assert_eq!(code(riverrun_runner::agent::Limits { steps: 2, ..limits() }).await, "max_turns_exceeded");
    assert_eq!(
        code(riverrun_runner::agent::Limits { tokens: Some(20), ..limits() }).await,
        "max_tokens_exceeded"
    );
    assert_eq!(
        code(riverrun_runner::agent::Limits { time: Some(SECOND / 2), ..limits() }).await,
        "max_time_exceeded"
    );
}

/// Submits turns until this one is not in the state any more.
pub async fn seal(stage: &Stage, sealed: &str, from: usize) -> usize {
    let mut number = from;
    while stage.state().await.turns.iter().any(|known| known.turn_id == turn(sealed)) {
        stage.submit(&format!("turn_{number}"), "go on").await;
        stage.ended(&format!("turn_{number}")).await;
        number += 1;
        assert!(number < from + 500, "no turn ever leaves the state");
    }
    number
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_left_the_state_is_tried_again_from_what_it_has() {
    let made = Calls::default();
    let spec = AgentSpec { tools: vec![slow_tool("read", READ, Approval::Never, &made, SECOND)], ..agent() };
    let script = Script::new(vec![calls(&[("c1", "read", "{}")]), fails("", Category::InvalidRequest)]);
    let mut stage = Stage::new(script, vec![spec]).await;
    let first = stage.submit("turn_1", "a rare word").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let number = seal(&stage, "turn_1", 2).await;
    stage.take_over().await;
    let (count, before) = (stage.count("turn.completed").await, stage.script.calls());
    let again = stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    assert_eq!(again.task_id, first.task_id);
    assert_ne!(again.run_id, first.run_id);
    stage.until_count("turn.completed", count + 1).await;
    stage.check(&turn("turn_1")).await;
    assert_eq!(stage.said("turn_1").await, "done");
    assert_eq!(made.lock().unwrap().len(), 1, "a finished tool is not run again");
    let asked = stage.script.requests.lock().unwrap()[before].history.clone();
    let [.., HistoryEntry::User { parts }, HistoryEntry::ToolCall { .. }, HistoryEntry::ToolResult { .. }] =
        asked.as_slice()
    else {
        panic!("{asked:?}")
    };
    assert_eq!(parts[0].text(), Some("a rare word"));
    let state = stage.state().await;
    let known = state.turns.iter().find(|known| known.turn_id == turn("turn_1")).unwrap();
    assert_eq!(known.input, Some("a rare word".into()));
    let root = state.tasks.iter().find(|task| task.task_id == first.task_id).unwrap();
    assert_eq!(root.attempts.len(), 1, "attempts before it are in the log: {:?}", root.attempts);
    // It leaves the state once more, and later turns read how it ended at last.
    let last = seal(&stage, "turn_1", number).await;
    stage.take_over().await;
    let calls = stage.script.calls();
    stage.submit(&format!("turn_{last}"), "and?").await;
    stage.ended(&format!("turn_{last}")).await;
    let read = stage.script.requests.lock().unwrap()[calls].history.clone();
    let rare = |entry: &HistoryEntry| matches!(entry, HistoryEntry::User { parts } if parts[0].text() == Some("a rare word"));
    let place = read.iter().position(rare).expect("the turn is read");
    assert!(
        matches!(
            &read[place + 1..place + 4],
            [HistoryEntry::ToolCall { .. }, HistoryEntry::ToolResult { .. }, HistoryEntry::Assistant { .. }]
        ),
        "{read:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_left_the_state_and_went_well_begins_anew() {
    let stage = Stage::new(Script::new(vec![text("one")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    seal(&stage, "turn_1", 2).await;
    let count = stage.count("turn.completed").await;
    stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap();
    stage.until_count("turn.completed", count + 1).await;
    stage.check(&turn("turn_1")).await;
    assert_eq!(stage.said("turn_1").await, "done");
    let before = stage.events().await.len();
    let absent = stage.runner.retry(&stage.key, &turn("turn_0"), None).await.unwrap_err();
    assert!(matches!(absent, CommandError::NoTurn(_)), "{absent:?}");
    assert_eq!(stage.events().await.len(), before, "a refusal writes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_what_can_be_done_about_it() {
    let made = Calls::default();
    let tools = vec![slow_tool("read", READ, Approval::Never, &made, Duration::from_secs(5))];
    let script = Script::new(vec![text("one"), calls(&[("c1", "read", "{}")])]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    stage.ended("turn_1").await;
    stage.submit("turn_2", "go").await;
    stage.until("tool.started").await;
    let again = stage.runner.retry(&stage.key, &turn("turn_1"), None).await.unwrap_err();
    let busy = "thread `main` has a turn at work, or one that waits; wait until it ends, or cancel it";
    assert_eq!(again.to_string(), busy);
    stage.runner.cancel(&stage.key, &turn("turn_2"), CancelMode::AfterTurn, None).await.unwrap();
    let late = stage.runner.steer(&stage.key, &turn("turn_2"), "more".into(), None).await.unwrap_err();
    assert_eq!(late.to_string(), "turn `turn_2` is being cancelled");
    assert_eq!(stage.ended("turn_2").await, "cancelled");
    let late = stage.runner.steer(&stage.key, &turn("turn_2"), "more".into(), None).await.unwrap_err();
    assert_eq!(late.to_string(), "turn `turn_2` has ended: cancelled");
}
