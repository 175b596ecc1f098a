//! Answers that came and cannot be read. Whoever waits for one is told at once, and not when its time is over.
//!
//! They are told as errors of the protocol, which find the open request by its id; no server uses these codes.

use std::fmt;

use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId, ServerJsonRpcMessage};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::ToolErrorKind;

/// The call was taken, and nobody can say what became of it.
pub(super) const UNREAD: ErrorCode = ErrorCode(-2_000_000_001);
/// The answer is longer than a message may be.
pub(super) const TOO_LONG: ErrorCode = ErrorCode(-2_000_000_002);
/// The server did not take the call.
pub(super) const REFUSED: ErrorCode = ErrorCode(-2_000_000_003);
/// The server cannot take calls now.
pub(super) const AWAY: ErrorCode = ErrorCode(-2_000_000_004);

pub(super) fn answer(id: RequestId, code: ErrorCode, text: impl Into<String>) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::Error(JsonRpcError::new(Some(id), ErrorData::new(code, text.into(), None)))
}

/// What it means for the call, and how it is told; None for an error of the server's own.
pub(super) fn describe(error: &ErrorData) -> Option<(ToolErrorKind, String)> {
    let text = &error.message;
    Some(match error.code {
        UNREAD => {
            (ToolErrorKind::OutcomeUnknown, format!("answered with {text}; what the call did is not known"))
        }
        TOO_LONG => (ToolErrorKind::LimitPassed, format!("{text}; what the call did is not known")),
        REFUSED => (ToolErrorKind::Failed, format!("refused the call: {text}")),
        AWAY => (ToolErrorKind::Unavailable, format!("cannot take the call now: {text}")),
        _ => return None,
    })
}

/// The id of the request that a broken message answers, if it stands before what is broken.
pub(super) fn answered_id(line: &[u8]) -> Option<RequestId> {
    let mut head = Head { id: None, is_request: false };
    // What is wrong with the rest is known.
    let _ = (&mut head).deserialize(&mut serde_json::Deserializer::from_slice(line));
    head.id.filter(|_| !head.is_request)
}

struct Head {
    id: Option<RequestId>,
    is_request: bool,
}

impl<'de> DeserializeSeed<'de> for &mut Head {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "id" => self.id = members.next_value::<Option<RequestId>>()?,
                name => {
                    self.is_request |= name == "method";
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_broken_answer_is_found() {
        let deep = format!("{{\"id\":7,\"result\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\ud800"}]}}"#,
            r#"{"jsonrpc":"2.0","result":"\ud800","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"id":7,"result":{"conte"#,
            &deep,
        ] {
            assert_eq!(answered_id(line.as_bytes()), Some(RequestId::Number(7)), "{line}");
        }
        for line in ["", "7", "[7]", "log: id 7", r#"{"id":null}"#, r#"{"id":7,"method":"x","params":"#] {
            assert_eq!(answered_id(line.as_bytes()), None, "{line}");
        }
    }
}
