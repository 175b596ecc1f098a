//! Keys: who may call, for whom, to do what.

use riverrun_event::{KeyId, TenantId};
use serde::{Deserialize, Serialize};

use super::Page;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::encode;

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewKey {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// `read`, `write`, `approve`, `admin`; at least one.
    pub scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u32>,
}

/// A key as the server knows it. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    pub key_id: KeyId,
    /// The key itself; only the answer to its creation holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    #[serde(default)]
    pub scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
}

impl Client {
    pub async fn create_key(&self, new: &NewKey) -> Result<Key> {
        self.post("/v1/keys".into(), new).await
    }

    pub async fn keys(&self) -> Result<Page<Key>> {
        self.get("/v1/keys".into()).await
    }

    pub async fn revoke_key(&self, key: &KeyId) -> Result<()> {
        self.delete(format!("/v1/keys/{}", encode(key.as_str()))).await
    }
}
