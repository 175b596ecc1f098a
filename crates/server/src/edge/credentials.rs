//! Credentials: further secrets of keys, each with bounds of its own.
//!
//! A *browser credential* is `rb_<id>_<secret>`. It stands for its key within one session (or the sessions whose ids
//! begin alike), some scopes, some web origins and a time. A page may use it for every reconnect until it expires,
//! and may renew it up to a time that was fixed when it was made. A *former secret* is what a key had before it was
//! rotated; it works until the overlap ends.
//!
//! Only hashes are stored. The table holds what is live, so a wrong credential never reaches the store.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use riverrun_api::{Reach, Scope};
use riverrun_event::{CredentialId, KeyId, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Credential, Log, UnixMillis};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::keys::{equal, hex, random};
use super::problem::Problem;

/// Expired credentials stay known for this long, so that a page can read that its credential expired.
const KEPT_AFTER_EXPIRY: Duration = Duration::from_secs(60 * 60);

/// What a credential allows, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Grant {
    Browser(BrowserGrant),
    /// The secret that a key had before a rotation: everything that the key allows.
    FormerSecret,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BrowserGrant {
    pub reach: Reach,
    pub scopes: Vec<Scope>,
    pub origins: Vec<String>,
    /// Agents that a turn may name. A turn that names none runs the session's own.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Milliseconds since 1970; no renewal goes beyond it.
    pub not_after: u64,
    /// What a renewal adds, unless it asks for less.
    pub lifetime_seconds: u64,
    #[serde(default)]
    pub label: String,
}

/// The live view of one credential, shared by everyone who came in with it.
#[derive(Debug)]
pub(super) struct CredentialState {
    pub stored: Credential,
    pub grant: Grant,
    /// False once it is revoked.
    live: watch::Sender<bool>,
    /// Moves with renewals, also for those who are inside already.
    expires: Arc<AtomicU64>,
}

impl CredentialState {
    pub fn is_live(&self, now: UnixMillis) -> bool {
        *self.live.borrow() && now < self.expires_at()
    }

    pub fn expires_at(&self) -> UnixMillis {
        UnixMillis::from_millis(self.expires.load(Ordering::Relaxed))
    }

    pub fn watch(&self) -> watch::Receiver<bool> {
        self.live.subscribe()
    }

    pub fn browser(&self) -> Option<&BrowserGrant> {
        match &self.grant {
            Grant::Browser(grant) => Some(grant),
            Grant::FormerSecret => None,
        }
    }

    /// Whether a page of this origin may use it.
    pub fn allows_origin(&self, origin: Option<&str>) -> bool {
        let Some(grant) = self.browser() else { return true };
        seeded::is_on(Bug::CredentialIgnoresOrigin)
            || origin.is_some_and(|origin| grant.origins.iter().any(|known| known == origin))
    }
}

/// All credentials that are or lately were good.
#[derive(Default)]
pub(super) struct Credentials(RwLock<Table>);

#[derive(Default)]
struct Table {
    by_id: HashMap<CredentialId, Arc<CredentialState>>,
    /// The former secrets of each key.
    former: HashMap<KeyId, Vec<CredentialId>>,
    /// The web origins of any browser credential.
    origins: HashSet<String>,
    /// The newest version that was read from the store.
    version: u64,
}

/// How many live browser credentials there are.
pub(super) struct Count {
    pub of_tenant: usize,
    pub of_key: usize,
}

impl Credentials {
    /// The browser credential with this text, live or not. Looking it up says nothing about its origin.
    pub fn find_text(&self, text: &str) -> Option<Arc<CredentialState>> {
        let id = credential_id(text);
        let state = id.as_ref().and_then(|id| self.find(id));
        // The digest is computed for unknown ids too, so that the time to answer tells nothing about ids.
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let stored = state.as_ref().map_or([0; 32], |state| state.stored.hash);
        let good = equal(&digest, &stored);
        state.filter(|state| good && state.browser().is_some())
    }

    /// The former secret of a key with this digest, if it still works.
    pub fn find_former(
        &self,
        key: &KeyId,
        digest: &[u8; 32],
        now: UnixMillis,
    ) -> Option<Arc<CredentialState>> {
        let table = self.read();
        let ids = table.former.get(key)?;
        let states = ids.iter().filter_map(|id| table.by_id.get(id));
        states.filter(|state| state.is_live(now)).find(|state| equal(&state.stored.hash, digest)).cloned()
    }

    pub fn find(&self, id: &CredentialId) -> Option<Arc<CredentialState>> {
        self.read().by_id.get(id).cloned()
    }

    /// True if some credential names this origin: its pages may ask, and are told what is wrong.
    pub fn knows_origin(&self, origin: &str) -> bool {
        self.read().origins.contains(origin)
    }

    /// The browser credentials of a tenant that `is_meant`, oldest first.
    pub fn list(
        &self,
        tenant: &TenantId,
        is_meant: impl Fn(&CredentialState) -> bool,
    ) -> Vec<Arc<CredentialState>> {
        let table = self.read();
        let mine = table.by_id.values().filter(|state| state.stored.tenant == *tenant);
        let mut mine: Vec<_> =
            mine.filter(|state| state.browser().is_some() && is_meant(state)).cloned().collect();
        mine.sort_by(|a, b| (a.stored.created_at, &a.stored.id).cmp(&(b.stored.created_at, &b.stored.id)));
        mine
    }

    pub fn count(&self, tenant: &TenantId, key: &KeyId, now: UnixMillis) -> Count {
        let table = self.read();
        let live = table.by_id.values().filter(|state| {
            state.stored.tenant == *tenant && state.browser().is_some() && state.is_live(now)
        });
        live.fold(Count { of_tenant: 0, of_key: 0 }, |count, state| Count {
            of_tenant: count.of_tenant + 1,
            of_key: count.of_key + usize::from(state.stored.key == *key),
        })
    }

    /// Stores a credential and lets it work at once. The version is learnt with the next refresh.
    pub async fn put(&self, log: &Arc<dyn Log>, credential: Credential) -> Result<(), Problem> {
        log.put_credential(credential.clone()).await?;
        self.write().place(credential);
        Ok(())
    }

    /// Reads what changed in the store, and forgets what expired long ago. True if something was revoked.
    pub async fn refresh(&self, log: &Arc<dyn Log>, now: UnixMillis) -> Result<bool, Problem> {
        let after = self.read().version;
        let changed = log.credentials(after).await?;
        let oldest = UnixMillis::from_millis(
            now.millis().saturating_sub(u64::try_from(KEPT_AFTER_EXPIRY.as_millis()).unwrap_or(u64::MAX)),
        );
        let (revoked, has_old) = {
            let mut table = self.write();
            let mut revoked = false;
            for (version, credential) in changed {
                table.version = table.version.max(version);
                revoked |= table.place(credential);
            }
            (revoked, table.forget(oldest))
        };
        if has_old {
            log.drop_credentials(oldest).await?;
        }
        Ok(revoked)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(|poison| poison.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Table {
    /// Puts what the store says into the table. True if that revoked a credential.
    fn place(&mut self, credential: Credential) -> bool {
        // A grant that this version cannot read gives nothing.
        let Ok(grant) = serde_json::from_str::<Grant>(&credential.grant) else { return false };
        let revoked = credential.revoked_at.is_some();
        let old = self.by_id.get(&credential.id);
        let was_live = old.is_none_or(|old| *old.live.borrow());
        let (live, expires) = match old {
            // Whoever came in with it before hears of a revocation and of a renewal too.
            Some(old) => (old.live.clone(), old.expires.clone()),
            None => (watch::Sender::new(!revoked), Arc::default()),
        };
        // A renewal only ever moves it on.
        expires.fetch_max(credential.expires_at.millis(), Ordering::Relaxed);
        if revoked {
            live.send_replace(false);
        }
        match &grant {
            Grant::Browser(browser) => self.origins.extend(browser.origins.iter().cloned()),
            Grant::FormerSecret => {
                let former = self.former.entry(credential.key.clone()).or_default();
                if !former.contains(&credential.id) {
                    former.push(credential.id.clone());
                }
            }
        }
        let state = CredentialState { grant, live, expires, stored: credential };
        self.by_id.insert(state.stored.id.clone(), Arc::new(state));
        revoked && was_live
    }

    /// Removes what expired before a time. True if there was any.
    fn forget(&mut self, before: UnixMillis) -> bool {
        let known = self.by_id.len();
        self.by_id.retain(|_, state| state.expires_at() >= before);
        if self.by_id.len() == known {
            return false;
        }
        let by_id = &self.by_id;
        self.former.retain(|_, ids| {
            ids.retain(|id| by_id.contains_key(id));
            !ids.is_empty()
        });
        self.origins = by_id
            .values()
            .filter_map(|state| state.browser())
            .flat_map(|grant| grant.origins.clone())
            .collect();
        true
    }
}

/// A fresh browser credential: its id and its text, which exists only now.
pub(super) fn draft() -> Result<(CredentialId, String), Problem> {
    let id = CredentialId::from_bytes(random()?);
    let secret: [u8; 32] = random()?;
    let text = format!("rb_{}_{}", id.as_str().trim_start_matches(CredentialId::PREFIX), hex(&secret));
    Ok((id, text))
}

/// What a browser credential begins with.
pub(super) const PREFIX: &str = "rb_";

/// The id in a credential's text; `None` if the text is no credential at all.
fn credential_id(text: &str) -> Option<CredentialId> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let well_formed = secret.len() == 64 && secret.bytes().all(|b| b.is_ascii_hexdigit());
    CredentialId::new(format!("{}{id}", CredentialId::PREFIX)).ok().filter(|_| well_formed)
}
