//! Dialects: deterministic projections of a session's log into wire formats.
//!
//! The same prefix of a log gives the same bytes, on any node, after any restart. A dialect knows a foreign
//! protocol's words; it knows no transport, no clock and no I/O. Transports know no dialect.
//!
//! A new dialect is a folder here, one line in [`registry`], and its vectors.

pub mod a2a;
pub mod ag_ui;
mod agents_sdk;
pub mod ai_sdk;
pub mod blocks;
mod coalesce;
mod control;
mod follow;
mod frame;
mod framing;
mod langgraph;
mod members;
pub mod native;
mod projector;
pub mod registry;
pub mod request;
pub mod simple_run;
pub mod task;

pub use coalesce::{Coalescer, Joined};
pub use control::{Control, Opening, SnapshotReason};
pub use frame::{Frame, Frames};
pub use framing::{Framing, Heartbeat, Place, Rules, cursor_after, write_control, write_frame, write_framed};
pub use projector::{IndexUnit, Options, Projector};
pub use registry::Dialect;
