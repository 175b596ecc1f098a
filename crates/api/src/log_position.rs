//! A position in a log, as a request gives it.

use std::fmt;

use riverrun_event::{Cursor, ErrorCode};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::ApiError;

/// A cursor as text, or a sequence as text or as a number. It is not checked until `cursor` is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPosition(String);

impl LogPosition {
    /// The cursor; `field` is the member that an error names.
    pub fn cursor(&self, field: &'static str) -> Result<Cursor, ApiError> {
        Cursor::parse(&self.0)
            .map_err(|error| ApiError::new(ErrorCode::BadCursor, error.to_string()).field(field))
    }
}

impl<'de> Deserialize<'de> for LogPosition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PositionVisitor)
    }
}

struct PositionVisitor;

impl Visitor<'_> for PositionVisitor {
    type Value = LogPosition;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cursor or a sequence")
    }

    fn visit_str<E>(self, text: &str) -> Result<LogPosition, E> {
        Ok(LogPosition(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<LogPosition, E> {
        Ok(LogPosition(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<LogPosition, E> {
        Ok(LogPosition(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<LogPosition, E> {
        Ok(LogPosition(number.to_string()))
    }
}
