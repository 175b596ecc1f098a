use riverrun_event::{KeyId, TenantId};

use crate::{ApiKey, Credential, LogTicket, UnixMillis};

/// API keys and credentials, by hash.
///
/// A secret is never stored. Every credential gets a version, so that an instance can ask for what changed since.
pub trait KeyStore: Send + Sync {
    /// Stores a key, replacing one with the same id.
    fn put_key(&self, key: ApiKey) -> LogTicket<()>;

    /// A key; None if it never existed.
    fn key(&self, id: &KeyId) -> LogTicket<Option<ApiKey>>;

    /// Every key, of one tenant or of all, in order of id.
    fn keys(&self, tenant: Option<&TenantId>) -> LogTicket<Vec<ApiKey>>;

    /// False if there is no such key. The first revocation stays.
    fn revoke_key(&self, id: &KeyId, at: UnixMillis) -> LogTicket<bool>;

    /// Notes the use of a key; it need not survive a crash.
    fn touch_key(&self, id: &KeyId, at: UnixMillis) -> LogTicket<()>;

    /// Stores a credential, replacing one with the same id, under a version higher than every earlier one.
    fn put_credential(&self, credential: Credential) -> LogTicket<()>;

    /// Every credential whose version is above `after`, in order of version. Zero gives all.
    fn credentials(&self, after: u64) -> LogTicket<Vec<(u64, Credential)>>;

    /// Removes the credentials that expired before a time; answers how many. Versions are not used again.
    fn drop_credentials(&self, expired_before: UnixMillis) -> LogTicket<u64>;
}
