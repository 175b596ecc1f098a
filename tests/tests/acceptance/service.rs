//! A model service of one's own behind the real binary: what it is asked, what it says of its limits, what it costs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::stage::{Stage, find, kinds};

const KEY: &str = "key-that-nobody-may-read";

/// Answers calls of Chat Completions in the order of its list, and keeps their bodies.
pub struct Service {
    pub address: SocketAddr,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

fn said(text: &str) -> String {
    let chunk = |rest: &str| format!("data: {{\"id\":\"r\",\"model\":\"m-1\",{rest}}}\n\n");
    [
        chunk(&format!("\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]")),
        chunk("\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]"),
        chunk(
            "\"choices\":[],\"usage\":{\"prompt_tokens\":500000,\"completion_tokens\":0,\"total_tokens\":500000}",
        ),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

pub fn well(text: &str) -> (&'static str, String) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-ratelimit-limit-tokens: 1000\r\n\
         x-ratelimit-remaining-tokens: 40\r\nx-ratelimit-reset-tokens: 6m0s\r\n";
    (head, said(text))
}

fn too_long() -> (&'static str, String) {
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n";
    let message = "This model's maximum context length is 10 tokens.";
    let body = format!(
        r#"{{"error":{{"message":"{message}","type":"invalid_request_error","code":"context_length_exceeded"}}}}"#
    );
    (head, body)
}

impl Service {
    pub fn start(answers: Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let service = Self { address: listener.local_addr().unwrap(), bodies: Arc::default() };
        let bodies = service.bodies.clone();
        std::thread::spawn(move || {
            for (stream, (head, body)) in listener.incoming().flatten().zip(answers) {
                bodies.lock().unwrap().push(answer(stream, head, &body));
            }
        });
        service
    }

    /// What it was asked so far.
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.bodies.lock().unwrap().clone()
    }
}

/// Reads a request and answers it; its body.
fn answer(mut stream: TcpStream, head: &str, body: &str) -> Vec<u8> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut asked = vec![0; length];
    reader.read_exact(&mut asked).unwrap();
    write!(stream, "{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
    asked
}

fn blob(stage: &Stage, reference: &Value) -> Vec<u8> {
    let reference = reference.as_str().expect("the bytes are kept");
    let (status, bytes) = stage.world.place.ask("GET", &format!("/v1/blobs/{reference}"), &[], b"").unwrap();
    assert_eq!(status, 200, "{reference} resolves");
    bytes
}

fn all<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn what_a_service_is_asked_and_answers_is_kept_priced_and_limited_in_the_log() {
    let service = Service::start(vec![well("hello"), too_long(), well("they greeted"), well("again")]);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    let config = format!(
        r#"
[providers.own]
kind = "openai-chat"
base_url = "http://{address}/v1"
key = {{ file = "{key}" }}
prices = {{ "m*" = {{ input = 2.0, output = 8.0 }} }}

[agents.keeper]
model = "own/m-1"
keep_raw = true
"#,
        address = service.address,
        key = key.display(),
    );
    let stage = Stage::new("service", &config, &[]);
    for turn in ["t1", "t2"] {
        stage.submit(turn, "keeper");
        stage.until_ended(turn);
    }
    let events = stage.events();
    assert_eq!(events.last().unwrap()["payload"]["finalOutput"], "again", "{:?}", kinds(&events));
    assert_eq!(find(&events, "context.compaction.started")["payload"]["trigger"], "context_too_long");

    let asked = all(&events, "model.requested");
    let bodies = service.bodies.lock().unwrap();
    assert_eq!((asked.len(), bodies.len()), (4, 4));
    for (event, body) in asked.iter().zip(bodies.iter()) {
        assert_eq!(blob(&stage, &event["payload"]["inputRef"]), *body, "what is kept is what was sent");
    }
    let answered = all(&events, "model.completed");
    let texts = ["hello", "they greeted", "again"];
    for (event, text) in answered.iter().zip(texts) {
        assert_eq!(blob(&stage, &event["payload"]["rawRef"]), said(text).into_bytes());
    }
    let costs = all(&events, "cost.recorded");
    assert_eq!(costs.len(), 3, "a price for all models that begin with m");
    assert!(costs.iter().all(|cost| cost["payload"]["amount"] == 1.0), "{costs:#?}");
    let low = find(&events, "quota.low");
    assert_eq!((&low["turnId"], &low["payload"]["remaining"]), (&"t1".into(), &40.0.into()));
    assert!(low["payload"]["resetAt"].is_string(), "{low}");
    let export = stage.world.place.export("s").unwrap().concat();
    assert!(!export.contains(KEY));
    assert!(bodies.iter().all(|body| !String::from_utf8_lossy(body).contains(KEY)));
}

/// A stream of the Responses API with members and a type that no normal form has.
fn responses() -> (&'static str, String) {
    let frames = [
        r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m-1","output":[]}}"#,
        r#"{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}"#,
        r#"{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#,
        r#"{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"hello","obfuscation":"x9"}"#,
        r#"{"type":"response.weather.changed","sequence_number":4,"sky":"clear"}"#,
        r#"{"type":"response.output_text.done","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"text":"hello"}"#,
        r#"{"type":"response.content_part.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"hello","annotations":[]}}"#,
        r#"{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}}"#,
        r#"{"type":"response.completed","sequence_number":8,"response":{"id":"resp_1","object":"response","status":"completed","model":"m-1","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}}"#,
    ];
    let body = frames.map(|frame| {
        let event: Value = serde_json::from_str(frame).unwrap();
        format!("event: {}\ndata: {frame}\n\n", event["type"].as_str().unwrap())
    });
    ("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n", body.concat())
}

#[test]
fn a_service_s_own_events_come_back_as_it_sent_them() {
    let service = Service::start(vec![responses()]);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    let config = format!(
        "[providers.own]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\nkey = {{ file = \"{key}\" }}\n\
         [agents.speaker]\nmodel = \"own/m-1\"\n",
        address = service.address,
        key = key.display(),
    );
    let stage = Stage::new("service", &config, &[]);
    stage.submit("t1", "speaker");
    stage.until_ended("t1");
    let events = stage.events();
    assert_eq!(events.last().unwrap()["payload"]["finalOutput"], "hello", "{:?}", kinds(&events));
    find(&events, "model.raw");
    let path = "/v1/sessions/s/events?dialect=agents-sdk&turn=t1&follow=false";
    let (_, body) =
        stage.world.place.ask("GET", path, &[("accept", "application/x-ndjson".to_owned())], b"").unwrap();
    let shown = String::from_utf8(body).unwrap();
    let frames = shown.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let raw: Vec<Value> = frames
        .filter(|frame| frame["type"] == "raw_response_event" && frame["rebuilt"].is_null())
        .map(|frame| frame["data"].clone())
        .collect();
    let sent: Vec<Value> = responses()
        .1
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(raw, sent);
}
