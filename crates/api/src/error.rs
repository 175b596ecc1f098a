//! The error of an operation: a stable code, what was wrong, and what to do about it.
//!
//! An error never holds a path of this machine, an upstream body or a secret: `detail` is written by us.

use riverrun_event::{ErrorCode, Timestamp};
use riverrun_session::{AppendError, InvalidEvent, InvalidPattern, JobFailure, OpenError, WaitError};
use serde_json::{Map, Value, json};

const DOCS: &str = "https://riverrun.dev/errors#";

/// Why an operation was refused or failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.detail)]
pub struct ApiError(Box<Inner>);

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

impl ApiError {
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

    /// Seconds until a retry makes sense, if one does.
    pub fn retry_seconds(&self) -> Option<u64> {
        let by_code = self.0.code.is_retryable().then_some(1);
        self.0.retry_after.or(by_code)
    }

    /// The methods that the path takes, for a 405.
    pub fn allowed_methods(&self) -> Option<&str> {
        self.0.allow.as_deref()
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
}

impl From<riverrun_event::json::JsonError> for ApiError {
    fn from(error: riverrun_event::json::JsonError) -> Self {
        let described = ApiError::new(error.code(), error.to_string())
            .with("line", error.line)
            .with("column", error.column)
            .with("offset", error.offset);
        match error.code() {
            ErrorCode::JsonTooDeep => {
                described.limit(riverrun_event::json::JsonLimits::default().depth as u64)
            }
            ErrorCode::JsonTooLarge => {
                described.limit(riverrun_event::json::JsonLimits::default().nodes as u64)
            }
            _ => described,
        }
    }
}

impl From<riverrun_log::LogError> for ApiError {
    /// Says of an engine's failure only what the caller may know: no path, no cause.
    fn from(error: riverrun_log::LogError) -> Self {
        use riverrun_log::LogError::*;
        let code = error.code();
        match &error {
            NoSession(_) | NotFound { .. } => not_found(),
            Corrupt { first, last, .. } => {
                let detail = format!("events {first} to {last} fail their checksum");
                ApiError::new(code, detail).with("first", first.get()).with("last", last.get())
            }
            Retired { first_available } => {
                ApiError::new(code, error.to_string()).with("firstAvailable", first_available.get())
            }
            ProducerStale { current, .. } => ApiError::new(code, error.to_string()).with("epoch", *current),
            ProducerGap { expected, .. } => {
                ApiError::new(code, error.to_string()).with("expected", *expected)
            }
            ProducerDuplicate { .. }
            | SequenceExhausted(_)
            | Immutable { .. }
            | Invalid { .. }
            | CommandExists(_) => ApiError::new(code, error.to_string()),
            Fenced { .. } | LeaseHeld { .. } | Conflict { .. } => {
                ApiError::new(code, "another process owns this session now; try again")
            }
            IdempotencyExists(_) => {
                ApiError::new(code, "the first request with this idempotency key is under way")
            }
            Quota { quota, limit, used } => quota_exceeded(quota, *limit, *used),
            Full => ApiError::new(code, "the disk is full; reads and deletes still work").retry_after(10),
            Failed(_) => {
                ApiError::new(code, "the store failed; nothing is acknowledged until it is opened again")
            }
            OutcomeUnknown(_) => ApiError::new(
                code,
                "whether this was stored is not known; try again with the same idempotency key",
            ),
            Closed => ApiError::new(code, "the server is shutting down; try again"),
        }
    }
}

impl From<AppendError> for ApiError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Log(error) => ApiError::from(error),
            AppendError::TooLarge => ApiError::new(error.code(), error.to_string()),
            AppendError::EventTooLarge { limit, .. } => {
                ApiError::new(error.code(), error.to_string()).limit(limit as u64)
            }
            AppendError::RunnerOnly { index, .. } => {
                ApiError::new(error.code(), error.to_string()).field("type").with("index", index)
            }
        }
    }
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Log(error) => ApiError::from(error),
            OpenError::NoTurn => not_found(),
            OpenError::CursorAhead { head, .. } => {
                ApiError::new(error.code(), error.to_string()).field("after").head(head.get())
            }
            OpenError::CursorOfAnotherSession { field } => {
                ApiError::new(error.code(), error.to_string()).field(field)
            }
            OpenError::WholeTurnsOnly { .. } => {
                ApiError::new(error.code(), error.to_string()).field("dialect")
            }
        }
    }
}

impl From<WaitError> for ApiError {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Log(error) => ApiError::from(error),
            WaitError::NoTurn => not_found(),
            WaitError::Cut => {
                ApiError::new(ErrorCode::Draining, "the server goes down; the run goes on, ask for it again")
            }
        }
    }
}

impl From<InvalidPattern> for ApiError {
    fn from(error: InvalidPattern) -> Self {
        ApiError::new(ErrorCode::InvalidField, error.to_string()).field("types")
    }
}

impl From<InvalidEvent> for ApiError {
    fn from(error: InvalidEvent) -> Self {
        ApiError::new(error.code, error.to_string())
    }
}

impl From<&ApiError> for JobFailure {
    fn from(error: &ApiError) -> Self {
        JobFailure { code: error.code(), message: error.detail().to_owned() }
    }
}

/// A quota of the tenant is used up. Only for turns at work does waiting help.
pub fn quota_exceeded(quota: &'static str, limit: u64, used: u64) -> ApiError {
    let way_out = match quota {
        "running_turns" => "wait until a turn ends, or cancel one",
        "sessions" => "delete sessions, or ask the operator for more",
        _ => "delete sessions or shorten what is stored, or ask the operator for more",
    };
    let detail = format!("the tenant's quota `{quota}` is used up: {used} of {limit}; {way_out}");
    let error = ApiError::new(ErrorCode::QuotaExceeded, detail).quota(quota).limit(limit).with("used", used);
    if quota == "running_turns" { error.retry_after(1) } else { error }
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

/// One error for what is absent and for what is another tenant's.
pub fn not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "there is no such object for this key")
}

/// The error for a session that was deleted, for a caller who could have read it.
pub fn session_deleted(at: riverrun_log::UnixMillis) -> ApiError {
    let at = Timestamp::from_millis(i64::try_from(at.millis()).unwrap_or(i64::MAX)).to_string();
    let detail = format!("the session was deleted at {at}");
    ApiError::new(ErrorCode::SessionDeleted, detail).with("deletedAt", at)
}

/// The error for a parameter whose value cannot be read.
pub fn invalid(name: &str, reason: &dyn std::fmt::Display) -> ApiError {
    ApiError::new(ErrorCode::InvalidField, format!("`{name}`: {reason}")).field(name)
}
