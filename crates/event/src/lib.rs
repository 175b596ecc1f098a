//! The event catalogue.
//!
//! This crate never reads the clock, makes no random numbers and does no I/O: ids and times arrive as arguments.

mod catalogue;
mod cursor;
mod error;
mod id;
pub mod json;
mod sequence;
mod timestamp;

pub use catalogue::*;
pub use cursor::{Cursor, CursorError, Origin};
pub use error::ErrorCode;
pub use id::*;
pub use sequence::Sequence;
pub use timestamp::{Timestamp, TimestampError};

/// Crockford base 32 in lower case, `width` digits of the low bits, most significant first.
pub(crate) fn base32(mut value: u128, width: usize) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut out = vec![b'0'; width];
    for digit in out.iter_mut().rev() {
        *digit = DIGITS[(value & 31) as usize];
        value >>= 5;
    }
    out.into_iter().map(char::from).collect()
}
