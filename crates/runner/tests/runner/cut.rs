//! A service's stream that breaks off behind a message that it had already closed.

use std::time::Duration;

use riverrun_event::{Item, Payload};
use riverrun_provider::{Decoder, anthropic, openai};
use serde_json::{Value, json};

use crate::script::{Say, Script};
use crate::stage::{Stage, agent};

fn said(mut decoder: Box<dyn Decoder>, frames: &[Value]) -> Say {
    let bytes: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let mut events = decoder.push(bytes.as_bytes());
    events.extend(decoder.end());
    Say(events.into_iter().map(|event| (Duration::ZERO, event)).collect())
}

/// A message as Anthropic closes it, and the end of the answer.
fn anthropic(text: &str, is_whole: bool) -> Say {
    let mut frames = vec![
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    if is_whole {
        frames.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
        frames.push(json!({"type": "message_stop"}));
    }
    said(anthropic::decoder("script", "seed"), &frames)
}

/// The same as the Responses API says it.
fn responses(text: &str, is_whole: bool) -> Say {
    let item = json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let mut frames = vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
    ];
    if is_whole {
        frames.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
    }
    said(openai::decoder("script", "seed"), &frames)
}

const SERVICES: [fn(&str, bool) -> Say; 2] = [anthropic, responses];

/// Each message of the task: its text, its status, and whether it was taken back.
async fn messages(stage: &Stage) -> Vec<(String, String, bool)> {
    let state = stage.state().await;
    let task = &state.tasks[0];
    let told = task.output.iter().enumerate().filter_map(|(at, item)| {
        let Item::Message(message) = item else { return None };
        let text = message.block_list.iter().flatten().filter_map(|block| block.text()).collect();
        Some((text, message.status.clone().unwrap_or_default(), task.retracted.contains(&at)))
    });
    told.collect()
}

fn told(text: &str, status: &str, is_retracted: bool) -> (String, String, bool) {
    (text.to_owned(), status.to_owned(), is_retracted)
}

#[tokio::test(start_paused = true)]
async fn a_closed_message_of_a_stream_that_was_cut_is_taken_back_and_not_said_twice() {
    for service in SERVICES {
        let script = Script::new(vec![service("Sunny.", false), service("Sunny.", true)]);
        let stage = Stage::new(script, vec![agent()]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        let expected = [told("Sunny.", "incomplete", true), told("Sunny.", "completed", false)];
        assert_eq!(messages(&stage).await, expected);
        assert_eq!(stage.said("turn_1").await, "Sunny.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_message_of_the_last_stream_that_was_cut_is_kept_and_marked() {
    for service in SERVICES {
        let script = Script::new((0..9).map(|_| service("Sunny.", false)).collect());
        let stage = Stage::new(script, vec![agent()]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "failed");
        let told = messages(&stage).await;
        let kept: Vec<_> = told.iter().filter(|(.., is_retracted)| !is_retracted).collect();
        assert_eq!(kept, [&("Sunny.".to_owned(), "incomplete".to_owned(), false)]);
        let failed = stage.events().await.into_iter().find_map(|event| match event.payload {
            Ok(Payload::ModelFailed(failed)) => Some(failed),
            _ => None,
        });
        assert_eq!(failed.unwrap().partial, Some(true));
    }
}
