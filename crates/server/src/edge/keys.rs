//! API keys: what they look like, what is stored of them, and the table that answers "is this one good".
//!
//! A key is `rr_<id>_<secret>` with 256 random bits of secret. The store keeps the id and the SHA-256 of the
//! whole text; a slow hash would add nothing, because there is no password to guess.
//!
//! The table holds every key in memory, so a wrong key never reaches the store. It is read again within
//! `Limits::revoke_time`, which bounds how long a key revoked by another process lives on.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use riverrun_event::{ErrorCode, KeyId, TenantId};
use riverrun_log::{ApiKey, Clock, Log, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, watch};

use super::problem::Problem;

/// The tenant of the first admin key.
pub const DEFAULT_TENANT: &str = "default";

/// What a key may do. Scopes do not imply each other, except that `admin` implies all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Read,
    Write,
    Approve,
    Admin,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Read, Scope::Write, Scope::Approve, Scope::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Approve => "approve",
            Scope::Admin => "admin",
        }
    }

    /// The scope of that name. A stored name that this version does not know gives nothing.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// The live view of one key, shared by everyone who came in with it.
#[derive(Debug)]
pub(super) struct KeyState {
    pub(super) stored: ApiKey,
    pub(super) scopes: Vec<Scope>,
    /// False once the key is revoked.
    live: watch::Sender<bool>,
    last_used: AtomicU64,
}

impl KeyState {
    fn new(stored: ApiKey) -> Self {
        let last_used = AtomicU64::new(stored.last_used_at.map_or(0, Timestamp::millis));
        let live = watch::Sender::new(stored.revoked_at.is_none());
        let scopes = stored.scopes.iter().filter_map(|name| Scope::from_name(name)).collect();
        Self { stored, scopes, live, last_used }
    }

    /// Asks for the time only if the key expires: streams look here with every batch of frames.
    pub(super) fn is_live(&self, now: impl FnOnce() -> Timestamp) -> bool {
        *self.live.borrow() && self.stored.expires_at.is_none_or(|at| now() < at)
    }

    pub(super) fn watch(&self) -> watch::Receiver<bool> {
        self.live.subscribe()
    }
}

/// A key that was just made. This is the only time that its text exists.
#[derive(Debug)]
pub struct NewKey {
    pub text: String,
    pub stored: ApiKey,
}

/// What to make a key with.
#[derive(Debug, Clone)]
pub struct KeyRequest {
    pub tenant: TenantId,
    pub scopes: Vec<Scope>,
    pub label: String,
    pub expires_at: Option<Timestamp>,
}

/// All keys, in memory, kept true to the store.
pub struct Keys {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    table: RwLock<HashMap<KeyId, Arc<KeyState>>>,
    revocations: Notify,
}

impl Keys {
    pub async fn load(log: Arc<dyn Log>, clock: Arc<dyn Clock>) -> Result<Self, Problem> {
        let keys = Self { log, clock, table: RwLock::default(), revocations: Notify::new() };
        keys.refresh().await?;
        Ok(keys)
    }

    /// Makes the first admin key and writes it to `path` with mode 0600, unless a live admin key exists.
    /// Answers true if it did. The file is written first, so a crash in between leaves no key that nobody knows.
    pub async fn ensure_admin(&self, path: &Path) -> Result<bool, Problem> {
        let now = self.clock.now();
        let has_admin =
            self.states().iter().any(|key| key.is_live(|| now) && key.scopes.contains(&Scope::Admin));
        if has_admin {
            return Ok(false);
        }
        let tenant = TenantId::new(DEFAULT_TENANT).expect("the constant fits the id alphabet");
        let request =
            KeyRequest { tenant, scopes: vec![Scope::Admin], label: "first".into(), expires_at: None };
        let key = self.draft(request)?;
        super::secret_file::write(path, &key.text).map_err(|error| {
            Problem::new(ErrorCode::StorageFailed, format!("cannot write the admin key: {error}"))
        })?;
        self.insert(key.stored).await?;
        Ok(true)
    }

    /// Makes and stores a key.
    pub async fn create(&self, request: KeyRequest) -> Result<NewKey, Problem> {
        let key = self.draft(request)?;
        self.insert(key.stored.clone()).await?;
        Ok(key)
    }

    /// The keys of one tenant, oldest first.
    pub fn list(&self, tenant: &TenantId) -> Vec<ApiKey> {
        let mut keys: Vec<_> = self
            .states()
            .iter()
            .filter(|key| key.stored.tenant == *tenant)
            .map(|key| ApiKey { last_used_at: key.last_used(), ..key.stored.clone() })
            .collect();
        keys.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        keys
    }

    /// Revokes a key of this tenant; whoever is inside with it is told at once. False if there is no such key.
    pub async fn revoke(&self, tenant: &TenantId, id: &KeyId) -> Result<bool, Problem> {
        let Some(state) = self.find(id).filter(|key| key.stored.tenant == *tenant) else { return Ok(false) };
        if state.stored.revoked_at.is_some() {
            return Ok(true);
        }
        let at = self.clock.now();
        self.log.revoke_key(id, at).await?;
        place(&mut self.lock(), ApiKey { revoked_at: Some(at), ..state.stored.clone() });
        self.revocations.notify_one();
        Ok(true)
    }

    /// The state of the key with this text, if it is good now.
    pub(super) fn check(&self, text: &str) -> Option<Arc<KeyState>> {
        let id = key_id(text);
        let state = id.as_ref().and_then(|id| self.find(id));
        // The digest is computed for unknown ids too, so that the time to answer tells nothing about ids.
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let stored = state.as_ref().map_or([0; 32], |state| state.stored.hash);
        let now = self.clock.now();
        let good = equal(&digest, &stored);
        let state = state.filter(|state| good && state.is_live(|| now))?;
        state.last_used.fetch_max(now.millis(), Ordering::Relaxed);
        Some(state)
    }

    /// Reads the store again and writes down the uses since the last time. Call it every `revoke_time / 2`.
    pub async fn refresh(&self) -> Result<(), Problem> {
        for key in self.states() {
            if let Some(at) = key.unwritten_use() {
                self.log.touch_key(&key.stored.id, at).await?;
            }
        }
        let stored = self.log.keys(None).await?;
        let mut table = self.lock();
        let mut revoked = false;
        for key in stored {
            revoked |= place(&mut table, key);
        }
        if revoked {
            self.revocations.notify_one();
        }
        Ok(())
    }

    /// Resolves after a key was revoked, here or by another process. For one who waits.
    pub async fn revoked(&self) {
        self.revocations.notified().await;
    }

    fn draft(&self, request: KeyRequest) -> Result<NewKey, Problem> {
        let id = KeyId::from_bytes(random()?);
        let secret: [u8; 32] = random()?;
        let text = format!("rr_{}_{}", id.as_str().trim_start_matches(KeyId::PREFIX), hex(&secret));
        let stored = ApiKey {
            id,
            tenant: request.tenant,
            hash: Sha256::digest(text.as_bytes()).into(),
            scopes: request.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            label: request.label,
            created_at: self.clock.now(),
            expires_at: request.expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        Ok(NewKey { text, stored })
    }

    async fn insert(&self, key: ApiKey) -> Result<(), Problem> {
        self.log.put_key(key.clone()).await?;
        place(&mut self.lock(), key);
        Ok(())
    }

    fn lock(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<KeyId, Arc<KeyState>>> {
        self.table.write().unwrap_or_else(|poison| poison.into_inner())
    }

    fn find(&self, id: &KeyId) -> Option<Arc<KeyState>> {
        self.table.read().unwrap_or_else(|poison| poison.into_inner()).get(id).cloned()
    }

    fn states(&self) -> Vec<Arc<KeyState>> {
        self.table.read().unwrap_or_else(|poison| poison.into_inner()).values().cloned().collect()
    }
}

impl KeyState {
    fn last_used(&self) -> Option<Timestamp> {
        Some(self.last_used.load(Ordering::Relaxed)).filter(|at| *at > 0).map(Timestamp::from_millis)
    }

    /// A use that the store does not know yet, at most one a minute.
    fn unwritten_use(&self) -> Option<Timestamp> {
        const WRITE_EVERY_MS: u64 = 60_000;
        let written = self.stored.last_used_at.map_or(0, Timestamp::millis);
        self.last_used().filter(|used| used.millis() >= written.saturating_add(WRITE_EVERY_MS))
    }
}

/// Puts what the store says into the table; a key that is gone from use wakes those who hold it.
/// True if that was news.
fn place(table: &mut HashMap<KeyId, Arc<KeyState>>, key: ApiKey) -> bool {
    let old = table.get(&key.id);
    if old.is_some_and(|old| old.stored == key) {
        return false;
    }
    let revoked = key.revoked_at.is_some();
    let mut new = KeyState::new(key);
    if let Some(old) = old {
        if revoked {
            old.live.send_replace(false);
        }
        // Whoever holds the old state must also hear of a later revocation, so the channel lives on.
        new.live = old.live.clone();
        new.last_used.fetch_max(old.last_used.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    table.insert(new.stored.id.clone(), Arc::new(new));
    revoked
}

/// The id in a key's text; `None` if the text is no key at all.
fn key_id(text: &str) -> Option<KeyId> {
    let (id, secret) = text.strip_prefix("rr_")?.split_once('_')?;
    let well_formed = secret.len() == 64 && secret.bytes().all(|b| b.is_ascii_hexdigit());
    KeyId::new(format!("{}{id}", KeyId::PREFIX)).ok().filter(|_| well_formed)
}

/// Compares without leaving early, so that the time taken does not tell how much was right.
pub(super) fn equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0u8, |all, (x, y)| all | (x ^ y));
    std::hint::black_box(difference) == 0
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| Problem::new(ErrorCode::Internal, "the system gives no random numbers"))?;
    Ok(bytes)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
