//! Events that this process writes itself, checked as a producer's are.

use riverrun_event::{Author, Decoded, Draft, ErrorCode, EventScope, EventType, decode};
use serde::Serialize;

/// A draft that does not fit its type: a defect of its writer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidEvent {
    /// The stable code of the error.
    pub code: ErrorCode,
    message: String,
}

/// An event of a session.
pub fn draft_of(
    kind: EventType,
    scope: &EventScope,
    payload: &impl Serialize,
) -> Result<Decoded, InvalidEvent> {
    decoded(&Draft::new(kind, scope, payload))
}

/// An event about a thing that its envelope names.
pub fn draft_about(
    kind: EventType,
    subject: (&str, &str),
    payload: &impl Serialize,
) -> Result<Decoded, InvalidEvent> {
    decoded(&Draft::about(kind, &EventScope::default(), subject, payload))
}

fn decoded(draft: &Draft) -> Result<Decoded, InvalidEvent> {
    let text = format!("{{\"type\":\"{}\",{}", draft.kind.as_str(), &draft.members()[1..]);
    let event =
        decode(&text).map_err(|error| InvalidEvent { code: error.code(), message: error.to_string() })?;
    Ok(event.by(Author::Writer))
}
