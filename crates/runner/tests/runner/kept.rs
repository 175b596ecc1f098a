//! What models were asked and answered, kept byte for byte.

use riverrun_event::{BlobRef, Block, Event, Item, Payload, ToolResultItem};
use riverrun_provider::{Category, ModelEvent, Provider};
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::Approval;

use crate::script::{Say, Script, calls, fails, text};
use crate::stage::{Stage, agent, turn_of};
use crate::tool::{Calls, READ, tool};

/// The answer with the bytes that it came as, right before its end.
fn with_bytes(mut say: Say, bytes: &'static [u8]) -> Say {
    let end = say.0.len() - 1;
    say.0.insert(end, (std::time::Duration::ZERO, ModelEvent::Raw(bytes.into())));
    say
}

async fn blob(stage: &Stage, reference: &BlobRef) -> (Vec<u8>, String) {
    let BlobRef::Bare(name) = reference else { panic!("{reference:?}") };
    let reference = riverrun_log::BlobId::parse(name).unwrap();
    let blob = stage.log.blob(&stage.key.tenant, &reference).await.unwrap().expect("the reference resolves");
    (blob.bytes.to_vec(), blob.info.media_type)
}

fn asked(events: &[Event]) -> Vec<Option<BlobRef>> {
    let asked = events.iter().filter_map(|event| match &event.payload {
        Ok(Payload::ModelRequested(requested)) => Some(requested.input_ref.clone()),
        _ => None,
    });
    asked.collect()
}

fn answered(events: &[Event]) -> Vec<Option<BlobRef>> {
    let answered = events.iter().filter_map(|event| match &event.payload {
        Ok(Payload::ModelCompleted(completed)) => Some(completed.raw_ref.clone()),
        _ => None,
    });
    answered.collect()
}

#[tokio::test(start_paused = true)]
async fn every_request_and_every_answer_can_be_read_again() {
    let made = Calls::default();
    let tools = vec![tool("read", READ, Approval::Never, &made)];
    let script = Script::new(vec![
        with_bytes(calls(&[("c1", "read", "{}")]), b"data: one\n\n"),
        with_bytes(text("done"), b"data: two\n\n"),
    ]);
    let stage = Stage::new(script, vec![AgentSpec { tools, keep_raw: true, ..agent() }]).await;
    stage.submit("turn_1", "a rare word").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let events = stage.events().await;
    let requests = stage.script.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 2);
    for (reference, sent) in asked(&events).into_iter().zip(&requests) {
        let (bytes, media_type) = blob(&stage, &reference.expect("the request is kept")).await;
        assert_eq!(bytes, stage.script.body(sent), "what is kept is what was sent");
        assert_eq!(media_type, "application/json");
        assert!(String::from_utf8(bytes).unwrap().contains("a rare word"));
    }
    let answers = answered(&events);
    assert_eq!(blob(&stage, answers[0].as_ref().unwrap()).await.0, b"data: one\n\n");
    assert_eq!(blob(&stage, answers[1].as_ref().unwrap()).await.0, b"data: two\n\n");
    let keys: Vec<_> = requests.iter().map(|request| request.idempotency_key.clone().unwrap()).collect();
    let steps = events.iter().filter(|event| event.kind.as_str() == "model.requested");
    let steps: Vec<_> =
        steps.map(|event| format!("ses_a/{}", event.scope.step_id.clone().unwrap())).collect();
    assert_eq!(keys, steps);
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_an_answer_that_failed_can_be_read_again() {
    let script = Script::new(vec![
        with_bytes(fails("half of ", Category::Overloaded), b"data: half\n\n"),
        with_bytes(fails("", Category::InvalidRequest), b"{\"error\":\"no\"}"),
    ]);
    let stage = Stage::new(script, vec![AgentSpec { keep_raw: true, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let events = stage.events().await;
    let failed = events.iter().filter_map(|event| match &event.payload {
        Ok(Payload::ModelFailed(failed)) => Some(failed.raw_ref.clone().expect("the answer is kept")),
        _ => None,
    });
    let mut kept = Vec::new();
    for reference in failed {
        kept.push(blob(&stage, &reference).await.0);
    }
    assert_eq!(kept, [&b"data: half\n\n"[..], b"{\"error\":\"no\"}"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_steer_added_is_in_the_request_that_is_kept() {
    let slow = crate::script::slow_text("a b c", std::time::Duration::from_secs(1));
    let spec = AgentSpec { keep_raw: true, ..agent() };
    let stage = Stage::new(Script::new(vec![slow, text("done")]), vec![spec]).await;
    let told = stage.runner.submit(&stage.key, turn_of("turn_1", "go")).await.unwrap();
    stage.until("model.delta").await;
    stage.runner.steer(&stage.key, &told.turn_id, "and this".into(), None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    let asked = asked(&stage.events().await);
    let (bytes, _) = blob(&stage, asked[1].as_ref().unwrap()).await;
    assert_eq!(String::from_utf8(bytes).unwrap().matches("and this").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_unless_it_is_asked_for() {
    let stage = Stage::new(Script::new(vec![text("done")]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let events = stage.events().await;
    assert_eq!((asked(&events), answered(&events)), (vec![None], vec![None]));
}

/// The result of a tool that gives a picture, a file and a sound of this size.
async fn pictured(size: usize) -> (Stage, ToolResultItem) {
    let arguments = format!("{{\"picture\":{size}}}");
    let script = Script::new(vec![calls(&[("c", "read", &arguments)]), text("seen")]);
    let tools = vec![tool("read", READ, Approval::Policy, &Calls::default())];
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    let mut items = state.tasks.iter().flat_map(|task| &task.output);
    let found = items.find_map(|item| match item {
        Item::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    (stage, found.expect("the call has a result"))
}

#[tokio::test(start_paused = true)]
async fn a_large_picture_of_a_tool_is_a_blob_with_its_media_type() {
    let (stage, result) = pictured(5 << 20).await;
    let (content, blocks) = (result.content.unwrap(), result.block_list.unwrap());
    let mut kept = Vec::new();
    for block in content.iter().chain(&blocks) {
        let (inline, file_ref) = match block {
            Block::Image(image) => (image.image_url.is_some(), image.file_ref.clone()),
            Block::File(file) => (file.data.is_some(), file.file_ref.clone()),
            Block::Audio(audio) => (audio.data.is_some(), audio.file_ref.clone()),
            // The words around what can be cited.
            block if block.text().is_some() => continue,
            block => panic!("{block:?}"),
        };
        assert!(!inline, "{block:?}");
        let (bytes, media_type) = blob(&stage, &file_ref.expect("a reference")).await;
        assert_eq!(bytes, vec![7; 5 << 20]);
        kept.push(media_type);
    }
    // The same bytes are one blob, which has the media type that came first.
    assert_eq!(kept, ["image/png"; 4]);
    let Block::File(file) = &blocks[1] else { panic!("a file") };
    assert_eq!((file.size, file.media_type.as_deref()), (Some(5 << 20), Some("a/b")));
}

#[tokio::test(start_paused = true)]
async fn a_small_picture_of_a_tool_stays_in_its_event() {
    let (_, result) = pictured(20 << 10).await;
    let content = result.content.unwrap();
    let image =
        content.iter().find_map(|part| if let Block::Image(image) = part { Some(image) } else { None });
    let image = image.expect("an image");
    assert!(image.file_ref.is_none() && image.image_url.as_ref().unwrap().url.len() > 20 << 10);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_huge_answer_names_the_whole_of_it_and_does_not_repeat_it() {
    let whole = "word".repeat(5 << 18);
    let stage = Stage::new(Script::new(vec![text(&whole)]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let mut ends = 0;
    for event in stage.events().await {
        let (Some(payload), "task.completed" | "turn.completed") = (&event.raw_payload, event.kind.as_str())
        else {
            continue;
        };
        ends += 1;
        assert!(payload.get().len() < 2000, "{} repeats the answer", event.kind.as_str());
        let told: serde_json::Value = payload.to().unwrap();
        let (start, reference) = riverrun_event::cut_text(told["finalOutput"].as_str().unwrap()).unwrap();
        assert!(whole.starts_with(start));
        let (bytes, media_type) = blob(&stage, &BlobRef::Bare(reference.to_owned())).await;
        assert_eq!((bytes == whole.as_bytes(), media_type.as_str()), (true, "text/plain; charset=utf-8"));
    }
    assert_eq!(ends, 2);
}

/// A conversation may name more than a request takes: the newest come along, and the model is told of the rest.
#[tokio::test(start_paused = true)]
async fn a_request_brings_along_only_so_much() {
    let stage = Stage::new(Script::new(vec![text("seen")]), vec![agent()]).await;
    let mut parts = Vec::new();
    for byte in 1..=3_u8 {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(12 << 20, byte);
        let new =
            riverrun_log::NewBlob { session: None, media_type: "image/png".to_owned(), bytes: bytes.into() };
        let stored = stage.log.put_blob(&stage.key.tenant, new).await.unwrap();
        let file_ref = Some(BlobRef::Bare(stored.reference.to_string()));
        parts.push(Block::Image(riverrun_event::ImageBlock { file_ref, ..Default::default() }));
    }
    let submit =
        riverrun_runner::Submit { input: Some(riverrun_event::Input::Parts(parts)), ..turn_of("turn_1", "") };
    stage.runner.submit(&stage.key, submit).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    let [riverrun_provider::HistoryEntry::User { parts }] = requests[0].history.as_slice() else {
        panic!("{:?}", requests[0].history.len())
    };
    let inline = |part: &Block| matches!(part, Block::Image(image) if image.image_url.is_some());
    assert_eq!(parts.iter().map(inline).collect::<Vec<_>>(), [false, true, true]);
    assert!(parts[0].text().is_some_and(|text| text.contains("is left out")), "{:?}", parts[0].text());
}
