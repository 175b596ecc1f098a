//! `riverrun rpc`: JSON-RPC over stdin and stdout, carried to a running server.
//!
//! One line is one message in either direction. Nothing is read into a message or changed.

use clap::Args;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use super::Context;
use super::exit::{Exit, Failure, Outcome};

#[derive(Debug, Args)]
pub struct RpcArgs {}

pub async fn run(_args: RpcArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let url = format!("{}/v1/ws", client.endpoint()).replacen("http://", "ws://", 1);
    let mut request = url.as_str().into_client_request().map_err(|e| failure(&url, &e))?;
    if let Some(key) = context.connect.key()? {
        let value = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| Failure::new(Exit::Usage, "the key holds a character that a header cannot carry"))?;
        request.headers_mut().insert("authorization", value);
    }
    let (socket, _) = tokio_tungstenite::connect_async(request).await.map_err(|e| failure(&url, &e))?;
    let (mut sink, mut stream) = socket.split();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut owed = Owed::default();
    while !owed.is_settled() {
        tokio::select! {
            line = lines.next_line(), if owed.reading => match line? {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => {
                    owed.sent(&line);
                    sink.send(Message::text(line)).await.map_err(|e| failure(&url, &e))?;
                }
                None => owed.reading = false,
            },
            message = stream.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    owed.received(&text);
                    context.output.json_line(&text)?;
                }
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_)) | Err(WsError::ConnectionClosed)) | None => return Err(closed(&url)),
                Some(Err(error)) => return Err(failure(&url, &error)),
            },
        }
    }
    sink.close().await.ok();
    Ok(())
}

/// Which answers are still to come: a script that pipes one request in wants its answer before the end.
struct Owed {
    reading: bool,
    answers: usize,
}

impl Default for Owed {
    fn default() -> Self {
        Self { reading: true, answers: 0 }
    }
}

#[derive(Deserialize)]
struct Head {
    id: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
}

impl Owed {
    fn sent(&mut self, line: &str) {
        // A line that is not understood is answered with an error, so an answer is owed for it too.
        let expects = serde_json::from_str::<Head>(line).map_or(true, |head| head.id.is_some());
        self.answers += usize::from(expects);
    }

    fn received(&mut self, text: &str) {
        let answer = serde_json::from_str::<Head>(text).is_ok_and(|head| head.method.is_none());
        self.answers = self.answers.saturating_sub(usize::from(answer));
    }

    fn is_settled(&self) -> bool {
        !self.reading && self.answers == 0
    }
}

fn closed(url: &str) -> Failure {
    Failure::new(Exit::Unreachable, format_args!("{url} closed the connection"))
        .hint("connect again and resume with the cursor of the last event")
}

fn failure(url: &str, error: &WsError) -> Failure {
    match error {
        WsError::Http(response) if matches!(response.status().as_u16(), 401 | 403) => {
            Failure::new(Exit::Auth, format_args!("{url} answered {}", response.status()))
                .hint("set RIVERRUN_KEY, or --key-file")
        }
        _ => Failure::new(Exit::Unreachable, format_args!("{url}: {error}"))
            .hint("start a server with `riverrun serve`, or name one with --url"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_waits_for_the_answers_that_are_owed() {
        let mut owed = Owed::default();
        owed.sent(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
        owed.sent(r#"{"jsonrpc":"2.0","method":"notified"}"#);
        owed.reading = false;
        owed.received(r#"{"jsonrpc":"2.0","method":"event","params":{}}"#);
        assert!(!owed.is_settled());
        owed.received(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(owed.is_settled());
    }
}
