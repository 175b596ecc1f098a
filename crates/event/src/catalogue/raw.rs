//! JSON that is opaque to us, kept as the text it came in.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::catalogue::path;

/// Any JSON value, verbatim: member order, number spelling and white space are those of the sender.
///
/// Two are equal if their texts are equal.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// The text must be one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The value as JSON text.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self(RawValue::from_string("{}".to_owned()).expect("`{}` is JSON"))
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The same as serde's type.
    pub fn as_raw_value(&self) -> &RawValue {
        &self.0
    }

    /// Converts into serde's type without a copy.
    pub fn into_raw_value(self) -> Box<RawValue> {
        self.0
    }

    /// True for the JSON value `null`.
    pub fn is_null(&self) -> bool {
        self.get() == "null"
    }

    /// The text of a JSON string, unescaped; None for every other value.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        if !self.get().starts_with('"') {
            return None;
        }
        serde_json::from_str::<BorrowedText<'_>>(self.get()).ok().map(|text| text.0)
    }

    /// Reads the value as `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Reads a value inside another one; the error keeps the path within this value.
    pub(crate) fn nested<T: DeserializeOwned, E: serde::de::Error>(&self) -> Result<T, E> {
        path::nested(self.get())
    }
}

#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

impl Default for RawJson {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl From<&RawValue> for RawJson {
    fn from(raw: &RawValue) -> Self {
        Self(raw.to_owned())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for RawJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RawJson".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::from(true)
    }
}

/// A value of a type that is not known here: its tag, and all of its text, tag included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opaque {
    /// The member `type`.
    pub tag: String,
    /// The whole value.
    pub raw: RawJson,
}

/// The member `type` of an object.
pub(crate) fn tag_of<E: serde::de::Error>(raw: &RawJson) -> Result<String, E> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object with the member `type`")]
    struct Tag {
        #[serde(rename = "type")]
        tag: String,
    }
    raw.nested::<Tag, E>().map(|tag| tag.tag)
}
