//! Outgoing connections.
#![warn(missing_docs)]

mod backoff;
mod sse;

pub use backoff::Backoff;
pub use sse::{SseError, SseFrame, SseParser};
