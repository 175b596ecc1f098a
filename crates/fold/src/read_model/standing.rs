//! How well a read model is known: its value in `standing`.

use serde::Serialize;

use crate::ledger::LedgerEntry;
use crate::state::State;

/// How well a read model is known: its value in `standing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Events have it.
    Known,
    /// No event has it.
    Unknown,
    /// An event marks it as unavailable.
    Unavailable,
    /// An event marks it as possibly out of date.
    Stale,
    /// Work cannot go on because of it.
    Blocked,
    /// There is no such thing in this session.
    NotApplicable,
}

impl Coverage {
    /// The coverage of a model: the mark of the last snapshot event, else whether events have it.
    pub fn of(state: &State, model: &str, is_known: bool) -> Self {
        let marks = marks(state);
        if marks.unavailable.iter().any(|name| name == model) {
            Coverage::Unavailable
        } else if marks.stale.iter().any(|name| name == model) {
            Coverage::Stale
        } else if is_known {
            Coverage::Known
        } else {
            Coverage::Unknown
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

/// The newest facts of some families.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentFacts {
    /// How well they are known.
    pub standing: Coverage,
    /// The newest facts, oldest first.
    pub entries: Vec<LedgerEntry>,
    /// True if older entries were dropped; the log still has them.
    pub truncated: bool,
}

impl RecentFacts {
    /// The facts of these families, as the read model `model`.
    pub fn of(state: &State, model: &str, families: &[&str]) -> Self {
        let families: Vec<_> = families.iter().filter_map(|name| state.ledger.family(name)).collect();
        let entries: Vec<LedgerEntry> = families.iter().flat_map(|family| family.entries.clone()).collect();
        let truncated = families.iter().any(|family| family.dropped > 0);
        Self { standing: Coverage::of(state, model, !entries.is_empty()), entries, truncated }
    }
}
