//! The event catalogue.
//!
//! An event is written down once: its type and payload in `catalogue`, its envelope in `envelope`. What comes from
//! outside passes `json` and `decode`; what is stored is a `Record`; what goes out is composed from it by copying.
//!
//! This crate never reads the clock, makes no random numbers and does no I/O: ids and times arrive as arguments.
//!
//! ```
//! use riverrun_event::{Cursor, EventType, decode};
//!
//! let event = decode(r#"{"type":"model.delta","turnId":"turn_1","payload":{"delta":"Hello"}}"#)?;
//! assert_eq!(event.draft.kind, EventType::ModelDelta);
//! // Types that are not known here are kept; a known type must have its payload.
//! assert!(decode(r#"{"type":"acme.note","payload":[1, 2]}"#).is_ok());
//! assert!(decode(r#"{"type":"model.delta","payload":{}}"#).is_err());
//! // A cursor names the last event that its reader has.
//! assert_eq!(Cursor::parse("41")?.sequence.get(), 41);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod author;
mod catalogue;
mod cursor;
mod decode;
mod delta_maker;
mod envelope;
mod error;
mod hosted;
mod id;
pub mod json;
pub mod question;
mod record;
mod scope;
mod sequence;
mod service_stream;
mod spill;
mod suggest;
mod timestamp;

pub use author::Author;
pub use catalogue::*;
pub use cursor::{Cursor, CursorError, CursorOrigin};
pub use decode::{DecodeError, Decoded, decode, decode_wire};
pub use delta_maker::DeltaMaker;
pub use envelope::{Draft, Event, SCHEMA_VERSION};
pub use error::ErrorCode;
pub use hosted::HostedWord;
pub use id::*;
pub use record::{
    Composer, Composing, IdOrigin, Record, RecordBytes, RecordError, Surround, record_length, write_record,
};
pub use scope::{EventScope, JobScope};
pub use sequence::Sequence;
pub use service_stream::{Growth, SentText, ServiceStream};
pub use spill::{PREVIEW_CHARACTERS, Spilled, cut_size, cut_text, preview, spill};
pub use suggest::nearest;
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
