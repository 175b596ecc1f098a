//! API keys, as operations see them. The transport holds the table, because it checks every request against it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use riverrun_event::{KeyId, TenantId};
use riverrun_log::{ApiKey, Timestamp};

use crate::{ApiError, KeyScope};

/// A change of the table: it resolves when the change is durable.
pub type KeyChange<'a, T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send + 'a>>;

/// A key that was just made, or got a new secret. This is the only time that its text exists.
#[derive(Debug)]
pub struct IssuedKey {
    pub text: String,
    pub stored: ApiKey,
}

/// What to make a key with.
#[derive(Debug, Clone)]
pub struct KeyRequest {
    pub tenant: TenantId,
    pub scopes: Vec<KeyScope>,
    pub label: String,
    pub expires_at: Option<Timestamp>,
}

/// A tenant, as its keys tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantKeys {
    pub tenant: TenantId,
    /// Keys that work now.
    pub live: usize,
    /// All that were ever made.
    pub total: usize,
}

/// All keys of a server. It checks no caller: operations do.
pub trait KeyTable: Send + Sync {
    /// The keys of one tenant or of all, the oldest first.
    fn list(&self, tenant: Option<&TenantId>) -> Vec<ApiKey>;

    /// Every tenant that has or had a key, in order of name.
    fn tenants(&self) -> Vec<TenantKeys>;

    /// The tenant of a key; None if there is no such key.
    fn tenant_of(&self, id: &KeyId) -> Option<TenantId>;

    /// Makes and stores a key.
    fn create(&self, request: KeyRequest) -> KeyChange<'_, IssuedKey>;

    /// Revokes a key; requests and streams that came with it end. False if there is no such key.
    fn revoke<'a>(&'a self, id: &'a KeyId) -> KeyChange<'a, bool>;

    /// Gives a key a new secret; the former one works for `overlap` more. None if the key does not work any more.
    fn rotate<'a>(&'a self, id: &'a KeyId, overlap: Duration) -> KeyChange<'a, Option<IssuedKey>>;
}
