//! An MCP server that is a program: one JSON message per line.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BytesMut;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::unread;
use crate::process::{Group, Pipes, Program};
use crate::scrub::Scrubber;

/// Lines in a row that are no messages; a server that writes more is not speaking MCP.
const MAX_GARBAGE: usize = 100;
/// A line of the server's own log is cut here.
const MAX_LOG_LINE: usize = 2048;
/// How long a server may take to end by itself when its input is closed.
const LEAVE: Duration = Duration::from_millis(500);

/// Why the connection ended, told by the side that ended it.
pub(super) type Reason = Arc<Mutex<Option<Ending>>>;

#[derive(Debug, Clone)]
pub(super) enum Ending {
    TooLong(usize),
    Garbage,
    Exit,
}

pub(super) struct Stdio {
    server: String,
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    stdout: ChildStdout,
    buffer: BytesMut,
    /// Bytes of the buffer that hold no end of a line.
    searched: usize,
    garbage: usize,
    limit: usize,
    reason: Reason,
    group: Group,
}

impl Stdio {
    pub fn start(server: &str, program: &Program, limit: usize, reason: Reason) -> io::Result<Self> {
        let (group, Pipes { stdin, stdout, stderr }) = program.start()?;
        tokio::spawn(follow_log(server.to_owned(), stderr, program.scrubber()));
        Ok(Self {
            server: server.to_owned(),
            stdin: Arc::new(tokio::sync::Mutex::new(Some(stdin))),
            stdout,
            buffer: BytesMut::new(),
            searched: 0,
            garbage: 0,
            limit,
            reason,
            group,
        })
    }

    /// None at the end. What was read stays in the buffer if this is dropped halfway.
    async fn line(&mut self) -> Option<BytesMut> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + at + 1);
                self.searched = 0;
                return Some(line);
            }
            self.searched = self.buffer.len();
            if self.searched > self.limit {
                return self.end(Ending::TooLong(self.limit));
            }
            match self.stdout.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return self.end(Ending::Exit),
                Ok(_) => {}
            }
        }
    }

    fn end<T>(&self, ending: Ending) -> Option<T> {
        let mut reason = self.reason.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        reason.get_or_insert(ending);
        None
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let stdin = self.stdin.clone();
        async move {
            let mut line = serde_json::to_vec(&message).map_err(io::Error::other)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            stdin.write_all(&line).await?;
            stdin.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.line().await?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(message) => {
                    self.garbage = 0;
                    return Some(message);
                }
                Err(error) => {
                    self.garbage += 1;
                    tracing::warn!(server = self.server, %error, "a line of an MCP server is no message");
                    if self.garbage >= MAX_GARBAGE {
                        return self.end(Ending::Garbage);
                    }
                    if let Some(id) = unread::answered_id(&line) {
                        let text = format!("a line that is no message of the protocol: {error}");
                        return Some(unread::answer(id, unread::UNREAD, text));
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.stdin.lock().await.take();
        // A server that stays is ended with its group, when this is dropped.
        let _ = tokio::time::timeout(LEAVE, self.group.wait()).await;
        Ok(())
    }
}

/// What a server writes about itself goes to our log and nowhere else.
async fn follow_log(server: String, mut stderr: ChildStderr, secrets: Scrubber) {
    let mut buffer = BytesMut::new();
    while let Ok(1..) = stderr.read_buf(&mut buffer).await {
        while let Some(at) = buffer.iter().position(|byte| *byte == b'\n') {
            log_line(&server, &buffer.split_to(at + 1), secrets);
        }
        if buffer.len() > MAX_LOG_LINE {
            log_line(&server, &buffer.split(), secrets);
        }
    }
    log_line(&server, &buffer, secrets);
}

fn log_line(server: &str, line: &[u8], secrets: Scrubber) {
    let line = secrets.bytes(line);
    let line = String::from_utf8_lossy(&line[..line.len().min(MAX_LOG_LINE)]);
    let line: String = line.trim_end().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if !line.is_empty() {
        tracing::debug!(server, line, "an MCP server says");
    }
}
