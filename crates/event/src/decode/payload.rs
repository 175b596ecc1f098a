//! A payload as it came: its text in camelCase, and its typed form.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::members::{Key, Members};
use super::name::camel_case;
use crate::{EventFamily, EventType, Payload, PayloadError, RawJson, catalogue, field_names};

/// A payload read once: its text, its typed form, and the text again if it may be shown verbatim.
pub(super) struct Read<'a> {
    pub text: Option<Cow<'a, str>>,
    pub typed: Result<Payload, PayloadError>,
    pub whole: Option<RawJson>,
}

impl<'a> Read<'a> {
    /// Reads what a producer wrote, in either spelling.
    pub fn given(kind: &EventType, text: Option<&'a str>) -> Self {
        match text {
            // Nearly every event is a delta, and a delta that reads so has no name to change.
            Some(text) if let Some(delta) = catalogue::delta(kind, text) => {
                Self { text: Some(Cow::Borrowed(text)), typed: Ok(delta), whole: None }
            }
            Some(text) => Self::canonical(kind, Some(camel_payload(kind, text))),
            None => Self::canonical(kind, None),
        }
    }

    /// Reads what was stored.
    pub fn canonical(kind: &EventType, text: Option<Cow<'a, str>>) -> Self {
        if let Some(delta) = text.as_deref().and_then(|text| catalogue::delta(kind, text)) {
            return Self { text, typed: Ok(delta), whole: None };
        }
        let typed = Payload::parse_text(kind, text.as_deref().unwrap_or("{}"));
        let whole = text.as_deref().filter(|_| is_opaque(kind)).and_then(|text| RawJson::parse(text).ok());
        Self { text, typed, whole }
    }
}

/// Members that an event on a benchmark may carry beside its payload.
const BENCHMARK_MEMBERS: [&str; 6] =
    ["benchmark", "runtimeCorrelation", "trajectory", "reward", "comparison", "metrics"];

impl Read<'_> {
    /// Reads what an event on a benchmark has in its envelope as if it were in the payload. The payload's own members
    /// win, and its text stays as it came.
    pub fn with_envelope(mut self, kind: &EventType, members: &Members<'_>) -> Self {
        if kind.family() != EventFamily::Benchmark || self.typed.is_err() {
            return self;
        }
        let named = BENCHMARK_MEMBERS.iter().filter_map(|name| Some((*name, members.other(name)?)));
        let outside: Vec<_> = named.chain(members.refs.map(|refs| ("refs", refs))).collect();
        let inside = self.text.as_deref().unwrap_or("{}");
        let Ok(inside) = serde_json::from_str::<PlainMembers<'_>>(inside) else { return self };
        let is_inside = |name: &str| inside.0.iter().any(|(known, _)| known == name);
        let missing: Vec<_> = outside.into_iter().filter(|(name, _)| !is_inside(name)).collect();
        if !missing.is_empty() {
            let inside = inside.0.iter().map(|(name, value)| (name.as_ref(), value.get()));
            self.typed = Payload::parse_text(kind, &object(inside.chain(missing)));
        }
        self
    }
}

fn object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = "{".to_owned();
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(',');
        }
        crate::json::write_string(&mut out, name);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}

/// Deltas and items are folded from their typed payloads; everything else may be shown verbatim.
fn is_opaque(kind: &EventType) -> bool {
    use EventType::*;
    !matches!(
        kind,
        ModelDelta | ReasoningDelta | ReasoningSummary | ToolArgs | ItemStarted | ItemUpdated | ItemCompleted
    )
}

/// The payload's text with the snake_case forms of known member names in camelCase.
fn camel_payload<'a>(kind: &EventType, text: &'a str) -> Cow<'a, str> {
    let known = field_names(kind);
    if known.is_empty() || !text.starts_with('{') || !text.contains('_') {
        return Cow::Borrowed(text);
    }
    let Ok(members) = serde_json::from_str::<PlainMembers<'_>>(text) else { return Cow::Borrowed(text) };
    let renamed = |key: &str| known.contains(&camel_case(key).as_ref()) && key.contains('_');
    if !members.0.iter().any(|(key, _)| renamed(key)) {
        return Cow::Borrowed(text);
    }
    let name = |key: &Cow<'a, str>| if renamed(key) { camel_case(key).into_owned() } else { key.to_string() };
    let members: Vec<_> = members.0.iter().map(|(key, value)| (name(key), value.get())).collect();
    Cow::Owned(object(members.iter().map(|(name, value)| (name.as_str(), *value))))
}

/// The members of any object, in order.
struct PlainMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for PlainMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = PlainMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(PlainMembers(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
