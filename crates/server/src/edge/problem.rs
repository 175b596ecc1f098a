//! The one shape of an error answer: `application/problem+json` (RFC 9457) that also carries an `error` member,
//! so that clients of other APIs find what they look for.

use std::ops::Deref;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use riverrun_api::ApiError;
use riverrun_event::ErrorCode;
use riverrun_session::JobFailure;
use serde_json::Value;

/// An error on its way to an HTTP caller.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(transparent)]
pub struct Problem(ApiError);

impl Problem {
    /// `detail` says what was wrong, what is allowed and what to do.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(ApiError::new(code, detail))
    }

    /// The error without a transport.
    pub fn into_error(self) -> ApiError {
        self.0
    }

    /// The path of the field at fault, `input[2].text`.
    pub fn field(self, field: impl Into<String>) -> Self {
        Self(self.0.field(field))
    }

    /// The limit that was passed.
    pub fn limit(self, limit: u64) -> Self {
        Self(self.0.limit(limit))
    }

    /// The head of the log, for a cursor that is ahead of it.
    pub fn head(self, head: u64) -> Self {
        Self(self.0.head(head))
    }

    /// The quota that is used up.
    pub fn quota(self, name: &'static str) -> Self {
        Self(self.0.quota(name))
    }

    /// A further member, beside the standard ones.
    pub fn with(self, name: &'static str, value: impl Into<Value>) -> Self {
        Self(self.0.with(name, value))
    }

    /// Seconds until a retry makes sense; the default of retryable codes is 1.
    pub fn retry_after(self, seconds: u64) -> Self {
        Self(self.0.retry_after(seconds))
    }

    /// The methods that the path takes, for a 405.
    pub fn allow(self, methods: impl Into<String>) -> Self {
        Self(self.0.allow(methods))
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code().http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The whole answer. The problem itself rides along as an extension, so that the outermost layer can add the
    /// request id and a dialect can put on its own shape.
    pub fn to_response(&self, request_id: Option<&str>) -> Response {
        let mut response = Response::new(Body::from(self.to_json(request_id).to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_seconds() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"riverrun\""));
        }
        if let Some(allow) = self.allowed_methods().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            headers.insert(ALLOW, allow);
        }
        response.extensions_mut().insert(self.clone());
        response
    }
}

impl Deref for Problem {
    type Target = ApiError;

    fn deref(&self) -> &ApiError {
        &self.0
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.to_response(None)
    }
}

/// Every error of an operation and of the engine.
impl<E> From<E> for Problem
where
    ApiError: From<E>,
{
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl From<&Problem> for JobFailure {
    fn from(problem: &Problem) -> Self {
        Self::from(&problem.0)
    }
}
