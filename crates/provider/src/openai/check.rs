//! What the Responses API refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::check::{RequestFlaw, refuse, strings};

/// Checks the body of a request as the service does.
pub fn check(body: &Value) -> Result<(), RequestFlaw> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return refuse("model", "must be a model's name");
    }
    let Some(input) = body["input"].as_array() else { return refuse("input", "must be an array") };
    if input.is_empty() {
        return refuse("input", "must not be empty");
    }
    let calls = calls(input)?;
    let mut answered = BTreeSet::new();
    for (at, item) in input.iter().enumerate() {
        let location = format!("input[{at}]");
        match item["type"].as_str().unwrap_or("message") {
            "message" => message(&location, item)?,
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                if !calls.iter().any(|(call, before)| call == id && *before < at) {
                    return refuse(&location, &format!("no function call before it has call_id `{id}`"));
                }
                if !answered.insert(id) {
                    return refuse(&location, &format!("call_id `{id}` has two outputs"));
                }
                if !item["output"].is_string() && item["output"].as_array().is_none_or(Vec::is_empty) {
                    return refuse(&location, "output must be a string or parts");
                }
            }
            "reasoning" => reasoning(&location, item, input.get(at + 1))?,
            _ => {}
        }
    }
    match calls.iter().find(|(id, _)| !answered.contains(id.as_str())) {
        Some((id, _)) => refuse("input", &format!("no tool output found for function call `{id}`")),
        None => Ok(()),
    }
}

fn calls(input: &[Value]) -> Result<Vec<(String, usize)>, RequestFlaw> {
    let mut calls: Vec<(String, usize)> = Vec::new();
    for (at, item) in input.iter().enumerate().filter(|(_, item)| item["type"] == "function_call") {
        let location = format!("input[{at}]");
        let [id, _, _] = strings(&location, item, ["call_id", "name", "arguments"])?;
        if id.is_empty() || calls.iter().any(|(known, _)| known == id) {
            return refuse(&location, &format!("call_id `{id}` is empty or used twice"));
        }
        calls.push((id.to_owned(), at));
    }
    Ok(calls)
}

fn message(location: &str, item: &Value) -> Result<(), RequestFlaw> {
    let role = item["role"].as_str().unwrap_or_default();
    let allowed: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        "user" | "system" | "developer" => &["input_text", "input_image", "input_file"],
        other => return refuse(location, &format!("role `{other}` is not known")),
    };
    if item["content"].is_string() {
        return Ok(());
    }
    let Some(parts) = item["content"].as_array().filter(|parts| !parts.is_empty()) else {
        return refuse(location, "content must not be empty");
    };
    match parts.iter().find(|part| !allowed.contains(&part["type"].as_str().unwrap_or_default())) {
        Some(part) => {
            refuse(location, &format!("a part of type {} is not for the role `{role}`", part["type"]))
        }
        None => Ok(()),
    }
}

/// A reasoning item stands only before what it led to.
fn reasoning(location: &str, item: &Value, next: Option<&Value>) -> Result<(), RequestFlaw> {
    if !item["id"].is_string() || !item["summary"].is_array() {
        return refuse(location, "a reasoning item needs its id and summary");
    }
    if !item["encrypted_content"].is_string() {
        return refuse(location, "the item is not stored and brings no encrypted_content");
    }
    // What has no role and is no output is the model's: a call, or what the service did itself.
    let led_to = next.is_some_and(|next| {
        let is_result = next["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
        next["role"] == "assistant" || next["role"].is_null() && !is_result
    });
    match led_to {
        true => Ok(()),
        false => refuse(location, "the reasoning item came without its required following item"),
    }
}
