//! A request that is sent again is answered again, and done once.
//!
//! The answer is stored with what it did, or right after it; what was done before a crash is found again by the key.

use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{ErrorCode, TenantId};
use riverrun_log::{Digest, IdempotencyRecord};
use riverrun_runner::RequestKey;
use riverrun_session::log_time;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::in_flight::FlightGuard;
use crate::{ApiError, Identity, Services};

const LONGEST: usize = 255;
/// How long an answer is stored.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// A request with a key, while it is done.
pub struct Attempt {
    _in_flight: FlightGuard,
    tenant: TenantId,
    scope: String,
    known: Option<IdempotencyRecord>,
    created_at: riverrun_log::UnixMillis,
    /// Where the key came from.
    field: &'static str,
}

impl Attempt {
    /// Takes the key of a request. 409 while another request with the same key is under way. `route` names what is
    /// asked and of whom: the same key elsewhere is another key. `field` is where the key came from.
    pub async fn begin(
        services: &Services,
        identity: &Identity,
        key: &str,
        route: &str,
        field: &'static str,
    ) -> Result<Self, ApiError> {
        if key.is_empty() || key.len() > LONGEST || !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            let detail = format!("`{field}` may have 1 to {LONGEST} visible ASCII characters");
            return Err(ApiError::new(ErrorCode::InvalidField, detail).field(field).limit(LONGEST as u64));
        }
        let (tenant, scope) = (identity.tenant().clone(), format!("{route} {key}"));
        let Some(in_flight) = services.in_flight().begin(&tenant, &scope) else {
            let detail =
                "the first request with this idempotency key is under way; ask again when it is done";
            return Err(ApiError::new(ErrorCode::IdempotencyInFlight, detail).field(field));
        };
        let created_at = log_time(services.now());
        let mut attempt = Self { _in_flight: in_flight, tenant, scope, known: None, created_at, field };
        attempt.known = services.log().remembered(&attempt.tenant, &attempt.scope).await?;
        Ok(attempt)
    }

    /// The first answer as it was stored, if the key was used before with the same body; 422 if with another.
    pub fn stored(&self, digest: &Digest) -> Result<Option<StoredResponse>, ApiError> {
        let Some(known) = &self.known else { return Ok(None) };
        if known.digest != *digest {
            let detail = "this idempotency key was used with another body; use a new key for a new request";
            return Err(ApiError::new(ErrorCode::IdempotencyMismatch, detail).field(self.field));
        }
        Ok(Some(StoredResponse::parse(&known.response)))
    }

    /// True if the key was used before.
    pub fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// What is stored beside the events of the request. The answer may still be open.
    pub fn record(&self, digest: Digest, response: Bytes) -> IdempotencyRecord {
        IdempotencyRecord {
            tenant: self.tenant.clone(),
            scope: self.scope.clone(),
            digest,
            response,
            created_at: self.created_at,
            expires_at: self.created_at.plus(RETENTION),
        }
    }

    /// Stores the answer after its effects are durable.
    pub async fn remember(
        &self,
        services: &Services,
        digest: Digest,
        status: u16,
        body: &str,
    ) -> Result<(), ApiError> {
        services.log().remember(self.record(digest, stored_answer(status, body))).await?;
        Ok(())
    }

    /// An id that follows from the key, for a request that leaves the id to us: done again, it finds its own work.
    pub fn id(&self, digest: &Digest) -> [u8; 16] {
        let mut hash = Sha256::new();
        for part in [self.tenant.as_str().as_bytes(), self.scope.as_bytes(), digest] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash: [u8; 32] = hash.finalize().into();
        hash[..16].try_into().expect("sixteen bytes of thirty-two")
    }
}

/// An answer of before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    pub status: u16,
    pub body: String,
}

impl StoredResponse {
    fn parse(stored: &Bytes) -> Self {
        let text = String::from_utf8_lossy(stored);
        let (status, body) = text.split_once(' ').unwrap_or(("200", "{}"));
        Self { status: status.parse().unwrap_or(200), body: body.to_owned() }
    }
}

/// A command that is done once, whether or not it has a key.
pub struct Once {
    attempt: Option<Attempt>,
    digest: Digest,
}

impl Once {
    pub fn new(attempt: Option<Attempt>, body: &str) -> Self {
        Self { attempt, digest: digest(body.as_bytes()) }
    }

    /// A command without a key.
    pub fn unnamed() -> Self {
        Self::new(None, "")
    }

    /// The name by which the runner knows this request, so that it is carried out once over any crash.
    pub fn request(&self) -> Option<RequestKey> {
        let scope = self.attempt.as_ref()?.id(&[0; 32]);
        Some(RequestKey { id: scope, digest: self.digest })
    }

    /// The first answer, if this was done before.
    pub fn stored(&self) -> Result<Option<StoredResponse>, ApiError> {
        Ok(self.attempt.as_ref().map(|attempt| attempt.stored(&self.digest)).transpose()?.flatten())
    }

    /// The answer, to be stored with the events that it describes.
    pub fn record(&self, status: u16, body: &impl Serialize) -> Option<IdempotencyRecord> {
        let attempt = self.attempt.as_ref()?;
        Some(attempt.record(self.digest, stored_answer(status, &to_json(body))))
    }

    /// Stores the answer after its effects are durable.
    pub async fn remember(&self, services: &Services, status: u16, body: &str) -> Result<(), ApiError> {
        match &self.attempt {
            Some(attempt) => attempt.remember(services, self.digest, status, body).await,
            None => Ok(()),
        }
    }

    /// An id that follows from the key.
    pub fn id(&self) -> Option<[u8; 16]> {
        self.attempt.as_ref().map(|attempt| attempt.id(&self.digest))
    }
}

/// The JSON text of an answer.
pub fn to_json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("answers have string keys and no fallible parts")
}

pub fn digest(body: &[u8]) -> Digest {
    Sha256::digest(body).into()
}

/// An answer as it is stored: its status, a space, its body.
pub fn stored_answer(status: u16, body: &str) -> Bytes {
    Bytes::from(format!("{status} {body}"))
}
