//! JSON Schemas of values that are plain text in Rust.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

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

/// A number of things, or the number of an event or none.
pub fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0 })
}

/// Stands for an id in `#[schemars(with = "Option<schema::IdText>")]`: the form that a given id must have.
pub struct IdText;

impl JsonSchema for IdText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IdText".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        id(generator)
    }
}

/// Stands for a text in a query: no control characters.
pub struct Word;

impl JsonSchema for Word {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" })
    }
}

/// Where a page of a list ended.
pub const PAGE_CURSOR: &str = "^[0-9]{1,18}$";
/// Stands for the id of a tenant, or `*` for all.
pub struct TenantOrAll;

impl JsonSchema for TenantOrAll {
    fn schema_name() -> Cow<'static, str> {
        "TenantOrAll".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": 128,
            "pattern": "^([*]|[A-Za-z0-9_.:~@+=-]+)$",
        })
    }
}
