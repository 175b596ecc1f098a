//! A2A 1.0 streaming: one turn as one task. A frame is a stream response; [`envelope`] makes it a JSON-RPC answer.
//! `README.md` has the mapping and what is lost.

use riverrun_event::json::write_string;
use riverrun_event::{ActionRequired, Block, Input, TurnId};
use riverrun_fold::{State, Status, TurnState};
use serde_json::{Value, json};

use crate::follow::{
    Encode, EncodeContext, Happening, List, Shell, Spot, block, pending, spot_id, text, turn,
};
use crate::{Frames, ReaderOptions};

/// A projector that continues from `state`.
pub(crate) fn projector(state: State, options: ReaderOptions) -> Shell<A2a> {
    Shell::new(state, options, |_, _| A2a)
}

/// The answer to the request with this id (JSON), as one SSE `data:`.
pub fn envelope(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// An error answer. A2A's own codes begin at -32001 (task not found).
pub fn error_envelope(id: &str, code: i64, message: &str) -> String {
    let message = Value::String(message.to_owned());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}")
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct A2a;

impl Encode for A2a {
    fn encode(&mut self, context: &EncodeContext<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { again: false } => {
                let status = json!({"state": "TASK_STATE_SUBMITTED"});
                context.push(frames, &json!({"task": {"id": context.turn.as_str(), "contextId": context.session(), "status": status}}));
                status_update(context, frames, "TASK_STATE_WORKING", None);
            }
            Happening::Began { again: true } => status_update(context, frames, "TASK_STATE_WORKING", None),
            Happening::Text { at, from } if is_answer(context, at) => {
                text_update(context, frames, at, from);
            }
            // A text that is another one now replaces the artifact.
            Happening::TextReplaced(at) if is_answer(context, at) => {
                let part = json!({"text": text(context.state, at)});
                artifact_update(context, frames, &spot_id(context.state, at), part, false, false);
            }
            Happening::TextEnded(at) if is_answer(context, at) && !text(context.state, at).is_empty() => {
                artifact_update(
                    context,
                    frames,
                    &spot_id(context.state, at),
                    json!({"text": ""}),
                    true,
                    true,
                );
            }
            Happening::Block(at) if context.is_root(at.item) => {
                let Some(block) = block(context.state, at) else { return };
                let id = spot_id(context.state, Spot { item: at.item, list: List::Blocks, part: at.part });
                artifact_update(context, frames, &id, part_of(block), false, true);
            }
            Happening::Paused => {
                status_update(context, frames, "TASK_STATE_INPUT_REQUIRED", Some(question(context)));
            }
            Happening::Ended => ended(context, frames),
            _ => {}
        }
    }
}

/// What the agent works on stays inside; the answer is the text of the root task.
fn is_answer(context: &EncodeContext<'_>, at: Spot) -> bool {
    context.is_root(at.item) && at.list == List::Blocks
}

fn status_update(context: &EncodeContext<'_>, frames: &mut Frames, state: &str, message: Option<Value>) {
    let mut timestamp = String::new();
    context.time.write(&mut timestamp);
    let mut status = json!({"state": state, "timestamp": timestamp});
    if let Some(message) = message {
        status["message"] = message;
    }
    let update = json!({"taskId": context.turn.as_str(), "contextId": context.session(), "status": status});
    context.push(frames, &json!({"statusUpdate": update}));
}

/// Written by hand: it is what nearly every event is.
fn text_update(context: &EncodeContext<'_>, frames: &mut Frames, at: Spot, from: usize) {
    let (delta, id) = (&text(context.state, at)[from..], spot_id(context.state, at));
    frames.push(context.state.sequence, |out| {
        out.push_str("{\"artifactUpdate\":{\"append\":");
        out.push_str(if from > 0 { "true" } else { "false" });
        out.push_str(",\"artifact\":{\"artifactId\":");
        write_string(out, &id);
        out.push_str(",\"parts\":[{\"text\":");
        write_string(out, delta);
        out.push_str("}]},\"contextId\":");
        write_string(out, context.session());
        out.push_str(",\"lastChunk\":false,\"taskId\":");
        write_string(out, context.turn.as_str());
        out.push_str("}}");
    });
}

fn artifact_update(
    context: &EncodeContext<'_>,
    frames: &mut Frames,
    id: &str,
    part: Value,
    append: bool,
    is_last: bool,
) {
    let update = json!({
        "taskId": context.turn.as_str(),
        "contextId": context.session(),
        "artifact": {"artifactId": id, "parts": [part]},
        "append": append,
        "lastChunk": is_last,
    });
    context.push(frames, &json!({"artifactUpdate": update}));
}

fn part_of(block: &Block) -> Value {
    let url = match block {
        Block::Text(text) => return json!({"text": text.text}),
        Block::Image(image) => {
            image.image_url.as_ref().map(|url| (url.url.as_str(), image.media_type.as_deref()))
        }
        Block::File(file) => file.url.as_deref().map(|url| (url, file.media_type.as_deref())),
        Block::Audio(audio) => audio.url.as_deref().map(|url| (url, audio.media_type.as_deref())),
        _ => None,
    };
    match url {
        Some((url, Some(media_type))) => json!({"url": url, "mediaType": media_type}),
        Some((url, None)) => json!({"url": url}),
        None => json!({"data": serde_json::to_value(block).unwrap_or_default()}),
    }
}

fn message(role: &str, id: &str, task: &TurnId, context: &str, parts: Vec<Value>) -> Value {
    json!({"messageId": id, "role": role, "taskId": task.as_str(), "contextId": context, "parts": parts})
}

/// The input that began a task, as in its history; None without input.
pub fn asked(context: &str, turn: &TurnState) -> Option<Value> {
    let parts = match turn.input.as_ref()? {
        Input::Text(text) => vec![json!({"text": text})],
        Input::Parts(parts) => parts.iter().map(part_of).collect(),
    };
    Some(message("ROLE_USER", &format!("{}.input", turn.turn_id), &turn.turn_id, context, parts))
}

/// The status of a task that has ended, as in its last update; None while it runs.
pub fn final_status(context: &str, turn: &TurnState) -> Option<Value> {
    if !turn.status.is_terminal() {
        return None;
    }
    let mut status = match ending(context, turn) {
        (state, Some(message)) => json!({"state": state, "message": message}),
        (state, None) => json!({"state": state}),
    };
    if let Some(time) = turn.ended_at {
        let mut text = String::new();
        time.write(&mut text);
        status["timestamp"] = text.into();
    }
    Some(status)
}

fn question(context: &EncodeContext<'_>) -> Value {
    let mut parts = Vec::new();
    let mut id = String::new();
    for action in pending(context.state, context.turn) {
        let request: ActionRequired = action.request.to().unwrap_or_default();
        id = action.action_id.to_string();
        let raw: Value = action.request.to().unwrap_or_default();
        parts.push(json!({"text": request.prompt.unwrap_or_else(|| "a decision is needed".to_owned())}));
        parts.push(json!({"data": {"actionId": id, "request": raw}}));
    }
    message("ROLE_AGENT", &id, context.turn, context.session(), parts)
}

fn ended(context: &EncodeContext<'_>, frames: &mut Frames) {
    let Some(turn) = turn(context.state, context.turn) else { return };
    let (state, message) = ending(context.session(), turn);
    status_update(context, frames, state, message);
}

/// How a task ended, and why if it failed.
fn ending(context: &str, turn: &TurnState) -> (&'static str, Option<Value>) {
    match turn.status {
        Status::Completed | Status::Archived => ("TASK_STATE_COMPLETED", None),
        Status::Cancelled => ("TASK_STATE_CANCELED", None),
        _ => {
            let text = turn.error.as_ref().map_or("the run ended without saying why", |error| &error.message);
            let (id, parts) = (format!("{}.error", turn.turn_id), vec![json!({"text": text})]);
            ("TASK_STATE_FAILED", Some(message("ROLE_AGENT", &id, &turn.turn_id, context, parts)))
        }
    }
}
