//! Frames on their way out. What is here waits for the socket alone; nothing is put in while it is full.

use tokio::time::Instant;

use super::close::Close;
use super::frame::{Opcode, write_head};
use crate::edge::{Fault, FaultKind};

/// Longer messages go out in fragments of this size: many clients refuse large frames.
const FRAME_BYTES: usize = 256 * 1024;
/// What an idle connection may keep.
const KEPT_BYTES: usize = 4 * 1024;

#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    /// How many of them are out.
    at: usize,
    /// When the peer last took something, or had nothing to take.
    moved: Instant,
    /// What shall go wrong, and the messages that were added so far.
    fault: Option<Fault>,
    messages: u64,
}

/// Whether a fault that was asked for lets messages through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    Open,
    /// As many messages as it lets through were added.
    Over(FaultKind),
}

impl Output {
    pub fn new(fault: Option<Fault>) -> Self {
        Self { bytes: Vec::new(), at: 0, moved: Instant::now(), fault, messages: 0 }
    }

    pub fn passing(&self) -> Passing {
        match self.fault {
            Some(fault) if self.messages >= fault.after => Passing::Over(fault.kind),
            Some(_) | None => Passing::Open,
        }
    }

    pub fn queued(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Since when the peer has taken nothing of what waits for it; None if nothing waits.
    pub fn stuck_since(&self) -> Option<Instant> {
        (self.queued() > 0).then_some(self.moved)
    }

    /// Adds one text message, given in parts.
    pub fn text(&mut self, parts: &[&str]) {
        if self.passing() != Passing::Open {
            return;
        }
        self.messages += 1;
        self.make_room();
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length <= FRAME_BYTES {
            write_head(Opcode::Text, true, length, &mut self.bytes);
            parts.iter().for_each(|part| self.bytes.extend_from_slice(part.as_bytes()));
            return;
        }
        let whole = parts.concat();
        let last = (length - 1) / FRAME_BYTES;
        for (index, part) in whole.as_bytes().chunks(FRAME_BYTES).enumerate() {
            let opcode = if index == 0 { Opcode::Text } else { Opcode::Continuation };
            write_head(opcode, index == last, part.len(), &mut self.bytes);
            self.bytes.extend_from_slice(part);
        }
    }

    pub fn ping(&mut self) {
        self.control(Opcode::Ping, &[]);
    }

    pub fn pong(&mut self, payload: &[u8]) {
        self.control(Opcode::Pong, payload);
    }

    pub fn close(&mut self, close: Close) {
        let mut payload = close.code().to_be_bytes().to_vec();
        payload.extend_from_slice(close.reason().as_bytes());
        self.control(Opcode::Close, &payload);
    }

    fn control(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.passing() == Passing::Over(FaultKind::Stall) {
            return;
        }
        self.make_room();
        write_head(opcode, true, payload.len(), &mut self.bytes);
        self.bytes.extend_from_slice(payload);
    }

    /// Forgets what is out, so that the buffer does not grow while the peer is slow.
    fn make_room(&mut self) {
        if self.queued() == 0 {
            self.moved = Instant::now();
        }
        if self.at > self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }

    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// The socket took `count` bytes.
    pub fn took(&mut self, count: usize) {
        self.at += count;
        self.moved = Instant::now();
        if self.queued() > 0 {
            return;
        }
        self.at = 0;
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_goes_out_in_fragments() {
        let mut output = Output::new(None);
        let long = "x".repeat(FRAME_BYTES);
        output.text(&["{", &long, "}"]);
        let bytes = output.rest();
        assert_eq!(bytes[..2], [0x01, 127]);
        assert_eq!(bytes[FRAME_BYTES + 10..], [0x80, 2, b'x', b'}']);
    }

    #[test]
    fn what_is_out_is_forgotten() {
        let mut output = Output::new(None);
        for _ in 0..1000 {
            output.text(&["0123456789"]);
            output.took(output.queued() - 1);
        }
        assert_eq!(output.queued(), 1);
        assert!(output.bytes.capacity() < 100, "{}", output.bytes.capacity());
        output.took(1);
        assert_eq!((output.queued(), output.stuck_since()), (0, None));
    }
}
