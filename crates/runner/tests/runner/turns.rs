//! Turns from their submit to their end.

use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CommandError, Deltas, Settings, Submit};

use crate::script::{Script, calls, slow_text, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, READ, tool};

#[tokio::test(start_paused = true)]
async fn a_turn_is_answered() {
    let stage = Stage::new(Script::new(vec![text("Hello to you")]), vec![agent()]).await;
    let submitted = stage.submit("turn_1", "Hi").await;
    assert_eq!(submitted.status, "accepted");
    assert_eq!(submitted.first.get(), 1);
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "Hello to you");
    // Nothing is busy, so each word is a delta.
    let kinds = stage.kinds().await;
    let expected = "turn.submitted thread.started task.created task.accepted turn.started \
        task.attempt.started run.status task.started routing.single_candidate model.requested item.started model.delta model.delta model.delta \
        item.completed model.completed task.attempt.completed task.completed turn.completed";
    assert_eq!(kinds.join(" "), expected);
}

/// More than may wait: the model is held up until its words are taken, and none is lost or out of place.
#[tokio::test(start_paused = true)]
async fn a_model_that_says_thousands_of_words_at_once_is_heard_to_the_end() {
    let words: String = (0..5000).map(|number| format!("{number} ")).collect();
    let stage = Stage::new(Script::new(vec![text(&words)]), vec![agent()]).await;
    stage.submit("turn_1", "Hi").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, words);
}

/// However many come at once: each piece is a delta of its own for a turn that asks for it.
#[tokio::test(start_paused = true)]
async fn a_turn_gets_each_piece_as_it_was_sent() {
    let words: String = (0..500).map(|number| format!("{number} ")).collect();
    let stage = Stage::new(Script::new(vec![text(&words), text(&words)]), vec![agent()]).await;
    stage.submit("turn_1", "Hi").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(stage.count("model.delta").await < 500, "very many at once are joined");
    let before = stage.count("model.delta").await;
    let settings = Some(Settings { deltas: Some(Deltas::AsSent), ..Settings::default() });
    let submit = Submit { settings, ..turn_of("turn_2", "Hi") };
    stage.runner.submit(&stage.key, submit).await.unwrap();
    assert_eq!(stage.ended("turn_2").await, "completed");
    assert_eq!(stage.count("model.delta").await - before, 500);
    assert_eq!(stage.said("turn_2").await, words);
}

#[tokio::test(start_paused = true)]
async fn the_same_submit_again_answers_the_first() {
    let stage = Stage::new(Script::new(vec![]), vec![agent()]).await;
    let first = stage.submit("turn_1", "Hi").await;
    let again = stage.submit("turn_1", "Hi").await;
    assert!(again.duplicate);
    assert_eq!((again.task_id, again.run_id, again.first), (first.task_id, first.run_id, first.first));
    let other = stage.runner.submit(&stage.key, turn_of("turn_1", "Ho")).await;
    assert!(matches!(other, Err(CommandError::TurnExists { .. })));
    stage.ended("turn_1").await;
    let late = stage.submit("turn_1", "Hi").await;
    assert_eq!((late.status.as_str(), late.duplicate), ("completed", true));
    assert_eq!(stage.count("turn.submitted").await, 1);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_agent_is_refused_and_nothing_is_written() {
    let stage = Stage::new(Script::new(vec![]), vec![agent()]).await;
    let submit = Submit { agent: Some("nobody".to_owned()), ..turn_of("turn_1", "Hi") };
    let refused = stage.runner.submit(&stage.key, submit).await;
    assert!(matches!(refused, Err(CommandError::UnknownAgent { .. })));
    assert!(stage.events().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_reads_what_was_said() {
    let stage = Stage::new(Script::new(vec![text("one"), text("two")]), vec![agent()]).await;
    stage.submit("turn_1", "first").await;
    stage.ended("turn_1").await;
    stage.submit("turn_2", "second").await;
    stage.ended("turn_2").await;
    let requests = stage.script.requests.lock().unwrap();
    assert_eq!(requests[1].history.len(), 3, "{:?}", requests[1].history);
}

/// A model whose answer just ends, without saying so, has not said all of it.
#[tokio::test(start_paused = true)]
async fn an_answer_without_its_end_is_never_whole() {
    let mut cut = calls(&[("c1", "read", "{}")]);
    cut.0.pop();
    let made = Calls::default();
    let tools = vec![tool("read", READ, Approval::Never, &made)];
    let script = Script::new(vec![cut.clone(), cut.clone(), cut.clone(), cut.clone(), cut.clone(), cut]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    assert_eq!(stage.count("model.completed").await, 0);
    assert_eq!(made.lock().unwrap().len(), 0);
}

/// What a model reads is what was said, in the order in which it was said.
#[tokio::test(start_paused = true)]
async fn the_conversation_is_read_in_the_order_in_which_turns_ran() {
    let second = std::time::Duration::from_secs(1);
    let stage = Stage::new(Script::new(vec![slow_text("a b", second)]), vec![agent()]).await;
    for (turn, input) in [("turn_1", "one"), ("turn_2", "two"), ("turn_3", "three")] {
        stage.submit(turn, input).await;
    }
    stage.runner.promote(&stage.key, &riverrun_event::TurnId::new("turn_3").unwrap()).await.unwrap();
    for turn in ["turn_3", "turn_2"] {
        assert_eq!(stage.ended(turn).await, "completed");
    }
    stage.runner.retry(&stage.key, &riverrun_event::TurnId::new("turn_1").unwrap(), None).await.unwrap();
    stage.until_count("turn.completed", 4).await;
    stage.submit("turn_4", "four").await;
    assert_eq!(stage.ended("turn_4").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    let asked: Vec<Vec<&str>> = requests
        .iter()
        .map(|request| {
            let asked = request.history.iter().filter_map(|entry| match entry {
                riverrun_provider::HistoryEntry::User { parts } => parts[0].text(),
                _ => None,
            });
            asked.collect()
        })
        .collect();
    assert_eq!(asked[1..3], [vec!["one", "three"], vec!["one", "three", "two"]]);
    assert_eq!(asked[3], ["three", "two", "one"], "tried again");
    assert_eq!(asked[4], ["three", "two", "one", "four"]);
}
