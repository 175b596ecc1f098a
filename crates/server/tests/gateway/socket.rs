//! A WebSocket client that reads JSON, and servers to talk to.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::harness::{Api, Server};

const SOON: Duration = Duration::from_secs(20);

/// What is seen of a connection behind its last message.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Silence,
    Closed(u16),
    Dropped,
    Reset,
}

pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Opens a socket, with the caller's key in the header if `with_key`.
    pub async fn open(api: &Api, path: &str, with_key: bool) -> Self {
        Self::open_hurt(api, path, with_key, None).await
    }

    /// Opens a socket that goes wrong in this way.
    pub async fn open_hurt(api: &Api, path: &str, with_key: bool, fault: Option<&str>) -> Self {
        let mut request =
            format!("ws://localhost:{}{path}", api.address.port()).into_client_request().expect("an address");
        if with_key {
            let value = format!("Bearer {}", api.key).parse().expect("a header");
            request.headers_mut().insert("authorization", value);
        }
        if let Some(fault) = fault {
            request.headers_mut().insert("x-riverrun-fault", fault.parse().expect("a header"));
        }
        let stream = TcpStream::connect(api.address).await.expect("the server listens");
        let stream = MaybeTlsStream::Plain(stream);
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await.expect("the socket opens");
        Self(socket)
    }

    pub async fn say(&mut self, value: Value) {
        self.say_text(&value.to_string()).await;
    }

    pub async fn say_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.expect("the server reads");
    }

    /// The next message; a number is the code that the server closed with.
    pub async fn hear(&mut self) -> Value {
        loop {
            let next = tokio::time::timeout(SOON, self.0.next()).await.expect("the server speaks");
            match next {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text).expect("every message is JSON");
                }
                Some(Ok(Message::Close(Some(frame)))) => return u16::from(frame.code).into(),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Value::Null,
            }
        }
    }

    /// How the connection ends after this many messages; nothing if it is still open and silent after a while.
    pub async fn end_after(&mut self, count: usize) -> Ending {
        for _ in 0..count {
            assert!(self.hear().await.is_object(), "a message is missing");
        }
        match tokio::time::timeout(Duration::from_millis(300), self.0.next()).await {
            Err(_) => Ending::Silence,
            Ok(Some(Ok(Message::Close(Some(frame))))) => Ending::Closed(frame.code.into()),
            Ok(Some(Err(Error::Io(error)))) if error.kind() == ErrorKind::ConnectionReset => Ending::Reset,
            Ok(Some(Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)))) => Ending::Dropped,
            Ok(other) => panic!("{other:?} after {count} messages"),
        }
    }

    /// Everything up to the first message of this type, which is the last.
    pub async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let next = self.hear().await;
            assert!(next.is_object(), "the server closed with {next} before `{kind}`: {all:#?}");
            let is_it = next["type"] == kind;
            all.push(next);
            if is_it {
                return all;
            }
        }
    }
}

/// A server whose scripts everybody may run.
pub async fn scripted() -> Server {
    let mut registry = riverrun_runner::Registry::default();
    registry.providers.insert("scripted".to_owned(), Arc::new(riverrun_provider::Scripted::new()));
    let agent = |name: &str| {
        Arc::new(riverrun_runner::AgentSpec {
            name: name.to_owned(),
            models: vec![format!("scripted/{name}")],
            ..riverrun_runner::AgentSpec::default()
        })
    };
    for name in ["text", "slow", "error", "approval", "tool"] {
        registry.agents.insert(name.to_owned(), agent(name));
    }
    registry.default_agent = Some("text".to_owned());
    let agents = riverrun_server::Agents {
        registry: Arc::new(registry),
        scripts_for_all: true,
        ..riverrun_server::Agents::default()
    };
    Server::with_agents(agents).await
}
