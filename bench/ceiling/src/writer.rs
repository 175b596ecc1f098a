//! The one thread that writes the journal.
//!
//! The writer takes whatever waits, writes it as one group, syncs once, and only then publishes:
//! ```text
//! queue [a1 b1 a2 c1]  ->  file [a1 a2 | b1 | c1] fdatasync  ->  publish a, b, c  ->  answer all four
//! ```

use std::io::{Result, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::journal::CeilingJournal;
use crate::session::{CeilingSession, FrameChunk};

/// Most appends in one commit group.
const GROUP: usize = 4096;

/// One append that waits for its commit; the answer is (first, last) once it is durable.
pub struct QueuedAppend {
    pub session: Arc<CeilingSession>,
    pub body: Bytes,
    pub done: oneshot::Sender<(u64, u64)>,
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
