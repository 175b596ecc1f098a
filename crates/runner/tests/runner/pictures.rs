//! What a model draws or speaks: a part of its message, and of the conversation that goes on.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use riverrun_event::{Block, Item, RawJson};
use riverrun_provider::{HistoryEntry, ItemKind, ModelEvent, StopReason};
use serde_json::json;

use crate::script::{Say, Script, completed, text};
use crate::stage::{Stage, agent};

const SIGNED: &str = r#"{"script":{"thoughtSignatures":{"1":"proof"}}}"#;

fn image(bytes: &[u8]) -> Block {
    let url = format!("data:image/png;base64,{}", STANDARD.encode(bytes));
    serde_json::from_value(json!({"type": "image", "imageUrl": {"url": url}, "mediaType": "image/png"}))
        .unwrap()
}

fn sound(bytes: &[u8]) -> Block {
    let data = STANDARD.encode(bytes);
    serde_json::from_value(json!({"type": "audio", "data": data, "mediaType": "audio/wav"})).unwrap()
}

fn draws(blocks: &[Block]) -> Say {
    let mut events = vec![ModelEvent::ItemStarted { index: 0, kind: ItemKind::Message }];
    for block in blocks {
        events.push(ModelEvent::Text { index: 0, delta: "he".to_owned() });
        events.push(ModelEvent::Text { index: 0, delta: "re:".to_owned() });
        events.push(ModelEvent::Block { index: 0, block: block.clone() });
    }
    events.push(ModelEvent::Text { index: 0, delta: "that is all".to_owned() });
    events.push(ModelEvent::ItemDone { index: 0, opaque: RawJson::parse(SIGNED).ok() });
    let mut events: Vec<_> = events.into_iter().map(|event| (Duration::ZERO, event)).collect();
    events.push(completed(StopReason::End));
    Say(events)
}

#[tokio::test(start_paused = true)]
async fn what_a_model_draws_stands_between_its_words_and_goes_back_whole() {
    let large = vec![7_u8; 300 << 10];
    let drawn = [image(b"small"), image(&large), sound(&large)];
    let stage = Stage::new(Script::new(vec![draws(&drawn), text("yes")]), vec![agent()]).await;
    stage.submit("turn_1", "draw").await;
    assert_eq!(stage.ended("turn_1").await, "completed");

    let state = stage.state().await;
    let Item::Message(message) = &state.tasks[0].output[0] else { panic!("{:?}", state.tasks[0].output) };
    let blocks = message.block_list.as_deref().unwrap();
    let texts: Vec<Option<&str>> = blocks.iter().map(Block::text).collect();
    assert_eq!(texts, [Some("here:"), None, Some("here:"), None, Some("here:"), None, Some("that is all")]);
    assert_eq!(blocks[1], drawn[0], "what is small stays in its event");
    let Block::Image(picture) = &blocks[3] else { panic!("{:?}", blocks[3]) };
    assert!(picture.image_url.is_none() && picture.file_ref.is_some(), "{picture:?}");
    let Block::Audio(spoken) = &blocks[5] else { panic!("{:?}", blocks[5]) };
    assert!(spoken.data.is_none() && spoken.file_ref.is_some(), "{spoken:?}");

    stage.submit("turn_2", "and?").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    let Some(HistoryEntry::Assistant { parts, opaque }) = requests[1].history.get(1) else {
        panic!("{:?}", requests[1].history.len())
    };
    assert_eq!(opaque.as_ref().map(RawJson::get), Some(SIGNED), "with the proof of its maker");
    let Block::Image(picture) = &parts[3] else { panic!() };
    let Block::Image(whole) = &drawn[1] else { panic!() };
    assert_eq!(picture.image_url, whole.image_url);
    let Block::Audio(spoken) = &parts[5] else { panic!() };
    assert_eq!(spoken.data, Some(STANDARD.encode(&large)));
}
