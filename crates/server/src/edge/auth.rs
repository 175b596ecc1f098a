//! Who is calling: the extractors that turn a request's key or ticket into a `Caller`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use riverrun_event::{ErrorCode, KeyId, SessionId, TenantId};
use riverrun_log::Clock;
use tokio::time::Instant;

use super::Edge;
use super::accept::Peer;
use super::keys::{KeyState, Scope};
use super::problem::Problem;
use super::query;

/// Somebody with a good key.
#[derive(Clone)]
pub struct Caller(Arc<Identity>);

struct Identity {
    key: Arc<KeyState>,
    scopes: Vec<Scope>,
    /// A ticket may be for one session only.
    session: Option<SessionId>,
    clock: Arc<dyn Clock>,
}

impl Caller {
    pub(super) fn new(key: Arc<KeyState>, clock: Arc<dyn Clock>) -> Self {
        let scopes = key.scopes.clone();
        Self(Arc::new(Identity { key, scopes, session: None, clock }))
    }

    pub fn tenant(&self) -> &TenantId {
        &self.0.key.stored.tenant
    }

    pub fn key_id(&self) -> &KeyId {
        &self.0.key.stored.id
    }

    pub(super) fn key(&self) -> Arc<KeyState> {
        self.0.key.clone()
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.0.scopes.iter().any(|mine| *mine == scope || *mine == Scope::Admin)
    }

    /// 403 unless the key has the scope.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.has(scope) {
            return Ok(());
        }
        let detail = format!("this needs a key with scope `{}`", scope.as_str());
        Err(Problem::new(ErrorCode::Forbidden, detail).with("scope", scope.as_str()))
    }

    /// 404 if this caller came with a ticket for another session.
    pub fn require_session(&self, session: &SessionId) -> Result<(), Problem> {
        match &self.0.session {
            Some(mine) if mine != session => Err(not_found()),
            Some(_) | None => Ok(()),
        }
    }

    /// 403 if this caller came with a ticket for one session and asks about all of them.
    pub fn require_all_sessions(&self) -> Result<(), Problem> {
        match &self.0.session {
            Some(mine) => {
                Err(Problem::new(ErrorCode::Forbidden, format!("this ticket is for session `{mine}` alone")))
            }
            None => Ok(()),
        }
    }

    /// The one session that a ticket was made for.
    pub fn bound_session(&self) -> Option<&SessionId> {
        self.0.session.as_ref()
    }

    /// False once the key is revoked or has expired. Streams ask before each batch of frames.
    pub fn is_live(&self) -> bool {
        self.0.key.is_live(|| self.0.clock.now())
    }

    /// Resolves when the key is revoked or expires: a WebSocket then closes with 4401, a stream is cut.
    pub async fn ended(&self) {
        const LOOK_EVERY: Duration = Duration::from_secs(2);
        let mut live = self.0.key.watch();
        while self.is_live() {
            // A wall clock may jump, so expiry is looked at often rather than slept for.
            match self.0.key.stored.expires_at {
                Some(_) => drop(tokio::time::timeout(LOOK_EVERY, live.changed()).await),
                None => drop(live.changed().await),
            }
        }
    }
}

impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let caller = edge.authenticate(&parts.headers, peer_ip(parts))?;
        remember(parts, &caller);
        Ok(caller)
    }
}

/// A caller of a stream or WebSocket route, where `?ticket=` stands in for a key.
pub struct StreamCaller(pub Caller);

impl<S> FromRequestParts<S> for StreamCaller
where
    S: Send + Sync,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let ticket = query::single(parts.uri.query(), "ticket")?;
        let caller = match ticket {
            Some(ticket) if parts.method == http::Method::GET => edge.redeem(&ticket, peer_ip(parts))?,
            Some(_) | None => edge.authenticate(&parts.headers, peer_ip(parts))?,
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

    /// The caller with this key, for transports that carry it in a message.
    pub fn authenticate_key(&self, text: &str, ip: Option<IpAddr>) -> Result<Caller, Problem> {
        match self.keys().check(text) {
            Some(key) => Ok(Caller::new(key, self.clock())),
            None => Err(self.refuse(ip)),
        }
    }

    /// The caller that a ticket stands for; the ticket is used up.
    pub fn redeem(&self, ticket: &str, ip: Option<IpAddr>) -> Result<Caller, Problem> {
        let grant = self.tickets().redeem(ticket).filter(|grant| grant.key.is_live(|| self.clock().now()));
        let Some(grant) = grant else { return Err(self.refuse(ip)) };
        Ok(Caller(Arc::new(Identity {
            key: grant.key,
            scopes: grant.scopes,
            session: grant.session,
            clock: self.clock(),
        })))
    }

    fn refuse(&self, ip: Option<IpAddr>) -> Problem {
        self.metrics().auth_failures.increment();
        match ip.and_then(|ip| self.failures().count(ip)) {
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
    Problem::new(ErrorCode::NotFound, "there is no such object for this key")
}

/// Counts wrong keys per address in windows of one minute.
pub(super) struct Failures {
    per_minute: u32,
    counts: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Failures {
    const WINDOW: Duration = Duration::from_secs(60);
    /// More addresses than this are not told apart from fresh ones: the bound on memory comes first.
    const MAX_ADDRESSES: usize = 16_384;

    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, counts: Mutex::default() }
    }

    /// Counts one failure. Answers how long to wait if the address is over its limit.
    fn count(&self, ip: IpAddr) -> Option<Duration> {
        let now = Instant::now();
        let mut counts = self.counts.lock().unwrap_or_else(|poison| poison.into_inner());
        if counts.len() >= Self::MAX_ADDRESSES {
            counts.retain(|_, (since, _)| now.duration_since(*since) < Self::WINDOW);
        }
        if counts.len() >= Self::MAX_ADDRESSES {
            counts.clear();
        }
        let (since, count) = counts.entry(ip.to_canonical()).or_insert((now, 0));
        if now.duration_since(*since) >= Self::WINDOW {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        (*count > self.per_minute).then(|| Self::WINDOW.saturating_sub(now.duration_since(*since)))
    }
}
