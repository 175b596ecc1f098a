//! JSON Schemas of values that are plain text in Rust.

use schemars::{Schema, SchemaGenerator, json_schema};

/// The id of something that is looked up. Its text is not checked on the way in: a malformed id names nothing.
pub fn id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9_.:~@+=-]+$",
    })
}

/// A place in a log.
pub fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "description": "An opaque place in a session's log.",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^(0|[1-9][0-9]{0,14})(\\+[1-9][0-9]{0,8})?(\\.[0-9a-hjkmnp-tv-z]{4}\\.[0-9a-hjkmnp-tv-z]{2,7})?$",
    })
}

/// An id that may be left out.
pub fn optional_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9_.:~@+=-]+$",
    })
}

/// Any JSON object.
pub fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

/// Text without control characters, which a query refuses.
pub const QUERY_TEXT: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// Where a page of a list ended.
pub const PAGE_CURSOR: &str = "^[0-9]{1,18}$";
