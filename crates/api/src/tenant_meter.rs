//! What a tenant uses and may use, as far as the transport counts and limits it.

use riverrun_event::TenantId;
use schemars::JsonSchema;
use serde::Serialize;

/// What is used of something, and how much of it there may be.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct QuotaFigure {
    pub used: u64,
    /// Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl QuotaFigure {
    pub const fn new(used: u64, limit: Option<u64>) -> Self {
        Self { used, limit }
    }
}

/// A tenant's limits, and the use of those that the transport counts.
#[derive(Debug, Clone, Copy)]
pub struct TenantFigures {
    pub sessions_limit: Option<u64>,
    pub stored_bytes_limit: Option<u64>,
    pub running_turns_limit: Option<u64>,
    pub streams: QuotaFigure,
    pub events_per_second: QuotaFigure,
    /// Over the last ten seconds, as is the next.
    pub new_sessions_per_second: QuotaFigure,
    pub upload_bytes_per_second: QuotaFigure,
}

pub trait TenantMeter: Send + Sync {
    fn figures(&self, tenant: &TenantId) -> TenantFigures;
}
