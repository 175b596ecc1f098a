//! Who is calling: the extractors that turn a request's key or ticket into a `Caller`.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use riverrun_api::{Identity, KeyScope, PageIdentity, Reach};
use riverrun_event::{ErrorCode, ShareId};
use riverrun_log::Clock;
use riverrun_log::seeded::{self, Bug};

use super::Edge;
use super::accept::Peer;
use super::credentials::{CredentialState, PREFIX};
use super::keys::KeyState;
use super::problem::Problem;
use super::{page, query};

/// Somebody with a good key: the identity, and what shows whether it is still good.
#[derive(Clone)]
pub struct Caller(Arc<Authenticated>);

struct Authenticated {
    identity: Arc<Identity>,
    key: Arc<KeyState>,
    /// What stood in for the key's own secret.
    credential: Option<Arc<CredentialState>>,
    clock: Arc<dyn Clock>,
}

impl Deref for Caller {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0.identity
    }
}

impl Caller {
    fn new(key: Arc<KeyState>, credential: Option<Arc<CredentialState>>, clock: Arc<dyn Clock>) -> Self {
        let browser = credential.as_ref().and_then(|credential| credential.browser());
        let has = |scope: &KeyScope| key.scopes.contains(scope) || key.scopes.contains(&KeyScope::Admin);
        let scopes = match browser {
            Some(grant) => grant.scopes.iter().copied().filter(has).collect(),
            None => key.scopes.clone(),
        };
        let reach = browser.map_or(Reach::Tenant, |grant| grant.reach.clone());
        let page = credential.as_ref().zip(browser).map(|(credential, grant)| PageIdentity {
            credential: credential.stored.id.clone(),
            agents: grant.agents.clone(),
        });
        let identity = identity(&key, scopes, reach, page);
        Self(Arc::new(Authenticated { identity, key, credential, clock }))
    }

    pub fn identity(&self) -> Arc<Identity> {
        self.0.identity.clone()
    }

    pub(super) fn key(&self) -> Arc<KeyState> {
        self.0.key.clone()
    }

    /// The browser credential that this caller came with.
    pub(super) fn credential(&self) -> Option<&Arc<CredentialState>> {
        self.0.credential.as_ref().filter(|credential| credential.browser().is_some())
    }

    /// False once the key or the credential is revoked or has expired. Streams ask before each batch of frames.
    pub fn is_live(&self) -> bool {
        let is_good = |credential: &Arc<CredentialState>| credential.is_live(self.0.clock.now());
        let key_is_live = self.0.key.is_live(|| self.0.clock.now());
        let outlives = self.is_page() && seeded::is_on(Bug::CredentialOutlivesKey);
        (key_is_live || outlives) && self.0.credential.as_ref().is_none_or(is_good)
    }

    /// Resolves when the key or the credential is revoked or expires: a WebSocket then closes with 4401, a stream is
    /// cut.
    pub async fn ended(&self) {
        const LOOK_EVERY: Duration = Duration::from_secs(2);
        let mut live = self.0.key.watch();
        let mut credential = self.0.credential.as_ref().map(|credential| credential.watch());
        let may_expire = self.0.key.stored.expires_at.is_some() || credential.is_some();
        while self.is_live() {
            let changed = async {
                match &mut credential {
                    Some(credential) => tokio::select! {
                        _ = live.changed() => {}
                        _ = credential.changed() => {}
                    },
                    None => drop(live.changed().await),
                }
            };
            // A wall clock may jump, so expiry is looked at often rather than slept for.
            match may_expire {
                true => drop(tokio::time::timeout(LOOK_EVERY, changed).await),
                false => changed.await,
            }
        }
    }
}

fn identity(
    key: &KeyState,
    scopes: Vec<KeyScope>,
    reach: Reach,
    page: Option<PageIdentity>,
) -> Arc<Identity> {
    let (tenant, key) = (key.stored.tenant.clone(), key.stored.id.clone());
    Arc::new(Identity { tenant, key, scopes, reach, page })
}

impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let caller = edge.authenticate_parts(parts)?;
        remember(parts, &caller);
        Ok(caller)
    }
}

/// A caller of a stream or WebSocket route, where `?ticket=` or `?credential=` stands in for a key.
pub struct StreamCaller(pub Caller);

impl<S> FromRequestParts<S> for StreamCaller
where
    S: Send + Sync,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let is_get = parts.method == http::Method::GET;
        let in_query = |name| query::single(parts.uri.query(), name).map(|found| found.filter(|_| is_get));
        let caller = match (in_query("ticket")?, in_query("credential")?) {
            (Some(ticket), _) => edge.redeem(&ticket, peer_ip(parts))?,
            (None, Some(credential)) => edge.authenticate_page(&credential, parts)?,
            (None, None) => edge.authenticate_parts(parts)?,
        };
        remember(parts, &caller);
        Ok(Self(caller))
    }
}

/// Leaves the tenant where the access log finds it.
fn remember(parts: &Parts, caller: &Caller) {
    if let Some(note) = parts.extensions.get::<super::request::Note>() {
        note.set_tenant(caller.tenant().clone());
    }
}

fn peer_ip(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<Peer>().map(|peer| peer.0.ip())
}

impl Edge {
    /// The caller with the key in `Authorization: Bearer` or `x-api-key`. A good key always passes; the count of
    /// failures only decides whether a bad one hears 401 or 429.
    pub fn authenticate(&self, headers: &HeaderMap, ip: Option<IpAddr>) -> Result<Caller, Problem> {
        match presented(headers) {
            Presented::Nothing => Err(unauthenticated()),
            Presented::Malformed => Err(self.refuse(ip)),
            Presented::Key(text) => self.authenticate_key(text, ip),
        }
    }

    /// The same, on a route that may take a browser credential too.
    fn authenticate_parts(&self, parts: &Parts) -> Result<Caller, Problem> {
        match presented(&parts.headers) {
            Presented::Key(text) if text.starts_with(PREFIX) => self.authenticate_page(text, parts),
            _ => self.authenticate(&parts.headers, peer_ip(parts)),
        }
    }

    fn authenticate_page(&self, text: &str, parts: &Parts) -> Result<Caller, Problem> {
        let origin = self.page_origin(&parts.headers);
        let caller = self.authenticate_credential(text, peer_ip(parts), &origin)?;
        page::check_route(parts)?;
        Ok(caller)
    }

    /// The caller with this key or browser credential, for transports that carry it in a message. `origin` is that of
    /// the page which opened the transport.
    pub fn authenticate_text(
        &self,
        text: &str,
        ip: Option<IpAddr>,
        origin: &page::PageOrigin,
    ) -> Result<Caller, Problem> {
        match text.starts_with(PREFIX) {
            true => self.authenticate_credential(text, ip, origin),
            false => self.authenticate_key(text, ip),
        }
    }

    /// The caller with this key.
    pub fn authenticate_key(&self, text: &str, ip: Option<IpAddr>) -> Result<Caller, Problem> {
        match self.keys().check(text) {
            Some((key, former)) => Ok(Caller::new(key, former, self.clock())),
            None => Err(self.refuse(ip)),
        }
    }

    fn authenticate_credential(
        &self,
        text: &str,
        ip: Option<IpAddr>,
        origin: &page::PageOrigin,
    ) -> Result<Caller, Problem> {
        let credential = self.keys().credentials().find_text(text);
        let credential = credential.filter(|credential| credential.is_live(self.clock().now()));
        let key = credential.as_ref().and_then(|credential| self.keys().key_of(credential));
        let Some((credential, key)) = credential.zip(key) else { return Err(self.refuse(ip)) };
        if !credential.allows_origin(origin.as_str()) {
            return Err(page::wrong_origin(origin));
        }
        Ok(Caller::new(key, Some(credential), self.clock()))
    }

    /// The caller that a ticket stands for; the ticket is used up.
    pub fn redeem(&self, ticket: &str, ip: Option<IpAddr>) -> Result<Caller, Problem> {
        let grant = self.tickets().redeem(ticket).filter(|grant| grant.key.is_live(|| self.clock().now()));
        let Some(grant) = grant else { return Err(self.refuse(ip)) };
        let reach = grant.session.map_or(Reach::Tenant, Reach::Session);
        let identity = identity(&grant.key, grant.scopes, reach, None);
        let (key, clock) = (grant.key, self.clock());
        Ok(Caller(Arc::new(Authenticated { identity, key, credential: None, clock })))
    }

    /// Counts a link that leads nowhere like a wrong key; the refusal of an address that has tried too many.
    pub fn missed(&self, ip: Option<IpAddr>) -> Option<Problem> {
        let wait = ip.and_then(|ip| self.failures().count(ip.to_canonical()))?;
        let detail = "too many links that lead nowhere from this address";
        let problem = Problem::new(ErrorCode::RateLimited, detail).quota("failed_auth");
        Some(problem.retry_after(wait.as_secs().max(1)))
    }

    /// Counts a read by a link; 429 if the link or the address has had too many. What a read costs is the session's
    /// whole history, and no tenant pays for who reads without a key.
    pub fn take_share_read(&self, share: &ShareId, ip: Option<IpAddr>) -> Result<(), Problem> {
        let (by_address, by_share) = self.share_reads();
        let refused = |wait: Duration, limit: u32, quota: &'static str, of: &str| {
            let detail = format!("this {of} had its {limit} reads of shared sessions for a minute");
            let problem = Problem::new(ErrorCode::RateLimited, detail).quota(quota).limit(limit.into());
            Err(problem.retry_after(wait.as_secs().max(1)))
        };
        if let Some(wait) = ip.and_then(|ip| by_address.count(ip.to_canonical())) {
            return refused(wait, by_address.limit(), "share_reads_per_ip", "address");
        }
        if let Some(wait) = by_share.count(share.clone()) {
            return refused(wait, by_share.limit(), "share_reads_per_share", "link");
        }
        Ok(())
    }

    fn refuse(&self, ip: Option<IpAddr>) -> Problem {
        self.metrics().auth_failures.inc();
        match ip.and_then(|ip| self.failures().count(ip.to_canonical())) {
            Some(wait) => Problem::new(ErrorCode::RateLimited, "too many wrong keys from this address")
                .quota("failed_auth")
                .retry_after(wait.as_secs().max(1)),
            None => unauthenticated(),
        }
    }
}

enum Presented<'a> {
    Nothing,
    Malformed,
    Key(&'a str),
}

/// True if the request brings a browser credential, good or not.
pub(super) fn presents_credential(headers: &HeaderMap, query: Option<&str>) -> bool {
    let in_header = matches!(presented(headers), Presented::Key(text) if text.starts_with(PREFIX));
    in_header || matches!(query::single(query, "credential"), Ok(Some(_)))
}

fn presented(headers: &HeaderMap) -> Presented<'_> {
    let bearer = headers.get(AUTHORIZATION).map(|value| {
        let text = value.to_str().ok()?;
        let (scheme, key) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let plain = headers
        .get("x-api-key")
        .or_else(|| headers.get("x-goog-api-key"))
        .map(|value| value.to_str().ok().map(str::trim));
    match bearer.or(plain) {
        None => Presented::Nothing,
        Some(None | Some("")) => Presented::Malformed,
        Some(Some(key)) => Presented::Key(key),
    }
}

/// One body for a missing and for a wrong key, so that neither tells anything.
pub fn unauthenticated() -> Problem {
    Problem::new(
        ErrorCode::Unauthenticated,
        "send a valid key as `Authorization: Bearer rr_…` or `x-api-key`",
    )
}

/// The id in a path, as text. One that is not even UTF-8 answers as an absent one does.
pub struct PathId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(id)| Self(id)).map_err(|_| not_found())
    }
}

/// Two ids in a path: the session's and that of something in it.
pub struct PathIds(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<(String, String)>::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path((session, id))| Self(session, id)).map_err(|_| not_found())
    }
}

/// One body for what is absent and for what is another tenant's.
pub fn not_found() -> Problem {
    riverrun_api::not_found().into()
}
