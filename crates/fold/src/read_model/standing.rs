//! How well a read model is known.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ledger::Entry;
use crate::state::State;

/// How well a read model is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Events told it.
    Known,
    /// No event told it.
    Unknown,
    /// It was told that it cannot be had.
    Unavailable,
    /// It was told that it may be out of date.
    Stale,
    /// Work cannot go on because of it.
    Blocked,
    /// There is no such thing in this session.
    NotApplicable,
}

impl Standing {
    /// The standing of a model: what the last snapshot event says about it by name, else whether events told it.
    pub fn of(state: &State, model: &str, is_told: bool) -> Self {
        let marks = marks(state);
        if marks.unavailable.iter().any(|name| name == model) {
            Standing::Unavailable
        } else if marks.stale.iter().any(|name| name == model) {
            Standing::Stale
        } else if is_told {
            Standing::Known
        } else {
            Standing::Unknown
        }
    }
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Marks {
    stale: Vec<String>,
    unavailable: Vec<String>,
}

fn marks(state: &State) -> Marks {
    let last = state.ledger.family("snapshot").and_then(|family| family.entries.last());
    last.and_then(|entry| entry.payload.as_ref()?.to().ok()).unwrap_or_default()
}

/// Families of facts as they were last told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// How well they are known.
    pub standing: Standing,
    /// The newest facts, oldest first.
    pub entries: Vec<Entry>,
    /// True if older entries were dropped; the log still has them.
    pub truncated: bool,
}

impl Told {
    /// The facts of these families, as the read model `model`.
    pub fn of(state: &State, model: &str, families: &[&str]) -> Self {
        let families: Vec<_> = families.iter().filter_map(|name| state.ledger.family(name)).collect();
        let entries: Vec<Entry> = families.iter().flat_map(|family| family.entries.clone()).collect();
        let truncated = families.iter().any(|family| family.dropped > 0);
        Self { standing: Standing::of(state, model, !entries.is_empty()), entries, truncated }
    }
}
