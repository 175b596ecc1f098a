//! Refusals in the shape that the dialect's clients read.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue};
use riverrun_api::ApiError;
use riverrun_dialect::Dialect;
use riverrun_dialect::request::RequestFailure;
use riverrun_event::ErrorCode;

use crate::edge::{Problem, RequestId};

/// OpenAI's and Anthropic's SDKs do as it says.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Why a foreign request is refused: by its own words, or by the server.
#[derive(Debug)]
pub enum Refusal {
    Failure(RequestFailure),
    Problem(Problem),
}

impl From<RequestFailure> for Refusal {
    fn from(failure: RequestFailure) -> Self {
        Refusal::Failure(failure)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Refusal::Problem(problem)
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Refusal::Problem(error.into())
    }
}

impl From<riverrun_log::LogError> for Refusal {
    fn from(error: riverrun_log::LogError) -> Self {
        Refusal::Problem(error.into())
    }
}

impl Refusal {
    /// What went wrong, in the words of a dialect.
    pub fn failure(self) -> RequestFailure {
        match self {
            Refusal::Problem(problem) => failure_of(&problem),
            Refusal::Failure(failure) => failure,
        }
    }

    /// The answer. A problem keeps its headers (`Retry-After`, …) and its place in the access log.
    pub fn answer(self, dialect: Dialect, id: Option<&RequestId>) -> Response {
        let id = id.map(|id| &*id.0);
        // Their SDKs send what was answered with 409 or 501 again by themselves.
        let is_final = match &self {
            Refusal::Problem(problem) => !problem.code().is_retryable(),
            Refusal::Failure(_) => true,
        };
        let (failure, problem) = match self {
            Refusal::Problem(problem) => (in_words_of(dialect, failure_of(&problem)), problem),
            Refusal::Failure(failure) => {
                let problem = Problem::new(code_of(&failure), failure.message.clone());
                let problem = match &failure.param {
                    Some(param) => problem.field(param.clone()),
                    None => problem,
                };
                (failure, problem)
            }
        };
        let mut response = problem.into_response();
        if let Some(body) = dialect.error_body(&failure, id) {
            *response.body_mut() = body.into();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(seconds) = failure.retry_after_seconds {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if is_final && matches!(failure.status, 409 | 501) {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if let Ok(status) = http::StatusCode::from_u16(failure.status) {
            *response.status_mut() = status;
        }
        response
    }
}

/// What is the input here has another name there, and a turn's id is made of the caller's key where the caller has no
/// other name for it.
fn in_words_of(dialect: Dialect, failure: RequestFailure) -> RequestFailure {
    if failure.code == ErrorCode::UrlBlocked.as_str() {
        return failure.param(match dialect {
            Dialect::Chat | Dialect::Anthropic | Dialect::AgUi | Dialect::AiSdk => "messages",
            Dialect::Gemini => "contents",
            Dialect::A2a => "message.parts",
            _ => "input",
        });
    }
    let has_key =
        matches!(dialect, Dialect::Responses | Dialect::Chat | Dialect::Anthropic | Dialect::Gemini);
    if !has_key || failure.code != ErrorCode::TurnExists.as_str() {
        return failure;
    }
    let message = "this `Idempotency-Key` was used with another request; use a new key for a new request";
    RequestFailure::new(failure.status, ErrorCode::IdempotencyMismatch.as_str(), message)
        .param("Idempotency-Key")
}

fn failure_of(problem: &Problem) -> RequestFailure {
    let code = problem.code();
    // Foreign clients call what we call an agent a model.
    let (status, code, field) = match code {
        ErrorCode::UnknownAgent => (404, "model_not_found", Some("model")),
        // Their APIs know no 410 for what was deleted, and their clients have an error of its own for 404.
        ErrorCode::SessionDeleted => (404, code.as_str(), problem.field_name()),
        other => (other.http_status(), other.as_str(), problem.field_name()),
    };
    let failure = RequestFailure::new(status, code, problem.detail());
    match field {
        Some(field) => failure.param(field),
        None => failure,
    }
}

/// Our name of what a dialect's reader found wrong, for the access log and for dialects without a shape of their own.
fn code_of(failure: &RequestFailure) -> ErrorCode {
    match failure.status {
        400 if failure.code == "invalid_json" => ErrorCode::JsonSyntax,
        401 => ErrorCode::Unauthenticated,
        403 => ErrorCode::Forbidden,
        404 => ErrorCode::NotFound,
        413 => ErrorCode::BodyTooLarge,
        _ => ErrorCode::InvalidField,
    }
}
