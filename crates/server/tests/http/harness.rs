//! A real server on a real socket, and a caller that sees every byte of the answer.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use riverrun_log::memory::MemoryLog;
use riverrun_log::{Log, SystemClock};
use riverrun_log_sqlite::SqliteLog;
use riverrun_server::edge::Limits;
use riverrun_server::{Agents, Options, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::wire::Answer;

/// A server of its own; it goes with the test.
pub struct Server {
    pub api: Api,
    pub log: Arc<dyn Log>,
    pub directory: TempDir,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
}

/// Somebody who calls a server with a key.
#[derive(Clone)]
pub struct Api {
    pub address: SocketAddr,
    pub key: String,
}

impl Deref for Server {
    type Target = Api;
    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Server {
    /// A server on a log in memory.
    pub async fn start() -> Self {
        Self::with_limits(Limits::default()).await
    }

    pub async fn with_limits(limits: Limits) -> Self {
        let log = Arc::new(MemoryLog::new(Arc::new(SystemClock)));
        Self::on(log, TempDir::new().expect("a temporary directory"), limits).await
    }

    /// A server on a log on disk.
    pub async fn on_disk() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        Self::on(sqlite(directory.path()), directory, Limits::default()).await
    }

    /// A server that runs agents, on a log in memory.
    pub async fn with_agents(agents: Agents) -> Self {
        let log = Arc::new(MemoryLog::new(Arc::new(SystemClock)));
        Self::running(log, TempDir::new().expect("a temporary directory"), Limits::default(), agents).await
    }

    /// A server that runs agents, on a log on disk.
    pub async fn on_disk_with(agents: Agents) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        Self::running(sqlite(directory.path()), directory, Limits::default(), agents).await
    }

    pub async fn on(log: Arc<dyn Log>, directory: TempDir, limits: Limits) -> Self {
        Self::running(log, directory, limits, Agents::default()).await
    }

    async fn running(log: Arc<dyn Log>, directory: TempDir, limits: Limits, agents: Agents) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        let options = Options {
            listen: ([127, 0, 0, 1], 0).into(),
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: Limits { drain_time: Duration::from_secs(3), streams_per_tenant: Some(4096), ..limits },
            // Connections go wrong for those who ask for it, and for nobody else.
            dev: true,
            retention: None,
            admin_key: directory.path().join("admin.key"),
            backups: None,
            agents,
            behind_proxy: false,
            open_metrics: false,
            config_schema: Some("{\"title\":\"riverrun.toml\"}".to_owned()),
        };
        let running =
            serve(log.clone(), options, |told| ready.send(told.address).expect("the test waits"), async {
                drop(stopped.await);
            });
        let served = tokio::spawn(async { running.await.expect("the server runs until it is stopped") });
        let address = is_ready.await.expect("the server starts");
        // A store that has an admin gets no new one.
        let key = std::fs::read_to_string(directory.path().join("admin.key")).unwrap_or_default();
        let api = Api { address, key: key.trim().to_owned() };
        Self { api, log, directory, stop: Some(stop), served: Some(served) }
    }

    /// Drains the server and waits for its end. Nothing that was answered may have been a panic.
    pub async fn stop(mut self) -> (Arc<dyn Log>, TempDir) {
        self.assert_no_panic().await;
        self.begin_drain();
        self.drained().await;
        (
            self.log.clone(),
            std::mem::replace(&mut self.directory, TempDir::new().expect("a temporary directory")),
        )
    }

    pub fn begin_drain(&mut self) {
        drop(self.stop.take());
    }

    pub async fn drained(&mut self) {
        if let Some(served) = self.served.take() {
            served.await.expect("the server does not panic");
        }
    }

    /// Stops, opens the directory anew and serves it again, as after a restart.
    pub async fn restart(self) -> Self {
        self.restart_with(Agents::default()).await
    }

    pub async fn restart_with(self, agents: Agents) -> Self {
        let (log, directory) = self.stop().await;
        log.close().await.expect("the log closes");
        drop(log);
        Self::running(sqlite(directory.path()), directory, Limits::default(), agents).await
    }

    pub async fn assert_no_panic(&self) {
        let metrics = self.call("GET /metrics", &[], "").await.text();
        let line =
            metrics.lines().find(|line| line.starts_with("riverrun_panic_total ")).expect("it is counted");
        assert_eq!(line, "riverrun_panic_total 0");
    }
}

pub fn sqlite(directory: &Path) -> Arc<dyn Log> {
    let options = riverrun_log_sqlite::SqliteOptions {
        wal_bytes: 1 << 20,
        reserve_bytes: 1 << 20,
        ..riverrun_log_sqlite::SqliteOptions::new(directory)
    };
    Arc::new(SqliteLog::open(options).expect("the store opens"))
}

pub const JSON: (&str, &str) = ("content-type", "application/json");
pub const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");

impl Api {
    /// One request on a connection of its own. A header given as empty is left out.
    pub async fn call(&self, line: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        self.raw(&self.request(line, headers, body.as_ref())).await
    }

    /// The bytes of a request with this caller's key.
    pub fn request(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let (bearer, length) = (format!("Bearer {}", self.key), body.len().to_string());
        let mut all = vec![
            ("host", "localhost"),
            ("authorization", bearer.as_str()),
            ("content-length", length.as_str()),
            ("connection", "close"),
        ];
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        all.extend(headers.iter().filter(|(_, value)| !value.is_empty()));
        let mut request = format!("{line} HTTP/1.1\r\n");
        for (name, value) in all {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        request
    }

    /// Sends these very bytes and reads until the server closes.
    pub async fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect().await;
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(request).await;
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await;
        let _ = read.expect("the server answers and closes");
        Answer::parse(&bytes)
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the server listens")
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.call(&format!("GET {path}"), &[("accept", "application/json")], "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// Makes a session with this id and nothing said.
    pub async fn make(&self, session: &str) {
        let answer = self.call("POST /v1/sessions", &[JSON], json!({"sessionId": session}).to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    /// Appends events in one request; answers the last sequence.
    pub async fn tell(&self, session: &str, events: &[Value]) -> u64 {
        let path = format!("POST /v1/sessions/{session}/events");
        let answer = self.call(&path, &[JSON], Value::from(events).to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["last"].as_u64().expect("a sequence")
    }

    /// A key of this tenant with these scopes.
    pub async fn key(&self, tenant: &str, scopes: &[&str]) -> (Api, String) {
        let body = json!({"tenant": tenant, "scopes": scopes}).to_string();
        let made = self.call("POST /v1/keys", &[JSON], body).await.json();
        let text = |name: &str| made[name].as_str().expect("a new key").to_owned();
        (Api { address: self.address, key: text("key") }, text("keyId"))
    }
}
