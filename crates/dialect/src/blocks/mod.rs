//! `blocks`: content blocks over a WebSocket, in both directions. The socket itself is elsewhere.
//!
//! - the frames of `projector` are the server's messages about turns;
//! - [`client`] reads what a client sends, [`server`] writes the answers, [`close`] has the close codes;
//! - [`EventId`] is the cursor in every message; [`Display`] hides what a chat view does not show;
//! - [`history`] hands a session over to a client that then subscribes.
//!
//! `README.md` has the mapping and what is lost.

mod approval;
pub mod client;
mod content;
mod display;
mod encode;
mod event_id;
mod files;
mod history;
pub mod server;
mod texts;

use riverrun_fold::State;

use crate::ReaderOptions;
use crate::follow::Shell;
pub use approval::ApprovalGroup;
pub use display::{Display, DisplayMode, TurnRequest};
pub use event_id::EventId;
pub use history::{history, messages, status};
pub use texts::TEXTS;

/// Close codes of the socket.
pub mod close {
    pub const GOING_AWAY: u16 = 1001;
    pub const UNAUTHENTICATED: u16 = 4001;
    pub const FORBIDDEN: u16 = 4003;
    pub const SESSION_NOT_FOUND: u16 = 4004;
    pub const HEARTBEAT_TIMEOUT: u16 = 4008;
    /// Another connection took over, or this one was too slow.
    pub const REPLACED: u16 = 4009;
    pub const PROTOCOL_ERROR: u16 = 4010;
}

/// The texts of a tool's result, one for each block that has text.
pub fn result_texts(item: &riverrun_event::Item) -> Vec<&str> {
    crate::follow::result_texts(item)
}

/// A projector that continues from `state`.
pub(crate) fn projector(state: State, options: ReaderOptions) -> Shell<encode::Blocks> {
    Shell::primed(state, options)
}
