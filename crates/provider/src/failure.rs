//! Why a service says that it failed, in the words that they share.

use std::time::Duration;

use serde_json::Value;

use crate::{Category, ModelError};

/// As much of a service's message as is shown.
const MOST_MESSAGE_CHARS: usize = 500;

/// Reads an error object, wherever the service puts it: `{error: {…}}`, or the members themselves.
pub(crate) fn failure(status: Option<u16>, body: &Value) -> ModelError {
    // Gemini's whole-body errors come as an array of one.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = if body["error"].is_object() { &body["error"] } else { body };
    let code = ["code", "type", "status"].iter().find_map(|name| match &error[*name] {
        Value::String(text) if text != "error" => Some(text.clone()),
        _ => None,
    });
    let said = match (&error["message"], &body["error"]) {
        (Value::String(text), _) => text.as_str(),
        (_, Value::String(text)) => text.as_str(),
        _ => "",
    };
    let words =
        format!("{} {}", code.as_deref().unwrap_or_default(), error["type"].as_str().unwrap_or_default());
    let status = status.or_else(|| error["code"].as_u64().and_then(|code| u16::try_from(code).ok()));
    let category = by_words(&words, said).or(status.map(by_status)).unwrap_or(Category::Server);
    ModelError {
        category,
        message: message(category, status, said),
        code,
        status,
        retry_after: retry_delay(error),
    }
}

fn message(category: Category, status: Option<u16>, said: &str) -> String {
    let said: String =
        said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_MESSAGE_CHARS).collect();
    let status = status.map(|status| format!(" with HTTP {status}")).unwrap_or_default();
    match said.trim() {
        "" => format!("the service answered{status}: {}", category.as_str()),
        said => format!("the service answered{status}: {said}"),
    }
}

/// The service's own words are more exact than its status.
fn by_words(words: &str, message: &str) -> Option<Category> {
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let message = message.to_lowercase();
    if has(&["insufficient_quota", "billing", "credit", "quota_exceeded"]) {
        Some(Category::Quota)
    } else if has(&["context_length", "context_window", "string_above_max_length"]) || is_too_long(&message) {
        Some(Category::ContextTooLong)
    } else if has(&["overloaded", "UNAVAILABLE", "slow_down", "engine_overloaded"]) {
        Some(Category::Overloaded)
    } else if has(&["rate_limit", "RESOURCE_EXHAUSTED", "too_many_requests"]) {
        Some(Category::RateLimit)
    } else if has(&[
        "authentication",
        "invalid_api_key",
        "permission",
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
    ]) {
        Some(Category::Authentication)
    } else if has(&["model_not_found", "not_found", "NOT_FOUND"]) {
        Some(Category::ModelNotFound)
    } else if has(&["content_filter", "content_policy", "bio_policy", "policy_violation", "invalid_prompt"]) {
        Some(Category::ContentFilter)
    } else if has(&["timeout", "DEADLINE_EXCEEDED"]) {
        Some(Category::Timeout)
    } else if has(&["server_error", "api_error", "INTERNAL"]) {
        Some(Category::Server)
    } else if has(&["invalid_request", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "request_too_large"]) {
        Some(Category::InvalidRequest)
    } else {
        None
    }
}

fn is_too_long(message: &str) -> bool {
    ["maximum context length", "prompt is too long", "context window", "exceeds the maximum number of tokens"]
        .iter()
        .any(|words| message.contains(words))
}

fn by_status(status: u16) -> Category {
    match status {
        401 | 403 => Category::Authentication,
        402 => Category::Quota,
        404 => Category::ModelNotFound,
        408 | 504 => Category::Timeout,
        429 => Category::RateLimit,
        503 | 529 => Category::Overloaded,
        400..=499 => Category::InvalidRequest,
        500..=599 => Category::Server,
        _ => Category::Protocol,
    }
}

/// Gemini says in the error's details how long to wait: `retryDelay: "12s"`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error["details"].as_array()?;
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
