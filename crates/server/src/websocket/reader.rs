//! Bytes from a client in, messages out. It does no I/O, and holds no more than one message.

use super::close::Close;
use super::frame::{Head, MAX_HEAD, Opcode};

/// What one message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub message_bytes: usize,
    pub frame_bytes: usize,
    pub fragments: usize,
}

/// What a client said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Text(String),
    Ping(Vec<u8>),
    Pong,
    /// With the code that goes back.
    Close(u16),
}

#[derive(Debug)]
pub struct Reader {
    pub bounds: Bounds,
    /// A head that is not complete yet.
    partial: Vec<u8>,
    frame: Option<Open>,
    /// The message so far, and of how many fragments; None between messages.
    message: Option<(Vec<u8>, usize)>,
    /// The payload of the control frame under way, which may stand between fragments.
    control: Vec<u8>,
    /// Frames since the last look that carried next to nothing.
    tiny: u32,
}

/// A fragment that is shorter costs more to take than it brings.
const TINY: u64 = 16;

#[derive(Debug, Clone, Copy)]
struct Open {
    head: Head,
    done: u64,
}

impl Reader {
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, partial: Vec::new(), frame: None, message: None, control: Vec::new(), tiny: 0 }
    }

    /// Bytes of the message that is not complete yet.
    pub fn held(&self) -> usize {
        self.message.as_ref().map_or(0, |(bytes, _)| bytes.len())
    }

    /// How many frames carried next to nothing since the last look.
    pub fn take_tiny_frames(&mut self) -> u32 {
        std::mem::take(&mut self.tiny)
    }

    /// Takes bytes until something is complete. Answers how many were taken.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(usize, Option<Heard>), Close> {
        let mut at = 0;
        loop {
            let Some(frame) = self.frame else {
                let taken = self.take_head(&bytes[at..])?;
                at += taken;
                if self.frame.is_none() {
                    return Ok((at, None));
                }
                continue;
            };
            let left = frame.head.length - frame.done;
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
            self.take_payload(frame, &bytes[at..at + count]);
            at += count;
            if (count as u64) < left {
                return Ok((at, None));
            }
            self.frame = None;
            if let Some(heard) = self.complete(frame.head)? {
                return Ok((at, Some(heard)));
            }
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, Close> {
        let before = self.partial.len();
        let wanted = (MAX_HEAD - before).min(bytes.len());
        self.partial.extend_from_slice(&bytes[..wanted]);
        let Some((head, size)) = Head::read(&self.partial)? else { return Ok(wanted) };
        self.partial = Vec::new();
        self.admit(&head)?;
        self.frame = Some(Open { head, done: 0 });
        Ok(size - before)
    }

    /// Refuses a frame before its payload is read.
    fn admit(&mut self, head: &Head) -> Result<(), Close> {
        match (head.opcode, &mut self.message) {
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) => return Ok(()),
            (Opcode::Text, None) => self.message = Some((Vec::new(), 1)),
            (Opcode::Continuation, Some((_, fragments))) => *fragments += 1,
            (Opcode::Text, Some(_)) | (Opcode::Continuation, None) => return Err(Close::ProtocolError),
        }
        let is_tiny = head.length == 0 || head.length < TINY && !head.is_last;
        self.tiny = self.tiny.saturating_add(u32::from(is_tiny));
        let (held, fragments) =
            self.message.as_ref().map_or((0, 0), |(bytes, fragments)| (bytes.len(), *fragments));
        let fits = head.length <= self.bounds.frame_bytes as u64
            && held as u64 + head.length <= self.bounds.message_bytes as u64
            && fragments <= self.bounds.fragments;
        if fits { Ok(()) } else { Err(Close::TooBig) }
    }

    fn take_payload(&mut self, frame: Open, bytes: &[u8]) {
        let into = match (&mut self.message, frame.head.opcode.is_control()) {
            (Some((message, _)), false) => message,
            (_, true) | (None, _) => &mut self.control,
        };
        let from = into.len();
        into.extend_from_slice(bytes);
        frame.head.unmask(frame.done, &mut into[from..]);
        self.frame = Some(Open { done: frame.done + bytes.len() as u64, ..frame });
    }

    fn complete(&mut self, head: Head) -> Result<Option<Heard>, Close> {
        match head.opcode {
            Opcode::Text | Opcode::Continuation if !head.is_last => Ok(None),
            Opcode::Text | Opcode::Continuation => {
                let (bytes, _) = self.message.take().unwrap_or_default();
                String::from_utf8(bytes).map(|text| Some(Heard::Text(text))).map_err(|_| Close::InvalidText)
            }
            Opcode::Ping => Ok(Some(Heard::Ping(std::mem::take(&mut self.control)))),
            Opcode::Pong => {
                self.control.clear();
                Ok(Some(Heard::Pong))
            }
            Opcode::Close => {
                close_code(&std::mem::take(&mut self.control)).map(|code| Some(Heard::Close(code)))
            }
        }
    }
}

/// The code to send back for a close frame. One without a code is a normal end.
fn close_code(payload: &[u8]) -> Result<u16, Close> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() { Ok(1000) } else { Err(Close::ProtocolError) };
    };
    std::str::from_utf8(reason).map_err(|_| Close::InvalidText)?;
    match u16::from_be_bytes(*code) {
        code @ (1000..=1003 | 1007..=1014 | 3000..=4999) => Ok(code),
        _ => Err(Close::ProtocolError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { message_bytes: 8, frame_bytes: 6, fragments: 3 };

    /// A masked frame.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [7, 1, 200, 44];
        let mut out = vec![first, 0x80 | payload.len() as u8];
        out.extend_from_slice(&mask);
        out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        out
    }

    /// What is heard, whether the bytes come at once or one by one.
    fn check(bytes: &[u8], expected: &[Result<Heard, Close>]) {
        for step in [bytes.len(), 1] {
            let (mut reader, mut heard) = (Reader::new(BOUNDS), Vec::new());
            'all: for part in bytes.chunks(step) {
                let mut at = 0;
                while at < part.len() {
                    match reader.take(&part[at..]) {
                        Ok((taken, said)) => {
                            at += taken;
                            heard.extend(said.map(Ok));
                        }
                        Err(close) => {
                            heard.push(Err(close));
                            break 'all;
                        }
                    }
                }
            }
            assert_eq!(heard, expected, "in steps of {step}: {bytes:?}");
        }
    }

    fn text(text: &str) -> Result<Heard, Close> {
        Ok(Heard::Text(text.to_owned()))
    }

    #[test]
    fn messages_come_whole_and_control_frames_between_their_fragments() {
        check(&[frame(0x81, b"hi"), frame(0x81, b"")].concat(), &[text("hi"), text("")]);
        let parts = [
            frame(0x01, "aä".split_at(1).0.as_bytes()),
            frame(0x89, b"p"),
            frame(0x00, &[0xc3]),
            frame(0x80, &[0xa4]),
        ];
        check(&parts.concat(), &[Ok(Heard::Ping(b"p".to_vec())), text("aä")]);
        check(&[frame(0x8a, b""), frame(0x88, b"")].concat(), &[Ok(Heard::Pong), Ok(Heard::Close(1000))]);
        check(&frame(0x88, &[0x0f, 0xa0]), &[Ok(Heard::Close(4000))]);
    }

    #[test]
    fn every_violation_has_its_code() {
        use Close::*;
        let fragments = [frame(0x01, b"a"), frame(0x00, b"b"), frame(0x00, b"c"), frame(0x80, b"d")].concat();
        let long = [frame(0x01, b"aaaa"), frame(0x80, b"bbbbb")].concat();
        for (bytes, close) in [
            (vec![0x81, 0x01, b'a'], ProtocolError),
            (frame(0x82, b"x"), Binary),
            (frame(0x83, b"x"), ProtocolError),
            (frame(0xc1, b"x"), ProtocolError),
            (frame(0x80, b"x"), ProtocolError),
            ([frame(0x01, b"x"), frame(0x81, b"x")].concat(), ProtocolError),
            (frame(0x09, b"x"), ProtocolError),
            (vec![0x89, 0xfe, 0, 126, 0, 0, 0, 0], ProtocolError),
            (vec![0x81, 0xfe, 0, 1, 0, 0, 0, 0], ProtocolError),
            (vec![0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], ProtocolError),
            (frame(0x88, &[1]), ProtocolError),
            (frame(0x88, &[0x03, 0xed]), ProtocolError),
            (frame(0x88, &[0x03, 0xe8, 0xff]), InvalidText),
            (frame(0x81, &[0xff, 0xfe]), InvalidText),
            (frame(0x81, &[0xe4, 0xbd]), InvalidText),
            (frame(0x81, b"7bytes!"), TooBig),
            (long, TooBig),
            (fragments, TooBig),
        ] {
            check(&bytes, &[Err(close)]);
        }
    }
}
