//! Reads what a program writes, within limits.

use riverrun_secret::Redacting;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{CallProgress, ProgressSink};

const PREFIX: &[u8] = b"::progress ";
/// A progress line longer than this is cut. A draft of a picture has room.
const MAX_LINE: usize = 1 << 20;
/// A program that writes this many times its limit is stopped.
const FLOOD: u64 = 64;

/// The program writes without end.
#[derive(Debug)]
pub(super) struct Flood;

/// The first part of the output, and how long all of it was.
pub(super) struct Captured {
    pub bytes: Vec<u8>,
    pub total: u64,
    pub limit: usize,
    line: Line,
}

/// Where we are in a line.
#[derive(Default)]
enum Line {
    /// So far it could still be a progress line.
    #[default]
    Start,
    Progress(Vec<u8>),
    Output,
}

impl Captured {
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), total: 0, limit, line: Line::Start }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

pub(super) async fn read_output(
    mut from: impl AsyncRead + Unpin,
    into: &mut Captured,
    progress: &ProgressSink,
    mut secrets: Redacting,
) -> Result<(), Flood> {
    let mut buffer = vec![0; 16 * 1024];
    // The beginning of a line that is shorter than the prefix.
    let mut start: Vec<u8> = Vec::new();
    let mut seen: u64 = 0;
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        seen += read as u64;
        if seen > FLOOD * into.limit.max(MAX_LINE) as u64 {
            return Err(Flood);
        }
        for piece in secrets.push(&buffer[..read]).split_inclusive(|byte| *byte == b'\n') {
            take(piece, &mut start, into, progress);
        }
    }
    for piece in secrets.end().split_inclusive(|byte| *byte == b'\n') {
        take(piece, &mut start, into, progress);
    }
    match std::mem::take(&mut into.line) {
        Line::Start => into.keep(&start),
        Line::Progress(line) => progress(CallProgress::read(&String::from_utf8_lossy(&line))),
        Line::Output => {}
    }
    Ok(())
}

/// A line, or a part of one.
fn take(piece: &[u8], start: &mut Vec<u8>, into: &mut Captured, progress: &ProgressSink) {
    match &mut into.line {
        Line::Output => into.keep(piece),
        Line::Progress(line) => {
            let room = MAX_LINE.saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        Line::Start => {
            start.extend_from_slice(piece);
            if start.starts_with(PREFIX) {
                start.truncate(MAX_LINE);
                into.line = Line::Progress(start.split_off(PREFIX.len()));
                start.clear();
            } else if !PREFIX.starts_with(start) {
                into.keep(start);
                start.clear();
                into.line = Line::Output;
            }
        }
    }
    // The next line starts anew, whatever this one was.
    if piece.ends_with(b"\n")
        && let Line::Progress(line) = std::mem::take(&mut into.line)
    {
        progress(CallProgress::read(&String::from_utf8_lossy(&line)));
    }
}

/// Keeps only the end.
pub(super) async fn read_tail(
    mut from: impl AsyncRead + Unpin,
    into: &mut Vec<u8>,
    limit: usize,
    mut secrets: Redacting,
) -> Result<(), Flood> {
    let mut buffer = vec![0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        into.extend(secrets.push(&buffer[..read]));
        let beyond = into.len().saturating_sub(limit);
        into.drain(..beyond);
    }
    into.extend(secrets.end());
    Ok(())
}
