//! What Chat Completions refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::check::{RequestFlaw, refuse, strings};

/// Checks the body of a request as the service does.
pub fn check(body: &Value) -> Result<(), RequestFlaw> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return refuse("model", "must be a model's name");
    }
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return refuse("messages", "must be an array with at least one message");
    };
    // Ids of the newest assistant message that still wait for their tool message.
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let location = format!("messages[{at}]");
        let [role] = strings(&location, message, ["role"])?;
        if role == "tool" {
            let [id, _] = strings(&location, message, ["tool_call_id", "content"])?;
            if !waiting.remove(id) {
                return refuse(
                    &location,
                    &format!("role `tool` must answer a preceding call; `{id}` is none"),
                );
            }
            continue;
        }
        all_answered(&location, &waiting)?;
        match role {
            "assistant" => waiting = assistant(&location, message)?,
            "system" | "developer" | "user" => content(&location, message)?,
            other => return refuse(&location, &format!("role `{other}` is not known")),
        }
    }
    all_answered("messages", &waiting)?;
    // Some servers of this API refuse it, others go on in the middle of a word.
    match messages.last().is_some_and(|message| message["role"] == "assistant") {
        true => refuse("messages", "the conversation must not end with the assistant's text"),
        false => Ok(()),
    }
}

fn all_answered(location: &str, waiting: &BTreeSet<String>) -> Result<(), RequestFlaw> {
    match waiting.first() {
        Some(id) => refuse(location, &format!("the tool call `{id}` was not followed by its tool message")),
        None => Ok(()),
    }
}

fn assistant(location: &str, message: &Value) -> Result<BTreeSet<String>, RequestFlaw> {
    let mut ids = BTreeSet::new();
    let Some(calls) = message["tool_calls"].as_array() else {
        content(location, message)?;
        return Ok(ids);
    };
    if calls.is_empty() {
        return refuse(location, "tool_calls must not be empty");
    }
    for call in calls {
        let [id] = strings(location, call, ["id"])?;
        strings(location, &call["function"], ["name", "arguments"])?;
        if id.is_empty() || !ids.insert(id.to_owned()) {
            return refuse(location, &format!("call id `{id}` is empty or used twice"));
        }
    }
    Ok(ids)
}

fn content(location: &str, message: &Value) -> Result<(), RequestFlaw> {
    let is_there = match &message["content"] {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    match is_there {
        true => Ok(()),
        false => refuse(location, "content must not be empty"),
    }
}
