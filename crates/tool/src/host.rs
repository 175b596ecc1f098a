//! Processes that others see and reach while they run: whoever starts one tells of it here, and is told.
//!
//! ```text
//!  begin ─▶ durable ─▶ started ─▶ output … ─▶ end
//!              └─ orders: input, terminate
//! ```

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::ProcessLimits;

pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait ProcessHost: Send + Sync {
    /// The name of the process.
    fn id(&self) -> &str;

    /// Resolves when it is durable that the process is about to start; before that it may not. None: nobody listens
    /// any more, and nothing may start.
    fn begin(&self, plan: ProcessPlan) -> HostFuture<'_, Option<Orders>>;

    /// Parts come in the order in which they were written, and no part is dropped: a process that writes faster than
    /// its output is stored waits.
    fn output(&self, part: OutputPart) -> HostFuture<'_, ()>;

    /// The last word about it.
    fn end(&self, end: ProcessEnd) -> HostFuture<'_, ()>;
}

/// What is about to run.
#[derive(Debug, Clone)]
pub struct ProcessPlan {
    /// The command line, for people. The environment is no part of it.
    pub command: String,
    pub cwd: Option<PathBuf>,
    pub destructive: bool,
    pub timeout: Duration,
    /// Bytes of each stream that are kept.
    pub output_limit: usize,
    pub limits: ProcessLimits,
}

/// What a running process is told.
#[derive(Debug)]
pub struct Orders {
    pub input: mpsc::Receiver<StdinChunk>,
    pub terminate: oneshot::Receiver<Terminate>,
}

pub struct StdinChunk {
    pub bytes: Vec<u8>,
    /// The last chunk.
    pub is_last: bool,
}

impl std::fmt::Debug for StdinChunk {
    /// What is written may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProcessInput({} bytes, is_last: {})", self.bytes.len(), self.is_last)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminate {
    /// Who asks for it.
    pub by: String,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

impl OutputStream {
    pub fn as_str(self) -> &'static str {
        match self {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPart {
    pub stream: OutputStream,
    /// Where it begins in its stream.
    pub offset: u64,
    pub bytes: Vec<u8>,
    /// Small and early enough to stand in an event.
    pub is_inline: bool,
}

#[derive(Debug)]
pub struct ProcessEnd {
    pub how: HowEnded,
    pub duration: Duration,
    /// All bytes that it wrote.
    pub output_bytes: u64,
    /// The beginning and the end of what it wrote.
    pub preview: String,
    /// Streams that do not stand in events as a whole.
    pub large: Vec<LargeOutput>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HowEnded {
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(String),
    Terminated(Terminate),
    /// It could not be started, or its end was not seen.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeOutput {
    pub stream: OutputStream,
    /// The first part, as far as it is kept.
    pub bytes: Vec<u8>,
    /// How long all of it was.
    pub total: u64,
}
