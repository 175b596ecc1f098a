//! The API document and the list of routes that it must describe.

/// The document that `GET /openapi.json` answers.
pub const DOCUMENT: &str = include_str!("openapi.json");

/// Every route, as (method, path template).
pub const ROUTES: &[(&str, &str)] = &[];
