//! What can be asked of an event's type.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::catalogue::table::{DESCRIPTIONS, EXTENSIONS, NAMES};
use crate::catalogue::{EventFamily, EventType};

impl EventType {
    /// Finds the type by its name. A name that is not known here is kept verbatim in `Other`.
    pub fn parse(name: &str) -> Self {
        let mut slot = hash(name.as_bytes()) & MASK;
        loop {
            match SLOTS[slot] {
                EMPTY => return EventType::Other(Arc::from(name)),
                row if NAMES[row as usize] == name => return EventType::ALL[row as usize].clone(),
                _ => slot = (slot + 1) & MASK,
            }
        }
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            EventType::Other(name) => name,
            known => known.index().map_or("", |index| NAMES[index]),
        }
    }

    /// The place in [`EventType::ALL`]; None if the type is not known here.
    pub fn index(&self) -> Option<usize> {
        self.row().map(|row| row as usize)
    }

    /// What the type says, in one sentence.
    pub fn description(&self) -> &'static str {
        self.index().map_or("A type that is not known here.", |index| DESCRIPTIONS[index])
    }

    /// True if the Agent Runtime standard's schema does not have the type.
    pub fn is_extension(&self) -> bool {
        self.index().is_none_or(|index| EXTENSIONS[index])
    }

    /// True if nothing of the turn can follow.
    pub fn is_turn_terminal(&self) -> bool {
        matches!(self, EventType::TurnCompleted | EventType::TurnFailed | EventType::TurnCancelled)
    }
}

const SIZE: usize = 512;
const MASK: usize = SIZE - 1;
const EMPTY: u16 = u16::MAX;

/// The rows of the table by the hash of their names, so that finding one costs one comparison or two.
static SLOTS: [u16; SIZE] = {
    let mut slots = [EMPTY; SIZE];
    let mut row = 0;
    while row < NAMES.len() {
        let mut slot = hash(NAMES[row].as_bytes()) & MASK;
        while slots[slot] != EMPTY {
            slot = (slot + 1) & MASK;
        }
        slots[slot] = row as u16;
        row += 1;
    }
    slots
};

/// FNV-1a, which a constant can be computed with.
const fn hash(bytes: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ (hash >> 15)) as usize
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for EventFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for EventType {
    fn from(name: &str) -> Self {
        Self::parse(name)
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl serde::de::Visitor<'_> for NameVisitor {
            type Value = EventType;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an event type")
            }
            fn visit_str<E>(self, name: &str) -> Result<EventType, E> {
                Ok(EventType::parse(name))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

impl JsonSchema for EventType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EventType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}
