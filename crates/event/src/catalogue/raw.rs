//! JSON that is opaque to us, kept as the text it came in.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
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

impl Opaque {
    /// The number by which a block is cited.
    pub fn ref_id(&self) -> Option<u64> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Numbered {
            ref_id: Option<u64>,
        }
        self.raw.to::<Numbered>().ok()?.ref_id
    }

    /// Sets the number by which a block is cited, or removes it.
    pub fn set_ref_id(&mut self, number: Option<u64>) {
        if self.ref_id() == number {
            return;
        }
        let Ok(RawMembers(mut members)) = self.raw.to() else { return };
        members.retain(|(name, _)| name != REF_ID);
        members.extend(number.and_then(|number| Some((REF_ID.to_owned(), RawJson::of(&number).ok()?))));
        self.raw = RawJson::of(&RawMembers(members)).unwrap_or_default();
    }

    /// The value with the member `refId` under another name; unchanged if it has no number or a member of that name.
    pub fn with_ref_id_as(&self, name: &str) -> Cow<'_, RawJson> {
        let unchanged = Cow::Borrowed(&self.raw);
        let Some(RawMembers(mut members)) = self.ref_id().and_then(|_| self.raw.to().ok()) else {
            return unchanged;
        };
        if members.iter().any(|(known, _)| known == name) {
            return unchanged;
        }
        members
            .iter_mut()
            .filter(|(known, _)| known == REF_ID)
            .for_each(|member| name.clone_into(&mut member.0));
        RawJson::of(&RawMembers(members)).map_or(unchanged, Cow::Owned)
    }
}

const REF_ID: &str = "refId";

/// The members of an object, in their order, each value verbatim.
struct RawMembers(Vec<(String, RawJson)>);

impl<'de> Deserialize<'de> for RawMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RawMembers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl Serialize for RawMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
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
