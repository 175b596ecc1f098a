//! Why a model call failed.

use std::time::Duration;

use riverrun_event::{ErrorInfo, UpstreamError};

/// A failure in words that are safe to show: no key, no header, no request body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub category: Category,
    /// What happened and what to do, for a person.
    pub message: String,
    /// Our word for it, where it is more exact than the category's.
    pub fault: Option<&'static str>,
    /// The service's own word for it.
    pub code: Option<String>,
    /// The HTTP status of the service's answer.
    pub status: Option<u16>,
    /// The member of the request that the service complains of.
    pub param: Option<String>,
    pub retry_after: Option<Duration>,
}

impl ModelError {
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        Self {
            category,
            message: message.into(),
            fault: None,
            code: None,
            status: None,
            param: None,
            retry_after: None,
        }
    }

    /// The failure as the log and callers have it.
    pub fn info(&self) -> ErrorInfo {
        let upstream = UpstreamError {
            status: self.status.map(u32::from),
            code: self.code.clone(),
            param: self.param.clone(),
            retry_after_ms: self.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        };
        ErrorInfo {
            message: self.message.clone(),
            code: Some(
                self.code.clone().unwrap_or_else(|| self.fault.unwrap_or(self.category.code()).to_owned()),
            ),
            category: Some(self.category.as_str().to_owned()),
            retryable: Some(self.category.is_retryable()),
            advice: None,
            upstream: (upstream != UpstreamError::default()).then(|| Box::new(upstream)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// The service could not be reached, or the connection broke.
    Connection,
    /// The stream ended without its terminal event.
    Truncated,
    Timeout,
    RateLimit,
    Overloaded,
    /// The service failed.
    Server,
    /// The key is absent, wrong or lacks a right.
    Authentication,
    /// The account has no money or quota left.
    Quota,
    /// The request is wrong; the same again fails again.
    InvalidRequest,
    ModelNotFound,
    ContextTooLong,
    ContentFilter,
    /// The service said something that is not its protocol.
    Protocol,
    Cancelled,
}

impl Category {
    pub const ALL: &[Category] = &[
        Category::Connection,
        Category::Truncated,
        Category::Timeout,
        Category::RateLimit,
        Category::Overloaded,
        Category::Server,
        Category::Authentication,
        Category::Quota,
        Category::InvalidRequest,
        Category::ModelNotFound,
        Category::ContextTooLong,
        Category::ContentFilter,
        Category::Protocol,
        Category::Cancelled,
    ];

    /// True if the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        match self {
            Category::Connection
            | Category::Truncated
            | Category::Timeout
            | Category::RateLimit
            | Category::Overloaded
            | Category::Server => true,
            Category::Authentication
            | Category::Quota
            | Category::InvalidRequest
            | Category::ModelNotFound
            | Category::ContextTooLong
            | Category::ContentFilter
            | Category::Protocol
            | Category::Cancelled => false,
        }
    }

    /// The code of a failure that has no word of its own.
    pub fn code(self) -> &'static str {
        match self {
            Category::Truncated => "no_terminal",
            Category::Protocol => "provider_protocol_error",
            other => other.as_str(),
        }
    }

    /// The word that events and errors use.
    pub fn as_str(self) -> &'static str {
        match self {
            Category::Connection => "connection",
            Category::Truncated => "truncated",
            Category::Timeout => "timeout",
            Category::RateLimit => "rate_limit",
            Category::Overloaded => "overloaded",
            Category::Server => "server_error",
            Category::Authentication => "authentication",
            Category::Quota => "quota",
            Category::InvalidRequest => "invalid_request",
            Category::ModelNotFound => "model_not_found",
            Category::ContextTooLong => "context_too_long",
            Category::ContentFilter => "content_filter",
            Category::Protocol => "protocol",
            Category::Cancelled => "cancelled",
        }
    }
}
