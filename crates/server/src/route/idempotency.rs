//! `Idempotency-Key`: a request that is sent again is answered again, and done once.
//!
//! The answer is stored with what it did, or right after it; what was done before a crash is found again by the key.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use riverrun_event::{ErrorCode, TenantId};
use riverrun_log::{Digest, IdempotencyRecord};
use riverrun_runner::RequestKey;
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::edge::{Caller, Problem};
use crate::in_flight::FlightGuard;
use riverrun_session::log_time;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const LONGEST: usize = 255;
/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A request with a key, while it is done.
pub(crate) struct Attempt {
    _in_flight: FlightGuard,
    tenant: TenantId,
    scope: String,
    known: Option<IdempotencyRecord>,
    created_at: riverrun_log::Timestamp,
    /// Where the key came from.
    field: &'static str,
}

pub(crate) fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(KEY)
}

/// Takes the key of a request, if it has one. 409 while another request with the same key is under way.
/// `route` names what is asked and of whom: the same key elsewhere is another key.
pub(crate) async fn begin(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    route: &str,
) -> Result<Option<Attempt>, Problem> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    begin_named(app, caller, key.to_str().unwrap_or_default(), route, "Idempotency-Key").await.map(Some)
}

/// The same, with the key at hand; `field` is where it came from.
async fn begin_named(
    app: &App,
    caller: &Caller,
    key: &str,
    route: &str,
    field: &'static str,
) -> Result<Attempt, Problem> {
    if key.is_empty() || key.len() > LONGEST || !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        let detail = format!("`{field}` may have 1 to {LONGEST} visible ASCII characters");
        return Err(Problem::new(ErrorCode::InvalidField, detail).field(field).limit(LONGEST as u64));
    }
    let (tenant, scope) = (caller.tenant().clone(), format!("{route} {key}"));
    let Some(in_flight) = app.in_flight().begin(&tenant, &scope) else {
        let detail = "the first request with this idempotency key is under way; ask again when it is done";
        return Err(Problem::new(ErrorCode::IdempotencyInFlight, detail).field(field));
    };
    let created_at = log_time(app.now());
    let mut attempt = Attempt { _in_flight: in_flight, tenant, scope, known: None, created_at, field };
    attempt.known = app.log().remembered(&attempt.tenant, &attempt.scope).await?;
    Ok(attempt)
}

impl Attempt {
    /// The first answer, if the key was used before with the same body; 422 if with another.
    pub(crate) fn again(&self, digest: &Digest) -> Result<Option<Response>, Problem> {
        Ok(self.stored(digest)?.map(stored_response))
    }

    fn stored(&self, digest: &Digest) -> Result<Option<&Bytes>, Problem> {
        let Some(known) = &self.known else { return Ok(None) };
        if known.digest != *digest {
            let detail = "this idempotency key was used with another body; use a new key for a new request";
            return Err(Problem::new(ErrorCode::IdempotencyMismatch, detail).field(self.field));
        }
        Ok(Some(&known.response))
    }

    /// True if the key was used before.
    pub(crate) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// What is stored beside the events of the request. The answer may still be open.
    pub(crate) fn record(&self, digest: Digest, response: Bytes) -> IdempotencyRecord {
        IdempotencyRecord {
            tenant: self.tenant.clone(),
            scope: self.scope.clone(),
            digest,
            response,
            created_at: self.created_at,
            expires_at: self.created_at.plus(KEPT),
        }
    }

    /// Stores the answer after what it tells was done.
    pub(crate) async fn remember(
        &self,
        app: &App,
        digest: Digest,
        status: StatusCode,
        body: &str,
    ) -> Result<(), Problem> {
        app.log().remember(self.record(digest, stored_answer(status, body))).await?;
        Ok(())
    }

    /// An id that follows from the key, for a request that leaves the id to us: done again, it finds its own work.
    pub(crate) fn id(&self, digest: &Digest) -> [u8; 16] {
        let mut hash = Sha256::new();
        for part in [self.tenant.as_str().as_bytes(), self.scope.as_bytes(), digest] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash: [u8; 32] = hash.finalize().into();
        hash[..16].try_into().expect("sixteen bytes of thirty-two")
    }
}

/// A command that is done once, whether or not it has a key.
pub(crate) struct Once {
    attempt: Option<Attempt>,
    digest: Digest,
}

impl Once {
    pub async fn begin(
        app: &App,
        caller: &Caller,
        headers: &HeaderMap,
        route: &str,
        body: &str,
    ) -> Result<Self, Problem> {
        let attempt = begin(app, caller, headers, route).await?;
        Ok(Self { attempt, digest: digest(body.as_bytes()) })
    }

    /// The first answer, if this was done before.
    pub fn again(&self) -> Result<Option<Response>, Problem> {
        Ok(self.attempt.as_ref().map(|attempt| attempt.again(&self.digest)).transpose()?.flatten())
    }

    /// The name by which the runner knows this request, so that it is carried out once over any crash.
    pub fn request(&self) -> Option<RequestKey> {
        let scope = self.attempt.as_ref()?.id(&[0; 32]);
        Some(RequestKey { id: scope, digest: self.digest })
    }

    /// A command over JSON-RPC; its `commandId` is its key.
    pub async fn of_command(
        app: &App,
        caller: &Caller,
        command: &str,
        method: &str,
        params: &str,
    ) -> Result<Self, Problem> {
        let attempt = begin_named(app, caller, command, &format!("rpc {method}"), "commandId").await?;
        Ok(Self { attempt: Some(attempt), digest: digest(params.as_bytes()) })
    }

    /// A command without a key.
    pub fn unnamed() -> Self {
        Self { attempt: None, digest: digest(b"") }
    }

    /// The body of the first answer, if this was done before.
    pub fn answered(&self) -> Result<Option<String>, Problem> {
        let Some(attempt) = &self.attempt else { return Ok(None) };
        let stored = attempt.stored(&self.digest)?;
        Ok(stored.map(|stored| split_stored(&String::from_utf8_lossy(stored)).1.to_owned()))
    }

    /// The answer, to be stored with the events that it tells of.
    pub fn record(&self, status: StatusCode, body: &impl serde::Serialize) -> Option<IdempotencyRecord> {
        let attempt = self.attempt.as_ref()?;
        Some(attempt.record(self.digest, stored_answer(status, &text(body))))
    }

    /// Stores the answer after what it tells was done.
    pub async fn remember(&self, app: &App, body: &str) -> Result<(), Problem> {
        match &self.attempt {
            Some(attempt) => attempt.remember(app, self.digest, StatusCode::OK, body).await,
            None => Ok(()),
        }
    }

    /// An id that follows from the key.
    pub fn id(&self) -> Option<[u8; 16]> {
        self.attempt.as_ref().map(|attempt| attempt.id(&self.digest))
    }

    /// Answers, and remembers the answer.
    pub async fn answer(
        &self,
        app: &App,
        status: StatusCode,
        body: &impl serde::Serialize,
    ) -> Result<Response, Problem> {
        let body = text(body);
        if let Some(attempt) = &self.attempt {
            attempt.remember(app, self.digest, status, &body).await?;
        }
        Ok((status, [(CONTENT_TYPE, "application/json")], body).into_response())
    }
}

fn text(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).expect("answers have string keys and no fallible parts")
}

pub(crate) fn digest(body: &[u8]) -> Digest {
    Sha256::digest(body).into()
}

/// An answer as it is stored: its status, a space, its body.
pub(crate) fn stored_answer(status: StatusCode, body: &str) -> Bytes {
    Bytes::from(format!("{} {body}", status.as_u16()))
}

fn split_stored(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or(("200", "{}"))
}

fn stored_response(stored: &Bytes) -> Response {
    let text = String::from_utf8_lossy(stored);
    let (status, body) = split_stored(&text);
    let status =
        status.parse().ok().and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::OK);
    let mut response = (status, [(CONTENT_TYPE, "application/json")], body.to_owned()).into_response();
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
