//! Errors as Google's clients read them.

use crate::members::{Members, write_list};
use crate::request::RequestFailure;

const RPC: &str = "type.googleapis.com/google.rpc";

/// `{"error":{"code":404,"message","status":"NOT_FOUND","details"}}`; details only where there is more to say.
pub fn body(failure: &RequestFailure) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.with("error", |out| write_error(out, failure));
    members.close();
    out
}

fn write_error(out: &mut String, failure: &RequestFailure) {
    let mut error = Members::open(out);
    error.number("code", failure.status.into());
    error.text("message", &failure.message);
    error.text("status", word(failure.status));
    let details = details(failure);
    if !details.is_empty() {
        error.with("details", |out| write_list(out, details, |out, detail| out.push_str(&detail)));
    }
    error.close();
}

/// Which member is wrong, and how long to wait.
fn details(failure: &RequestFailure) -> Vec<String> {
    let is_bad_request = matches!(failure.status, 400 | 422);
    let field = failure.param.as_ref().filter(|_| is_bad_request).map(|param| {
        let violation = serde_json::json!({"field": param, "description": failure.message});
        serde_json::json!({"@type": format!("{RPC}.BadRequest"), "fieldViolations": [violation]})
    });
    let wait = failure.retry_after_seconds.map(|seconds| {
        serde_json::json!({"@type": format!("{RPC}.RetryInfo"), "retryDelay": format!("{seconds}s")})
    });
    field.into_iter().chain(wait).map(|detail| detail.to_string()).collect()
}

fn word(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..=498 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_name_the_member_and_the_retry_delay() {
        let body = |failure: &RequestFailure| -> serde_json::Value {
            serde_json::from_str(&body(failure)).expect("it is JSON")
        };
        let busy = RequestFailure {
            retry_after_seconds: Some(7),
            ..RequestFailure::new(429, "rate_limit", "slow down")
        };
        assert_eq!(body(&busy)["error"]["status"], "RESOURCE_EXHAUSTED");
        assert_eq!(body(&busy)["error"]["details"][0]["retryDelay"], "7s");
        let wrong = body(&RequestFailure::new(400, "invalid_value", "no").param("contents"));
        assert_eq!(wrong["error"]["details"][0]["fieldViolations"][0]["field"], "contents");
        assert_eq!(
            body(&RequestFailure::new(404, "not_found", "no")),
            r#"{"error":{"code":404,"message":"no","status":"NOT_FOUND"}}"#
        );
    }
}
