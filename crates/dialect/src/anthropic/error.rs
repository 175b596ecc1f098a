//! Errors as this protocol has them.

use riverrun_event::json;

use crate::request::RequestFailure;

/// Codes that SDKs read from `error.details.error_code`, to send the conversation again in another way.
const THREAD_CODES: [&str; 5] = [
    "thread_already_continued",
    "thread_continue_in_flight",
    "thread_fingerprint_mismatch",
    "thread_not_found",
    "thread_unsupported_request",
];

/// `{"type":"error","error":{"type","message","details"?},"request_id"?}`: the body of an answer, and the data of
/// `event: error`.
pub fn body(failure: &RequestFailure, request_id: Option<&str>) -> String {
    let mut out = format!("{{\"type\":\"error\",\"error\":{{\"type\":\"{}\",\"message\":", kind(failure));
    json::write_string(&mut out, &failure.message);
    if THREAD_CODES.contains(&failure.code.as_str()) {
        out.push_str(&format!(",\"details\":{{\"error_code\":\"{}\"}}", failure.code));
    }
    out.push('}');
    if let Some(request_id) = request_id {
        out.push_str(",\"request_id\":");
        json::write_string(&mut out, request_id);
    }
    out.push('}');
    out
}

fn kind(failure: &RequestFailure) -> &'static str {
    match failure.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        499 => "api_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}
