//! Dialects: deterministic projections of a session's log into wire formats.
//!
//! The same prefix of a log gives the same bytes, on any node, after any restart. A dialect knows a foreign
//! protocol's words; it knows no transport, no clock and no I/O. Transports know no dialect.
//!
//! A new dialect is a folder here, one line in [`registry`], and its vectors.
//!
//! Two kinds there are. The native dialect and `task` follow a whole session. `responses`, `chat`, `anthropic` and
//! `gemini` show one turn: a route reads the request with the dialect's `request::decode`, submits a turn that carries
//! [`request::ModelCall::request`] under `payload.request`, and projects from [`before_turn`] with
//! [`ReaderOptions::turn`] set, until [`Projector::is_over`]. Who asked for no stream gets [`Projector::answer`]. What
//! may stand on the wire beside the frames is in [`Rules`]; a refusal is written by [`Dialect::error_body`].

pub mod a2a;
pub mod ag_ui;
mod agents_sdk;
pub mod ai_sdk;
pub mod anthropic;
pub mod blocks;
pub mod chat;
mod coalesce;
mod control;
mod follow;
mod frame;
mod frame_writer;
mod framing;
pub mod gemini;
pub mod langgraph;
mod language;
mod members;
pub mod native;
mod projector;
pub mod registry;
pub mod request;
pub mod responses;
pub mod simple_run;
pub mod task;
mod turn;
mod weight;

pub use coalesce::{Coalescer, Joined};
pub use control::{ControlKind, ControlMessage, Opening, ResumeMethod, Shows, SnapshotReason};
pub use frame::{Frame, Frames};
pub use frame_writer::{FrameWriter, MessageEnd, MessageKind};
pub use framing::{FramePosition, Framing, Heartbeat, Rules, cursor_after, surround};
pub use framing::{write_control, write_frame, write_framed};
pub use language::{Language, Languages};
pub use projector::{Approvals, OffsetUnit, Projector, ReaderOptions, WholeAnswer};
pub use registry::Dialect;
pub use turn::{TurnProjector, before_turn};
pub use weight::Weight;
