//! What a tenant may store, and what it has stored: one decision for every engine.

use std::collections::HashMap;

use riverrun_event::TenantId;

use crate::seeded::{self, Bug};
use crate::{LogError, Urgency};

/// Beyond its quota a tenant may still end what it began: cancels, decisions and terminal events fit in here.
pub const QUOTA_RESERVE: u64 = 1 << 20;

/// The most that one tenant may store. None is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageQuota {
    /// Most sessions.
    pub sessions: Option<u64>,
    /// Log and blobs together, as [`Usage::stored_bytes`] counts them.
    pub stored_bytes: Option<u64>,
}

/// The quotas of all tenants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StorageQuotas {
    /// For tenants that are not named.
    pub default: StorageQuota,
    /// The quotas of tenants that have their own.
    pub tenants: HashMap<TenantId, StorageQuota>,
}

impl StorageQuotas {
    /// The quota of a tenant.
    pub fn of(&self, tenant: &TenantId) -> StorageQuota {
        self.tenants.get(tenant).copied().unwrap_or(self.default)
    }
}

/// What one tenant has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Sessions.
    pub sessions: u64,
    /// The events that can be read, before compression.
    pub log_bytes: u64,
    /// Bytes of blobs.
    pub blob_bytes: u64,
}

impl Usage {
    /// Bytes of events and blobs.
    pub const fn stored_bytes(&self) -> u64 {
        self.log_bytes.saturating_add(self.blob_bytes)
    }

    /// Whether one more session may be made.
    pub fn admit_session(&self, quota: StorageQuota) -> Result<(), LogError> {
        match quota.sessions {
            Some(limit) if self.sessions >= limit => {
                Err(LogError::Quota { quota: "sessions", limit, used: self.sessions })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether so many more bytes may be stored.
    pub fn admit_bytes(&self, quota: StorageQuota, bytes: u64, urgency: Urgency) -> Result<(), LogError> {
        let Some(limit) = quota.stored_bytes else { return Ok(()) };
        let reserve = match urgency {
            Urgency::Normal => 0,
            Urgency::Reserved => QUOTA_RESERVE,
        };
        let used = self.stored_bytes();
        if used.saturating_add(bytes) <= limit.saturating_add(reserve) || seeded::is_on(Bug::QuotaBlindBytes)
        {
            return Ok(());
        }
        Err(LogError::Quota { quota: "stored_bytes", limit, used })
    }

    /// Adds what changed. A count never goes below zero.
    pub fn change(&mut self, change: UsageChange) {
        let add = |count: &mut u64, by: i64| *count = count.saturating_add_signed(by);
        add(&mut self.sessions, change.sessions);
        add(&mut self.log_bytes, change.log_bytes);
        add(&mut self.blob_bytes, change.blob_bytes);
    }
}

/// What an operation adds to the usage of a tenant, or takes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageChange {
    /// Sessions that came or went.
    pub sessions: i64,
    /// Bytes of events that came or went.
    pub log_bytes: i64,
    /// Bytes of blobs that came or went.
    pub blob_bytes: i64,
}

impl std::ops::AddAssign for UsageChange {
    fn add_assign(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.log_bytes += other.log_bytes;
        self.blob_bytes += other.blob_bytes;
    }
}
