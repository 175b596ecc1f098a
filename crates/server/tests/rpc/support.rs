//! A server on a free port, and a client that keeps notifications apart from answers.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use riverrun_log::memory::MemoryLog;
use riverrun_log::{Log, SystemClock};
use riverrun_server::edge::Limits;
use riverrun_server::{Options, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// No wait in these tests is meant to last.
pub const SOON: Duration = Duration::from_secs(20);

pub struct Server {
    pub address: SocketAddr,
    pub key: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    _dir: TempDir,
}

pub async fn server() -> Server {
    server_with(Limits::default()).await
}

pub async fn server_with(limits: Limits) -> Server {
    let dir = tempfile::tempdir().expect("a directory");
    let admin_key = dir.path().join("admin.key");
    let options = Options {
        listen: ([127, 0, 0, 1], 0).into(),
        hosts: Vec::new(),
        origins: vec!["https://app.example.com".to_owned()],
        limits,
        dev: false,
        retention: None,
        admin_key: admin_key.clone(),
        backups: None,
        agents: agents(),
        behind_proxy: false,
        open_metrics: false,
        config_schema: None,
    };
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new(Arc::new(SystemClock)));
    let (stop, stopped) = oneshot::channel();
    let (tell, told) = oneshot::channel();
    let serving = tokio::spawn(async move {
        let ready = move |ready: &riverrun_server::Ready| tell.send(ready.address).expect("the test waits");
        serve(log, options, ready, async { drop(stopped.await) }).await.expect("the server ends well");
    });
    let address = told.await.expect("the server starts");
    let key = std::fs::read_to_string(admin_key).expect("the key is written").trim().to_owned();
    Server { address, key, stop, serving, _dir: dir }
}

/// An agent that says something, and everybody may run scripts.
fn agents() -> riverrun_server::Agents {
    let mut registry = riverrun_runner::Registry::default();
    let scripted = Arc::new(riverrun_provider::Scripted::new());
    registry.providers.insert("scripted".to_owned(), scripted);
    let writer = riverrun_runner::AgentSpec {
        name: "writer".to_owned(),
        models: vec!["scripted/text".to_owned()],
        ..riverrun_runner::AgentSpec::default()
    };
    registry.agents.insert("writer".to_owned(), Arc::new(writer));
    registry.default_agent = Some("writer".to_owned());
    riverrun_server::Agents { registry: Arc::new(registry), scripts_for_all: true, ..Default::default() }
}

impl Server {
    /// Sends a request with the admin key; answers the status and the body as text.
    pub async fn http(&self, line: &str, accept: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.expect("the server accepts");
        let request = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\naccept: {accept}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.key,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the server answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head[9..12].parse().expect("a status");
        let is_chunked = head.contains("transfer-encoding: chunked");
        (status, if is_chunked { without_chunks(body) } else { body.to_owned() })
    }

    pub async fn json(&self, line: &str, body: Value) -> Value {
        let (status, text) = self.http(line, "application/json", &body.to_string()).await;
        assert!(status < 300, "{line}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// The native or other frames of a stream that ends by itself, as (cursor, JSON text), and the control words.
    pub async fn sse(&self, path: &str) -> (Vec<(String, String)>, Vec<String>) {
        let (status, text) = self.http(&format!("GET {path}"), "text/event-stream", "").await;
        assert_eq!(status, 200, "{text}");
        let (mut frames, mut words) = (Vec::new(), Vec::new());
        for block in text.split_terminator("\n\n") {
            let field =
                |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let data = field("data: ").expect("every frame has data");
            match field("event: ") {
                Some(_) => words.push(data),
                // A part of a snapshot does not move the place.
                None => frames.push((field("id: ").unwrap_or_default(), data)),
            }
        }
        (frames, words)
    }

    pub async fn try_connect(&self, path: &str, headers: &[(&'static str, &str)]) -> Result<Client, u16> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request().expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((socket, _)) => Ok(Client { socket, notifications: VecDeque::new(), last_id: 0 }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn connect_with(&self, key: &str) -> Client {
        let bearer = format!("Bearer {key}");
        self.try_connect("/v1/ws", &[("authorization", &bearer)]).await.expect("the server upgrades")
    }

    pub async fn connect(&self) -> Client {
        self.connect_with(&self.key).await
    }

    /// Drains, and waits until the server is gone.
    pub async fn stop(self) {
        self.begin_stop().await.expect("no panic");
    }

    pub fn begin_stop(self) -> JoinHandle<()> {
        self.stop.send(()).expect("the server runs");
        self.serving
    }
}

fn without_chunks(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    whole
}

pub struct Client {
    pub socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    notifications: VecDeque<String>,
    last_id: u64,
}

impl Client {
    pub async fn send(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).await.expect("the server reads");
    }

    /// The next message, or the code with which the server closed.
    pub async fn receive(&mut self) -> Result<String, u16> {
        loop {
            let message = tokio::time::timeout(SOON, self.socket.next()).await.expect("something comes soon");
            match message {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Close(frame))) => return Err(frame.map_or(1005, |frame| frame.code.into())),
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(_)) | None => return Err(1006),
            }
        }
    }

    pub async fn answer(&mut self) -> Value {
        loop {
            let text = self.receive().await.expect("an answer, not the end");
            let value: Value = serde_json::from_str(&text).expect("every message is JSON");
            if value.get("method").is_none() {
                return value;
            }
            self.notifications.push_back(text);
        }
    }

    /// Calls a method: the result, or the error object.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        let mut answer = self.answer().await;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].take()),
        }
    }

    pub async fn ok(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The JSON-RPC code, our code and the field of a call that fails.
    pub async fn fails(&mut self, method: &str, params: Value) -> (i64, String, Option<String>) {
        let error = self.call(method, params).await.expect_err(method);
        assert_eq!(error["message"], error["data"]["detail"], "{error}");
        let field = error["data"]["field"].as_str().map(str::to_owned);
        (error["code"].as_i64().unwrap_or(0), error["data"]["code"].as_str().unwrap_or("").to_owned(), field)
    }

    pub async fn notification_text(&mut self) -> String {
        match self.notifications.pop_front() {
            Some(text) => text,
            None => self.receive().await.expect("a notification, not the end"),
        }
    }

    pub async fn notification(&mut self) -> Value {
        serde_json::from_str(&self.notification_text().await).expect("every message is JSON")
    }

    /// The code with which the server closes, after whatever it still says.
    pub async fn close_code(&mut self) -> u16 {
        loop {
            if let Err(code) = self.receive().await {
                return code;
            }
        }
    }

    pub async fn make_session(&mut self, id: &str) {
        self.ok("session.create", json!({"sessionId": id})).await;
    }

    /// Appends deltas of a message, so that every event has the same form.
    pub async fn append_deltas(&mut self, session: &str, texts: impl IntoIterator<Item = String>) -> Value {
        let events: Vec<Value> = texts.into_iter().map(|text| delta(&text)).collect();
        self.ok("session.append", json!({"sessionId": session, "events": events})).await
    }
}

pub fn delta(text: &str) -> Value {
    json!({"type": "model.delta", "turnId": "t1", "taskId": "k1", "payload": {"delta": text, "itemId": "i1"}})
}
