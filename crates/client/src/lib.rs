//! The Rust client of a Riverrun server: typed calls, and a stream that resumes by itself.
//!
//! This crate does not fold events and does not run agents. Events are kept as the server sent
//! them; who wants them typed decodes them with `riverrun-event`.

mod call;
mod client;
mod error;
mod exchange;
mod follow;
mod generated;
mod route;

pub use call::{
    Appended, Backup, Blob, Health, Imported, NewTicket, NewTurn, Producer, ProducerStamp, Ticket, Turn,
};
pub use client::Client;
pub use error::{Error, Problem, Result, UrlError};
pub use follow::{
    Catchup, ConnectionState, Follow, FollowOptions, FollowedEvent, FollowedSnapshot, IndexUnit, Opened,
    Until, Update,
};
/// Requests and answers of the operations.
pub mod operations {
    pub use crate::generated::*;
}

pub use riverrun_net::{
    BaseUrl, DialError, Dialer, Dialing, Io, ServerAddress, SseError, SseFrame, TlsConfig, TlsError,
    Transport,
};
