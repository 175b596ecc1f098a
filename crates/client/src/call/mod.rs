//! The calls that the table of operations does not have, one file per noun.

mod backups;
mod benchmark;
mod blobs;
mod health;
mod ingest;
mod sessions;
mod tickets;
mod transfer;
mod turns;

pub use backups::Backup;
pub use blobs::Blob;
pub use health::Health;
pub use ingest::{Appended, Producer, ProducerStamp};
pub use tickets::{NewTicket, Ticket};
pub use transfer::Imported;
pub use turns::{NewTurn, Turn};

use riverrun_event::SessionId;

use crate::exchange::encode;

pub(crate) fn session_path(session: &SessionId) -> String {
    format!("/v1/sessions/{}", encode(session.as_str()))
}
