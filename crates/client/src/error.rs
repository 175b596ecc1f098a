//! What can go wrong between a client and its server.

use std::time::Duration;

use riverrun_event::{ErrorCode, Sequence};
use riverrun_net::{BaseUrlError, BodyError, SseError, redacted_url};
use serde::Deserialize;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered, and the answer is no.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// No connection could be made. Nothing was sent.
    #[error("no server answers at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// The server's certificate is not trusted. Nothing was sent.
    #[error("the certificate of {url} is not trusted: {reason}")]
    Untrusted { url: String, reason: String },
    /// The connection ended before the answer did. What was asked may have happened.
    #[error("the connection was cut: {reason}")]
    Cut { reason: String },
    /// The stream skipped events. The client stops rather than show a log with a hole.
    #[error("the stream skipped from sequence {last} to {found}")]
    Gap { last: Sequence, found: Sequence },
    /// The server sent something that this client does not understand.
    #[error("the server's answer is not understood: {0}")]
    Malformed(String),
    #[error(transparent)]
    Stream(#[from] SseError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("the key holds a character that a header cannot carry")]
    BadKey,
}

/// A server's URL that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("`{0}` is not a URL such as http://127.0.0.1:7777")]
    Malformed(String),
    #[error("`{0}` holds a key or a query; give the key apart (RIVERRUN_KEY)")]
    Secret(String),
}

impl UrlError {
    pub(crate) fn new(url: &str, error: BaseUrlError) -> Self {
        let shown = redacted_url(url);
        match error {
            BaseUrlError::Credentials | BaseUrlError::Query => UrlError::Secret(shown),
            BaseUrlError::Character
            | BaseUrlError::Malformed
            | BaseUrlError::Scheme
            | BaseUrlError::NoHost
            | BaseUrlError::EmptyPort => UrlError::Malformed(shown),
        }
    }
}

/// `application/problem+json`, as the server sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    /// The code as text, so that one from a newer server is not lost.
    pub code: String,
    pub detail: String,
    pub field: Option<String>,
    pub limit: Option<u64>,
    pub request_id: Option<String>,
    pub retryable: bool,
    /// What `Retry-After` asked for.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// True if the same request may succeed later, unchanged.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Problem(problem) => problem.retryable,
            Error::Unreachable { .. } | Error::Cut { .. } => true,
            Error::Untrusted { .. }
            | Error::Gap { .. }
            | Error::Malformed(_)
            | Error::Stream(_)
            | Error::Url(_)
            | Error::BadKey => false,
        }
    }

    /// True if nothing was stored by the request that failed.
    pub fn has_no_side_effects(&self) -> bool {
        match self {
            Error::Problem(problem) => problem.error_code().is_some_and(ErrorCode::has_no_side_effects),
            Error::Unreachable { .. } | Error::Untrusted { .. } | Error::Url(_) | Error::BadKey => true,
            Error::Cut { .. } | Error::Gap { .. } | Error::Malformed(_) | Error::Stream(_) => false,
        }
    }

    /// The problem's code, if a server answered with one that this client knows.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Error::Problem(problem) => problem.error_code(),
            Error::Unreachable { .. }
            | Error::Untrusted { .. }
            | Error::Cut { .. }
            | Error::Gap { .. }
            | Error::Malformed(_)
            | Error::Stream(_)
            | Error::Url(_)
            | Error::BadKey => None,
        }
    }

    pub(crate) fn cut(reason: impl std::fmt::Display) -> Self {
        Error::Cut { reason: reason.to_string() }
    }

    pub(crate) fn body(error: BodyError) -> Self {
        match error {
            BodyError::Broken(reason) => Error::cut(reason),
            BodyError::TooLong(_) => Error::cut(error),
        }
    }
}

impl Problem {
    pub fn error_code(&self) -> Option<ErrorCode> {
        ErrorCode::ALL.iter().copied().find(|code| code.as_str() == self.code)
    }

    /// Reads an error answer. A body that is no problem (a proxy's page) still gives its status.
    pub(crate) fn read(status: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let wire: WireProblem = serde_json::from_slice(body).unwrap_or_default();
        let inner = wire.error.unwrap_or_default();
        let code = wire.code.or(inner.code).unwrap_or_else(|| format!("http_{status}"));
        let detail = wire.detail.or(inner.message).or(wire.title);
        let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
        let retryable = wire.retryable.unwrap_or_else(|| match known {
            Some(known) => known.is_retryable(),
            None => matches!(status, 429 | 502 | 503 | 504),
        });
        Self {
            status,
            detail: detail.unwrap_or_else(|| format!("the server answered {status}")),
            code,
            field: wire.field.or(inner.field),
            limit: wire.limit.or(inner.limit),
            request_id: wire.request_id.or(inner.request_id),
            retryable,
            retry_after: retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireProblem {
    code: Option<String>,
    title: Option<String>,
    detail: Option<String>,
    field: Option<String>,
    limit: Option<u64>,
    request_id: Option<String>,
    retryable: Option<bool>,
    error: Option<WireError>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireError {
    message: Option<String>,
    code: Option<String>,
    field: Option<String>,
    limit: Option<u64>,
    request_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_every_member() {
        let body = br#"{"type":"https://riverrun.dev/errors#event_too_large","title":"t","status":413,"code":"event_too_large",
            "detail":"event 3 is over the limit","field":"[3]","limit":262144,"requestId":"req_1","retryable":false,
            "error":{"message":"m","type":"x","code":"event_too_large"}}"#;
        let expected = Problem {
            status: 413,
            code: "event_too_large".into(),
            detail: "event 3 is over the limit".into(),
            field: Some("[3]".into()),
            limit: Some(262144),
            request_id: Some("req_1".into()),
            retryable: false,
            retry_after: None,
        };
        assert_eq!(Problem::read(413, None, body), expected);
        assert_eq!(expected.error_code(), Some(ErrorCode::EventTooLarge));
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_its_secrets() {
        let check = |url: &str| match crate::Client::new(url, None) {
            Err(Error::Url(error)) => error,
            Ok(_) | Err(_) => panic!("{url}"),
        };
        assert_eq!(check("127.0.0.1:7777"), UrlError::Malformed("127.0.0.1:7777".into()));
        assert_eq!(check("ftp://x"), UrlError::Malformed("ftp://x".into()));
        assert_eq!(check("http://user:pw@x/"), UrlError::Secret("http://…@x/".into()));
        assert_eq!(check("http://x/?key=1"), UrlError::Secret("http://x/?…".into()));
    }

    #[test]
    fn an_answer_of_a_proxy_still_says_its_status() {
        let problem = Problem::read(503, Some("2"), b"<html>");
        assert_eq!((problem.code.as_str(), problem.retryable), ("http_503", true));
        assert_eq!(problem.retry_after, Some(Duration::from_secs(2)));
    }
}
