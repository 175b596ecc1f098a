//! The calls of the HTTP surface, one file per noun.

mod actions;
mod backups;
mod blobs;
mod health;
mod ingest;
mod jobs;
mod keys;
mod processes;
mod reads;
mod sessions;
mod transfer;
mod turns;
mod usage;

pub use actions::{Action, Decision, DecisionKind, NewShare, Share};
pub use backups::Backup;
pub use blobs::Blob;
pub use health::Health;
pub use ingest::{Appended, Producer, ProducerStamp};
pub use jobs::{Job, JobCounts, JobItem, NewJob};
pub use keys::{Key, NewKey, Tenant};
pub use processes::ProcessInput;
pub use reads::{NewTicket, Ticket};
pub use sessions::{NewSession, Page, Session, SessionFilter};
pub use transfer::Imported;
pub use turns::{NewTurn, Pause, Paused, Turn};
pub use usage::Tenants;

use riverrun_event::SessionId;

use crate::exchange::encode;

pub(crate) fn session_path(session: &SessionId) -> String {
    format!("/v1/sessions/{}", encode(session.as_str()))
}
