//! A request in the words of Chat Completions.

use riverrun_event::{Part, RawJson};
use serde_json::{Map, Value, json};

use super::decode::SENT_AS;
use crate::part::{Shown, put, show, text_of, without_text};
use crate::{HistoryEntry, ModelRequest, ToolChoice, ToolSpec};

pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    if let Some(verbatim) = &request.verbatim {
        return self::verbatim(request, verbatim);
    }
    let mut body = Map::new();
    body.extend(request.extra.clone());
    body.insert("model".to_owned(), json!(request.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    body.insert("messages".to_owned(), Value::Array(messages(request, provider)));
    put(&mut body, max_tokens_member(&request.model), request.max_output_tokens);
    put(&mut body, "temperature", request.temperature);
    put(&mut body, "top_p", request.top_p);
    put(&mut body, "reasoning_effort", request.reasoning_effort.as_ref());
    put(&mut body, "stop", (!request.stop.is_empty()).then_some(&request.stop));
    if let Some(schema) = &request.output_schema
        && !body.contains_key("response_format")
    {
        let schema = json!({"name": "output", "schema": schema, "strict": true});
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        body.insert("tool_choice".to_owned(), tool_choice(&request.tool_choice));
        put(&mut body, "parallel_tool_calls", request.parallel_tool_calls);
    }
    Value::Object(body)
}

/// The caller's own body, as a stream whose tokens are counted.
fn verbatim(request: &ModelRequest, body: &Map<String, Value>) -> Value {
    let mut body = body.clone();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    Value::Object(body)
}

/// OpenAI's reasoning models refuse the old name, and most other servers know no other.
fn max_tokens_member(model: &str) -> &'static str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let numbered =
        name.strip_prefix('o').is_some_and(|suffix| suffix.starts_with(|c: char| c.is_ascii_digit()));
    match numbered || name.starts_with("gpt-5") {
        true => "max_completion_tokens",
        false => "max_tokens",
    }
}

fn messages(request: &ModelRequest, provider: &str) -> Vec<Value> {
    let mut messages = Messages::default();
    if let Some(instructions) = &request.instructions {
        messages.list.push(json!({"role": "system", "content": instructions}));
    }
    for entry in &request.history {
        messages.add(entry, provider);
    }
    messages.close();
    messages.list
}

/// What the model said in a row is one message here: text, calls and reasoning together.
#[derive(Default)]
struct Messages {
    list: Vec<Value>,
    assistant: Map<String, Value>,
    /// Of tool results, which can hold text alone: they follow as the user's, after the last result.
    pictures: Vec<Value>,
}

impl Messages {
    fn add(&mut self, entry: &HistoryEntry, provider: &str) {
        match entry {
            HistoryEntry::System { text } => self.push(json!({"role": "system", "content": text})),
            HistoryEntry::User { parts } => self.push(json!({"role": "user", "content": content(parts)})),
            HistoryEntry::Assistant { parts, .. } => {
                self.show_pictures();
                self.push_text(&text_of(parts));
            }
            HistoryEntry::Reasoning { provider: maker, opaque, text, .. } => {
                if maker == provider {
                    self.show_pictures();
                    self.thought(opaque, text.as_deref());
                }
            }
            HistoryEntry::ToolCall { call_id, name, arguments, .. } => {
                self.show_pictures();
                let function = json!({"name": name, "arguments": arguments});
                self.called(json!({"id": call_id, "type": "function", "function": function}));
            }
            HistoryEntry::Hosted { .. } | HistoryEntry::Given { .. } => {}
            HistoryEntry::ToolResult { call_id, parts, .. } => {
                self.close_answer();
                let content = text_of(parts);
                self.list.push(json!({"role": "tool", "tool_call_id": call_id, "content": content}));
                self.pictures.extend(without_text(parts).filter_map(part));
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // Nothing may stand between a call and its result, so text after a call joins the call's message.
        let before = self.assistant.get("content").and_then(Value::as_str);
        let text = match before {
            Some(before) if self.assistant.contains_key("tool_calls") => format!("{before}\n\n{text}"),
            Some(_) => {
                self.close();
                text.to_owned()
            }
            None => text.to_owned(),
        };
        self.assistant.insert("content".to_owned(), json!(text));
    }

    fn called(&mut self, call: Value) {
        let calls = self.assistant.entry("tool_calls").or_insert_with(|| json!([]));
        if let Some(calls) = calls.as_array_mut() {
            calls.push(call);
        }
    }

    fn thought(&mut self, opaque: &Option<RawJson>, text: Option<&str>) {
        let opaque = opaque.as_ref().and_then(|raw| raw.to::<Map<String, Value>>().ok());
        let mut opaque = opaque.unwrap_or_default();
        if let (Some(Value::String(name)), Some(text)) = (opaque.remove(SENT_AS), text) {
            opaque.insert(name, json!(text));
        }
        // What was thought in several stretches goes back as one.
        for (name, value) in opaque {
            match (self.assistant.get_mut(&name), value) {
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                (Some(Value::String(known)), Value::String(more)) => known.push_str(&more),
                (_, value) => drop(self.assistant.insert(name, value)),
            }
        }
    }

    fn push(&mut self, message: Value) {
        self.close();
        if message["content"] != json!([]) {
            self.list.push(message);
        }
    }

    fn close(&mut self) {
        self.close_answer();
        self.show_pictures();
    }

    fn show_pictures(&mut self) {
        let pictures = std::mem::take(&mut self.pictures);
        if !pictures.is_empty() {
            self.list.push(json!({"role": "user", "content": pictures}));
        }
    }

    /// Reasoning that led to nothing is left out: a message needs content or calls.
    fn close_answer(&mut self) {
        let mut message = std::mem::take(&mut self.assistant);
        if message.contains_key("content") || message.contains_key("tool_calls") {
            message.insert("role".to_owned(), json!("assistant"));
            self.list.push(Value::Object(message));
        }
    }
}

/// A bare string where there is only text: not every server reads parts.
fn content(parts: &[Part]) -> Value {
    let shown: Vec<Value> = parts.iter().filter_map(part).collect();
    match shown.iter().all(|part| part["type"] == "text") {
        true if shown.is_empty() => json!([]),
        true => json!(text_of(parts)),
        false => json!(shown),
    }
}

fn part(part: &Part) -> Option<Value> {
    match show(part)? {
        Shown::Text(text) => Some(json!({"type": "text", "text": text})),
        Shown::Image { url, detail } => {
            let mut image = json!({"url": url});
            if let Some(detail) = detail {
                image["detail"] = json!(detail);
            }
            Some(json!({"type": "image_url", "image_url": image}))
        }
        Shown::File { url, name } => {
            let name = name.unwrap_or_else(|| "file".to_owned());
            Some(json!({"type": "file", "file": {"filename": name, "file_data": url}}))
        }
    }
}

fn tool(spec: &ToolSpec) -> Value {
    let mut function =
        json!({"name": spec.name, "description": spec.description, "parameters": spec.parameters});
    if spec.strict {
        function["strict"] = json!(true);
    }
    json!({"type": "function", "function": function})
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
    }
}
