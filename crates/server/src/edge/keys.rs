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
use std::time::Duration;

use riverrun_api::Scope;
use riverrun_event::{CredentialId, ErrorCode, KeyId, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{ApiKey, Clock, Credential, Log, UnixMillis};
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, watch};

use super::credentials::{CredentialState, Credentials, Grant};
use super::problem::Problem;

pub use riverrun_session::DEFAULT_TENANT;

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
        let last_used = AtomicU64::new(stored.last_used_at.map_or(0, UnixMillis::millis));
        let live = watch::Sender::new(stored.revoked_at.is_none());
        let scopes = stored.scopes.iter().filter_map(|name| Scope::from_name(name)).collect();
        Self { stored, scopes, live, last_used }
    }

    /// Asks for the time only if the key expires: streams look here with every batch of frames.
    pub(super) fn is_live(&self, now: impl FnOnce() -> UnixMillis) -> bool {
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
    pub expires_at: Option<UnixMillis>,
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

/// All keys, in memory, kept true to the store.
pub struct Keys {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    table: RwLock<HashMap<KeyId, Arc<KeyState>>>,
    credentials: Credentials,
    revocations: Notify,
    /// One change at a time: a rotation must not write over a revocation, nor a refresh over either.
    changing: tokio::sync::Mutex<()>,
}

impl Keys {
    pub async fn load(log: Arc<dyn Log>, clock: Arc<dyn Clock>) -> Result<Self, Problem> {
        let (table, credentials) = (RwLock::default(), Credentials::default());
        let (revocations, changing) = (Notify::new(), tokio::sync::Mutex::default());
        let keys = Self { log, clock, table, credentials, revocations, changing };
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
        self.make_admin(path, "first").await?;
        Ok(true)
    }

    /// Makes an admin key of the default tenant and writes it to `path`, whatever keys there are.
    pub async fn make_admin(&self, path: &Path, label: &str) -> Result<ApiKey, Problem> {
        let tenant = TenantId::new(DEFAULT_TENANT).expect("the constant fits the id alphabet");
        let request =
            KeyRequest { tenant, scopes: vec![Scope::Admin], label: label.into(), expires_at: None };
        let key = self.draft(request)?;
        super::secret_file::write(path, &key.text).map_err(|error| {
            Problem::new(ErrorCode::StorageFailed, format!("cannot write the admin key: {error}"))
        })?;
        self.insert(key.stored.clone()).await?;
        Ok(key.stored)
    }

    /// Makes and stores a key.
    pub async fn create(&self, request: KeyRequest) -> Result<NewKey, Problem> {
        let key = self.draft(request)?;
        self.insert(key.stored.clone()).await?;
        Ok(key)
    }

    /// The keys of one tenant or of all, oldest first.
    pub fn list(&self, tenant: Option<&TenantId>) -> Vec<ApiKey> {
        let mut keys: Vec<_> = self
            .states()
            .iter()
            .filter(|key| tenant.is_none_or(|tenant| key.stored.tenant == *tenant))
            .map(|key| ApiKey { last_used_at: key.last_used(), ..key.stored.clone() })
            .collect();
        keys.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        keys
    }

    /// Every tenant that has or had a key, in order of name.
    pub fn tenants(&self) -> Vec<TenantKeys> {
        let now = self.clock.now();
        let mut tenants: std::collections::BTreeMap<TenantId, TenantKeys> = Default::default();
        for key in self.states() {
            let tenant = key.stored.tenant.clone();
            let entry = tenants.entry(tenant.clone()).or_insert(TenantKeys { tenant, live: 0, total: 0 });
            entry.total += 1;
            entry.live += usize::from(key.is_live(|| now));
        }
        tenants.into_values().collect()
    }

    /// The tenant of a key.
    pub fn tenant_of(&self, id: &KeyId) -> Option<TenantId> {
        self.find(id).map(|key| key.stored.tenant.clone())
    }

    /// Gives a key a new secret. The former one works for `overlap` more; everything else about the key stays.
    /// None if there is no such key, or if it no longer works.
    pub async fn rotate(&self, id: &KeyId, overlap: Duration) -> Result<Option<NewKey>, Problem> {
        let _alone = self.changing.lock().await;
        let now = self.clock.now();
        let Some(state) = self.find(id).filter(|key| key.is_live(|| now)) else { return Ok(None) };
        let text = key_text(id, &random::<32>()?);
        if !overlap.is_zero() {
            let until = now.plus(overlap);
            let grant = serde_json::to_string(&Grant::FormerSecret).expect("a grant has no fallible parts");
            let former = Credential {
                id: CredentialId::from_bytes(random()?),
                key: id.clone(),
                tenant: state.stored.tenant.clone(),
                hash: state.stored.hash,
                grant,
                created_at: now,
                expires_at: until,
                revoked_at: None,
            };
            // Before the key changes: a crash in between leaves the old secret working, and no unknown one.
            self.credentials.put(&self.log, former).await?;
        }
        let hash = Sha256::digest(text.as_bytes()).into();
        let stored = ApiKey { hash, last_used_at: state.last_used(), ..state.stored.clone() };
        self.insert(stored.clone()).await?;
        Ok(Some(NewKey { text, stored }))
    }

    /// Revokes a key; whoever is inside with it is told at once. False if there is no such key.
    pub async fn revoke(&self, id: &KeyId) -> Result<bool, Problem> {
        let _alone = self.changing.lock().await;
        let Some(state) = self.find(id) else { return Ok(false) };
        if state.stored.revoked_at.is_some() {
            return Ok(true);
        }
        let at = self.clock.now();
        self.log.revoke_key(id, at).await?;
        place(&mut self.lock(), ApiKey { revoked_at: Some(at), ..state.stored.clone() });
        self.revocations.notify_one();
        Ok(true)
    }

    /// Whether this is the text of an admin key that works now.
    pub fn is_admin(&self, text: &str) -> bool {
        self.check(text).is_some_and(|(key, _)| key.scopes.contains(&Scope::Admin))
    }

    pub(super) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    pub(super) async fn put_credential(&self, credential: Credential) -> Result<(), Problem> {
        self.credentials.put(&self.log, credential).await
    }

    /// Changes a credential. None if it is not there or no longer works.
    pub(super) async fn change_credential(
        &self,
        id: &CredentialId,
        change: impl FnOnce(&CredentialState, UnixMillis) -> Credential,
    ) -> Result<Option<Credential>, Problem> {
        let _alone = self.changing.lock().await;
        let now = self.clock.now();
        let Some(state) = self.credentials.find(id).filter(|state| state.is_live(now)) else {
            return Ok(None);
        };
        let changed = change(&state, now);
        self.credentials.put(&self.log, changed.clone()).await?;
        if changed.revoked_at.is_some() {
            self.revocations.notify_one();
        }
        Ok(Some(changed))
    }

    /// The key that a credential stands for, if it is good now.
    pub(super) fn key_of(&self, credential: &CredentialState) -> Option<Arc<KeyState>> {
        let state = self.find(&credential.stored.key)?;
        let now = self.clock.now();
        let is_live = state.is_live(|| now) || seeded::is_on(Bug::CredentialOutlivesKey);
        is_live.then(|| {
            state.last_used.fetch_max(now.millis(), Ordering::Relaxed);
            state
        })
    }

    /// The state of the key with this text, if it is good now; with the former secret that it came with, if any.
    pub(super) fn check(&self, text: &str) -> Option<(Arc<KeyState>, Option<Arc<CredentialState>>)> {
        let id = key_id(text);
        let state = id.as_ref().and_then(|id| self.find(id));
        // The digest is computed for unknown ids too, so that the time to answer tells nothing about ids.
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let stored = state.as_ref().map_or([0; 32], |state| state.stored.hash);
        let now = self.clock.now();
        let good = equal(&digest, &stored);
        let former = id.filter(|_| !good).and_then(|id| self.credentials.find_former(&id, &digest, now));
        let state = state.filter(|state| (good || former.is_some()) && state.is_live(|| now))?;
        state.last_used.fetch_max(now.millis(), Ordering::Relaxed);
        Some((state, former))
    }

    /// Reads the store again and writes down the uses since the last time. Call it every `revoke_time / 2`.
    pub async fn refresh(&self) -> Result<(), Problem> {
        for key in self.states() {
            if let Some(at) = key.unwritten_use() {
                self.log.touch_key(&key.stored.id, at).await?;
            }
        }
        let _alone = self.changing.lock().await;
        let stored = self.log.keys(None).await?;
        let mut revoked = self.credentials.refresh(&self.log, self.clock.now()).await?;
        let mut table = self.lock();
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
        let text = key_text(&id, &random::<32>()?);
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
    fn last_used(&self) -> Option<UnixMillis> {
        Some(self.last_used.load(Ordering::Relaxed)).filter(|at| *at > 0).map(UnixMillis::from_millis)
    }

    /// A use that the store does not know yet, at most one a minute.
    fn unwritten_use(&self) -> Option<UnixMillis> {
        const WRITE_EVERY_MS: u64 = 60_000;
        let written = self.stored.last_used_at.map_or(0, UnixMillis::millis);
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

fn key_text(id: &KeyId, secret: &[u8; 32]) -> String {
    format!("rr_{}_{}", id.as_str().trim_start_matches(KeyId::PREFIX), hex(secret))
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
