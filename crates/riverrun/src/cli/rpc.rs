//! `riverrun rpc`: JSON-RPC over stdin and stdout, carried to a running server.
//!
//! One line is one message in either direction. Nothing is read into a message or changed. Connecting again is the
//! business of whoever holds the cursors.

mod owed;

use std::cell::RefCell;

use clap::Args;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use riverrun_client::{Client, Io};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Error as WsError, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::Context;
use super::exit::{Exit, Failure, Outcome};
use owed::Owed;

/// Longer lines go in fragments: the server takes no larger frame.
const FRAME_BYTES: usize = 256 * 1024;

type Socket = WebSocketStream<Box<dyn Io>>;
type Sink = SplitSink<Socket, Message>;

#[derive(Debug, Args)]
pub struct RpcArgs {}

pub async fn run(_args: RpcArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let url = format!("{}/v1/ws", client.endpoint()).replacen("http", "ws", 1);
    let socket = connect(&client, &url, context.connect.key()?.as_deref()).await?;
    let (sink, mut stream) = socket.split();
    let owed = RefCell::new(Owed::default());
    // Sending and receiving go on side by side: a server that waits for us to read must not wait for us to write.
    let mut sending = std::pin::pin!(send_lines(sink, &owed, &url));
    let mut sink = None;
    while sink.is_none() || !owed.borrow().is_settled() {
        tokio::select! {
            sent = &mut sending, if sink.is_none() => sink = Some(sent?),
            message = stream.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    owed.borrow_mut().received(&text);
                    context.output.json_line(&text)?;
                }
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(frame))) => return Err(closed(&url, frame.as_ref())),
                Some(Err(WsError::ConnectionClosed)) | None => return Err(closed(&url, None)),
                Some(Err(error)) => return Err(failure(&url, &error)),
            },
        }
    }
    if let Some(mut sink) = sink {
        // Everything was said; whether the goodbye arrives changes nothing.
        sink.close().await.ok();
    }
    Ok(())
}

async fn connect(client: &Client, url: &str, key: Option<&str>) -> Outcome<Socket> {
    let mut request = url.into_client_request().map_err(|e| failure(url, &e))?;
    if let Some(key) = key {
        let value = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| Failure::new(Exit::Usage, "the key holds a character that a header cannot carry"))?;
        request.headers_mut().insert("authorization", value);
    }
    let (socket, _) = client_async(request, client.dial().await?).await.map_err(|e| failure(url, &e))?;
    Ok(socket)
}

/// Sends each line of stdin, until its end.
async fn send_lines(mut sink: Sink, owed: &RefCell<Owed>, url: &str) -> Outcome<Sink> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if line.trim().is_empty() {
            continue;
        }
        owed.borrow_mut().sent(&line);
        for message in messages(line) {
            sink.send(message).await.map_err(|e| failure(url, &e))?;
        }
    }
    Ok(sink)
}

/// A line as one frame, or as fragments.
fn messages(line: String) -> Vec<Message> {
    if line.len() <= FRAME_BYTES {
        return vec![Message::text(line)];
    }
    let last = (line.len() - 1) / FRAME_BYTES;
    let part = |(index, bytes): (usize, &[u8])| {
        let data = if index == 0 { Data::Text } else { Data::Continue };
        Message::Frame(Frame::message(Bytes::copy_from_slice(bytes), OpCode::Data(data), index == last))
    };
    line.as_bytes().chunks(FRAME_BYTES).enumerate().map(part).collect()
}

fn closed(url: &str, frame: Option<&CloseFrame>) -> Failure {
    let code = frame.map_or(1006, |frame| u16::from(frame.code));
    let reason = frame.map_or("without a word", |frame| frame.reason.as_str());
    let what = format!("{url} closed the connection: {reason} ({code})");
    match code {
        4401 => Failure::new(Exit::Auth, what).hint("set RIVERRUN_KEY, or --key-file"),
        1002 | 1003 | 1007 | 1008 | 1009 => {
            Failure::new(Exit::Failed, what).hint("docs/json-rpc.md names the limits")
        }
        _ => Failure::new(Exit::Unreachable, what)
            .hint("connect again and resume with the cursor of the last event"),
    }
}

fn failure(url: &str, error: &WsError) -> Failure {
    match error {
        WsError::Http(response) if matches!(response.status().as_u16(), 401 | 403) => {
            Failure::new(Exit::Auth, format_args!("{url} answered {}", response.status()))
                .hint("set RIVERRUN_KEY, or --key-file")
        }
        WsError::Http(response) => Failure::new(
            Exit::Failed,
            format_args!("{url} answered {}", response.status()),
        )
        .hint("is this a riverrun server, and of the same version? compare `riverrun version` on both sides"),
        _ => Failure::new(Exit::Unreachable, format_args!("{url}: {error}"))
            .hint("start a server with `riverrun serve`, or name one with --url"),
    }
}
