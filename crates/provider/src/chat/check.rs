//! What Chat Completions refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::check::{Refusal, refuse, strings};

/// Checks the body of a request as the service does.
pub fn check(body: &Value) -> Result<(), Refusal> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return refuse("model", "must be a model's name");
    }
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return refuse("messages", "must be an array with at least one message");
    };
    // Ids of the newest assistant message that still wait for their tool message.
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let [role] = strings(&place, message, ["role"])?;
        if role == "tool" {
            let [id, _] = strings(&place, message, ["tool_call_id", "content"])?;
            if !waiting.remove(id) {
                return refuse(&place, &format!("role `tool` must answer a preceding call; `{id}` is none"));
            }
            continue;
        }
        all_answered(&place, &waiting)?;
        match role {
            "assistant" => waiting = assistant(&place, message)?,
            "system" | "developer" | "user" => content(&place, message)?,
            other => return refuse(&place, &format!("role `{other}` is not known")),
        }
    }
    all_answered("messages", &waiting)?;
    // Some servers of this API refuse it, others go on in the middle of a word.
    match messages.last().is_some_and(|message| message["role"] == "assistant") {
        true => refuse("messages", "the conversation must not end with the assistant's text"),
        false => Ok(()),
    }
}

fn all_answered(place: &str, waiting: &BTreeSet<String>) -> Result<(), Refusal> {
    match waiting.first() {
        Some(id) => refuse(place, &format!("the tool call `{id}` was not followed by its tool message")),
        None => Ok(()),
    }
}

fn assistant(place: &str, message: &Value) -> Result<BTreeSet<String>, Refusal> {
    let mut ids = BTreeSet::new();
    let Some(calls) = message["tool_calls"].as_array() else {
        content(place, message)?;
        return Ok(ids);
    };
    if calls.is_empty() {
        return refuse(place, "tool_calls must not be empty");
    }
    for call in calls {
        let [id] = strings(place, call, ["id"])?;
        strings(place, &call["function"], ["name", "arguments"])?;
        if id.is_empty() || !ids.insert(id.to_owned()) {
            return refuse(place, &format!("call id `{id}` is empty or used twice"));
        }
    }
    Ok(ids)
}

fn content(place: &str, message: &Value) -> Result<(), Refusal> {
    let is_there = match &message["content"] {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    match is_there {
        true => Ok(()),
        false => refuse(place, "content must not be empty"),
    }
}
