//! A reader of one stream.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::Api;
use crate::wire::{Chunks, Frame, Frames, head};

pub struct Stream {
    socket: TcpStream,
    /// Bytes that may still be read before this reader is cut.
    budget: usize,
    raw: Vec<u8>,
    chunks: Option<Chunks>,
    frames: Frames,
    ready: std::collections::VecDeque<Frame>,
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

/// How a stream came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The body ended as it announced.
    Clean,
    Cut,
}

impl Stream {
    pub async fn open(api: &Api, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::with_budget(api, path, headers, usize::MAX).await
    }

    /// A reader whose connection breaks after so many bytes of the answer, its head among them.
    pub async fn with_budget(api: &Api, path: &str, headers: &[(&str, &str)], budget: usize) -> Self {
        let mut all = vec![("accept", "text/event-stream"), ("content-length", "")];
        all.extend_from_slice(headers);
        let mut socket = api.connect().await;
        let request = api.request(&format!("GET {path}"), &all, b"");
        socket.write_all(&request).await.expect("the server reads");
        Self {
            socket,
            budget,
            raw: Vec::new(),
            chunks: None,
            frames: Frames::default(),
            ready: Default::default(),
            status: 0,
            headers: Vec::new(),
        }
    }

    /// The next frame, or how the stream ended.
    pub async fn next(&mut self) -> Result<Frame, End> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(frame);
            }
            let mut space = [0; 16 * 1024];
            let wanted = self.budget.min(space.len());
            let read =
                tokio::time::timeout(Duration::from_secs(20), self.socket.read(&mut space[..wanted])).await;
            let count = read.expect("the stream goes on or ends").unwrap_or(0);
            if count == 0 {
                let over = self.chunks.as_ref().is_some_and(Chunks::is_over);
                return Err(if over { End::Clean } else { End::Cut });
            }
            self.budget -= count;
            self.take(&space[..count]);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.chunks.is_none() {
            self.raw.extend_from_slice(bytes);
            let Some((status, headers, rest)) = head(&self.raw) else { return };
            let mut chunks = Chunks::of(&headers);
            chunks.push(rest);
            (self.status, self.headers, self.chunks) = (status, headers, Some(chunks));
        } else if let Some(chunks) = &mut self.chunks {
            chunks.push(bytes);
        }
        let body = self.chunks.as_mut().map(Chunks::take).unwrap_or_default();
        if self.status == 200 {
            let mut frames = Vec::new();
            self.frames.push(&body, &mut frames);
            self.ready.extend(frames);
        }
    }

    /// Every frame to the end.
    pub async fn rest(&mut self) -> (Vec<Frame>, End) {
        let mut frames = Vec::new();
        loop {
            match self.next().await {
                Ok(frame) => frames.push(frame),
                Err(end) => return (frames, end),
            }
        }
    }

    /// Reads on until this word about the stream.
    pub async fn until(&mut self, word: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.unwrap_or_else(|end| panic!("{end:?} before {word}: {frames:?}"));
            let is_it = frame.word().as_deref() == Some(word);
            frames.push(frame);
            if is_it {
                return frames;
            }
        }
    }
}
