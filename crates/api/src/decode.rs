//! Turns checked JSON text into a typed command, and a failure into a sentence that helps.

use riverrun_event::{ErrorCode, json, nearest};
use serde::de::DeserializeOwned;

use crate::ApiError;

/// Integers beyond this are not exact in every client.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Checks `bytes` strictly, then decodes them. `T` refuses unknown fields by its own `deny_unknown_fields`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], limits: &json::JsonLimits) -> Result<T, ApiError> {
    decode_text(&compact(bytes, limits)?)
}

/// Checks JSON from outside and copies it without white space. A byte order mark in front is skipped.
pub fn compact(bytes: &[u8], limits: &json::JsonLimits) -> Result<String, ApiError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(ApiError::new(ErrorCode::BodyEmpty, "the body is empty; send a JSON object"));
    }
    Ok(json::compact(text, limits)?)
}

/// Decodes text that `compact` has checked.
pub fn decode_text<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    // serde would read an array as the members in their order.
    if text.starts_with('[') {
        return Err(ApiError::new(ErrorCode::InvalidField, "the body must be a JSON object, not an array"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        explain(&path, &error.into_inner().to_string())
    })
}

/// Reads what serde says of a failure. Its texts are pinned by the tests below.
fn explain(path: &str, message: &str) -> ApiError {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let at = if path == "." { "the body".to_owned() } else { format!("`{path}`") };
    if message.starts_with("unknown field") && !names.is_empty() {
        return unknown_field(path, names[0], &names[1..]);
    }
    if message.starts_with("missing field") && !names.is_empty() {
        let field = member(path, names[0]);
        return ApiError::new(ErrorCode::InvalidField, format!("`{field}` is missing")).field(field);
    }
    let code = match () {
        () if message.starts_with("an id ") => ErrorCode::InvalidId,
        () if is_out_of_range(message, &names) => ErrorCode::NumberOutOfRange,
        () => ErrorCode::InvalidField,
    };
    let error = ApiError::new(code, format!("{at}: {message}"));
    if path == "." { error } else { error.field(path) }
}

/// The answer to a field that nobody knows: it names the field, the nearest known one, or all of them.
pub fn unknown_field(path: &str, given: &str, known: &[&str]) -> ApiError {
    // serde's path already ends in the unknown field where it could see it.
    let field = if path == given || path.ends_with(&format!(".{given}")) {
        path.to_owned()
    } else {
        member(path, given)
    };
    let hint = match nearest(given, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "none is taken here".to_owned(),
        None => format!("known here: {}", known.join(", ")),
    };
    ApiError::new(ErrorCode::UnknownField, format!("unknown field `{field}`; {hint}")).field(field)
}

fn member(path: &str, name: &str) -> String {
    if path == "." { name.to_owned() } else { format!("{path}.{name}") }
}

fn is_out_of_range(message: &str, names: &[&str]) -> bool {
    let huge_float =
        || names.first().and_then(|text| text.parse::<f64>().ok()).is_some_and(|n| n.abs() >= MAX_EXACT);
    message.starts_with("number out of range")
        || message.starts_with("invalid value: integer")
        || (message.starts_with("invalid type: floating point") && huge_float())
}

#[cfg(test)]
mod tests {
    use riverrun_event::SessionId;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    #[allow(dead_code)]
    struct Command {
        model: String,
        count: Option<u32>,
        session_id: Option<SessionId>,
        mode: Option<Mode>,
        parts: Option<Vec<Part>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Part {
        text: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Immediate,
        AfterTurn,
    }

    fn check(body: &str, code: ErrorCode, field: Option<&str>, words: &str) {
        let error = decode::<Command>(body.as_bytes(), &json::JsonLimits::default()).expect_err(body);
        assert_eq!((error.code(), error.field_name()), (code, field), "{body}: {}", error.detail());
        assert!(error.detail().contains(words), "{body}: {}", error.detail());
    }

    #[test]
    fn every_wrong_field_is_named_with_its_path() {
        use ErrorCode::*;
        check("", BodyEmpty, None, "empty");
        check(" \n", BodyEmpty, None, "empty");
        check("\u{feff}", BodyEmpty, None, "empty");
        check(r#"{"modle":"x"}"#, UnknownField, Some("modle"), "did you mean `model`?");
        check(r#"{"model":"x","zzz":1}"#, UnknownField, Some("zzz"), "known here: model, count");
        check(
            r#"{"model":"x","parts":[{"text":"a"},{"txet":"b"}]}"#,
            UnknownField,
            Some("parts[1].txet"),
            "`text`",
        );
        check(r#"{"parts":[{}]}"#, InvalidField, Some("parts[0].text"), "is missing");
        check(r#"{}"#, InvalidField, Some("model"), "`model` is missing");
        check(r#"{"model":1}"#, InvalidField, Some("model"), "expected a string");
        check(r#"{"model":"x","count":-1}"#, NumberOutOfRange, Some("count"), "-1");
        check(r#"{"model":"x","count":1e20}"#, NumberOutOfRange, Some("count"), "floating point");
        check(r#"{"model":"x","count":1.5}"#, InvalidField, Some("count"), "floating point");
        check(r#"{"model":"x","sessionId":"a\u0000b"}"#, InvalidId, Some("sessionId"), "an id may hold");
        check(r#"{"model":"x","mode":"later"}"#, InvalidField, Some("mode"), "`immediate`");
        check("[]", InvalidField, None, "the body");
    }

    #[test]
    fn numbers_without_bound_are_refused_by_name() {
        let long = format!(r#"{{"model":"x","count":{}}}"#, "9".repeat(400));
        check(&long, ErrorCode::NumberOutOfRange, None, "column 22");
        check(r#"{"model":"x","count":1e999999}"#, ErrorCode::NumberOutOfRange, None, "column 22");
    }

    #[test]
    fn a_byte_order_mark_is_accepted() {
        assert!(
            decode::<Command>("\u{feff}{\"model\":\"x\"}".as_bytes(), &json::JsonLimits::default()).is_ok()
        );
    }
}
