//! Reads a payload by the type of its event.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::catalogue::{EventType, Payload, PayloadError, RawJson};

impl Payload {
    /// Reads the payload of an event. The payload of a type that is not known here is kept verbatim.
    pub fn parse(kind: &EventType, raw: &RawValue) -> Result<Self, PayloadError> {
        Self::parse_text(kind, raw.get())
    }

    /// As [`Payload::parse`], for an event that may have no payload: an absent one reads like `{}`.
    pub fn parse_or_empty(kind: &EventType, raw: Option<&RawValue>) -> Result<Self, PayloadError> {
        Self::parse_text(kind, raw.map_or("{}", RawValue::get))
    }

    /// As [`Payload::parse`], from text that holds one JSON value.
    pub fn parse_text(kind: &EventType, text: &str) -> Result<Self, PayloadError> {
        let known = !matches!(kind, EventType::Other(_));
        match text.trim_start().as_bytes().first() {
            Some(b'n') if known => Self::read(kind, "{}"),
            // Serde would take an array for a struct, member by member.
            Some(b'{') => Self::read(kind, text),
            Some(_) | None if known => Err(not_an_object(text)),
            Some(_) | None => Self::read(kind, text),
        }
    }

    /// The payload as JSON text.
    pub fn to_json(&self) -> Result<RawJson, serde_json::Error> {
        RawJson::of(self)
    }
}

fn not_an_object(text: &str) -> PayloadError {
    let found = match text.trim_start().as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(_) => "a number",
        None => "nothing",
    };
    PayloadError {
        path: "payload".to_owned(),
        expected: format!("invalid type: {found}, expected an object"),
    }
}

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, PayloadError> {
    serde_json::from_str(text).map_err(|error| PayloadError::explain::<T>(text, error))
}
