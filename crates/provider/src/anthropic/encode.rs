//! A request in the words of the Messages API.

use riverrun_event::Part;
use serde_json::{Map, Value, json};

use crate::part::{Shown, arguments_object, data_url, put, show};
use crate::turns::Turns;
use crate::{HistoryEntry, ModelRequest, ToolChoice, ToolSpec};

/// The API wants a limit; this one fits every model in use.
const DEFAULT_MAX_TOKENS: u64 = 8192;

pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    if let Some(verbatim) = &request.verbatim {
        return self::verbatim(request, verbatim);
    }
    let mut body = Map::new();
    body.extend(request.extra.clone());
    let messages = messages(&request.history, provider);
    let thinks = thinking(request, &messages, &mut body);
    body.insert("model".to_owned(), json!(request.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("messages".to_owned(), Value::Array(messages));
    put(&mut body, "system", system(request));
    // A thinking model takes neither of the two.
    put(&mut body, "temperature", request.temperature.filter(|_| !thinks));
    put(&mut body, "top_p", request.top_p.filter(|_| !thinks));
    put(&mut body, "stop_sequences", (!request.stop.is_empty()).then_some(&request.stop));
    if let Some(schema) = &request.output_schema
        && !body.contains_key("output_config")
    {
        let format = json!({"type": "json_schema", "schema": schema});
        body.insert("output_config".to_owned(), json!({"format": format}));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        body.insert("tool_choice".to_owned(), tool_choice(request, thinks));
    }
    Value::Object(body)
}

/// The caller's own body, as a stream.
fn verbatim(request: &ModelRequest, body: &Map<String, Value>) -> Value {
    let mut body = body.clone();
    body.remove("anthropic-beta");
    body.insert("model".to_owned(), json!(request.model));
    body.insert("stream".to_owned(), json!(true));
    Value::Object(body)
}

/// Sets the limit of tokens and, if asked for and possible, thinking.
fn thinking(request: &ModelRequest, messages: &[Value], body: &mut Map<String, Value>) -> bool {
    let given = request.extra.get("max_tokens").and_then(Value::as_u64);
    let answer = request.max_output_tokens.or(given).unwrap_or(DEFAULT_MAX_TOKENS);
    let budget = match request.reasoning_effort.as_deref() {
        Some("none" | "minimal") | None => None,
        Some("low") => Some(2048),
        Some("medium") => Some(8192),
        Some("high" | "xhigh" | "max") => Some(24_576),
        Some(other) => other.parse().ok().filter(|budget| *budget >= 1024),
    };
    let is_asked = body.contains_key("thinking");
    let budget = budget.filter(|_| !is_asked && open_calls_have_thinking(messages));
    body.insert("max_tokens".to_owned(), json!(answer + budget.unwrap_or(0)));
    if let Some(budget) = budget {
        body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": budget}));
    }
    body.contains_key("thinking")
}

/// While a turn's calls are being answered, each message with calls must open with its thinking. One that another
/// provider made cannot, and then this call does without.
fn open_calls_have_thinking(messages: &[Value]) -> bool {
    let is_answer = |message: &Value| message["content"][0]["type"] == "tool_result";
    let start = messages.iter().rposition(|message| message["role"] == "user" && !is_answer(message));
    messages[start.unwrap_or(0)..].iter().filter(|message| message["role"] == "assistant").all(|message| {
        let first = message["content"][0]["type"].as_str().unwrap_or_default();
        matches!(first, "thinking" | "redacted_thinking")
    })
}

fn system(request: &ModelRequest) -> Option<String> {
    let later = request.history.iter().filter_map(|entry| match entry {
        HistoryEntry::System { text } => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = request.instructions.as_deref().into_iter().chain(later).collect();
    let text = texts.join("\n\n");
    (!text.trim().is_empty()).then_some(text)
}

fn messages(history: &[HistoryEntry], provider: &str) -> Vec<Value> {
    let mut turns = Turns::new("assistant");
    for entry in history {
        match entry {
            HistoryEntry::System { .. } => {}
            HistoryEntry::User { parts } => {
                parts.iter().filter_map(block).for_each(|block| turns.user(block))
            }
            HistoryEntry::Assistant { parts, .. } => {
                // Pictures that another model made have no place in what this one said.
                let texts = parts.iter().filter_map(block).filter(|block| block["type"] == "text");
                texts.for_each(|block| turns.model(block));
            }
            HistoryEntry::Reasoning { provider: maker, opaque, .. } => {
                let block = opaque.as_ref().filter(|_| maker == provider).and_then(|raw| raw.to().ok());
                block.into_iter().for_each(|block| turns.thought(block));
            }
            HistoryEntry::ToolCall { call_id, name, arguments, .. } => {
                let input = arguments_object(arguments);
                turns
                    .model(json!({"type": "tool_use", "id": safe_id(call_id), "name": name, "input": input}));
            }
            HistoryEntry::ToolResult { call_id, parts, is_error, .. } => {
                turns.answer(tool_result(call_id, parts, *is_error));
            }
            HistoryEntry::Hosted { provider: maker, object } => {
                let block = object.to().ok().filter(|_| maker == provider);
                block.into_iter().for_each(|block| turns.model(block));
            }
            HistoryEntry::Given { .. } => {}
        }
    }
    let opening = json!({"type": "text", "text": "(the conversation goes on)"});
    turns.finish(opening).into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

fn tool_result(call_id: &str, parts: &[Part], is_error: bool) -> Value {
    let content: Vec<Value> = parts.iter().filter_map(block).collect();
    let mut result = json!({"type": "tool_result", "tool_use_id": safe_id(call_id)});
    if !content.is_empty() {
        result["content"] = json!(content);
    }
    if is_error {
        result["is_error"] = json!(true);
        if content.is_empty() {
            result["content"] = json!("the tool failed");
        }
    }
    result
}

/// The API takes few characters in an id, and other providers make theirs of more.
fn safe_id(id: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

fn block(part: &Part) -> Option<Value> {
    match show(part)? {
        Shown::Text(text) if text.trim().is_empty() => None,
        Shown::Text(text) => Some(json!({"type": "text", "text": text})),
        Shown::Image { url, .. } => Some(json!({"type": "image", "source": source(&url)})),
        Shown::File { url, name } => {
            let mut document = json!({"type": "document", "source": source(&url)});
            if let Some(name) = name {
                document["title"] = json!(name);
            }
            Some(document)
        }
    }
}

fn source(url: &str) -> Value {
    match data_url(url) {
        Some((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
        None => json!({"type": "url", "url": url}),
    }
}

fn tool(spec: &ToolSpec) -> Value {
    let mut tool =
        json!({"name": spec.name, "description": spec.description, "input_schema": spec.parameters});
    if spec.strict {
        tool["strict"] = json!(true);
    }
    tool
}

/// A thinking model cannot be forced to call.
fn tool_choice(request: &ModelRequest, thinks: bool) -> Value {
    let mut choice = match &request.tool_choice {
        ToolChoice::None => return json!({"type": "none"}),
        ToolChoice::Required if !thinks => json!({"type": "any"}),
        ToolChoice::Named(name) if !thinks => json!({"type": "tool", "name": name}),
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => json!({"type": "auto"}),
    };
    if request.parallel_tool_calls == Some(false) {
        choice["disable_parallel_tool_use"] = json!(true);
    }
    choice
}
