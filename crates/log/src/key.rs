//! API keys, which live in the same store as what they open.

use riverrun_event::{CredentialId, KeyId, TenantId};

use crate::Timestamp;

/// A key as stored: its hash, never the secret. Scopes are opaque texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    /// SHA-256 of the secret. The secret is random, so no slow hash is needed.
    pub hash: [u8; 32],
    pub tenant: TenantId,
    pub scopes: Vec<String>,
    pub label: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// A further secret of a key, with bounds of its own: a browser credential, or the secret before a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub id: CredentialId,
    /// The key it stands for. It ends with that key.
    pub key: KeyId,
    pub tenant: TenantId,
    /// SHA-256 of the whole text.
    pub hash: [u8; 32],
    /// What it allows, as an opaque text.
    pub grant: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}
