//! The one tolerant decoder: camelCase or snake_case, unknown members and unknown types kept verbatim.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{
    Draft, ErrorCode, Event, EventId, EventType, IdError, Payload, PayloadError, RawJson, Scope, Sequence,
    SessionId, Timestamp, field_names,
};

/// Why a text is not an event.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    #[error("{0}")]
    NotAnEvent(String),
    #[error("`type` is missing: an event is at least {{\"type\": …}}")]
    TypeMissing,
    #[error("`type` may hold letters, digits and `. _ -`, at most 128 of them, not {0:?}")]
    BadType(String),
    #[error("`{field}`: {problem}")]
    BadMember { field: String, problem: String },
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl DecodeError {
    pub fn code(&self) -> ErrorCode {
        match self {
            DecodeError::BadMember { problem, .. } if problem.starts_with("an id ") => ErrorCode::InvalidId,
            DecodeError::NotAnEvent(_)
            | DecodeError::TypeMissing
            | DecodeError::BadType(_)
            | DecodeError::BadMember { .. }
            | DecodeError::Payload(_) => ErrorCode::InvalidEvent,
        }
    }

    /// The member at fault, as a path.
    pub fn field(&self) -> Option<String> {
        match self {
            DecodeError::NotAnEvent(_) => None,
            DecodeError::TypeMissing | DecodeError::BadType(_) => Some("type".to_owned()),
            DecodeError::BadMember { field, .. } => Some(field.clone()),
            DecodeError::Payload(error) => Some(error.path.clone()),
        }
    }
}

/// What a producer handed in, with what the edge needs to know about it.
#[derive(Debug, Clone)]
pub struct Decoded {
    pub draft: Draft,
    pub scope: Scope,
    pub payload: Payload,
    /// The payload's text, as in [`Event::raw_payload`].
    pub raw_payload: Option<RawJson>,
    /// Given when the text came from a log: an export, a recording, another server.
    pub sequence: Option<Sequence>,
    pub session_id: Option<SessionId>,
}

/// Decodes one event of a producer. `json` has passed [`crate::json::compact`].
pub fn decode(json: &str) -> Result<Decoded, DecodeError> {
    let members = Members::read(json)?;
    let kind = members.kind()?;
    let scope = members.scope()?;
    let payload_text = members.payload.map(|raw| camel_payload(&kind, raw));
    let payload = parse_payload(&kind, payload_text.as_deref())?;
    let refs = members.refs.map(RawValue::get);
    let raw_payload =
        payload_text.as_deref().filter(|_| is_kept_whole(&kind)).and_then(|text| RawJson::parse(text).ok());
    let draft = Draft::from_parts(kind, &scope, &members.extra, payload_text.as_deref(), refs);
    Ok(Decoded {
        draft: Draft { event_id: members.event_id()?, timestamp: members.timestamp()?, ..draft },
        scope,
        payload,
        raw_payload,
        sequence: members.sequence(Name::Sequence)?,
        session_id: members.session_id()?,
    })
}

/// Decodes an event as it stands on the wire. A payload that does not fit its type is kept as the error.
pub fn decode_wire(json: &str) -> Result<Event, DecodeError> {
    let members = Members::read(json)?;
    let kind = members.kind()?;
    let payload_text = members.payload.map(|raw| camel_payload(&kind, raw));
    let raw =
        payload_text.as_deref().filter(|_| is_kept_whole(&kind)).and_then(|text| RawJson::parse(text).ok());
    Ok(Event {
        first_sequence: members.sequence(Name::FirstSequence)?,
        sequence: members.sequence(Name::Sequence)?.unwrap_or_default(),
        event_id: members.event_id()?,
        timestamp: members.timestamp()?.unwrap_or_default(),
        scope: members.scope()?,
        payload: parse_payload(&kind, payload_text.as_deref()),
        raw_payload: raw,
        subject: members.subject(),
        kind,
    })
}

/// Decodes the stored members of an event whose head is known.
pub(crate) fn decode_members(kind: EventType, json: &str) -> Result<Event, DecodeError> {
    let members = Members::read(json)?;
    let raw = members.payload.filter(|_| is_kept_whole(&kind)).map(RawJson::from);
    Ok(Event {
        first_sequence: None,
        sequence: Sequence::ZERO,
        event_id: None,
        timestamp: Timestamp::default(),
        scope: members.scope()?,
        payload: parse_payload(&kind, members.payload.map(RawValue::get)),
        raw_payload: raw,
        subject: members.subject(),
        kind,
    })
}

/// Deltas and items are folded from their typed payloads; everything else may be shown verbatim.
fn is_kept_whole(kind: &EventType) -> bool {
    use EventType::*;
    !matches!(
        kind,
        ModelDelta | ReasoningDelta | ReasoningSummary | ToolArgs | ItemStarted | ItemUpdated | ItemCompleted
    )
}

fn parse_payload(kind: &EventType, text: Option<&str>) -> Result<Payload, PayloadError> {
    Payload::parse_text(kind, text.unwrap_or("{}"))
}

/// A type name has an alphabet that needs no escape anywhere.
fn check_type(name: &str) -> Result<(), DecodeError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 128 || !name.bytes().all(allowed) {
        return Err(DecodeError::BadType(name.chars().take(40).collect()));
    }
    Ok(())
}

/// The members of an envelope as they were found; names in camelCase.
#[derive(Default)]
struct Members<'a> {
    named: [Option<&'a RawValue>; Name::COUNT],
    extra: Vec<(String, &'a RawValue)>,
    payload: Option<&'a RawValue>,
    refs: Option<&'a RawValue>,
}

/// The members that have a place of their own.
#[derive(Debug, Clone, Copy)]
enum Name {
    Type,
    EventId,
    SchemaVersion,
    Timestamp,
    FirstSequence,
    Sequence,
    SessionId,
    ThreadId,
    TurnId,
    TaskId,
    RunId,
    StepId,
    ToolCallId,
    ActionId,
    SubagentId,
    ParentTaskId,
    ParentToolCallId,
    Depth,
    TraceId,
    SpanId,
}

impl Name {
    const COUNT: usize = Name::SpanId as usize + 1;

    fn find(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Name::Type,
            "eventId" => Name::EventId,
            "schemaVersion" => Name::SchemaVersion,
            "timestamp" => Name::Timestamp,
            "firstSequence" => Name::FirstSequence,
            "sequence" => Name::Sequence,
            "sessionId" => Name::SessionId,
            "threadId" => Name::ThreadId,
            "turnId" => Name::TurnId,
            "taskId" => Name::TaskId,
            "runId" => Name::RunId,
            "stepId" => Name::StepId,
            "toolCallId" => Name::ToolCallId,
            "actionId" => Name::ActionId,
            "subagentId" => Name::SubagentId,
            "parentTaskId" => Name::ParentTaskId,
            "parentToolCallId" => Name::ParentToolCallId,
            "depth" => Name::Depth,
            "traceId" => Name::TraceId,
            "spanId" => Name::SpanId,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Name::Type => "type",
            Name::EventId => "eventId",
            Name::SchemaVersion => "schemaVersion",
            Name::Timestamp => "timestamp",
            Name::FirstSequence => "firstSequence",
            Name::Sequence => "sequence",
            Name::SessionId => "sessionId",
            Name::ThreadId => "threadId",
            Name::TurnId => "turnId",
            Name::TaskId => "taskId",
            Name::RunId => "runId",
            Name::StepId => "stepId",
            Name::ToolCallId => "toolCallId",
            Name::ActionId => "actionId",
            Name::SubagentId => "subagentId",
            Name::ParentTaskId => "parentTaskId",
            Name::ParentToolCallId => "parentToolCallId",
            Name::Depth => "depth",
            Name::TraceId => "traceId",
            Name::SpanId => "spanId",
        }
    }
}

impl<'a> Members<'a> {
    fn read(json: &'a str) -> Result<Self, DecodeError> {
        serde_json::from_str(json)
            .map_err(|error| DecodeError::NotAnEvent(format!("not an event object: {error}")))
    }

    fn insert(&mut self, key: Cow<'_, str>, value: &'a RawValue) {
        if value.get() == "null" {
            return;
        }
        let name = camel_case(&key);
        match (name.as_ref(), Name::find(&name)) {
            ("payload", _) => self.payload = Some(value),
            ("refs", _) => self.refs = Some(value),
            // The first spelling of a member stands.
            (_, Some(known)) => drop(self.named[known as usize].get_or_insert(value)),
            (other, None) => {
                let name = if is_standard(other) { name.into_owned() } else { key.into_owned() };
                self.extra.push((name, value));
            }
        }
    }

    fn value<T: Deserialize<'a>>(&self, name: Name) -> Result<Option<T>, DecodeError> {
        let Some(raw) = self.named[name as usize] else { return Ok(None) };
        let read = serde_json::from_str(raw.get());
        read.map(Some).map_err(|error| bad_member(name.as_str(), without_place(&error)))
    }

    /// A string, borrowed unless it holds an escape.
    fn text(&self, name: Name) -> Result<Option<Cow<'a, str>>, DecodeError> {
        let plain = self.named[name as usize].and_then(|raw| raw.get().strip_prefix('"')?.strip_suffix('"'));
        match plain.filter(|text| !text.contains('\\')) {
            Some(text) => Ok(Some(Cow::Borrowed(text))),
            None => self.value::<Cow<'a, str>>(name),
        }
    }

    fn id<T: std::str::FromStr<Err = IdError>>(&self, name: Name) -> Result<Option<T>, DecodeError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|error: IdError| bad_member(name.as_str(), error.to_string()))
    }

    fn kind(&self) -> Result<EventType, DecodeError> {
        let name = self.text(Name::Type)?.ok_or(DecodeError::TypeMissing)?;
        check_type(&name)?;
        Ok(EventType::parse(&name))
    }

    fn event_id(&self) -> Result<Option<EventId>, DecodeError> {
        self.id(Name::EventId)
    }

    fn session_id(&self) -> Result<Option<SessionId>, DecodeError> {
        self.id(Name::SessionId)
    }

    fn sequence(&self, name: Name) -> Result<Option<Sequence>, DecodeError> {
        let Some(value) = self.value::<u64>(name)? else { return Ok(None) };
        let sequence = Sequence::new(value);
        sequence.map(Some).ok_or_else(|| bad_member(name.as_str(), format!("{value} is above 2^53 - 1")))
    }

    fn timestamp(&self) -> Result<Option<Timestamp>, DecodeError> {
        let Some(text) = self.text(Name::Timestamp)? else { return Ok(None) };
        Timestamp::parse(&text).map(Some).map_err(|error| bad_member("timestamp", error.to_string()))
    }

    /// What the event is about when it is about a process, a channel, a job, an artifact or evidence.
    fn subject(&self) -> Option<String> {
        const SUBJECTS: [&str; 6] =
            ["processId", "channelId", "jobItemId", "jobId", "artifactId", "evidenceId"];
        let named = |subject: &&str| self.extra.iter().find(|(name, _)| name == subject);
        SUBJECTS.iter().find_map(named).and_then(|(_, raw)| serde_json::from_str(raw.get()).ok())
    }

    fn scope(&self) -> Result<Scope, DecodeError> {
        let owned = |name| Ok::<_, DecodeError>(self.text(name)?.map(Cow::into_owned));
        Ok(Scope {
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
                    members.insert(key, map.next_value()?);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Envelope)
    }
}

/// A key, borrowed unless it holds an escape.
struct Key<'a>(Cow<'a, str>);

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

/// `event_id` → `eventId`; a name without `_` is itself.
fn camel_case(name: &str) -> Cow<'_, str> {
    if !name.contains('_') || name.starts_with('_') {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                out.extend(c.to_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Envelope members of the standard that are kept as they come; their snake_case forms are renamed.
fn is_standard(name: &str) -> bool {
    [
        "runtimeId",
        "attemptId",
        "artifactId",
        "evidenceId",
        "rootTaskId",
        "requestId",
        "modelRequestId",
        "processId",
        "channelId",
        "jobId",
        "jobItemId",
        "queueId",
        "outputRef",
        "statusReason",
        "nativeStatus",
        "taskAttempt",
        "taskRelationship",
        "taskGraph",
        "taskProgress",
        "taskAcceptance",
        "deliveryState",
        "permissionDecision",
        "sandboxProfile",
        "routingDecision",
        "candidateModelSet",
        "taskProfile",
        "limitState",
        "limitEvent",
        "costState",
        "hookRun",
        "executionEnvironment",
        "jobItem",
        "historyBoundary",
    ]
    .contains(&name)
}

/// The payload's text with the snake_case forms of known member names in camelCase.
fn camel_payload<'a>(kind: &EventType, raw: &'a RawValue) -> Cow<'a, str> {
    let text = raw.get();
    let known = field_names(kind);
    if known.is_empty() || !text.starts_with('{') || !text.contains('_') {
        return Cow::Borrowed(text);
    }
    let Ok(members) = serde_json::from_str::<PlainMembers<'_>>(text) else { return Cow::Borrowed(text) };
    let renamed = |key: &str| known.contains(&camel_case(key).as_ref()) && key.contains('_');
    if !members.0.iter().any(|(key, _)| renamed(key)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    out.push('{');
    for (at, (key, value)) in members.0.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let name = if renamed(key) { camel_case(key) } else { Cow::Borrowed(key.as_ref()) };
        crate::json::write_string(&mut out, &name);
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    Cow::Owned(out)
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
