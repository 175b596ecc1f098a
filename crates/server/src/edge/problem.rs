//! The one shape of an error answer: `application/problem+json` (RFC 9457) that also carries an `error` member,
//! so that clients of other APIs find what they look for.
//!
//! A problem never holds a path of this machine, an upstream body or a secret: `detail` is written by us.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use riverrun_event::ErrorCode;
use riverrun_session::{AppendError, InvalidEvent, InvalidPattern, JobFailure, OpenError, WaitError};
use serde_json::{Map, Value, json};

const DOCS: &str = "https://riverrun.dev/errors#";

/// An error on its way to the caller.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.detail)]
pub struct Problem(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: ErrorCode,
    detail: String,
    field: Option<String>,
    limit: Option<u64>,
    extra: Map<String, Value>,
    retry_after: Option<u64>,
    allow: Option<String>,
}

impl Problem {
    /// `detail` says what was wrong, what is allowed and what to do.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            detail: riverrun_secret::redact(&detail.into()).into_owned(),
            field: None,
            limit: None,
            extra: Map::new(),
            retry_after: None,
            allow: None,
        }))
    }

    /// The path of the field at fault, `input[2].text`.
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// The limit that was passed.
    pub fn limit(mut self, limit: u64) -> Self {
        self.0.limit = Some(limit);
        self
    }

    /// The head of the log, for a cursor that is ahead of it.
    pub fn head(self, head: u64) -> Self {
        self.with("head", head)
    }

    /// The quota that is used up.
    pub fn quota(self, name: &'static str) -> Self {
        self.with("quota", name)
    }

    /// A further member, beside the standard ones.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(name.to_owned(), value.into());
        self
    }

    /// Seconds until a retry makes sense; retryable codes say 1 unless told otherwise.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// The methods that the path takes, for a 405.
    pub fn allow(mut self, methods: impl Into<String>) -> Self {
        self.0.allow = Some(methods.into());
        self
    }

    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    pub fn field_name(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The body, as JSON. `request_id` is absent only where no request is at hand.
    pub fn to_json(&self, request_id: Option<&str>) -> Value {
        let inner = &*self.0;
        let code = inner.code;
        let mut error = json!({"message": inner.detail, "type": error_type(code), "code": code.as_str()});
        let mut body = json!({
            "type": format!("{DOCS}{}", code.as_str()),
            "title": code.title(),
            "status": code.http_status(),
            "code": code.as_str(),
            "detail": inner.detail,
        });
        let shared = [
            ("field", inner.field.clone().map(Value::from)),
            ("limit", inner.limit.map(Value::from)),
            ("requestId", request_id.map(Value::from)),
        ];
        for (name, value) in shared.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            error[name] = value.clone();
            body[name] = value;
        }
        for (name, value) in &inner.extra {
            body[name] = value.clone();
        }
        body["retryable"] = (code.is_retryable() || inner.retry_after.is_some()).into();
        body["error"] = error;
        body
    }

    /// The whole answer. The problem itself rides along as an extension, so that the outermost layer can add the
    /// request id and a dialect can put on its own shape.
    pub fn to_response(&self, request_id: Option<&str>) -> Response {
        let mut response = Response::new(Body::from(self.to_json(request_id).to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.0.code.is_retryable() || self.0.retry_after.is_some() {
            headers.insert(RETRY_AFTER, HeaderValue::from(self.0.retry_after.unwrap_or(1)));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"riverrun\""));
        }
        if let Some(allow) = self.0.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            headers.insert(ALLOW, allow);
        }
        response.extensions_mut().insert(self.clone());
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.to_response(None)
    }
}

impl From<riverrun_event::json::JsonError> for Problem {
    fn from(error: riverrun_event::json::JsonError) -> Self {
        let problem = Problem::new(error.code(), error.to_string())
            .with("line", error.line)
            .with("column", error.column)
            .with("offset", error.offset);
        match error.code() {
            ErrorCode::JsonTooDeep => problem.limit(riverrun_event::json::Limits::default().depth as u64),
            ErrorCode::JsonTooLarge => problem.limit(riverrun_event::json::Limits::default().nodes as u64),
            _ => problem,
        }
    }
}

impl From<riverrun_log::Error> for Problem {
    /// Says of an engine's failure only what the caller may know: no path, no cause.
    fn from(error: riverrun_log::Error) -> Self {
        use riverrun_log::Error::*;
        let code = error.code();
        match &error {
            NoSession(_) | NotFound { .. } => super::auth::not_found(),
            Corrupt { first, last, .. } => {
                let detail = format!("events {first} to {last} fail their checksum");
                Problem::new(code, detail).with("first", first.get()).with("last", last.get())
            }
            Retired { first_available } => {
                Problem::new(code, error.to_string()).with("firstAvailable", first_available.get())
            }
            ProducerStale { current, .. } => Problem::new(code, error.to_string()).with("epoch", *current),
            ProducerGap { expected, .. } => Problem::new(code, error.to_string()).with("expected", *expected),
            ProducerDuplicate { .. }
            | SequenceExhausted(_)
            | Immutable { .. }
            | Invalid { .. }
            | CommandExists(_) => Problem::new(code, error.to_string()),
            Fenced { .. } | LeaseHeld { .. } | Conflict { .. } => {
                Problem::new(code, "another process owns this session now; try again")
            }
            IdempotencyExists(_) => {
                Problem::new(code, "the first request with this idempotency key is under way")
            }
            Quota { quota, limit, used } => quota_exceeded(quota, *limit, *used),
            Full => Problem::new(code, "the disk is full; reads and deletes still work").retry_after(10),
            Failed(_) => {
                Problem::new(code, "the store failed; nothing is acknowledged until it is opened again")
            }
            OutcomeUnknown(_) => Problem::new(
                code,
                "whether this was stored is not known; try again with the same idempotency key",
            ),
            Closed => Problem::new(code, "the server is shutting down; try again"),
        }
    }
}

impl From<AppendError> for Problem {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Log(error) => Problem::from(error),
            AppendError::TooLarge => Problem::new(error.code(), error.to_string()),
            AppendError::EventTooLarge { limit, .. } => {
                Problem::new(error.code(), error.to_string()).limit(limit as u64)
            }
            AppendError::RunnerOnly { index, .. } => {
                Problem::new(error.code(), error.to_string()).field("type").with("index", index)
            }
        }
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Log(error) => Problem::from(error),
            OpenError::NoTurn => super::auth::not_found(),
            OpenError::CursorAhead { head, .. } => {
                Problem::new(error.code(), error.to_string()).field("after").head(head.get())
            }
            OpenError::CursorOfAnotherSession { field } => {
                Problem::new(error.code(), error.to_string()).field(field)
            }
            OpenError::WholeTurnsOnly { .. } => {
                Problem::new(error.code(), error.to_string()).field("dialect")
            }
        }
    }
}

impl From<WaitError> for Problem {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Log(error) => Problem::from(error),
            WaitError::NoTurn => super::auth::not_found(),
            WaitError::Cut => {
                Problem::new(ErrorCode::Draining, "the server goes down; the run goes on, ask for it again")
            }
        }
    }
}

impl From<InvalidPattern> for Problem {
    fn from(error: InvalidPattern) -> Self {
        Problem::new(ErrorCode::InvalidField, error.to_string()).field("types")
    }
}

impl From<InvalidEvent> for Problem {
    fn from(error: InvalidEvent) -> Self {
        Problem::new(error.code, error.to_string())
    }
}

impl From<&Problem> for JobFailure {
    fn from(problem: &Problem) -> Self {
        JobFailure { code: problem.code(), message: problem.detail().to_owned() }
    }
}

/// A quota of the tenant is used up. Only for turns at work does waiting help.
pub(crate) fn quota_exceeded(quota: &'static str, limit: u64, used: u64) -> Problem {
    let way_out = match quota {
        "running_turns" => "wait until a turn ends, or cancel one",
        "sessions" => "delete sessions, or ask the operator for more",
        _ => "delete sessions or shorten what is stored, or ask the operator for more",
    };
    let detail = format!("the tenant's quota `{quota}` is used up: {used} of {limit}; {way_out}");
    let problem = Problem::new(ErrorCode::QuotaExceeded, detail).quota(quota).limit(limit).with("used", used);
    if quota == "running_turns" { problem.retry_after(1) } else { problem }
}

/// The coarse kind that other APIs put into `error.type`.
fn error_type(code: ErrorCode) -> &'static str {
    match code.http_status() {
        401 => "authentication_error",
        403 | 421 => "permission_error",
        404 | 410 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        500..=599 => "server_error",
        _ => "invalid_request_error",
    }
}
