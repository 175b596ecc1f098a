//! How much a tenant may do per second. The transport counts it; operations ask.

use riverrun_event::TenantId;

use crate::ApiError;

/// The rates of a tenant that operations count against.
pub trait TenantRates: Send + Sync {
    /// Counts a session that is about to be created; 429 if the tenant's rate is used up.
    fn take_session(&self, tenant: &TenantId) -> Result<(), ApiError>;

    /// Returns what was taken for a session that existed already.
    fn return_session(&self, tenant: &TenantId);
}
