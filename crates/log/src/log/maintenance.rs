use std::path::Path;

use riverrun_event::TenantId;

use crate::{
    Expired, ExpiredQuery, LogHealth, LogTicket, Stats, StorageQuotas, UnixMillis, Usage, Verification,
};

/// What an operator needs: retention, quotas, backup, verification, health.
///
/// None of it changes what an event says or in which order events are read.
pub trait Maintenance: Send + Sync {
    /// Finished sessions whose events could be retired.
    fn expired(&self, query: ExpiredQuery) -> LogTicket<Vec<Expired>>;

    /// How far time has come by the reckoning of whoever retires events; None if nobody noted it. It survives a
    /// restart, so that a clock which was set forward meanwhile is noticed.
    fn noted_time(&self) -> LogTicket<Option<UnixMillis>>;

    /// Stores what [`Maintenance::noted_time`] answers from now on.
    fn note_time(&self, time: UnixMillis) -> LogTicket<()>;

    /// Replaces the quotas. From now on `create_session`, `append` and `put_blob` answer `Quota` instead of storing
    /// more than a tenant may; [`crate::QUOTA_RESERVE`] bytes more are left for reserved appends. What is stored
    /// already stays.
    fn set_quotas(&self, quotas: StorageQuotas);

    /// What a tenant has stored, or all tenants that have stored anything. It is exact at all times, also after a
    /// crash, and costs no scan.
    fn usage(&self, tenant: Option<&TenantId>) -> LogTicket<Vec<(TenantId, Usage)>>;

    /// Writes a consistent copy to a new file while appends go on. Opened, the copy is another incarnation.
    /// `Invalid` if the file exists or the engine has no files.
    fn backup(&self, to: &Path) -> LogTicket<()>;

    /// Reads everything and checks checksums, links, density, heads and hashes. Finds every defect, not the first.
    fn verify(&self) -> LogTicket<Verification>;

    /// What the store holds.
    fn stats(&self) -> LogTicket<Stats>;

    /// Whether the store takes appends.
    fn health(&self) -> LogHealth;

    /// Commits what is queued, then refuses everything with `Closed`. The one call that may block: it ends threads.
    fn close(&self) -> LogTicket<()>;
}
