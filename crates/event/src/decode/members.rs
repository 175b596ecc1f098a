//! The members of an envelope, found but not yet read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::DecodeError;
use super::name::{Name, camel_case, is_standard};
use crate::json::walk;
use crate::{EventFamily, EventId, EventScope, EventType, IdError, JobScope, Sequence, SessionId, Timestamp};

/// The members of an envelope as they were found; names in camelCase.
#[derive(Default)]
pub(super) struct Members<'a> {
    named: [Option<&'a str>; Name::COUNT],
    pub extra: Vec<(Cow<'a, str>, &'a str)>,
    pub payload: Option<&'a str>,
    pub refs: Option<&'a str>,
}

impl<'a> Members<'a> {
    /// From text that the strict reader has passed. What it would not have left is read like any other text.
    pub fn checked(json: &'a str) -> Result<Self, DecodeError> {
        let mut members = Members::default();
        let walked = walk(json, |key, value| members.insert(Cow::Borrowed(key), value));
        if walked.is_some() { Ok(members) } else { Self::read(json) }
    }

    /// From any text.
    pub fn read(json: &'a str) -> Result<Self, DecodeError> {
        serde_json::from_str(json)
            .map_err(|error| DecodeError::NotAnEvent(format!("not an event object: {error}")))
    }

    fn insert(&mut self, key: Cow<'a, str>, value: &'a str) {
        if value == "null" {
            return;
        }
        let name = camel_case(&key);
        match (name.as_ref(), Name::find(&name)) {
            ("payload", _) => self.payload = Some(value),
            ("refs", _) => self.refs = Some(value),
            // The first spelling of a member stands.
            (_, Some(known)) => drop(self.named[known as usize].get_or_insert(value)),
            (other, None) => {
                let name = if is_standard(other) { Cow::Owned(name.into_owned()) } else { key };
                self.extra.push((name, value));
            }
        }
    }

    fn value<T: Deserialize<'a>>(&self, name: Name) -> Result<Option<T>, DecodeError> {
        let Some(raw) = self.named[name as usize] else { return Ok(None) };
        let read = serde_json::from_str(raw);
        read.map(Some).map_err(|error| bad_member(name.as_str(), without_place(&error)))
    }

    /// A string, borrowed unless it holds an escape.
    fn text(&self, name: Name) -> Result<Option<Cow<'a, str>>, DecodeError> {
        let plain = self.named[name as usize].and_then(|raw| raw.strip_prefix('"')?.strip_suffix('"'));
        match plain.filter(|text| !text.contains('\\')) {
            Some(text) => Ok(Some(Cow::Borrowed(text))),
            None => self.value::<Cow<'a, str>>(name),
        }
    }

    fn id<T: std::str::FromStr<Err = IdError>>(&self, name: Name) -> Result<Option<T>, DecodeError> {
        let Some(raw) = self.named[name as usize] else { return Ok(None) };
        // The alphabet of ids holds no escape, so an id that stands there plainly needs no other reading.
        let plain = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        if let Some(Ok(id)) = plain.map(str::parse) {
            return Ok(Some(id));
        }
        let Some(text) = self.text(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|error: IdError| bad_member(name.as_str(), error.to_string()))
    }

    pub fn kind(&self) -> Result<EventType, DecodeError> {
        let name = self.text(Name::Type)?.ok_or(DecodeError::TypeMissing)?;
        super::check_type(&name)?;
        Ok(EventType::parse(&name))
    }

    pub fn event_id(&self) -> Result<Option<EventId>, DecodeError> {
        self.id(Name::EventId)
    }

    pub fn session_id(&self) -> Result<Option<SessionId>, DecodeError> {
        self.id(Name::SessionId)
    }

    pub fn sequence(&self, name: Name) -> Result<Option<Sequence>, DecodeError> {
        let Some(value) = self.value::<u64>(name)? else { return Ok(None) };
        let sequence = Sequence::new(value);
        sequence.map(Some).ok_or_else(|| bad_member(name.as_str(), format!("{value} is above 2^53 - 1")))
    }

    pub fn timestamp(&self) -> Result<Option<Timestamp>, DecodeError> {
        let Some(text) = self.text(Name::Timestamp)? else { return Ok(None) };
        Timestamp::parse(&text).map(Some).map_err(|error| bad_member("timestamp", error.to_string()))
    }

    /// What the event is about when it is about a process, a channel, a job, an artifact or evidence.
    pub fn subject(&self) -> Option<String> {
        const SUBJECTS: [&str; 6] =
            ["processId", "channelId", "jobItemId", "jobId", "artifactId", "evidenceId"];
        SUBJECTS.iter().find_map(|subject| self.other(subject)).and_then(|raw| serde_json::from_str(raw).ok())
    }

    /// The job and the item that an event on jobs is about.
    pub fn job(&self, kind: &EventType) -> Option<Box<JobScope>> {
        if kind.family() != EventFamily::Job {
            return None;
        }
        let text = |name| self.other(name).and_then(|raw| serde_json::from_str(raw).ok());
        Some(Box::new(JobScope { job_id: text("jobId"), item_id: text("jobItemId") }))
    }

    /// A member without a type of its own.
    pub fn other(&self, name: &str) -> Option<&'a str> {
        self.extra.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw)
    }

    pub fn scope(&self) -> Result<EventScope, DecodeError> {
        let owned = |name| Ok::<_, DecodeError>(self.text(name)?.map(Cow::into_owned));
        Ok(EventScope {
            thread_id: self.id(Name::ThreadId)?,
            turn_id: self.id(Name::TurnId)?,
            task_id: self.id(Name::TaskId)?,
            run_id: self.id(Name::RunId)?,
            step_id: self.id(Name::StepId)?,
            tool_call_id: self.id(Name::ToolCallId)?,
            action_id: self.id(Name::ActionId)?,
            subagent_id: owned(Name::SubagentId)?,
            parent_task_id: self.id(Name::ParentTaskId)?,
            parent_tool_call_id: self.id(Name::ParentToolCallId)?,
            depth: self.value(Name::Depth)?,
            trace_id: owned(Name::TraceId)?,
            span_id: owned(Name::SpanId)?,
        })
    }
}

fn bad_member(field: &str, problem: String) -> DecodeError {
    DecodeError::BadMember { field: field.to_owned(), problem }
}

/// serde_json's places are those of the member's own text, not of the request's.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.find(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Envelope;
        impl<'de> Visitor<'de> for Envelope {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a `type`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(Key(key)) = map.next_key()? {
                    members.insert(key, map.next_value::<&'de RawValue>()?.get());
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Envelope)
    }
}

/// A key, borrowed unless it holds an escape.
pub(super) struct Key<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
