//! Share links as the log stores them.

use std::time::Duration;

use riverrun_event::{ErrorCode, ShareId};
use riverrun_log::{Random, Share, Timestamp};
use riverrun_session::{Hub, SystemRandom, log_time};

use crate::{ApiError, Services, not_found};

/// How long a share lives by default.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MAX_LIFETIME_SECONDS: u64 = 365 * 24 * 60 * 60;
/// Shares of one session that are live at once.
const MAX_LIVE: usize = 100;
const MAX_TITLE: usize = 200;

/// Creates another link to a session, which shows everything up to now.
pub async fn create_share(
    services: &Services,
    hub: &Hub,
    title: Option<String>,
    expires_in: Option<u64>,
) -> Result<Share, ApiError> {
    let now = now(services);
    let live = services.log().shares(&hub.key).await?.iter().filter(|share| share.is_live(now)).count();
    if live >= MAX_LIVE {
        let detail =
            format!("the session has {live} live shares; at most {MAX_LIVE} are allowed: revoke one");
        return Err(ApiError::new(ErrorCode::QuotaExceeded, detail).quota("shares").limit(MAX_LIVE as u64));
    }
    let mut bytes = [0; 16];
    SystemRandom.fill(&mut bytes);
    let record = services.log().session(&hub.key).await?.ok_or_else(not_found)?;
    let title = match title {
        Some(title) => checked_title(title)?,
        None => record.title.unwrap_or_default().chars().take(MAX_TITLE).collect(),
    };
    let share = Share {
        id: ShareId::from_bytes(bytes),
        key: hub.key.clone(),
        title,
        through: hub.head(),
        created_at: now,
        expires_at: share_expiry(services, expires_in)?,
        revoked_at: None,
    };
    services.log().put_share(share.clone()).await?;
    Ok(share)
}

/// The share with this id, if it is one of this session.
pub(super) async fn share_of_session(services: &Services, hub: &Hub, id: &str) -> Result<Share, ApiError> {
    let id = ShareId::new(id).map_err(|_| not_found())?;
    let found = services.log().share(&id).await?.filter(|share| share.key == hub.key);
    found.ok_or_else(not_found)
}

pub fn checked_title(title: String) -> Result<String, ApiError> {
    if title.chars().count() > MAX_TITLE {
        let detail = format!("`title` may have {MAX_TITLE} characters");
        return Err(ApiError::new(ErrorCode::InvalidField, detail).field("title").limit(MAX_TITLE as u64));
    }
    Ok(title)
}

/// When a link that works for this many seconds expires.
pub fn share_expiry(services: &Services, seconds: Option<u64>) -> Result<Timestamp, ApiError> {
    let seconds = seconds.unwrap_or(LIFETIME.as_secs());
    if seconds == 0 || seconds > MAX_LIFETIME_SECONDS {
        let detail =
            format!("`expiresIn` is {seconds}; a link may work for 1 to {MAX_LIFETIME_SECONDS} seconds");
        let error = ApiError::new(ErrorCode::InvalidField, detail).field("expiresIn");
        return Err(error.limit(MAX_LIFETIME_SECONDS));
    }
    Ok(Timestamp::from_millis(now(services).millis().saturating_add(seconds * 1000)))
}

pub(super) fn now(services: &Services) -> Timestamp {
    log_time(services.now())
}
