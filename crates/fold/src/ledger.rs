//! Families of facts that are stored in their last form: channels, jobs, artifacts, evidence, …
//!
//! The fold does not interpret them; the read models show them, and `unknown` where no event has them.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, Sequence, TaskRelationship, TurnId};
use serde::{Deserialize, Serialize};

/// Entries kept per family; the longest unchanged one goes first, and is counted.
const MAX_ENTRIES: usize = 64;

/// The families by their name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ledger(pub BTreeMap<String, LedgerFamily>);

/// The entries of one family.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerFamily {
    /// In the order of their last change.
    pub entries: Vec<LedgerEntry>,
    /// Entries that were dropped to keep the state small. The log still has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The last fact about one channel, job, …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerEntry {
    /// Its id, or the event type for facts that have none.
    pub key: String,
    /// The type of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event.
    pub sequence: Sequence,
    /// The turn that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The payload of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<RawJson>,
}

impl Ledger {
    pub(crate) fn record(&mut self, family: &str, entry: LedgerEntry) {
        if !self.0.contains_key(family) {
            self.0.insert(family.to_owned(), LedgerFamily::default());
        }
        let Some(family) = self.0.get_mut(family) else { return };
        family.entries.retain(|known| known.key != entry.key);
        if family.entries.len() == MAX_ENTRIES {
            family.entries.remove(0);
            family.dropped += 1;
        }
        family.entries.push(entry);
    }

    /// Gives edges of the task graph their whole names: states of earlier versions have them without the kind.
    pub(crate) fn name_edges(&mut self) {
        let entries = self.0.get_mut("task").into_iter().flat_map(|family| &mut family.entries);
        for entry in entries.filter(|entry| entry.kind == "task.dependency.updated") {
            let edge = entry.payload.as_ref().and_then(|payload| payload.to::<TaskRelationship>().ok());
            let Some(kind) = edge.and_then(|edge| edge.kind) else { continue };
            if !entry.key.ends_with(&format!(" {kind}")) {
                entry.key = format!("{} {kind}", entry.key);
            }
        }
    }

    /// The family with this name, if it has entries.
    pub fn family(&self, name: &str) -> Option<&LedgerFamily> {
        self.0.get(name)
    }
}
