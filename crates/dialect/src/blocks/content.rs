//! The blocks' contents.

use riverrun_event::{ActionRequired, ActionResolved, Block, Input, Item, Part};
use riverrun_fold::{Action, ItemAt};
use serde_json::{Value, json};

use crate::follow::{Telling, is_child, is_failed, item, parent_call, result_text, shown_blocks};

/// Code points of a result that are sent.
const SHOWN: usize = 500;

/// Adds whose block it is: null for the agent that the user talks to.
pub(super) fn owned(told: &Telling<'_>, task: usize, mut block: Value) -> Value {
    let of = &told.state.tasks[task];
    let is_child = is_child(told.state, task);
    block["subagent"] = json!(is_child.then(|| of.agent.as_deref().unwrap_or(of.task_id.as_str())));
    block["parent_tool_use_id"] = json!(is_child.then(|| parent_call(of)));
    block
}

/// Arguments that are not a JSON object are sent as they were written.
pub(super) fn tool_use(told: &Telling<'_>, at: ItemAt) -> Value {
    let Item::ToolCall(call) = item(told.state, at) else { return Value::Null };
    let label = call.name.replace(['_', '-'], " ");
    let mut block = json!({
        "type": "tool_use", "id": call.call_id, "tool_use_id": call.call_id, "name": call.name,
        "tool_content_message": label, "input": {},
    });
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(input) if input.is_object() => block["input"] = input,
        Ok(_) | Err(_) if !call.arguments.is_empty() => block["input_raw"] = json!(call.arguments),
        Ok(_) | Err(_) => {}
    }
    owned(told, at.task, block)
}

pub(super) fn tool_result(told: &Telling<'_>, at: ItemAt) -> Value {
    let shown = item(told.state, at);
    let Item::ToolResult(result) = shown else { return Value::Null };
    let text = result_text(shown);
    let size = text.chars().count();
    let cut: String = text.chars().take(SHOWN).collect();
    let output = &told.state.tasks[at.task].output;
    let name = output.iter().find_map(|item| match item {
        Item::ToolCall(call) if call.call_id == result.call_id => Some(call.name.as_str()),
        _ => None,
    });
    let status = if is_failed(told.state, shown) { "error" } else { "success" };
    let artifact = shown_blocks(shown).iter().find(|block| !matches!(block, Block::Text(_)));
    let mut block = json!({
        "type": "tool_result", "tool_use_id": result.call_id, "name": name.unwrap_or_default(),
        "status": status, "content": cut, "artifact": artifact,
    });
    if size > SHOWN {
        let call = told.state.tool_calls.iter().find(|call| call.tool_call_id.as_str() == result.call_id);
        let reference = call.and_then(|call| call.output_ref.as_ref()).map(|reference| reference.as_str());
        block["truncated"] = json!(true);
        block["size"] = json!(size);
        block["content_ref"] = json!(reference);
    }
    owned(told, at.task, block)
}

/// The files that came with the user's message.
pub(super) fn files(input: Option<&Input>) -> Vec<Value> {
    let Some(Input::Parts(parts)) = input else { return Vec::new() };
    let url = |part: &Part| match part {
        Block::File(file) => file.url.clone(),
        Block::Image(image) => image.image_url.as_ref().map(|image| image.url.clone()),
        Block::Audio(audio) => audio.url.clone(),
        _ => None,
    };
    parts.iter().filter_map(url).map(|url| json!({"url": url})).collect()
}

/// `{session}_{n}`, where n is the place of the question in the log: it is the session's own and never changes.
pub(super) fn approval_key(told: &Telling<'_>, action: &Action) -> String {
    key(told.session(), action)
}

pub(super) fn key(session: &str, action: &Action) -> String {
    format!("{session}_{}", action.sequence.get())
}

/// Both documented forms: `actions` with everything in the start, `action_requests` as in the delta.
pub(super) fn approval(told: &Telling<'_>, action: &Action) -> Value {
    let request: ActionRequired = action.request.to().unwrap_or_default();
    let args: Value = request.arguments.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_else(|| json!({}));
    let name = request.tool_name.unwrap_or(request.action_type);
    let call = action.tool_call_id.as_ref().map(|id| id.as_str());
    let mut asked = json!({"name": name, "args": args, "tool_use_id": call});
    if let Some(prompt) = request.prompt {
        asked["description"] = json!(prompt);
    }
    let decisions = request.decisions.unwrap_or_else(|| vec!["approve".to_owned(), "reject".to_owned()]);
    let seconds = request.timeout_seconds.unwrap_or(300);
    let review = json!({
        "action_name": name, "allowed_decisions": decisions, "require_approval": true, "timeout": seconds,
    });
    json!({
        "type": "approval_request", "approval_key": approval_key(told, action), "actions": [asked],
        "action_requests": [asked], "review_configs": [review], "timeout_seconds": seconds,
    })
}

pub(super) fn decisions(action: &Action) -> Value {
    let resolved: ActionResolved =
        action.resolution.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
    let mut decision = json!({"type": resolved.decision});
    if let Some(message) = resolved.message {
        decision["message"] = json!(message);
    }
    let edited = resolved.arguments.filter(|_| decision["type"] == "edit");
    if let Some(args) = edited.and_then(|raw| raw.to::<Value>().ok()) {
        let request: ActionRequired = action.request.to().unwrap_or_default();
        decision["edited_action"] = json!({"name": request.tool_name, "args": args});
    }
    if let Some(call) = &action.tool_call_id {
        decision["tool_use_id"] = json!(call.as_str());
    }
    json!([decision])
}
