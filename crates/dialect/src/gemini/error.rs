//! Errors as Google's clients read them.

use riverrun_event::json;

use crate::request::Failure;

/// `{"error":{"code":404,"message","status":"NOT_FOUND"}}`.
pub fn body(failure: &Failure) -> String {
    let mut out = format!("{{\"error\":{{\"code\":{},\"message\":", failure.status);
    json::write_string(&mut out, &failure.message);
    out.push_str(&format!(",\"status\":\"{}\"}}}}", word(failure.status)));
    out
}

fn word(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..=498 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}
