//! Ids are strings with a known alphabet, checked on construction.
//!
//! Ids that we make carry a prefix (`ses_`, `turn_`, …) so that a log line tells what it names.
//! Ids that callers bring are kept as they are, as long as they fit the alphabet: a caller's `turnId` is its
//! idempotency key, and other frameworks have id forms of their own.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest id that is accepted, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// The text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// It has no character.
    #[error("an id must not be empty")]
    Empty,
    /// It has so many bytes, more than [`MAX_ID_BYTES`].
    #[error("an id must be at most {MAX_ID_BYTES} bytes, this one has {0}")]
    TooLong(usize),
    /// It has this character at this byte, which ids must not have.
    #[error("an id may hold letters, digits and `_ - . : ~ @ + =`, not {0:?} at byte {1}")]
    BadCharacter(char, usize),
}

/// Checks the alphabet that every id keeps: it is safe in a path segment, a header and a log line.
pub fn check_id(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong(text.len()));
    }
    if let Some(at) = text.bytes().position(|byte| !IS_ALLOWED[usize::from(byte)]) {
        return Err(IdError::BadCharacter(text[at..].chars().next().unwrap_or('\u{fffd}'), at));
    }
    // `.` and `..` are path segments with a meaning of their own.
    if text.starts_with('.') && text.bytes().all(|b| b == b'.') {
        return Err(IdError::BadCharacter('.', 0));
    }
    Ok(())
}

/// The bytes that an id may hold.
const IS_ALLOWED: [bool; 256] = {
    let mut allowed = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        allowed[byte] = (byte as u8).is_ascii_alphanumeric()
            || matches!(byte as u8, b'_' | b'-' | b'.' | b':' | b'~' | b'@' | b'+' | b'=');
        byte += 1;
    }
    allowed
};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The prefix of the ids of this kind that Riverrun makes itself.
            pub const PREFIX: &'static str = $prefix;

            /// Checks the text.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                check_id(text.as_ref())?;
                Ok(Self(text.as_ref().into()))
            }

            /// Makes an id of this kind from 16 random (or otherwise unique) bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(format!("{}{}", $prefix, crate::base32(u128::from_be_bytes(bytes), 26)).into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "minLength": 1, "maxLength": MAX_ID_BYTES})
            }
        }
    )*};
}

ids! {
    /// Who owns sessions; one tenant cannot learn that another's objects exist.
    TenantId = "ten_";
    /// One durable conversation with one log.
    SessionId = "ses_";
    /// An ordered line of turns in a session; `main` unless asked otherwise.
    ThreadId = "thr_";
    /// One submitted input and everything until its terminal event.
    TurnId = "turn_";
    /// An objective, stable over retries. A child's task id is the parent's call id.
    TaskId = "task_";
    /// One attempt at a task.
    RunId = "run_";
    /// One model call and the tools it asked for.
    StepId = "step_";
    /// One displayable result in a task's output.
    ItemId = "item_";
    /// One call of a tool.
    ToolCallId = "call_";
    /// A decision that somebody must make.
    ActionId = "act_";
    /// The name of one event, for logs. Order comes from the sequence.
    EventId = "evt_";
    /// Who appends by ingest; with epoch and sequence it makes appends idempotent and fenced.
    ProducerId = "prod_";
    /// A process that holds leases.
    OwnerId = "own_";
    /// A process of the operating system that a tool runs.
    ProcessId = "proc_";
    /// Many like pieces of work that belong together.
    JobId = "job_";
    /// One item of a job.
    JobItemId = "jobitem_";
    /// A durable command (a submit, a decision, a cancel).
    CommandId = "cmd_";
    /// An API key's public part.
    KeyId = "key_";
    /// A further secret of a key, with bounds of its own.
    CredentialId = "cred_";
    /// A link by which anybody may read a session up to a moment. Knowing it is the right to read.
    ShareId = "shr_";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_refuse_what_is_unsafe_in_a_path_or_a_log() {
        for bad in ["", "..", ".", "a/b", "a b", "a\0", "%2e", "é", "a\n", &"x".repeat(129)] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["main", "ses_01", "call_1234xyz", "a.b:c~d@e+f=g-h_i"] {
            assert_eq!(SessionId::new(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn made_ids_carry_their_prefix_and_sort_like_their_bytes() {
        let low = TurnId::from_bytes([0; 16]);
        let high = TurnId::from_bytes([255; 16]);
        assert!(low < high && low.as_str().starts_with("turn_"));
        assert!(TurnId::new(high.as_str()).is_ok());
    }
}
