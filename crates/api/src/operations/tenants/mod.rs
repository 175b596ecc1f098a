//! Tenants: which there are, what they use, and what retention deletes of theirs.

mod filter;
mod list;
mod retention;
mod usage;

pub(super) use filter::TenantFilter;
pub use list::{ListTenants, TenantDescription, TenantList};
pub use retention::{GetRetention, PlannedDeletion, RetentionPlan};
pub use usage::{AllTenantUsage, GetUsage, TenantUsage, UsageFigures};
