//! Dialects: deterministic projections of a session's log into wire formats.
//!
//! The same prefix of a log gives the same bytes, on any node, after any restart. A dialect knows a foreign
//! protocol's words; it knows no transport, no clock and no I/O. Transports know no dialect.
//!
//! A new dialect is a folder here, one line in [`registry`], and its vectors.

mod coalesce;
mod control;
mod frame;
mod framing;
pub mod native;
mod projector;
pub mod registry;
pub mod task;

pub use coalesce::{Coalescer, Joined};
pub use control::{Control, Opening, SnapshotReason};
pub use frame::{Frame, Frames};
pub use framing::{Framing, Place, cursor_after, surround, write_control, write_frame, write_framed};
pub use projector::{IndexUnit, Options, Projector};
pub use registry::Dialect;
