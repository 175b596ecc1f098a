//! Requests in the words of foreign APIs: each is read, or refused with a reason.

use riverrun_dialect::{ag_ui, ai_sdk, anthropic, blocks, chat, gemini, responses, task};
use riverrun_event::json::{JsonLimits, compact};
use riverrun_event::{SessionId, decode};
use riverrun_fold::State;

/// Routes hand over what the strict reader takes. What it refuses is tried as well: a reader does not rely on it.
fn both<T>(bytes: &[u8], read: impl Fn(&[u8]) -> T) {
    if let Ok(text) = compact(bytes, &JsonLimits::default()) {
        read(text.as_bytes());
    }
    read(bytes);
}

pub fn responses(bytes: &[u8]) {
    both(bytes, |body| {
        (responses::request::decode(body).is_ok(), responses::request::decode_given(body).is_ok())
    });
}

pub fn chat(bytes: &[u8]) {
    both(bytes, |body| chat::request::decode(body).is_ok());
}

pub fn anthropic(bytes: &[u8]) {
    both(bytes, |body| {
        (anthropic::request::decode(body).is_ok(), anthropic::request::decode_count(body).is_ok())
    });
}

pub fn gemini(bytes: &[u8]) {
    both(bytes, |body| gemini::request::decode("gemini-2.5-pro", true, body).is_ok());
}

pub fn ag_ui(bytes: &[u8]) {
    both(bytes, |body| ag_ui::request::decode(body).is_ok());
}

pub fn ai_sdk(bytes: &[u8]) {
    both(bytes, |body| ai_sdk::request::decode(body).is_ok());
}

pub fn blocks(bytes: &[u8]) {
    both(bytes, |body| blocks::client::decode(body).is_ok());
}

/// Frames of AgentLin's server, one on each line, become events that are taken.
pub fn task(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let state = State::new(SessionId::new("fuzz").expect("an id"));
    let mut reader = task::FrameReader::new(&state);
    for line in text.lines().take(64) {
        let Ok(frame) = compact(line.as_bytes(), &JsonLimits::default()) else { continue };
        if let Ok(event) = reader.event(&frame) {
            let _ = decode(&event);
        }
    }
}
