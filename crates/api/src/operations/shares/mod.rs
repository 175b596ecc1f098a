//! Shares: links by which anybody who has them may read a session up to an event. They expire and can be revoked.

mod create;
mod get;
mod link;
mod list;
mod revoke;

use riverrun_event::{ShareId, Timestamp};
use riverrun_log::Share;
use riverrun_session::event_time;
use schemars::JsonSchema;
use serde::Serialize;

pub use create::CreateShare;
pub use get::GetShare;
pub use link::{checked_title, create_share, share_expiry};
pub use list::ListShares;
pub use revoke::RevokeShare;

use crate::Services;

/// A link by which anybody who has it may read a session up to an event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Share")]
pub struct ShareView {
    pub share_id: ShareId,
    pub url: String,
    pub title: String,
    /// The last event that its readers see.
    pub through: u64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    #[schemars(extend("enum" = ["live", "expired", "revoked"]))]
    pub status: &'static str,
}

impl ShareView {
    /// `base_url` is the server's address as the caller knows it.
    pub fn new(services: &Services, base_url: &str, share: Share) -> Self {
        let status = match share.revoked_at {
            Some(_) => "revoked",
            None if share.is_live(link::now(services)) => "live",
            None => "expired",
        };
        Self {
            url: format!("{base_url}/share/{}", share.id),
            share_id: share.id,
            title: share.title,
            through: share.through.get(),
            created_at: event_time(share.created_at),
            expires_at: event_time(share.expires_at),
            revoked_at: share.revoked_at.map(event_time),
            status,
        }
    }
}
