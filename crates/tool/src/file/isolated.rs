//! A file is read in a process of its own, whose memory and time the kernel limits: whatever a hostile file makes of
//! its parser, the server goes on.
//!
//! ```text
//!   server ── one line of JSON: what, and the limits ──▶ process
//!          ── the bytes of the file ──────────────────▶
//!          ◀── the text or the reason why there is none ──
//! ```
//!
//! Where the binary cannot supervise (`supervisor.rs`), the file is read on a thread.

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use riverrun_file::{FileError, FileErrorCode, FileType, Hints, ReadFile, ReadLimits, detect};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::process::Pipes;
use crate::strays::has_supervisor;
use crate::{ProcessLimits, Program};

/// The first argument of this binary when it is to read a file.
pub(crate) const READ_FILE: &str = "__read_file";
/// Address space of the process that reads a file.
pub const FILE_MEMORY: u64 = 2 << 30;
/// An answer has the text, written as JSON, and little else: a byte becomes six at most.
const ANSWER: u64 = 64 << 20;
/// The stack of a thread that reads a file.
const STACK: usize = 16 << 20;
/// The process is ended if it has not answered this long behind its own deadline.
const LATE: Duration = Duration::from_secs(2);

/// The input of one extraction in a separate process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExtractionTask {
    pub name: Option<String>,
    /// The media type that its sender named, with its parameters.
    pub declared: Option<String>,
    pub charset: Option<String>,
    /// Whether its text is needed; otherwise only its pages are counted.
    pub with_text: bool,
    pub limits: ReadLimits,
}

type Found = Result<ReadFile, FileError>;

/// Reads a file where it can do no harm.
pub async fn read_file(reading: ExtractionTask, bytes: Bytes) -> Found {
    let limit = reading.limits.time + LATE;
    let found = async {
        match has_supervisor() {
            true => in_process(&reading, &bytes).await,
            false => on_thread(reading.clone(), bytes).await,
        }
    };
    tokio::time::timeout(limit, found).await.unwrap_or_else(|_| {
        let message = format!("the file was not read within {:?}", reading.limits.time);
        Err(FileError { code: FileErrorCode::Timeout, message })
    })
}

/// Reads a file on this thread.
pub fn read_file_here(reading: &ExtractionTask, bytes: &[u8]) -> Found {
    let file_type: FileType = detect(bytes, reading.name.as_deref(), reading.declared.as_deref());
    match reading.with_text {
        true => {
            let hints = Hints { charset: reading.charset.as_deref() };
            riverrun_file::read(bytes, &file_type, hints, &reading.limits)
        }
        false => riverrun_file::count(bytes, &file_type).map(|pages| ReadFile { pages, text: None }),
    }
}

fn crashed(message: impl Into<String>) -> FileError {
    FileError { code: FileErrorCode::Crashed, message: message.into() }
}

async fn on_thread(reading: ExtractionTask, bytes: Bytes) -> Found {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let read = move || drop(answer.send(read_file_here(&reading, &bytes)));
    let started = std::thread::Builder::new().name("file".to_owned()).stack_size(STACK).spawn(read);
    if let Err(error) = started {
        return Err(crashed(format!("the file was not read: {error}")));
    }
    answered.await.unwrap_or_else(|_| Err(crashed("the code that reads such files failed on this one")))
}

async fn in_process(reading: &ExtractionTask, bytes: &[u8]) -> Found {
    let limits = ProcessLimits {
        memory: Some(FILE_MEMORY),
        cpu: Some(reading.limits.time + LATE),
        file_size: Some(0),
        ..ProcessLimits::default()
    };
    let program = Program {
        argv: vec!["/proc/self/exe".to_owned(), READ_FILE.to_owned()],
        limits,
        ..Program::default()
    };
    let unread = |error: std::io::Error| crashed(format!("the file was not read: {error}"));
    let (mut group, pipes) = program.start().map_err(unread)?;
    let Pipes { mut stdin, stdout, stderr } = pipes;
    // What it says of its own failure is for nobody.
    drop(stderr);
    let mut header = serde_json::to_vec(reading).map_err(|error| crashed(error.to_string()))?;
    header.push(b'\n');
    let write = async {
        // A process that ends early has said why, or is found to have crashed.
        let _ = stdin.write_all(&header).await;
        let _ = stdin.write_all(bytes).await;
        drop(stdin);
    };
    let mut answer = Vec::new();
    let mut limited = stdout.take(ANSWER);
    let read = limited.read_to_end(&mut answer);
    let ((), read) = tokio::join!(write, read);
    read.map_err(unread)?;
    let _ = group.wait().await;
    serde_json::from_slice::<Found>(&answer)
        .unwrap_or_else(|_| Err(crashed("reading the file took more memory or time than it may, or failed")))
}

/// Does the work of the process that reads a file, if this one was started as that.
pub(crate) fn serve(word: &std::ffi::OsStr) -> Option<ExitCode> {
    (word == READ_FILE).then(|| {
        let mut input = std::io::stdin().lock();
        let mut header = String::new();
        let reading = input.read_line(&mut header).ok().and_then(|_| serde_json::from_str(&header).ok());
        let Some(reading): Option<ExtractionTask> = reading else { return ExitCode::FAILURE };
        let mut bytes = Vec::new();
        if input.read_to_end(&mut bytes).is_err() {
            return ExitCode::FAILURE;
        }
        // A failure is told as an error; its trace is for nobody.
        std::panic::set_hook(Box::new(|_| {}));
        let read = move || serde_json::to_vec(&read_file_here(&reading, &bytes));
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(read);
        let answer = thread.ok().and_then(|thread| thread.join().ok()).and_then(Result::ok);
        let Some(answer) = answer else { return ExitCode::FAILURE };
        match std::io::stdout().lock().write_all(&answer) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    })
}
