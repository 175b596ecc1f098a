//! API keys. An admin of the default tenant runs the server: it manages the keys of every tenant. An admin of another
//! tenant manages that tenant's keys.

mod create;
mod list;
mod revoke;
mod rotate;

use riverrun_event::{ErrorCode, KeyId, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{ApiKey, Timestamp};
use riverrun_session::DEFAULT_TENANT;
use schemars::JsonSchema;
use serde::Serialize;

pub use create::CreateKey;
pub use list::{KeyList, ListKeys};
pub use revoke::{RevokeKey, RevokedKey};
pub use rotate::RotateKey;

use crate::{ApiError, Identity, KeyScope, RequestContext, not_found};

/// An API key without its secret. All times are in milliseconds since 1970.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Key")]
pub struct KeyDescription {
    key_id: KeyId,
    tenant: TenantId,
    #[schemars(with = "Vec<KeyScope>")]
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<u64>,
    /// To about a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<u64>,
    /// The text of the key, shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Only in the answer to a rotation: until when the former secret works.
    #[serde(skip_serializing_if = "Option::is_none")]
    former_until: Option<u64>,
}

impl KeyDescription {
    fn new(key: ApiKey) -> Self {
        Self {
            key_id: key.id,
            tenant: key.tenant,
            scopes: key.scopes,
            label: key.label,
            created_at: key.created_at.millis(),
            expires_at: key.expires_at.map(Timestamp::millis),
            revoked_at: key.revoked_at.map(Timestamp::millis),
            last_used_at: key.last_used_at.map(Timestamp::millis),
            key: None,
            former_until: None,
        }
    }
}

/// Whether the caller manages the keys of every tenant.
pub(super) fn is_operator(identity: &Identity) -> bool {
    let everybody = seeded::is_on(Bug::EveryAdminSeesAllKeys);
    identity.has(KeyScope::Admin) && (everybody || identity.tenant().as_str() == DEFAULT_TENANT)
}

pub(super) fn operator_only() -> ApiError {
    let detail = format!("only an admin of tenant `{DEFAULT_TENANT}` sees other tenants");
    ApiError::new(ErrorCode::Forbidden, detail).field("tenant")
}

/// The key of this id, if the caller may manage it. A malformed id, an absent key and another's answer alike.
fn managed_key(context: &RequestContext, id: &str) -> Result<KeyId, ApiError> {
    let identity = context.identity();
    let id = KeyId::new(id).map_err(|_| not_found())?;
    let tenant = context.services().keys().tenant_of(&id).ok_or_else(not_found)?;
    if tenant == *identity.tenant() || is_operator(identity) { Ok(id) } else { Err(not_found()) }
}
