//! Why a service says that it failed, in the words that they share.

use std::time::Duration;

use serde_json::Value;

use crate::{Category, ModelError};

/// As much of a service's message as is shown.
const MOST_MESSAGE_CHARS: usize = 500;
const MOST_PARAM_CHARS: usize = 200;

/// Reads an error object, wherever the service puts it: `{error: {…}}`, or the members themselves.
pub(crate) fn failure(status: Option<u16>, body: &Value) -> ModelError {
    // Gemini's whole-body errors come as an array of one.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = if body["error"].is_object() { &body["error"] } else { body };
    // Anthropic's most exact name of a failure, on which its clients act.
    let exact = error["details"]["error_code"].as_str().map(str::to_owned);
    let code = ["code", "type", "status"].iter().find_map(|name| match &error[*name] {
        Value::String(text) if text != "error" => Some(text.clone()),
        _ => None,
    });
    let code = exact.or(code);
    let detail = match (&error["message"], &body["error"]) {
        (Value::String(text), _) => text.as_str(),
        (_, Value::String(text)) => text.as_str(),
        _ => "",
    };
    let words =
        format!("{} {}", code.as_deref().unwrap_or_default(), error["type"].as_str().unwrap_or_default());
    let status = status.or_else(|| error["code"].as_u64().and_then(|code| u16::try_from(code).ok()));
    let category = by_words(&words, detail).or(status.map(by_status)).unwrap_or(Category::Server);
    ModelError {
        category,
        message: message(category, status, detail),
        fault: None,
        code,
        status,
        param: error["param"].as_str().map(|param| param.chars().take(MOST_PARAM_CHARS).collect()),
        retry_after: retry_delay(error),
    }
}

fn message(category: Category, status: Option<u16>, detail: &str) -> String {
    let detail: String =
        detail.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_MESSAGE_CHARS).collect();
    let status = status.map(|status| format!(" with HTTP {status}")).unwrap_or_default();
    match detail.trim() {
        "" => format!("the service answered{status}: {}", category.as_str()),
        detail => format!("the service answered{status}: {detail}"),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: u16, body: Value, category: Category, code: Option<&str>) {
        let error = failure(Some(status), &body);
        assert_eq!((error.category, error.code.as_deref()), (category, code), "{status} {body}");
        assert_eq!(error.status, Some(status));
    }

    #[test]
    fn the_errors_of_each_service_are_classified() {
        let openai = |message: &str, kind: &str, code: Value| json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
        let invalid = "invalid_request_error";
        check(
            401,
            openai("Incorrect API key", invalid, json!("invalid_api_key")),
            Category::Authentication,
            Some("invalid_api_key"),
        );
        check(
            404,
            openai("No such model", invalid, json!("model_not_found")),
            Category::ModelNotFound,
            Some("model_not_found"),
        );
        check(
            400,
            openai("too long", invalid, json!("context_length_exceeded")),
            Category::ContextTooLong,
            Some("context_length_exceeded"),
        );
        check(
            400,
            openai("This model's maximum context length is 8192 tokens", invalid, json!(null)),
            Category::ContextTooLong,
            Some(invalid),
        );
        check(
            400,
            openai("Unknown parameter", invalid, json!(null)),
            Category::InvalidRequest,
            Some(invalid),
        );
        check(
            429,
            openai("Slow down", "requests", json!("rate_limit_exceeded")),
            Category::RateLimit,
            Some("rate_limit_exceeded"),
        );
        check(
            429,
            openai("Pay", "insufficient_quota", json!("insufficient_quota")),
            Category::Quota,
            Some("insufficient_quota"),
        );
        check(500, openai("Oops", "server_error", json!(null)), Category::Server, Some("server_error"));
        // vLLM writes the status as the code, Ollama the message alone.
        check(
            400,
            json!({"error": {"message": "bad", "type": "BadRequestError", "code": 400}}),
            Category::InvalidRequest,
            Some("BadRequestError"),
        );
        check(404, json!({"error": "model 'x' not found"}), Category::ModelNotFound, None);

        let anthropic =
            |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
        check(
            529,
            anthropic("overloaded_error", "Overloaded"),
            Category::Overloaded,
            Some("overloaded_error"),
        );
        check(
            400,
            anthropic(invalid, "prompt is too long: 210000 tokens > 200000 maximum"),
            Category::ContextTooLong,
            Some(invalid),
        );
        check(403, anthropic("permission_error", "no"), Category::Authentication, Some("permission_error"));
        check(400, anthropic("billing_error", "no credit"), Category::Quota, Some("billing_error"));
        check(504, anthropic("timeout_error", "late"), Category::Timeout, Some("timeout_error"));

        let gemini =
            |code: u16, status: &str| json!({"error": {"code": code, "message": "m", "status": status}});
        check(429, gemini(429, "RESOURCE_EXHAUSTED"), Category::RateLimit, Some("RESOURCE_EXHAUSTED"));
        check(503, gemini(503, "UNAVAILABLE"), Category::Overloaded, Some("UNAVAILABLE"));
        check(
            400,
            json!([gemini(400, "INVALID_ARGUMENT")]),
            Category::InvalidRequest,
            Some("INVALID_ARGUMENT"),
        );
        check(418, json!(null), Category::InvalidRequest, None);
    }

    #[test]
    fn a_message_is_cut_and_cleaned() {
        let error =
            failure(Some(500), &json!({"error": {"message": format!("a\u{1b}[31m{}", "x".repeat(9000))}}));
        assert!(error.message.len() < 600 && !error.message.contains('\u{1b}'), "{error}");
    }
}
