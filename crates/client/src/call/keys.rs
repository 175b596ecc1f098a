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
    /// Until when the secret before a rotation works; only the answer to a rotation holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_until: Option<i64>,
}

/// A tenant that has or had keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    pub tenant: TenantId,
    /// Keys that work now.
    pub live_keys: u64,
    /// All that were ever made.
    pub keys: u64,
}

#[derive(Debug, Deserialize)]
struct Tenants {
    tenants: Vec<Tenant>,
}

impl Client {
    pub async fn create_key(&self, new: &NewKey) -> Result<Key> {
        self.post("/v1/keys".into(), new).await
    }

    pub async fn keys(&self) -> Result<Page<Key>> {
        self.keys_of(None).await
    }

    /// The keys of a tenant, or of all with `*`; of the calling key's own without one.
    pub async fn keys_of(&self, tenant: Option<&str>) -> Result<Page<Key>> {
        let query = tenant.map_or(String::new(), |tenant| format!("?tenant={}", encode(tenant)));
        self.get(format!("/v1/keys{query}")).await
    }

    /// A new secret for a key; the former one works for `overlap_seconds` more.
    pub async fn rotate_key(&self, key: &KeyId, overlap_seconds: u64) -> Result<Key> {
        let body = serde_json::json!({"overlapSeconds": overlap_seconds});
        self.post(format!("/v1/keys/{}/rotate", encode(key.as_str())), &body).await
    }

    /// Every tenant that has or had keys.
    pub async fn tenants(&self) -> Result<Vec<Tenant>> {
        Ok(self.get::<Tenants>("/v1/tenants".into()).await?.tenants)
    }

    pub async fn revoke_key(&self, key: &KeyId) -> Result<()> {
        self.delete(format!("/v1/keys/{}", encode(key.as_str()))).await
    }
}
