//! What the Messages API refuses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::check::{RequestFlaw, refuse, strings};

/// Checks the body of a request as the service does.
pub fn check(body: &Value) -> Result<(), RequestFlaw> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return refuse("model", "must be a model's name");
    }
    let max_tokens = body["max_tokens"].as_u64().unwrap_or(0);
    if max_tokens == 0 {
        return refuse("max_tokens", "must be at least 1");
    }
    if body["thinking"]["budget_tokens"].as_u64().is_some_and(|budget| budget < 1024 || budget >= max_tokens)
    {
        return refuse("thinking.budget_tokens", "must be at least 1024 and less than max_tokens");
    }
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return refuse("messages", "must be an array with at least one message");
    };
    let thinks = body["thinking"]["type"] == "enabled";
    let mut waiting = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let location = format!("messages.{at}");
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != role {
            return refuse(&location, &format!("roles must take turns: this one must be `{role}`"));
        }
        let blocks = blocks(&location, message)?;
        let is_shown = |block: &Value| matches!(block["type"].as_str(), Some("image" | "document"));
        if role == "assistant" && blocks.iter().any(is_shown) {
            return refuse(&location, "an assistant message holds no images and no documents");
        }
        waiting = match role {
            "user" => answers(&location, blocks, waiting)?,
            _ => calls(&location, blocks, &mut ids)?,
        };
        if thinks && role == "assistant" && is_open(&messages[at..]) {
            thinking_first(&location, blocks)?;
        }
    }
    match waiting.first() {
        Some(id) => refuse("messages", &format!("tool_use `{id}` has no tool_result directly after it")),
        None => no_prefill(messages.last()),
    }
}

/// Newer models take no beginning of their answer, older ones none that ends in white space. An answer that the
/// service itself cut short in its own tools ends in one of their blocks, and goes on.
fn no_prefill(last: Option<&Value>) -> Result<(), RequestFlaw> {
    let last = last.filter(|message| message["role"] == "assistant");
    let block = last.and_then(|message| message["content"].as_array()?.last());
    match block.is_some_and(|block| block["type"] == "text") {
        true => {
            refuse("messages", "the conversation must end with a user message, not with the model's text")
        }
        false => Ok(()),
    }
}

fn blocks<'a>(location: &str, message: &'a Value) -> Result<&'a [Value], RequestFlaw> {
    let Some(blocks) = message["content"].as_array().filter(|blocks| !blocks.is_empty()) else {
        return refuse(location, "content must be a list with at least one block");
    };
    for block in blocks {
        let [kind] = strings(location, block, ["type"])?;
        match kind {
            "text" if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                return refuse(location, "a text block must hold more than white space");
            }
            "thinking" => drop(strings(location, block, ["thinking", "signature"])?),
            "redacted_thinking" => drop(strings(location, block, ["data"])?),
            _ => {}
        }
    }
    Ok(blocks)
}

/// Every waiting call is answered, once, before anything else is said.
fn answers(
    location: &str,
    blocks: &[Value],
    mut waiting: BTreeSet<String>,
) -> Result<BTreeSet<String>, RequestFlaw> {
    let mut has_other_blocks = false;
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "tool_result" if has_other_blocks => {
                return refuse(location, "tool_result blocks must come first");
            }
            "tool_result" => {
                let [id] = strings(location, block, ["tool_use_id"])?;
                if !waiting.remove(id) {
                    return refuse(
                        location,
                        &format!("tool_result `{id}` has no tool_use in the message before"),
                    );
                }
            }
            "thinking" | "redacted_thinking" | "tool_use" => {
                return refuse(location, "the user neither thinks nor calls");
            }
            _ => has_other_blocks = true,
        }
    }
    match waiting.first() {
        Some(id) => refuse(location, &format!("tool_use `{id}` has no tool_result directly after it")),
        None => Ok(waiting),
    }
}

fn calls(
    location: &str,
    blocks: &[Value],
    ids: &mut BTreeSet<String>,
) -> Result<BTreeSet<String>, RequestFlaw> {
    let mut waiting = BTreeSet::new();
    for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
        let [id, name] = strings(location, block, ["id", "name"])?;
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if id.is_empty() || !id.chars().all(is_safe) || name.is_empty() {
            return refuse(
                location,
                &format!("tool_use `{id}` must have a name and an id of letters, digits, _ and -"),
            );
        }
        if !block["input"].is_object() {
            return refuse(location, &format!("the input of tool_use `{id}` must be an object"));
        }
        if !ids.insert(id.to_owned()) {
            return refuse(location, &format!("tool_use ids must be unique: `{id}`"));
        }
        waiting.insert(id.to_owned());
    }
    server_results(location, blocks)?;
    let last = blocks.last().map(|block| block["type"].as_str().unwrap_or_default());
    match last {
        Some("thinking" | "redacted_thinking") => refuse(location, "a message must not end with thinking"),
        _ => Ok(waiting),
    }
}

/// What the service's own tools gave stands behind the block that asked for it.
fn server_results(location: &str, blocks: &[Value]) -> Result<(), RequestFlaw> {
    let mut known = BTreeSet::new();
    for block in blocks {
        let kind = block["type"].as_str().unwrap_or_default();
        if kind == "server_tool_use" {
            let [id] = strings(location, block, ["id"])?;
            known.insert(id);
        } else if kind != "tool_result" && kind.ends_with("_tool_result") {
            let [id] = strings(location, block, ["tool_use_id"])?;
            if !known.contains(id) {
                return refuse(location, &format!("{kind} `{id}` has no server_tool_use before it"));
            }
        }
    }
    Ok(())
}

/// No new input of the user follows: the turn's calls are still being answered.
fn is_open(later: &[Value]) -> bool {
    let is_answer = |message: &Value| message["content"][0]["type"] == "tool_result";
    later.iter().filter(|message| message["role"] == "user").all(is_answer)
}

fn thinking_first(location: &str, blocks: &[Value]) -> Result<(), RequestFlaw> {
    match blocks[0]["type"].as_str().unwrap_or_default() {
        "thinking" | "redacted_thinking" => Ok(()),
        other => {
            refuse(location, &format!("with thinking on, the message must start with it, not with `{other}`"))
        }
    }
}
