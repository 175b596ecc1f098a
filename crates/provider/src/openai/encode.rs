//! A request in the words of the Responses API.

use riverrun_event::Part;
use serde_json::{Map, Value, json};

use crate::part::{Shown, is_refusal, own_opaque, put, show, text_of};
use crate::{HistoryEntry, ModelRequest, ToolChoice, ToolSpec};

pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    if let Some(verbatim) = &request.verbatim {
        return self::verbatim(request, verbatim, provider);
    }
    let mut body = Map::new();
    body.extend(request.extra.clone());
    body.insert("model".to_owned(), json!(request.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    body.insert("include".to_owned(), include(&request.extra));
    body.insert("input".to_owned(), Value::Array(input(&request.history, provider)));
    put(&mut body, "instructions", request.instructions.as_ref());
    put(&mut body, "max_output_tokens", request.max_output_tokens);
    put(&mut body, "temperature", request.temperature);
    put(&mut body, "top_p", request.top_p);
    put(&mut body, "parallel_tool_calls", request.parallel_tool_calls);
    if let Some(effort) = &request.reasoning_effort
        && !body.contains_key("reasoning")
    {
        body.insert("reasoning".to_owned(), json!({"effort": effort, "summary": "auto"}));
    }
    if let Some(schema) = &request.output_schema
        && !body.contains_key("text")
    {
        let format = json!({"type": "json_schema", "name": "output", "schema": schema, "strict": true});
        body.insert("text".to_owned(), json!({"format": format}));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        body.insert("tool_choice".to_owned(), tool_choice(&request.tool_choice));
    }
    Value::Object(body)
}

/// The caller's own body, behind what was said before. Nothing is stored there, so the items of earlier answers stand
/// for themselves.
fn verbatim(request: &ModelRequest, body: &Map<String, Value>, provider: &str) -> Value {
    let mut body = body.clone();
    if !request.history.is_empty() {
        let mut input_items = input(&request.history, provider);
        match body.remove("input") {
            Some(Value::Array(items)) => input_items.extend(items),
            Some(Value::String(text)) => input_items.push(json!({"role": "user", "content": text})),
            Some(_) | None => {}
        }
        body.insert("input".to_owned(), Value::Array(input_items));
    }
    body.insert("model".to_owned(), json!(request.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    body.insert("include".to_owned(), include(&body));
    for item in body.get_mut("input").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_ours = matches!(item["type"].as_str(), None | Some("message" | "function_call"));
        if let Some(members) = item.as_object_mut().filter(|_| is_ours) {
            members.remove("id");
        }
    }
    Value::Object(body)
}

/// What the caller wants included, and the reasoning that must come back.
fn include(asked: &Map<String, Value>) -> Value {
    let mut wanted = asked.get("include").and_then(Value::as_array).cloned().unwrap_or_default();
    let reasoning = json!("reasoning.encrypted_content");
    if !wanted.contains(&reasoning) {
        wanted.push(reasoning);
    }
    Value::Array(wanted)
}

fn input(history: &[HistoryEntry], provider: &str) -> Vec<Value> {
    let items: Vec<Value> = history.iter().filter_map(|entry| item(entry, provider)).collect();
    let mut sent: Vec<Value> = Vec::with_capacity(items.len());
    // Reasoning stands only before what it led to; what a cancelled step thought led to nothing.
    for item in items.into_iter().rev() {
        let led_to = sent.last().is_some_and(|next| {
            let is_result = next["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
            next["role"] == "assistant" || next["role"].is_null() && !is_result
        });
        if item["type"] != "reasoning" || led_to {
            sent.push(item);
        }
    }
    sent.reverse();
    sent
}

fn item(entry: &HistoryEntry, provider: &str) -> Option<Value> {
    match entry {
        HistoryEntry::System { text } => Some(json!({"role": "developer", "content": text})),
        HistoryEntry::User { parts } => {
            let content: Vec<Value> = parts.iter().filter_map(input_part).collect();
            (!content.is_empty()).then(|| json!({"role": "user", "content": content}))
        }
        HistoryEntry::Assistant { parts, opaque } => {
            let content = text_parts(parts);
            let has_content = !content.is_empty();
            let mut message = json!({"role": "assistant", "content": content});
            if let (Some(members), Some(own)) = (message.as_object_mut(), own_opaque(opaque, provider)) {
                members.extend(own);
            }
            has_content.then_some(message)
        }
        HistoryEntry::Reasoning { provider: maker, opaque, .. } if maker == provider => {
            // Nothing is stored there, so only an item that carries its own content can be given back.
            let item: Value = opaque.as_ref()?.to().ok()?;
            item["encrypted_content"].is_string().then_some(item)
        }
        HistoryEntry::Hosted { provider: maker, object } if maker == provider => object.to().ok(),
        HistoryEntry::Given { object } => object.to().ok(),
        HistoryEntry::Reasoning { .. } | HistoryEntry::Hosted { .. } => None,
        HistoryEntry::ToolCall { call_id, name, arguments, opaque } => {
            let mut call =
                json!({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments});
            if let (Some(members), Some(own)) = (call.as_object_mut(), own_opaque(opaque, provider)) {
                members.extend(own);
            }
            Some(call)
        }
        HistoryEntry::ToolResult { call_id, parts, .. } => {
            Some(json!({"type": "function_call_output", "call_id": call_id, "output": output(parts)}))
        }
    }
}

/// What the model said: its text as one, and by what it refused.
fn text_parts(parts: &[Part]) -> Vec<Value> {
    let (refused, spoken): (Vec<Part>, Vec<Part>) = parts.iter().cloned().partition(is_refusal);
    let text = text_of(&spoken);
    let spoken = (!text.is_empty()).then(|| json!({"type": "output_text", "text": text}));
    let refused = refused.iter().filter_map(Part::text);
    spoken.into_iter().chain(refused.map(|text| json!({"type": "refusal", "refusal": text}))).collect()
}

fn output(parts: &[Part]) -> Value {
    let shown: Vec<Value> = parts.iter().filter_map(input_part).collect();
    match shown.iter().all(|part| part["type"] == "input_text") {
        true => json!(text_of(parts)),
        false => json!(shown),
    }
}

fn input_part(part: &Part) -> Option<Value> {
    match show(part)? {
        Shown::Text(text) => Some(json!({"type": "input_text", "text": text})),
        Shown::Image { url, detail } => {
            let detail = detail.unwrap_or_else(|| "auto".to_owned());
            Some(json!({"type": "input_image", "image_url": url, "detail": detail}))
        }
        Shown::File { url, name } => {
            let member = if url.starts_with("data:") { "file_data" } else { "file_url" };
            let mut file = json!({"type": "input_file", member: url});
            if member == "file_data" {
                file["filename"] = json!(name.unwrap_or_else(|| "file".to_owned()));
            }
            Some(file)
        }
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": spec.strict,
    })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
    }
}
