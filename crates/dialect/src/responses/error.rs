//! Errors as OpenAI's clients read them, here and in Chat Completions.

use riverrun_event::ErrorInfo;

use crate::members::Members;
use crate::request::RequestFailure;
use crate::turn::Cause;

/// `{"error":{"message","type","param","code"}}`.
pub fn body(failure: &RequestFailure) -> String {
    let mut out = String::new();
    write_error(&mut out, failure);
    out
}

/// The data of `event: error`, for a stream that cannot go on for a reason outside its turn. Cutting the connection
/// without the last chunk is as good; ending it cleanly is not.
pub fn event(failure: &RequestFailure, sequence_number: u64) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("type", "error");
    members.text("code", &failure.code);
    members.text("message", &failure.message);
    match &failure.param {
        Some(param) => members.text("param", param),
        None => members.raw("param", "null"),
    }
    members.number("sequence_number", sequence_number);
    members.close();
    out
}

pub(crate) fn write_error(out: &mut String, failure: &RequestFailure) {
    let mut members = Members::open(out);
    members.with("error", |out| write_members(out, failure));
    members.close();
}

pub(crate) fn write_members(out: &mut String, failure: &RequestFailure) {
    let mut error = Members::open(out);
    error.text("message", &failure.message);
    error.text("type", kind(failure.status));
    match &failure.param {
        Some(param) => error.text("param", param),
        None => error.raw("param", "null"),
    }
    error.text("code", &failure.code);
    error.close();
}

fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        499 => "cancelled",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

/// The failure of a turn, for dialects that answer it with an error. That a model call failed says less than why.
pub fn failure_of(error: &ErrorInfo) -> RequestFailure {
    let cause = Cause::of(error);
    let own = error.code.clone().filter(|code| code != "model_failed");
    let upstream = error.upstream.as_deref().cloned().unwrap_or_default();
    // Anthropic's names of kinds are no codes of OpenAI's.
    let theirs = upstream.code.filter(|code| !code.ends_with("_error"));
    let code = own.or(theirs).unwrap_or_else(|| cause.code().to_owned());
    let status = upstream.status.and_then(|status| u16::try_from(status).ok());
    let status = status.filter(|status| (400..600).contains(status)).unwrap_or(cause.status());
    RequestFailure {
        param: upstream.param,
        retry_after_seconds: upstream.retry_after_ms.map(|millis| millis.div_ceil(1000)),
        ..RequestFailure::new(status, code, error.message.clone())
    }
}

/// The member `error` of a failed response. Its codes are a closed list; ours is beside it.
pub(super) fn write_response_error(out: &mut String, error: &ErrorInfo) {
    let mut members = Members::open(out);
    members.text("code", word(Cause::of(error)));
    members.text("message", &error.message);
    members.maybe_text("riverrun_code", error.code.as_deref());
    members.close();
}

fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::RateLimit | Cause::Quota => "rate_limit_exceeded",
        Cause::InvalidRequest | Cause::ContextTooLong | Cause::ContentFilter | Cause::ModelNotFound => {
            "invalid_prompt"
        }
        Cause::Authentication | Cause::Overloaded | Cause::Timeout | Cause::Upstream | Cause::Server => {
            "server_error"
        }
    }
}
