//! The one tolerant decoder: camelCase or snake_case, unknown members and unknown types kept verbatim.

mod members;
mod name;
mod payload;

use std::borrow::Cow;

use self::members::Members;
use self::name::Name;
use self::payload::Read;
use crate::{
    Author, Draft, ErrorCode, Event, EventScope, EventType, JobScope, Payload, PayloadError, RawJson,
    Sequence, SessionId, Timestamp,
};

/// Why a text is not an event.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not a JSON object, or not JSON at all.
    #[error("{0}")]
    NotAnEvent(String),
    /// The member `type` is missing.
    #[error("`type` is missing: an event is at least {{\"type\": …}}")]
    TypeMissing,
    /// The member `type` is not a valid name.
    #[error("`type` may hold letters, digits and `. _ -`, at most 128 of them, not {0:?}")]
    BadType(String),
    /// A member of the envelope has a wrong value.
    #[error("`{field}`: {problem}")]
    BadMember {
        /// The name of the member.
        field: String,
        /// What is wrong with its value.
        problem: String,
    },
    /// The payload does not fit its type.
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl DecodeError {
    /// The stable code of the error.
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
    /// The event as it will be stored.
    pub draft: Draft,
    /// What the event belongs to.
    pub scope: EventScope,
    /// The typed payload.
    pub payload: Payload,
    /// The payload's text, as in [`Event::raw_payload`].
    pub raw_payload: Option<RawJson>,
    /// Given when the text came from a log: an export, a recording, another server.
    pub sequence: Option<Sequence>,
    /// The session that the sender named.
    pub session_id: Option<SessionId>,
    /// As in [`Event::subject`].
    pub subject: Option<String>,
    /// As in [`Event::job`].
    pub job: Option<Box<JobScope>>,
}

impl Decoded {
    /// Says who appends it.
    pub fn by(mut self, author: Author) -> Self {
        self.draft.author = author;
        self
    }

    /// What it is at `sequence`. `now` is its time if it has none.
    pub fn into_event(self, sequence: Sequence, now: Timestamp) -> Event {
        let Self { draft, scope, payload, raw_payload, subject, job, .. } = self;
        Event {
            first_sequence: None,
            sequence,
            event_id: draft.event_id,
            timestamp: draft.timestamp.unwrap_or(now),
            author: draft.author,
            kind: draft.kind,
            scope,
            payload: Ok(payload),
            raw_payload,
            subject,
            job,
        }
    }
}

/// Decodes one event of a producer. `json` has passed [`crate::json::compact`].
pub fn decode(json: &str) -> Result<Decoded, DecodeError> {
    let members = Members::checked(json)?;
    let kind = members.kind()?;
    let scope = members.scope()?;
    let payload = Read::given(&kind, members.payload).with_envelope(&kind, &members);
    let typed = payload.typed?;
    let job = members.job(&kind);
    let draft = Draft::from_parts(kind, &scope, &members.extra, payload.text.as_deref(), members.refs);
    Ok(Decoded {
        draft: Draft { event_id: members.event_id()?, timestamp: members.timestamp()?, ..draft },
        scope,
        payload: typed,
        raw_payload: payload.whole,
        sequence: members.sequence(Name::Sequence)?,
        session_id: members.session_id()?,
        subject: members.subject(),
        job,
    })
}

/// Decodes an event as it stands on the wire. A payload that does not fit its type is kept as the error.
pub fn decode_wire(json: &str) -> Result<Event, DecodeError> {
    let members = Members::read(json)?;
    let kind = members.kind()?;
    let payload = Read::given(&kind, members.payload).with_envelope(&kind, &members);
    Ok(Event {
        first_sequence: members.sequence(Name::FirstSequence)?,
        sequence: members.sequence(Name::Sequence)?.unwrap_or_default(),
        event_id: members.event_id()?,
        timestamp: members.timestamp()?.unwrap_or_default(),
        author: Author::Unknown,
        scope: members.scope()?,
        payload: payload.typed,
        raw_payload: payload.whole,
        subject: members.subject(),
        job: members.job(&kind),
        kind,
    })
}

/// Decodes the stored members of an event whose head is known.
pub(crate) fn decode_members(kind: EventType, json: &str) -> Result<Event, DecodeError> {
    let members = Members::checked(json)?;
    let payload = Read::canonical(&kind, members.payload.map(Cow::Borrowed)).with_envelope(&kind, &members);
    Ok(Event {
        first_sequence: None,
        sequence: Sequence::ZERO,
        event_id: None,
        timestamp: Timestamp::default(),
        author: Author::Unknown,
        scope: members.scope()?,
        payload: payload.typed,
        raw_payload: payload.whole,
        subject: members.subject(),
        job: members.job(&kind),
        kind,
    })
}

/// A type name has an alphabet that needs no escape anywhere.
pub(crate) fn check_type(name: &str) -> Result<(), DecodeError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 128 || !name.bytes().all(allowed) {
        return Err(DecodeError::BadType(name.chars().take(40).collect()));
    }
    Ok(())
}
