//! A request in Gemini's words.

use std::collections::BTreeMap;

use riverrun_event::{AudioBlock, Block, Part, RawJson};
use serde_json::{Map, Value, json};

use super::decode::SIGNATURES;
use crate::part::{Shown, arguments_object, data_url, own_opaque, put, show, text_of, without_text};
use crate::turns::Turns;
use crate::{HistoryEntry, ModelRequest, ToolChoice, ToolSpec};

pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    let mut body = Map::new();
    body.extend(request.extra.clone());
    body.insert("contents".to_owned(), Value::Array(contents(&request.history, provider)));
    if let Some(text) = system(request) {
        body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": text}]}));
    }
    let config = generation_config(request);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".to_owned(), json!([{"functionDeclarations": declarations}]));
        let config = json!({"functionCallingConfig": calling(&request.tool_choice)});
        body.insert("toolConfig".to_owned(), config);
    }
    Value::Object(body)
}

fn generation_config(request: &ModelRequest) -> Map<String, Value> {
    let mut config = Map::new();
    put(&mut config, "maxOutputTokens", request.max_output_tokens);
    put(&mut config, "temperature", request.temperature);
    put(&mut config, "topP", request.top_p);
    put(&mut config, "stopSequences", (!request.stop.is_empty()).then_some(&request.stop));
    if let Some(schema) = &request.output_schema {
        config.insert("responseMimeType".to_owned(), json!("application/json"));
        config.insert("responseJsonSchema".to_owned(), schema.clone());
    }
    if let Some(effort) = &request.reasoning_effort {
        config.insert("thinkingConfig".to_owned(), thinking(&request.model, effort));
    }
    config
}

/// Older models count a budget, newer ones take a word.
fn thinking(model: &str, effort: &str) -> Value {
    let budget = match effort {
        "none" => 0,
        "minimal" => 512,
        "low" => 1024,
        "medium" => 8192,
        _ => 24_576,
    };
    match model.contains("gemini-2") || effort == "none" {
        true => json!({"includeThoughts": budget > 0, "thinkingBudget": budget}),
        false => json!({"includeThoughts": true, "thinkingLevel": effort}),
    }
}

fn system(request: &ModelRequest) -> Option<String> {
    let later = request.history.iter().filter_map(|entry| match entry {
        HistoryEntry::System { text } => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = request.instructions.as_deref().into_iter().chain(later).collect();
    let text = texts.join("\n\n");
    (!text.is_empty()).then_some(text)
}

fn contents(history: &[HistoryEntry], provider: &str) -> Vec<Value> {
    let mut turns = Turns::new("model");
    let mut calls: BTreeMap<&str, (&str, Option<Value>)> = BTreeMap::new();
    for entry in in_call_order(history) {
        match entry {
            // Its thoughts stay with the service; only the signatures of what followed go back.
            HistoryEntry::System { .. } | HistoryEntry::Reasoning { .. } => {}
            HistoryEntry::Hosted { .. } | HistoryEntry::Given { .. } => {}
            HistoryEntry::User { parts } => parts.iter().filter_map(part).for_each(|part| turns.user(part)),
            HistoryEntry::Assistant { parts, opaque } => encode_parts(parts, opaque, provider, &mut turns),
            HistoryEntry::ToolCall { call_id, name, arguments, opaque } => {
                let mut own = own_opaque(opaque, provider).unwrap_or_default();
                let id = own.remove("id");
                let mut call = json!({"name": name, "args": arguments_object(arguments)});
                if let Some(id) = &id {
                    call["id"] = id.clone();
                }
                calls.insert(call_id, (name, id));
                own.insert("functionCall".to_owned(), call);
                turns.model(Value::Object(own));
            }
            HistoryEntry::ToolResult { call_id, name, parts, is_error } => {
                let (called, id) = calls.get(call_id.as_str()).cloned().unwrap_or((name, None));
                turns.answer(function_response(called, id, parts, *is_error));
                without_text(parts).filter_map(part).for_each(|part| turns.user(part));
            }
        }
    }
    let opening = json!({"text": "(the conversation goes on)"});
    turns.finish(opening).into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

/// Answers are told apart by their order, so they take that of their calls and not that of their arrival.
fn in_call_order(history: &[HistoryEntry]) -> Vec<&HistoryEntry> {
    let call = |(at, entry): (usize, &HistoryEntry)| match entry {
        HistoryEntry::ToolCall { call_id, .. } => Some((call_id.clone(), at)),
        _ => None,
    };
    let positions: BTreeMap<String, usize> = history.iter().enumerate().filter_map(call).collect();
    let position = |entry: &&HistoryEntry| match entry {
        HistoryEntry::ToolResult { call_id, .. } => positions.get(call_id).copied(),
        _ => None,
    };
    let is_answer = |entry: &HistoryEntry| matches!(entry, HistoryEntry::ToolResult { .. });
    let mut ordered = Vec::with_capacity(history.len());
    for run in history.chunk_by(|a, b| is_answer(a) && is_answer(b)) {
        let mut run: Vec<&HistoryEntry> = run.iter().collect();
        run.sort_by_key(position);
        ordered.extend(run);
    }
    ordered
}

fn encode_parts(parts: &[Part], opaque: &Option<RawJson>, provider: &str, turns: &mut Turns) {
    let mut own = own_opaque(opaque, provider).unwrap_or_default();
    let earlier = own.remove(SIGNATURES).unwrap_or_default();
    let signed = |(position, shown): (usize, &Part)| {
        let mut shown = part(shown)?;
        if let Some(signature) = earlier.get(position.to_string()) {
            shown["thoughtSignature"] = signature.clone();
        }
        Some(shown)
    };
    let mut shown: Vec<Value> = parts.iter().enumerate().filter_map(signed).collect();
    if let Some(last) = shown.last_mut().and_then(Value::as_object_mut) {
        last.extend(own);
    }
    shown.into_iter().for_each(|part| turns.model(part));
}

fn function_response(name: &str, id: Option<Value>, parts: &[Part], is_error: bool) -> Value {
    let text = text_of(parts);
    let response = match serde_json::from_str(&text) {
        Ok(Value::Object(members)) if !is_error => Value::Object(members),
        _ if is_error => json!({"error": text}),
        _ => json!({"output": text}),
    };
    let mut answer = json!({"name": name, "response": response});
    if let Some(id) = id {
        answer["id"] = id;
    }
    json!({"functionResponse": answer})
}

fn part(part: &Part) -> Option<Value> {
    if let Block::Audio(AudioBlock { data: Some(data), media_type: Some(media_type), .. }) = part {
        return Some(json!({"inlineData": {"mimeType": media_type, "data": data}}));
    }
    match show(part)? {
        Shown::Text(text) => Some(json!({"text": text})),
        Shown::Image { url, .. } | Shown::File { url, .. } => Some(match data_url(&url) {
            Some((media_type, data)) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
            None => json!({"fileData": {"fileUri": url}}),
        }),
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.parameters})
}

fn calling(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    }
}
