//! The preallocated write-ahead file and the one thread that writes it.
//!
//! The writer takes whatever waits, writes it as one group, syncs once, and only then publishes:
//! ```text
//! queue [a1 b1 a2 c1]  ->  file [a1 a2 | b1 | c1] fdatasync  ->  publish a, b, c  ->  answer all four
//! ```

use std::fs::File;
use std::io::{Result, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::session::{CeilingSession, FrameChunk};

/// Most appends in one commit group.
const GROUP: usize = 4096;

pub struct CeilingJournal {
    file: Option<File>,
    written: AtomicU64,
    events: AtomicU64,
}

/// One append that waits for its commit; the answer is (first, last) once it is durable.
pub struct QueuedAppend {
    pub session: Arc<CeilingSession>,
    pub body: Bytes,
    pub done: oneshot::Sender<(u64, u64)>,
}

impl CeilingJournal {
    pub fn memory() -> Self {
        Self { file: None, written: AtomicU64::new(0), events: AtomicU64::new(0) }
    }

    /// Opens the file and fills it with zeros up to `size`: a sync into a growing file also
    /// commits metadata, which is twenty times slower.
    pub fn open(path: &Path, size: u64) -> Result<Self> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let zeros = vec![0; 1 << 20];
        let missing = size.saturating_sub(file.metadata()?.len());
        for _ in 0..missing.div_ceil(zeros.len() as u64) {
            file.write_all(&zeros)?;
        }
        file.sync_all()?;
        let file = File::options().read(true).write(true).open(path)?;
        Ok(Self { file: Some(file), ..Self::memory() })
    }

    pub fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes and events written since the start.
    pub fn size(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.events.load(Ordering::Relaxed))
    }

    pub fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.as_ref()?.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        match &self.file {
            None => Ok(()),
            Some(file) => file.write_all_at(bytes, offset).and_then(|()| file.sync_data()),
        }
    }
}

/// Commits groups until every sender is gone or the disk fails.
pub fn write(journal: &CeilingJournal, queue: &Receiver<QueuedAppend>) {
    while let Ok(first) = queue.recv() {
        let mut group = vec![first];
        group.extend(queue.try_iter().take(GROUP - 1));
        if let Err(error) = commit(journal, group) {
            // Unanswered appends end as an error for their callers, which is the truth.
            eprintln!("commit failed: {error}");
            return;
        }
    }
}

fn commit(journal: &CeilingJournal, mut group: Vec<QueuedAppend>) -> Result<()> {
    // A stable sort keeps arrival order inside a session and makes its frames adjacent.
    group.sort_by_key(|append| Arc::as_ptr(&append.session));
    let offset = journal.written.load(Ordering::Relaxed);
    let mut bytes = Vec::with_capacity(group.iter().map(|append| append.body.len() + 64).sum());
    let mut chunks = Vec::new();
    let mut answers = Vec::with_capacity(group.len());
    for appends in group.chunk_by(|left, right| Arc::ptr_eq(&left.session, &right.session)) {
        let (start, head) = (bytes.len(), appends[0].session.head());
        let mut last = head;
        for append in appends {
            let first = last + 1;
            last += frames(&append.body, first, &mut bytes);
            answers.push((first, last));
        }
        chunks.push((appends[0].session.clone(), head + 1, last, start..bytes.len()));
    }
    journal.write(&bytes, offset)?;
    journal.written.store(offset + bytes.len() as u64, Ordering::Relaxed);
    let bytes = Bytes::from(bytes);
    for (session, first, last, range) in chunks.into_iter().filter(|(_, first, last, _)| first <= last) {
        journal.events.fetch_add(last + 1 - first, Ordering::Relaxed);
        let offset = offset + range.start as u64;
        session.publish(FrameChunk { first, last, offset, frames: bytes.slice(range) }, journal);
    }
    for (append, answer) in group.into_iter().zip(answers) {
        // A caller that went away no longer wants to know.
        append.done.send(answer).ok();
    }
    Ok(())
}

/// Writes each line of `body` as the frame that subscribers get, so that it is encoded once.
fn frames(body: &[u8], first: u64, out: &mut Vec<u8>) -> u64 {
    let mut sequence = first;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', body).chain([body.len()]) {
        let line = &body[start..end];
        start = end + 1;
        if line.is_empty() {
            continue;
        }
        write!(out, "id: {sequence}\ndata: ").expect("a Vec takes every byte");
        out.extend_from_slice(line);
        out.extend_from_slice(b"\n\n");
        sequence += 1;
    }
    sequence - first
}
