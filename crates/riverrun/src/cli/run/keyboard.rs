//! Lines that the user types at the terminal, without blocking the stream.
//!
//! What is typed is an answer to what stands on the screen. The terminal and the reading thread keep lines until
//! somebody wants them, so a new question first drops what was typed before it.

use std::io::{Stdin, stdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(String),
    /// Its beginning was typed before the question that is there now, and is gone.
    Late,
}

pub struct Keyboard {
    lines: Option<UnboundedReceiver<Line>>,
    typing: Arc<Mutex<Typing>>,
}

/// The line that is being typed. Whoever holds its lock is the only one who takes something from the terminal.
#[derive(Default)]
struct Typing {
    bytes: Vec<u8>,
    is_late: bool,
}

impl Keyboard {
    pub fn new() -> Self {
        Self { lines: None, typing: Arc::default() }
    }

    /// The next line; None at the end of input. Reading begins with the first call: before it, nobody was asked.
    pub async fn line(&mut self) -> Option<Line> {
        let typing = &self.typing;
        self.lines.get_or_insert_with(|| listen(typing.clone())).recv().await
    }

    /// Drops what was typed up to now, also the beginning of a line; true if there was something.
    pub fn forget(&mut self) -> bool {
        let mut typing = lock(&self.typing);
        let mut was_typed = !typing.bytes.is_empty();
        while self.lines.as_mut().is_some_and(|lines| lines.try_recv().is_ok()) {
            was_typed = true;
        }
        let held = held_by_terminal(&stdin());
        // A line that was late stays so until it ends.
        let last = held.last().or(typing.bytes.last());
        typing.is_late = last.map_or(typing.is_late, |last| *last != b'\n');
        typing.bytes.clear();
        was_typed || !held.is_empty()
    }
}

fn lock(typing: &Mutex<Typing>) -> MutexGuard<'_, Typing> {
    typing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes all that the terminal holds. It hands out whole lines only, so for a moment it is told to hand out bytes.
fn held_by_terminal(stdin: &Stdin) -> Vec<u8> {
    let mut held = Vec::new();
    if let Ok(usual) = tcgetattr(stdin) {
        let mut bytewise = usual.clone();
        bytewise.local_modes.remove(LocalModes::ICANON);
        // A read that finds nothing answers at once.
        bytewise.special_codes[SpecialCodeIndex::VMIN] = 0;
        bytewise.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(stdin, OptionalActions::Now, &bytewise).is_ok() {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = rustix::io::read(stdin, &mut bytes) {
                held.extend_from_slice(&bytes[..count]);
            }
            // It was taken a moment ago; a terminal that is gone shows with the next read.
            let _ = tcsetattr(stdin, OptionalActions::Now, &usual);
        }
    }
    // Whatever is left was typed before the question too.
    let _ = tcflush(stdin, QueueSelector::IFlush);
    held
}

/// A wait for stdin cannot be cancelled, so it has a thread of its own, which ends with the process.
fn listen(typing: Arc<Mutex<Typing>>) -> UnboundedReceiver<Line> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let stdin = stdin();
        while wait(&stdin, None) && take(&stdin, &mut lock(&typing), &sender) {}
    });
    receiver
}

/// True if there is something to read within this time, or the end.
fn wait(stdin: &Stdin, time: Option<&Timespec>) -> bool {
    loop {
        match poll(&mut [PollFd::new(stdin, PollFlags::IN)], time) {
            Err(Errno::INTR) => {}
            answer => return answer.is_ok_and(|ready| ready > 0),
        }
    }
}

/// Reads what is there, and sends the lines that are whole; false at the end.
fn take(stdin: &Stdin, typing: &mut Typing, lines: &UnboundedSender<Line>) -> bool {
    // It may have been dropped since it was seen.
    if !wait(stdin, Some(&Timespec::default())) {
        return true;
    }
    let mut bytes = [0; 1024];
    let count = match rustix::io::read(stdin, &mut bytes) {
        Ok(0) => return false,
        Ok(count) => count,
        Err(error) => return error == Errno::INTR,
    };
    typing.bytes.extend_from_slice(&bytes[..count]);
    while let Some(end) = typing.bytes.iter().position(|byte| *byte == b'\n') {
        let rest = typing.bytes.split_off(end + 1);
        let whole = std::mem::replace(&mut typing.bytes, rest);
        let line = match std::mem::take(&mut typing.is_late) {
            true => Line::Late,
            false => Line::Whole(String::from_utf8_lossy(&whole).into_owned()),
        };
        if lines.send(line).is_err() {
            return false;
        }
    }
    true
}
