//! What a tenant uses and may use, and what retention deletes next.

use riverrun_event::TenantId;
use serde_json::Value;

use crate::client::Client;
use crate::error::Result;
use crate::exchange::encode;

/// Whose figures: those of other tenants are for admins of the default one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Tenants {
    #[default]
    Own,
    One(TenantId),
    All,
}

impl Tenants {
    fn query(&self) -> String {
        match self {
            Tenants::Own => String::new(),
            Tenants::One(tenant) => format!("?tenant={}", encode(tenant.as_str())),
            Tenants::All => "?tenant=*".to_owned(),
        }
    }
}

impl Client {
    /// The usage and quotas of a tenant, or `{"tenants": […]}` for all.
    pub async fn usage(&self, tenants: &Tenants) -> Result<Value> {
        self.get(format!("/v1/usage{}", tenants.query())).await
    }

    /// The finished sessions whose events are deleted within a day.
    pub async fn retention(&self, tenants: &Tenants) -> Result<Value> {
        self.get(format!("/v1/retention{}", tenants.query())).await
    }
}
