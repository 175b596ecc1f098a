//! A model service on loopback that plays recorded answers, one for each request; then it refuses.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Plays these bodies as streams of events. Answers its base URL.
pub async fn play(bodies: impl IntoIterator<Item = Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let mut bodies: Vec<Vec<u8>> = bodies.into_iter().collect();
    bodies.reverse();
    let bodies = Arc::new(Mutex::new(bodies));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let body = bodies.lock().expect("no panic").pop();
            tokio::spawn(answer(stream, body));
        }
    });
    url
}

async fn answer(mut stream: TcpStream, body: Option<Vec<u8>>) {
    if !read(&mut stream).await {
        return;
    }
    let head = |status: &str, kind: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n").into_bytes()
    };
    let refusal = br#"{"error":{"message":"no more","type":"invalid_request_error","code":"no_more"}}"#;
    let answer = match body {
        Some(body) => [head("200 OK", "text/event-stream"), body].concat(),
        None => [head("400 Bad Request", "application/json"), refusal.to_vec()].concat(),
    };
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

/// True when a whole request has come.
async fn read(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&part[..count]),
            Ok(0) | Err(_) => return false,
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            return true;
        }
    }
}

/// Events as a service sends them.
pub fn sse(events: &[Value]) -> Vec<u8> {
    let frame = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or(""));
    events.iter().map(frame).collect::<String>().into_bytes()
}
