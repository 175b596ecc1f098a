//! Reads JSON objects member by member, so that every complaint names its place.

use std::fmt;

use riverrun_event::{DataBlock, Part, RawJson, json};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::RequestFailure;

/// A JSON text that was checked, on one line.
pub(crate) fn checked(body: &[u8]) -> Result<String, RequestFailure> {
    json::compact(body, &json::JsonLimits::default())
        .map_err(|error| RequestFailure::new(400, "invalid_json", format!("the body is not JSON: {error}")))
}

/// A value and its path.
#[derive(Debug, Clone)]
pub(crate) struct At<'a> {
    pub path: String,
    pub raw: &'a RawValue,
}

/// An object that is being read: what is taken is gone, what is left is unknown.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    path: String,
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    pub(crate) fn body(text: &'a str) -> Result<Self, RequestFailure> {
        let members = serde_json::from_str::<Members<'a>>(text)
            .map_err(|_| RequestFailure::new(400, "invalid_type", "the body must be a JSON object"))?;
        Ok(Self { path: String::new(), members: members.0 })
    }

    pub(crate) fn of(at: &At<'a>) -> Result<Self, RequestFailure> {
        let members = serde_json::from_str::<Members<'a>>(at.raw.get()).map_err(|_| at.wrong("an object"))?;
        Ok(Self { path: at.path.clone(), members: members.0 })
    }

    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Absent and `null` are the same here.
    pub(crate) fn take(&mut self, name: &str) -> Option<At<'a>> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        let (_, raw) = self.members.remove(at);
        (raw.get() != "null").then(|| At { path: self.path(name), raw })
    }

    /// True if the member is there and not `null`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(known, raw)| known == name && raw.get() != "null")
    }

    pub(crate) fn must(&mut self, name: &str) -> Result<At<'a>, RequestFailure> {
        self.take(name).ok_or_else(|| self.missing(name))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, RequestFailure> {
        self.take(name).map(|at| at.text()).transpose()
    }

    pub(crate) fn must_text(&mut self, name: &str) -> Result<String, RequestFailure> {
        self.must(name)?.text()
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, RequestFailure> {
        self.take(name).map(|at| at.read("a boolean")).transpose()
    }

    pub(crate) fn count(&mut self, name: &str) -> Result<Option<u64>, RequestFailure> {
        self.take(name).map(|at| at.read("a whole number")).transpose()
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<f64>, RequestFailure> {
        self.take(name).map(|at| at.read("a number")).transpose()
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Vec<At<'a>>, RequestFailure> {
        self.take(name).map_or(Ok(Vec::new()), |at| at.list())
    }

    pub(crate) fn raw(&mut self, name: &str) -> Option<RawJson> {
        self.take(name).map(|at| at.raw.into())
    }

    /// Every member with its path.
    pub(crate) fn each(self) -> Vec<(String, At<'a>)> {
        self.members.iter().map(|(name, raw)| (name.clone(), At { path: self.path(name), raw })).collect()
    }

    /// The members that were not read.
    pub(crate) fn into_unread(self) -> Vec<(String, RawJson)> {
        self.members.into_iter().map(|(name, raw)| (name, raw.into())).collect()
    }

    /// Every member but the named ones, for the record.
    pub(crate) fn without(&self, names: &[&str]) -> Vec<(String, RawJson)> {
        let others = self.members.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        others.map(|(name, raw)| (name.clone(), (*raw).into())).collect()
    }

    pub(crate) fn missing(&self, name: &str) -> RequestFailure {
        let path = self.path(name);
        RequestFailure::new(
            400,
            "missing_required_parameter",
            format!("missing required parameter: `{path}`"),
        )
        .param(path)
    }
}

impl<'a> At<'a> {
    pub(crate) fn is_text(&self) -> bool {
        self.raw.get().starts_with('"')
    }

    pub(crate) fn is_list(&self) -> bool {
        self.raw.get().starts_with('[')
    }

    pub(crate) fn is_object(&self) -> bool {
        self.raw.get().starts_with('{')
    }

    pub(crate) fn text(&self) -> Result<String, RequestFailure> {
        self.read("a string")
    }

    pub(crate) fn list(&self) -> Result<Vec<At<'a>>, RequestFailure> {
        let entries: Vec<&'a RawValue> =
            serde_json::from_str(self.raw.get()).map_err(|_| self.wrong("an array"))?;
        let entry = |(at, raw)| At { path: format!("{}[{at}]", self.path), raw };
        Ok(entries.into_iter().enumerate().map(entry).collect())
    }

    pub(crate) fn json(&self) -> RawJson {
        self.raw.into()
    }

    fn read<T: Deserialize<'a>>(&self, expected: &str) -> Result<T, RequestFailure> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.wrong(expected))
    }

    /// The value has another type than it must have.
    pub(crate) fn wrong(&self, expected: &str) -> RequestFailure {
        let found = match self.raw.get().as_bytes().first() {
            Some(b'"') => "a string",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            Some(_) | None => "a number that does not fit",
        };
        let found = if expected == found { "something else" } else { found };
        RequestFailure::new(400, "invalid_type", format!("`{}` must be {expected}, not {found}", self.path))
            .param(self.path.clone())
    }

    /// A part whose type is none of those that are known: kept as it is, with what everybody but a service of the same
    /// dialect says to it. A type that means something else in the log is kept there as data.
    pub(crate) fn other(
        &self,
        known: &[&str],
        unknown: &mut Vec<RequestFailure>,
    ) -> Result<Part, RequestFailure> {
        let kind = Object::of(self)?.must("type")?;
        unknown.push(kind.unknown(&kind.text()?, known));
        Ok(match self.read("a part") {
            Ok(part @ Part::Other(_)) => part,
            Ok(_) | Err(_) => Part::Json(DataBlock { data: Some(self.json()), ..DataBlock::default() }),
        })
    }

    /// The value is none of those that are known.
    pub(crate) fn unknown(&self, value: &str, known: &[&str]) -> RequestFailure {
        let value: String = value.chars().take(40).collect();
        let known = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let message = format!("`{}` must be one of {known}, not `{value}`", self.path);
        RequestFailure::new(400, "invalid_value", message).param(self.path.clone())
    }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
