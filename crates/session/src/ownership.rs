//! Who owns the sessions of a log: a lease, taken before anything is appended and renewed as long as the owner lives.

use std::time::Duration;

use riverrun_event::OwnerId;
use riverrun_log::{Error, Lease, Log, Random, Shard};

use crate::sessions::Sessions;

const LEASE_TIME: Duration = Duration::from_secs(10);
const RENEW_EVERY: Duration = Duration::from_secs(3);

/// Takes the log for a new owner.
pub async fn acquire(log: &dyn Log, random: &dyn Random) -> Result<Lease, Error> {
    let mut id = [0; 16];
    random.fill(&mut id);
    log.acquire(Shard::ONLY, &OwnerId::from_bytes(id), LEASE_TIME).await
}

/// Renews the lease until the drain. `after_each` is called after each attempt.
pub async fn renew(sessions: Sessions, mut lease: Lease, after_each: impl Fn()) {
    loop {
        tokio::select! {
            () = sessions.drain().started() => return,
            () = tokio::time::sleep(RENEW_EVERY) => {}
        }
        match sessions.log().renew(&lease, LEASE_TIME).await {
            Ok(next) => lease = next,
            Err(error) => tracing::warn!(code = %error.code(), "the lease could not be renewed"),
        }
        after_each();
    }
}
