use riverrun_event::{ErrorCode, TenantId};
use riverrun_session::DEFAULT_TENANT;

use crate::{ApiError, Identity, KeyScope, invalid};

/// Whose objects are asked for.
pub enum TenantFilter {
    Own,
    One(TenantId),
    All,
}

impl TenantFilter {
    pub fn parse(text: Option<&str>) -> Result<Self, ApiError> {
        match text {
            None => Ok(Self::Own),
            Some("*") => Ok(Self::All),
            Some(text) => TenantId::new(text).map(Self::One).map_err(|error| invalid("tenant", &error)),
        }
    }

    /// The tenant whose figures the caller gets, None for all. Those of others are for admins of the default tenant.
    pub fn allowed(self, identity: &Identity) -> Result<Option<TenantId>, ApiError> {
        identity.require_all_sessions()?;
        let wanted = match self {
            Self::Own => return Ok(Some(identity.tenant().clone())),
            Self::One(tenant) if tenant == *identity.tenant() => return Ok(Some(tenant)),
            Self::One(tenant) => Some(tenant),
            Self::All => None,
        };
        identity.require(KeyScope::Admin)?;
        if identity.tenant().as_str() != DEFAULT_TENANT {
            let detail = "only an admin key of the default tenant sees other tenants";
            return Err(ApiError::new(ErrorCode::Forbidden, detail).field("tenant"));
        }
        Ok(wanted)
    }
}
