//! The strict form with what the Lime profile demands of every event: its version, a runtime id, a payload that is an
//! object, and the ids that the type's family must name.
//!
//! An id is never made up: an event without one that its type must have is a `run.status` with its `nativeType`.

use riverrun_event::{Composer, Event, EventType, RUNTIME_ID, Record, strict_type};
use serde_json::value::RawValue;

use super::strict::{Object, mapped_members, quoted, write_mapped, write_member};

/// The event on the wire for a reader of the profile. The composer must name its version.
pub fn lime(composer: &Composer, record: &Record<'_>, event: &Event) -> Option<String> {
    let Object(members) = serde_json::from_str(record.members).ok()?;
    let (kind, status) = strict_type(&event.kind);
    let has = |name: &str| members.iter().any(|(known, value)| known == name && fits(name, value));
    let is_whole = kind.profile_scope().iter().all(|member| has(member.as_str()));
    let kind = if is_whole { kind } else { EventType::RunStatus };
    let payload = members.iter().find(|(name, _)| name == "payload").map(|(_, value)| *value);
    let object = payload.filter(|value| !value.get().starts_with('{')).and_then(as_object);
    let mut members: Vec<(String, &RawValue)> =
        members.into_iter().filter(|(name, value)| name != "runtimeId" || fits(name, value)).collect();
    if let Some(object) = &object {
        members.retain(|(name, _)| name != "payload");
        members.push(("payload".to_owned(), object));
    }
    let has_runtime = members.iter().any(|(name, _)| name == "runtimeId");
    let mut mapped = mapped_members(&members, &event.kind, &kind, status)?;
    if !has_runtime {
        mapped.pop();
        write_member(&mut mapped, "runtimeId", &quoted(RUNTIME_ID));
        mapped.push('}');
    }
    write_mapped(composer, record, event, &mapped, &kind)
}

/// True if a member has the kind of value that the profile takes: ids are texts that are not empty, the rest objects.
fn fits(name: &str, value: &RawValue) -> bool {
    let text = value.get();
    match name.ends_with("Id") {
        true => text.starts_with('"') && text.len() > 2,
        false => text.starts_with('{'),
    }
}

/// A payload that is no object, as the member of one.
fn as_object(payload: &RawValue) -> Option<Box<RawValue>> {
    let text = match payload.get() {
        "null" => "{}".to_owned(),
        text => format!("{{\"value\":{text}}}"),
    };
    RawValue::from_string(text).ok()
}
