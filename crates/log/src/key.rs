//! API keys, which live in the same store as what they open.

use riverrun_event::{CredentialId, KeyId, TenantId};

use crate::UnixMillis;

/// A key as stored: its hash, never the secret. Scopes are opaque texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: KeyId,
    /// SHA-256 of the secret. The secret is random, so no slow hash is needed.
    pub hash: [u8; 32],
    /// The tenant that it acts for.
    pub tenant: TenantId,
    /// What it may do.
    pub scopes: Vec<String>,
    /// A name for people.
    pub label: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it expires, if it does.
    pub expires_at: Option<UnixMillis>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<UnixMillis>,
    /// When it was used last, about.
    pub last_used_at: Option<UnixMillis>,
}

/// A further secret of a key, with bounds of its own: a browser credential, or the secret before a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// The key it stands for. It ends with that key.
    pub key: KeyId,
    /// The tenant that it acts for.
    pub tenant: TenantId,
    /// SHA-256 of the whole text.
    pub hash: [u8; 32],
    /// What it allows, as an opaque text.
    pub grant: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it expires.
    pub expires_at: UnixMillis,
    /// When it was revoked, if it was.
    pub revoked_at: Option<UnixMillis>,
}
