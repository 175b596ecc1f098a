//! Events as JSON, for vectors.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::path::PathBuf;

use riverrun_provider::{Decoder, ItemKind, ModelEvent, StopReason, anthropic, chat, gemini, openai};
use serde_json::{Value, json};

pub type MakeDecoder = fn(&str, &str) -> Box<dyn Decoder>;

pub const APIS: [(&str, MakeDecoder); 4] = [
    ("openai", openai::decoder),
    ("chat", chat::decoder),
    ("anthropic", anthropic::decoder),
    ("gemini", gemini::decoder),
];

pub struct Vector {
    pub name: String,
    pub api: &'static str,
    pub bytes: Vec<u8>,
    pub expected: PathBuf,
    pub decoder: MakeDecoder,
}

impl Vector {
    pub fn decode<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelEvent> {
        let mut decoder = (self.decoder)(self.api, "seed");
        let mut events: Vec<ModelEvent> = Vec::new();
        for piece in pieces {
            events.extend(decoder.push(piece));
        }
        events.extend(decoder.end());
        events
    }
}

pub fn vectors() -> Vec<Vector> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/provider");
    let mut vectors = Vec::new();
    for (api, decoder) in APIS {
        let folder = root.join(api);
        for entry in
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "sse") {
                vectors.push(Vector {
                    name: format!("{api}/{}", path.file_stem().unwrap().to_string_lossy()),
                    api,
                    bytes: std::fs::read(&path).unwrap(),
                    expected: path.with_extension("json"),
                    decoder,
                });
            }
        }
    }
    vectors.sort_by(|a, b| a.name.cmp(&b.name));
    vectors
}

pub fn to_json(event: &ModelEvent) -> Value {
    let raw = |raw: &riverrun_event::RawJson| raw.to::<Value>().unwrap();
    match event {
        ModelEvent::Started { response_id, model } => {
            json!({"started": {"responseId": response_id, "model": model}})
        }
        ModelEvent::ItemStarted { index, kind } => json!({"itemStarted": index, "kind": kind_json(kind)}),
        ModelEvent::Text { index, delta } => json!({"text": delta, "index": index}),
        ModelEvent::Scored { index, delta, logprobs } => {
            json!({"text": delta, "index": index, "logprobs": logprobs})
        }
        ModelEvent::Refusal { index, delta } => json!({"refusal": delta, "index": index}),
        ModelEvent::Frame { index, frame } => json!({"frame": frame, "index": index}),
        ModelEvent::Reasoning { index, summary_index, delta } => {
            json!({"reasoning": delta, "index": index, "summaryIndex": summary_index})
        }
        ModelEvent::Arguments { index, delta } => json!({"arguments": delta, "index": index}),
        ModelEvent::Annotated { index, annotation } => json!({"annotated": annotation, "index": index}),
        ModelEvent::Block { index, block } => json!({"block": block, "index": index}),
        ModelEvent::ItemDone { index, opaque } => {
            json!({"itemDone": index, "opaque": opaque.as_ref().map(raw)})
        }
        ModelEvent::RateLimited(limit) => json!({"rateLimited": format!("{limit:?}")}),
        ModelEvent::State(state) => json!({"state": raw(state)}),
        ModelEvent::Vendor { name, data } => json!({"vendor": name, "data": raw(data)}),
        ModelEvent::Warning { code, detail, .. } => json!({"warning": code, "detail": raw(detail)}),
        ModelEvent::Original(event) => json!({"original": event}),
        ModelEvent::Sent { text, events } => {
            let events: Vec<&serde_json::Map<String, Value>> =
                events.iter().map(|event| &event.members).collect();
            json!({"sent": to_json(text), "by": events})
        }
        ModelEvent::Raw(bytes) => json!({"raw": String::from_utf8_lossy(bytes)}),
        ModelEvent::Completed { stop, usage, members: None } => {
            json!({"completed": stop_word(stop), "usage": usage})
        }
        ModelEvent::Completed { stop, usage, members } => {
            json!({"completed": stop_word(stop), "usage": usage, "members": members})
        }
        ModelEvent::Failed(error) => json!({"failed": {
            "category": error.category.as_str(),
            "code": error.info().code,
            "status": error.status,
            "retryAfterMs": error.retry_after.map(|wait| wait.as_millis() as u64),
            "message": error.message,
        }}),
    }
}

fn kind_json(kind: &ItemKind) -> Value {
    match kind {
        ItemKind::Message => json!("message"),
        ItemKind::Reasoning => json!("reasoning"),
        ItemKind::ToolCall { call_id, name } => json!({"toolCall": name, "callId": call_id}),
        ItemKind::Hosted { kind, begun } => json!({"hosted": kind, "begun": begun}),
    }
}

fn stop_word(stop: &StopReason) -> String {
    match stop {
        StopReason::End => "end".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::StopSequence(None) => "stop_sequence".to_owned(),
        StopReason::StopSequence(Some(which)) => format!("stop_sequence: {which}"),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::ContentFilter => "content_filter".to_owned(),
        StopReason::Other(word) => format!("other: {word}"),
    }
}
