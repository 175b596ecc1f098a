use std::time::Duration;

use futures_util::StreamExt;
use riverrun_event::Part;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{HistoryEntry, ItemKind, StopReason, ToolSpec};

const WEATHER: &str = "The weather in Paris is sunny and 15°C.";

fn ask(model: &str) -> ModelRequest {
    let user = HistoryEntry::User { parts: vec![Part::plain("hello there")] };
    ModelRequest { model: model.to_owned(), history: vec![user], ..ModelRequest::default() }
}

fn answered(mut request: ModelRequest, tool: &str, is_error: bool) -> ModelRequest {
    let call_id = format!("done_{tool}");
    request.history.push(HistoryEntry::ToolCall {
        call_id: call_id.clone(),
        name: tool.to_owned(),
        arguments: "{}".to_owned(),
        opaque: None,
    });
    let parts = vec![Part::plain("15C")];
    request.history.push(HistoryEntry::ToolResult { call_id, name: String::new(), parts, is_error });
    request
}

async fn play_all(request: ModelRequest) -> Vec<ModelEvent> {
    Scripted::new().call(request, CancellationToken::new()).collect().await
}

fn text(events: &[ModelEvent]) -> String {
    let delta = |event: &ModelEvent| match event {
        ModelEvent::Text { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

fn calls(events: &[ModelEvent]) -> Vec<(String, String)> {
    let mut calls: Vec<(u32, String, String)> = Vec::new();
    for event in events {
        match event {
            ModelEvent::ItemStarted { index, kind: ItemKind::ToolCall { name, .. } } => {
                calls.push((*index, name.clone(), String::new()));
            }
            ModelEvent::Arguments { index, delta } => {
                calls.iter_mut().find(|call| call.0 == *index).unwrap().2.push_str(delta);
            }
            _ => {}
        }
    }
    calls.into_iter().map(|(_, name, arguments)| (name, arguments)).collect()
}

#[track_caller]
fn failure(events: &[ModelEvent]) -> &ModelError {
    match events.last() {
        Some(ModelEvent::Failed(error)) => error,
        other => panic!("not a failure: {other:?}"),
    }
}

#[test]
fn every_built_in_scenario_can_be_read() {
    for (name, text) in BUILT_IN {
        let scenario = Scenario::parse(&format!("{name}.toml"), text);
        assert!(scenario.is_ok(), "{}", scenario.unwrap_err());
    }
}

#[tokio::test(start_paused = true)]
async fn text_is_a_reasoning_summary_and_a_message() {
    let events = play_all(ask("text")).await;
    assert_eq!(text(&events), WEATHER);
    let reasoning = ModelEvent::Reasoning { index: 0, summary_index: Some(0), delta: "Think".to_owned() };
    assert_eq!(events[1], ModelEvent::ItemStarted { index: 0, kind: ItemKind::Reasoning });
    assert_eq!(events[2], reasoning);
    let Some(ModelEvent::Completed { stop: StopReason::End, usage, .. }) = events.last() else { panic!() };
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(10), Some(12), Some(22)));
}

#[tokio::test(start_paused = true)]
async fn tool_calls_until_there_is_a_result() {
    let events = play_all(ask("tool")).await;
    assert_eq!(calls(&events), [("get_weather".to_owned(), r#"{"city":"Paris"}"#.to_owned())]);
    assert!(matches!(events.last(), Some(ModelEvent::Completed { stop: StopReason::ToolUse, .. })));
    assert_eq!(text(&play_all(answered(ask("tool"), "get_weather", false)).await), WEATHER);

    let mut next_turn = answered(ask("tool"), "get_weather", false);
    next_turn.history.push(HistoryEntry::User { parts: vec![Part::plain("again")] });
    assert_eq!(calls(&play_all(next_turn).await).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn slow_takes_two_seconds_for_forty_deltas() {
    let start = tokio::time::Instant::now();
    let events = play_all(ask("slow")).await;
    assert_eq!(start.elapsed(), Duration::from_millis(40 * 50));
    assert_eq!(events.iter().filter(|event| matches!(event, ModelEvent::Text { .. })).count(), 40);
}

#[tokio::test(start_paused = true)]
async fn error_fails_after_four_deltas_and_leaves_the_message_unfinished() {
    let events = play_all(ask("error")).await;
    assert_eq!(text(&events), "The weather in Paris ");
    assert_eq!(failure(&events).message, "scripted failure");
    assert_eq!(failure(&events).code.as_deref(), Some("server_error"));
    assert!(!failure(&events).category.is_retryable());
    assert!(!events.contains(&ModelEvent::ItemDone { index: 1, opaque: None }));
    assert_eq!(failure(&play_all(ask("error?category=overloaded")).await).category, Category::Overloaded);
}

#[tokio::test(start_paused = true)]
async fn approval_speaks_of_the_decision() {
    assert_eq!(calls(&play_all(ask("approval")).await)[0].0, "delete_file");
    let allowed = play_all(answered(ask("approval"), "delete_file", false)).await;
    let refused = play_all(answered(ask("approval"), "delete_file", true)).await;
    assert_eq!(text(&allowed), "The file x was deleted.");
    assert_eq!(text(&refused), "The file x was not deleted.");
}

#[tokio::test(start_paused = true)]
async fn research_uses_what_is_offered_and_cites() {
    let offer = |mut request: ModelRequest, names: &[&str]| {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: serde_json::json!({}),
            strict: false,
        };
        request.tools = names.iter().map(spec).collect();
        request
    };
    let tools = ["search", "analyst", "publish_report"];
    let mut request = offer(ask("research"), &tools);
    for tool in tools {
        assert_eq!(calls(&play_all(request.clone()).await)[0].0, tool);
        request = answered(request, tool, false);
    }
    assert!(text(&play_all(request).await).contains("main point [^1], and"));
    assert!(text(&play_all(ask("research")).await).contains("hello there"));
}

#[tokio::test(start_paused = true)]
async fn parallel_calls_have_ids_of_their_own() {
    let events = play_all(ask("parallel")).await;
    let id = |event: &ModelEvent| match event {
        ModelEvent::ItemStarted { kind: ItemKind::ToolCall { call_id, .. }, .. } => Some(call_id.clone()),
        _ => None,
    };
    let ids: std::collections::BTreeSet<String> = events.iter().filter_map(id).collect();
    assert_eq!(ids.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn parameters_set_count_and_pace() {
    let start = tokio::time::Instant::now();
    let events = play_all(ask("long?deltas=1000&pace_ms=5")).await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(events.iter().filter(|event| matches!(event, ModelEvent::Text { .. })).count(), 1000);
    assert!(text(&events).ends_with("word1000 "));
    let wrong = play_all(ask("long?delta=5")).await;
    assert_eq!(failure(&wrong).message, "scenario `long` has no parameter `delta`; it has: deltas, pace_ms");
    let wrong = play_all(ask("long?deltas=many")).await;
    assert!(failure(&wrong).message.contains("`many`; give a number"), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn echo_repeats_the_input_word_by_word() {
    let events = play_all(ask("echo")).await;
    assert_eq!(text(&events), "hello there");
    assert!(events.contains(&ModelEvent::Text { index: 0, delta: "there".to_owned() }));
}

#[tokio::test(start_paused = true)]
async fn fail_then_ok_counts_attempts_of_the_same_request() {
    let provider = Scripted::new();
    let mut ends = Vec::new();
    for key in ["a/1", "a/2", "b/3", "a/4"] {
        let request = ModelRequest { idempotency_key: Some(key.to_owned()), ..ask("fail-then-ok?deltas=1") };
        let events: Vec<ModelEvent> = provider.call(request, CancellationToken::new()).collect().await;
        ends.push(text(&events));
    }
    assert_eq!(ends, ["lost1 ", "lost1 ", "lost1 ", WEATHER]);
    let mut third = ask("fail-then-ok");
    third.extra.insert("attempt".to_owned(), 3.into());
    assert_eq!(text(&play_all(third).await), WEATHER);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_with_one_failure() {
    let cancel = CancellationToken::new();
    let mut stream = Scripted::new().call(ask("slow"), cancel.clone());
    let mut events = Vec::new();
    for _ in 0..8 {
        events.push(stream.next().await.unwrap());
    }
    cancel.cancel();
    events.extend(stream.collect::<Vec<_>>().await);
    assert_eq!(events.len(), 9);
    assert_eq!(failure(&events).category, Category::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_scenario_is_reported_with_the_known_ones() {
    let events = play_all(ask("txet")).await;
    assert_eq!(failure(&events).category, Category::ModelNotFound);
    assert!(failure(&events).message.starts_with("there is no scenario `txet`; there are: approval, echo, "));
}

#[tokio::test(start_paused = true)]
async fn a_scenario_from_a_file_can_leave_arguments_unfinished_and_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.json");
    let json = r#"{"step":[{"play":[{"call":{"name":"t","id":"c","arguments":["{\"a"],"finish":false}},{"cut":true}]}]}"#;
    std::fs::write(&path, json).unwrap();
    let provider = Scripted::new().with_file(&path).unwrap();
    let events: Vec<ModelEvent> = provider.call(ask("half"), CancellationToken::new()).collect().await;
    assert_eq!(failure(&events).category, Category::Truncated);
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::ItemDone { .. })));

    let hang = Scenario::parse("hang.toml", "[[step]]\nplay = [{ hang = true }]\n").unwrap();
    let cancel = CancellationToken::new();
    let mut stream = Scripted::new().with("hang", hang).call(ask("hang"), cancel.clone());
    stream.next().await;
    let waited = tokio::time::timeout(Duration::from_secs(1000), stream.next()).await;
    assert!(waited.is_err(), "{waited:?}");
    cancel.cancel();
    assert!(matches!(stream.next().await, Some(ModelEvent::Failed(_))));
}

#[test]
fn a_wrong_scenario_is_reported_with_its_line() {
    let check = |file: &str, text: &str, expected: &str| {
        let error = Scenario::parse(file, text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(
        "a.toml",
        "[[step]]\nplay = [\n  { txt = { pieces = [] } },\n]\n",
        "a.toml:3: unknown variant `txt`",
    );
    check("a.toml", "[[step]]\nplay = []\nwhen = { stop = 1 }\n", "a.toml:3: unknown field `stop`");
    check("a.toml", "[[step]]\nplay = [\n { wait_ms = -1 }]\n", "a.toml:3: invalid value");
    check(
        "a.toml",
        "[[step]]\nplay = [\n { wait_ms = \"$x\" }]\n",
        "a.toml:3: `$x` is not a parameter; declare",
    );
    check("a.json", "{\"step\":[\n{\"play\":1}]}", "a.json:2: ");
    check("a.toml", "step = []\n", "a.toml:1: has no `step`");
    check(
        "a.toml",
        "[[step]]\nplay = [\n { fail = { category = \"bad\", message = \"m\" } }]\n",
        "a.toml:3: `bad` is not a category; there are: connection, ",
    );
}
