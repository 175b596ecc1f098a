//! Message threads: `thread` of a request, what a continuation takes over from the message before it, and refusals.

use riverrun_event::{RawJson, cut_text};
use serde_json::{Map, Value};

use super::request::{system, tools};
pub use super::results::orphan;
use crate::request::reader::Object;
use crate::request::{MessageThread, ModelCall, RequestFailure, request_member};

/// What the server keeps from the request that created the thread. A continuation must not repeat it.
pub(super) const CREATE_ONLY: [&str; 2] = ["system", "tools"];

pub(super) fn read(object: &mut Object<'_>) -> Result<Option<MessageThread>, RequestFailure> {
    let Some(at) = object.take("thread") else { return Ok(None) };
    let mut thread = Object::of(&at)?;
    let kind = thread.must("type")?;
    match kind.text()?.as_str() {
        "create" => Ok(Some(MessageThread::Create)),
        "continue" => {
            let id = thread.must_text("previous_message_id")?;
            refuse_repeated(object)?;
            Ok(Some(MessageThread::Continue(id)))
        }
        other => Err(kind.unknown(other, &["create", "continue"])),
    }
}

fn refuse_repeated(object: &mut Object<'_>) -> Result<(), RequestFailure> {
    match CREATE_ONLY.iter().find(|name| object.has(name)) {
        Some(name) => {
            let message = format!(
                "`{name}` must not be sent with `thread.type` `continue`: the thread keeps what it was created with"
            );
            Err(RequestFailure::new(400, "invalid_request", message).param(*name))
        }
        None => Ok(()),
    }
}

/// Gives a continuation the tools and the system prompt of the turn before it. `before` is that turn's
/// `payload.request`. None if that turn is not part of a thread, or is too large to be read back.
pub fn inherit(call: &mut ModelCall, before: &RawJson) -> Option<()> {
    let before: Value = before.to().ok()?;
    let body = before["body"].as_object().filter(|_| before["dialect"] == "anthropic")?;
    body.get("thread").filter(|thread| thread.is_object())?;
    let reduced: Map<String, Value> =
        CREATE_ONLY.iter().filter_map(|name| Some(((*name).to_owned(), body.get(*name)?.clone()))).collect();
    let reduced = Value::Object(reduced);
    if is_cut(&reduced) {
        return None;
    }
    let text = reduced.to_string();
    let mut object = Object::body(&text).ok()?;
    let mut own: Map<String, Value> = own_body(&call.request)?;
    own.extend(serde_json::from_str::<Map<String, Value>>(&text).ok()?);
    call.instructions = system(&mut object, &mut Vec::new()).ok()?;
    call.tools = tools(&mut object, &mut call.hosted).ok()?;
    let members: Vec<(String, RawJson)> =
        own.into_iter().filter_map(|(name, value)| Some((name, RawJson::of(&value).ok()?))).collect();
    call.request = request_member("anthropic", &members);
    Some(())
}

/// True if a text was cut to fit its event: the tools are then not completely known.
fn is_cut(value: &Value) -> bool {
    match value {
        Value::String(text) => cut_text(text).is_some(),
        Value::Array(list) => list.iter().any(is_cut),
        Value::Object(members) => members.values().any(is_cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn own_body(request: &RawJson) -> Option<Map<String, Value>> {
    match request.to::<Value>().ok()?.get_mut("body")?.take() {
        Value::Object(body) => Some(body),
        _ => None,
    }
}

/// Answers of the kind that SDKs read: `error.details.error_code` is the failure's code.
pub fn not_found(id: &str) -> RequestFailure {
    let id: String = id.chars().take(80).filter(|c| !c.is_control()).collect();
    let message = format!(
        "No usable thread state was found for `previous_message_id` {id}. Replay the full conversation with `thread: \
         {{\"type\": \"create\"}}` to start a new thread."
    );
    RequestFailure::new(404, "thread_not_found", message).param("thread.previous_message_id")
}

pub fn already_continued() -> RequestFailure {
    let message = "The response that `previous_message_id` names has already been continued, and each response can be \
                   continued only once. Continue from the thread's most recent response id.";
    RequestFailure::new(400, "thread_already_continued", message).param("thread.previous_message_id")
}

pub fn in_flight() -> RequestFailure {
    let message = "The response that `previous_message_id` names, or another one that continues it, is still in \
                   progress. Wait for it and continue from its id.";
    RequestFailure::new(400, "thread_continue_in_flight", message).param("thread.previous_message_id")
}

pub fn unsupported(model: &str) -> RequestFailure {
    let model: String = model.chars().take(80).filter(|c| !c.is_control()).collect();
    let message = format!(
        "The service of `{model}` does not support `thread`. Send the full conversation without `thread`, or set \
         `threads = true` for its provider if it does."
    );
    RequestFailure::new(400, "thread_unsupported_request", message).param("thread")
}

/// The places of the results in a request's first user messages, which answer calls of the message before it.
pub fn first_results(messages: &RawJson) -> Vec<(String, String)> {
    let Ok(list) = messages.to::<Vec<Value>>() else { return Vec::new() };
    let mut found = Vec::new();
    for (at, message) in list.iter().take_while(|message| message["role"] != "assistant").enumerate() {
        for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            if let (Some("tool_result"), Some(id)) = (block["type"].as_str(), block["tool_use_id"].as_str()) {
                found.push((id.to_owned(), format!("messages[{at}].content[{index}]")));
            }
        }
    }
    found
}
