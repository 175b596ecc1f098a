//! A model service on a real socket: OpenAI's two APIs, Anthropic's and Gemini's. The model's name says how it behaves.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::hosted;

#[derive(Clone)]
pub struct Upstream {
    pub address: SocketAddr,
    /// The bodies that came, in order.
    pub calls: Arc<Mutex<Vec<Value>>>,
    /// The heads of the same requests, in lower case.
    pub heads: Arc<Mutex<Vec<String>>>,
    /// Streams whose reader went away before the end.
    pub dropped: Arc<AtomicUsize>,
    pub finished: Arc<AtomicUsize>,
}

impl Upstream {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let upstream = Self {
            address,
            calls: Arc::default(),
            heads: Arc::default(),
            dropped: Arc::default(),
            finished: Arc::default(),
        };
        let serving = upstream.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        upstream
    }

    pub fn calls(&self) -> Vec<Value> {
        self.calls.lock().expect("no test holds it and panics").clone()
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some((head, body)) = request(&mut stream).await else { return };
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.heads.lock().expect("no test holds it and panics").push(head);
        self.calls.lock().expect("no test holds it and panics").push(body.clone());
        let api = path.rsplit('/').next().unwrap_or_default().to_owned();
        // Gemini's model stands in the path.
        let (model, api) = match api.split_once(':') {
            Some((model, method)) => (model.to_owned(), method.to_owned()),
            None => (body["model"].as_str().unwrap_or_default().to_owned(), api),
        };
        let failure =
            |status: u16, kind: &str, code: &str, message: &str| (status, error(&api, kind, code, message));
        let refused = match model.as_str() {
            "auth" => {
                Some(failure(401, "authentication_error", "invalid_api_key", "Incorrect API key provided"))
            }
            "limit" => Some(failure(429, "rate_limit_error", "rate_limit_exceeded", "Slow down please")),
            "bad" => {
                Some(failure(400, "invalid_request_error", "unknown_parameter", "Unknown parameter: frob"))
            }
            "broken" => Some(failure(500, "api_error", "server_error", "The server had an error")),
            "forbidden" => Some(failure(403, "permission_error", "no_access", "Not for you")),
            "unfit" => Some(failure(422, "invalid_request_error", "unprocessable", "Cannot be processed")),
            "busy" => Some(failure(529, "overloaded_error", "overloaded", "Overloaded")),
            "missing" => Some(failure(404, "not_found_error", "model_not_found", "No such model")),
            "long" => Some(failure(
                400,
                "invalid_request_error",
                "context_length_exceeded",
                "prompt is too long: 9 > 8",
            )),
            _ => None,
        };
        if let Some((status, body)) = refused {
            let wait = if status == 429 { "retry-after: 600\r\n" } else { "" };
            let _ = stream.write_all(whole(status, wait, &body).as_bytes()).await;
            return;
        }
        if api == "counttokens" {
            let _ = stream.write_all(whole(200, "", &json!({"totalTokens": 7})).as_bytes()).await;
            return;
        }
        if api == "count_tokens" {
            let body =
                json!({"input_tokens": 14, "context_management": {"original_input_tokens": 70}}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}",
                body.len()
            );
            let _ = stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n{body}").as_bytes()).await;
            return;
        }
        self.stream(&mut stream, &api, &model).await;
    }

    async fn stream(&self, stream: &mut TcpStream, api: &str, model: &str) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        let frames = match model {
            "hosted" => hosted::frames(api),
            "custom" => hosted::custom(),
            "call" => hosted::call().iter().map(named).collect(),
            _ => frames(api),
        };
        let paused = |frame: &String| frame.replace("\"end_turn\"", "\"pause_turn\"");
        let frames: Vec<String> = match model {
            "pause" => frames.iter().map(paused).collect(),
            "huge" => frames.iter().map(|frame| frame.replace("One ", &huge())).collect(),
            _ => frames,
        };
        for (at, frame) in frames.iter().enumerate() {
            if model == "cut" && at + 3 >= frames.len() {
                return;
            }
            // The reader's end is seen as a read of nothing.
            let pause = if model == "slow" { Duration::from_millis(120) } else { Duration::from_millis(1) };
            let mut byte = [0; 1];
            let gone = tokio::time::timeout(pause, stream.read(&mut byte)).await.is_ok();
            if gone || stream.write_all(frame.as_bytes()).await.is_err() {
                self.dropped.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
        self.finished.fetch_add(1, Ordering::SeqCst);
    }
}

fn whole(status: u16, header: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))?
            .trim()
            .parse::<usize>()
            .ok()?;
        if bytes.len() >= end + 4 + length {
            return Some((head, serde_json::from_slice(&bytes[end + 4..]).ok()?));
        }
    }
}

fn error(api: &str, kind: &str, code: &str, message: &str) -> Value {
    match api {
        "messages" | "count_tokens" => json!({"type": "error", "error": {"type": kind, "message": message}}),
        api if api.starts_with("streamgenerate") || api == "counttokens" => {
            json!({"error": {"code": 400, "message": message, "status": code}})
        }
        _ => json!({"error": {"message": message, "type": kind, "param": null, "code": code}}),
    }
}

const WORDS: [&str; 8] = ["One ", "two ", "three ", "four ", "five ", "six ", "seven ", "eight."];
pub const TEXT: &str = "One two three four five six seven eight.";

/// A word that fits no event, as the model `huge` says it.
pub fn huge() -> String {
    "é1".repeat(500_000)
}

fn frames(api: &str) -> Vec<String> {
    match api {
        "responses" => responses(),
        "messages" => messages(),
        api if api.starts_with("streamgenerate") => gemini(),
        _ => chat(),
    }
}

fn chat() -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {chunk}\n\n")
    };
    let mut all = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    all.extend(WORDS.iter().map(|word| chunk(json!({"content": word}), Value::Null)));
    all.push(chunk(json!({}), json!("stop")));
    all.push("data: [DONE]\n\n".to_owned());
    all
}

fn gemini() -> Vec<String> {
    let chunk = |text: &str, finish: Value| {
        let content = json!({"role": "model", "parts": [{"text": text}]});
        let candidate = json!({"content": content, "finishReason": finish, "index": 0});
        format!("data: {}\n\n", json!({"candidates": [candidate], "modelVersion": "m"}))
    };
    let mut all: Vec<String> = WORDS.iter().map(|word| chunk(word, Value::Null)).collect();
    all.push(chunk("", json!("STOP")));
    all
}

pub fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

fn messages() -> Vec<String> {
    let message = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1}});
    let mut all = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    all.extend(WORDS.iter().map(|word| {
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}})
    }));
    all.push(json!({"type": "content_block_stop", "index": 0}));
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"output_tokens": 8}}));
    all.push(json!({"type": "message_stop"}));
    all.iter().map(named).collect()
}

fn responses() -> Vec<String> {
    let response = |status: &str, output: Value| {
        json!({"id": "r1", "object": "response", "created_at": 1, "status": status, "model": "m",
            "output": output, "usage": {"input_tokens": 3, "output_tokens": 8, "total_tokens": 11}})
    };
    let part = json!({"type": "output_text", "text": TEXT, "annotations": []});
    let item =
        json!({"id": "i1", "type": "message", "role": "assistant", "status": "completed", "content": [part]});
    let open =
        json!({"id": "i1", "type": "message", "role": "assistant", "status": "in_progress", "content": []});
    let mut all = vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": open}),
        json!({"type": "response.content_part.added", "item_id": "i1", "output_index": 0, "content_index": 0,
            "part": {"type": "output_text", "text": "", "annotations": []}}),
    ];
    all.extend(WORDS.iter().map(|word| {
        json!({"type": "response.output_text.delta", "item_id": "i1", "output_index": 0, "content_index": 0,
            "delta": word})
    }));
    all.push(
        json!({"type": "response.output_text.done", "item_id": "i1", "output_index": 0, "content_index": 0,
        "text": TEXT}),
    );
    all.push(json!({"type": "response.content_part.done", "item_id": "i1", "output_index": 0,
        "content_index": 0, "part": part}));
    all.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    all.push(json!({"type": "response.completed", "response": response("completed", json!([item]))}));
    for (at, event) in all.iter_mut().enumerate() {
        event["sequence_number"] = at.into();
    }
    all.iter().map(named).collect()
}
