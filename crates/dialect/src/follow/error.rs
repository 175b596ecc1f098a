//! Refusals of the dialects whose protocols name no shape for them.

use crate::members::Members;
use crate::request::RequestFailure;
use crate::responses::error::write_members;

/// `{"error":{"message","type","param","code"},"status","code","message","requestId"?}`: clients show the body as it
/// is, or one of its members.
pub(crate) fn body(failure: &RequestFailure, request_id: Option<&str>) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.with("error", |out| write_members(out, failure));
    members.number("status", failure.status.into());
    members.text("code", &failure.code);
    members.text("message", &failure.message);
    members.maybe_text("requestId", request_id);
    members.close();
    out
}
