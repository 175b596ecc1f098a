//! What each tenant has stored: summed up at the start, then kept with every commit.
//!
//! ```text
//! log bytes of a session = heads.packed_bytes (its segments, unpacked) + its live chunks
//! ```

use riverrun_event::TenantId;
use riverrun_log::{Usage, UsageChange};
use rusqlite::Connection;

use crate::rows::id_at;
use crate::shared::Shared;

/// Sums up what is stored. The live chunks must have been loaded.
pub fn load(connection: &Connection, shared: &Shared) -> rusqlite::Result<()> {
    let sql = "SELECT s.tenant, count(*), coalesce(sum(h.packed_bytes), 0)
               FROM sessions s INDEXED BY sessions_by_tenant JOIN heads h ON h.session = s.number GROUP BY s.tenant";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let change = UsageChange { sessions: row.get(1)?, log_bytes: row.get(2)?, blob_bytes: 0 };
        shared.change_usage(&id_at::<TenantId>(row, 0)?, change);
    }
    let mut statement = connection.prepare("SELECT tenant, sum(size) FROM blobs GROUP BY tenant")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let change = UsageChange { blob_bytes: row.get(1)?, ..UsageChange::default() };
        shared.change_usage(&id_at::<TenantId>(row, 0)?, change);
    }
    for slot in shared.slots.all() {
        let log_bytes = slot.lock().live_bytes();
        shared.change_usage(&slot.key.tenant, UsageChange { log_bytes, ..UsageChange::default() });
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM origins)";
    let has_origins: bool = connection.query_row(sql, [], |row| row.get(0))?;
    shared.has_origins.store(has_origins, std::sync::atomic::Ordering::Relaxed);
    Ok(())
}

/// What one tenant has stored, or all of them in order.
pub fn of(shared: &Shared, tenant: Option<&TenantId>) -> Vec<(TenantId, Usage)> {
    if let Some(tenant) = tenant {
        return vec![(tenant.clone(), shared.used(tenant))];
    }
    let usage = crate::signal::lock(&shared.usage);
    let mut all: Vec<_> = usage.iter().map(|(tenant, usage)| (tenant.clone(), *usage)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}
