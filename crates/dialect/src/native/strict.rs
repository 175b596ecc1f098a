//! The native dialect in the standard's closed vocabulary: our extensions are mapped, and nothing is left out.
//!
//! What is mapped says so: `nativeType` has the type that it has in the log. `README.md` has the table.

use std::fmt;

use riverrun_event::{Composer, Event, EventType, Record, json, strict_type};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The event on the wire for a reader that knows the standard's types alone.
pub fn strict(composer: &Composer, record: &Record<'_>, event: &Event) -> Option<String> {
    let (kind, status) = strict_type(&event.kind);
    let first = event.first_sequence.unwrap_or(event.sequence);
    let mut out = String::new();
    if kind == event.kind {
        composer.write_joined(record, first, event.sequence, &mut out);
        return Some(out);
    }
    let Object(members) = serde_json::from_str(record.members).ok()?;
    write_mapped(composer, record, event, &mapped_members(&members, &event.kind, &kind, status)?, &kind)
}

/// The wire form with another type and other members.
pub(super) fn write_mapped(
    composer: &Composer,
    record: &Record<'_>,
    event: &Event,
    members: &str,
    kind: &EventType,
) -> Option<String> {
    let first = event.first_sequence.unwrap_or(event.sequence);
    let mut mapped = *record;
    (mapped.kind, mapped.members) = (kind.as_str(), members);
    let mut out = String::new();
    composer.write_joined(&mapped, first, event.sequence, &mut out);
    Some(out)
}

/// The envelope's members with the status and the payload that the other type asks for.
pub(super) fn mapped_members(
    members: &[(String, &RawValue)],
    from: &EventType,
    to: &EventType,
    status: Option<&str>,
) -> Option<String> {
    let mut out = String::from("{");
    let replaced =
        |name: &str| (name == "status" && status.is_some()) || name == "nativeType" || name == "payload";
    for (name, value) in members.iter().filter(|(name, _)| !replaced(name)) {
        write_member(&mut out, name, value.get());
    }
    if let Some(status) = status {
        write_member(&mut out, "status", &quoted(status));
    }
    if from != to {
        write_member(&mut out, "nativeType", &quoted(from.as_str()));
    }
    let payload = members.iter().find(|(name, _)| name == "payload").map_or("{}", |(_, value)| value.get());
    write_member(&mut out, "payload", &mapped_payload(payload, to, status)?);
    out.push('}');
    Some(out)
}

/// What failed has an error in the standard's form; what was stopped gets one that says so.
fn mapped_payload(payload: &str, to: &EventType, status: Option<&str>) -> Option<String> {
    if !matches!(to, EventType::TurnFailed | EventType::ToolFailed) {
        return Some(payload.to_owned());
    }
    let Object(members) = serde_json::from_str(payload).ok()?;
    if members.iter().any(|(name, _)| name == "error") {
        return Some(payload.to_owned());
    }
    let status = quoted(status.unwrap_or("failed"));
    let reason = members.iter().find(|(name, value)| name == "reason" && value.get().starts_with('"'));
    let message = reason.map_or(status.as_str(), |(_, value)| value.get());
    let mut out = String::from("{");
    for (name, value) in &members {
        write_member(&mut out, name, value.get());
    }
    let retryable = status != "\"unknown\"";
    let error = format!(
        "{{\"message\":{message},\"code\":{status},\"category\":{status},\"retryable\":{retryable}}}"
    );
    write_member(&mut out, "error", &error);
    out.push('}');
    Some(out)
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::new();
    json::write_string(&mut out, text);
    out
}

pub(super) fn write_member(out: &mut String, name: &str, value: &str) {
    if out.len() > 1 {
        out.push(',');
    }
    json::write_string(out, name);
    out.push(':');
    out.push_str(value);
}

/// The members of an object in their order, each as it came.
pub(super) struct Object<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}
