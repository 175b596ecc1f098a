//! The head of a frame.

use super::close::Close;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    Continuation,
    Text,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn number(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Text => 1,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    fn read(number: u8) -> Result<Self, Close> {
        match number {
            0 => Ok(Opcode::Continuation),
            1 => Ok(Opcode::Text),
            2 => Err(Close::Binary),
            8 => Ok(Opcode::Close),
            9 => Ok(Opcode::Ping),
            10 => Ok(Opcode::Pong),
            _ => Err(Close::ProtocolError),
        }
    }

    pub fn is_control(self) -> bool {
        match self {
            Opcode::Continuation | Opcode::Text => false,
            Opcode::Close | Opcode::Ping | Opcode::Pong => true,
        }
    }
}

/// What a control frame may carry.
pub const MAX_CONTROL: u64 = 125;
/// The longest head that a client sends.
pub const MAX_HEAD: usize = 14;

/// The head of a frame from a client, which is always masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub opcode: Opcode,
    pub is_last: bool,
    pub length: u64,
    pub mask: [u8; 4],
}

impl Head {
    /// The head and its size, None if more bytes are needed.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Close> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let opcode = Opcode::read(first & 0x0f)?;
        let is_last = first & 0x80 != 0;
        let short = u64::from(second & 0x7f);
        // Bits of extensions that were not agreed, and frames without a mask.
        if first & 0x70 != 0 || second & 0x80 == 0 {
            return Err(Close::ProtocolError);
        }
        if opcode.is_control() && (!is_last || short > MAX_CONTROL) {
            return Err(Close::ProtocolError);
        }
        let Some((length, size)) = read_length(short, rest)? else { return Ok(None) };
        let Some(mask) = rest[size..].first_chunk() else { return Ok(None) };
        Ok(Some((Self { opcode, is_last, length, mask: *mask }, size + 6)))
    }

    /// Takes the mask off bytes of the payload that begin at `offset` in it.
    pub fn unmask(&self, offset: u64, bytes: &mut [u8]) {
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte ^= self.mask[(offset as usize + index) % 4];
        }
    }
}

/// The length and how many bytes it took behind the first two. It must be written in its shortest form.
fn read_length(short: u64, rest: &[u8]) -> Result<Option<(u64, usize)>, Close> {
    let read = match short {
        126 => rest.first_chunk().map(|bytes| (u64::from(u16::from_be_bytes(*bytes)), 2, 126)),
        127 => rest.first_chunk().map(|bytes| (u64::from_be_bytes(*bytes), 8, 1 << 16)),
        short => Some((short, 0, 0)),
    };
    match read {
        None => Ok(None),
        Some((length, size, least)) if (least..1 << 63).contains(&length) => Ok(Some((length, size))),
        Some(_) => Err(Close::ProtocolError),
    }
}

/// Appends the head of a frame to a client, which is never masked.
pub fn write_head(opcode: Opcode, is_last: bool, length: usize, out: &mut Vec<u8>) {
    out.push(opcode.number() | if is_last { 0x80 } else { 0 });
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => out.push(short),
        (_, Ok(medium)) => {
            out.push(126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        (_, Err(_)) => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}
