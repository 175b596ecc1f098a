//! Families of facts that are kept as they were last told: channels, jobs, artifacts, evidence, …
//!
//! The fold does not interpret them; the read models show them, and say `unknown` where nothing was told.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, Sequence, TurnId};
use serde::{Deserialize, Serialize};

/// Entries kept per family; the longest unchanged one goes first, and is counted.
const KEPT: usize = 64;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ledger(pub BTreeMap<String, Family>);

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Family {
    /// In the order of their last change.
    pub entries: Vec<Entry>,
    /// Entries that were dropped to keep the state small. The log still has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The last thing that was told about one channel, job, …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its id, or the event type for facts that have none.
    pub key: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub sequence: Sequence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<RawJson>,
}

impl Ledger {
    pub(crate) fn record(&mut self, family: &str, entry: Entry) {
        if !self.0.contains_key(family) {
            self.0.insert(family.to_owned(), Family::default());
        }
        let Some(family) = self.0.get_mut(family) else { return };
        family.entries.retain(|known| known.key != entry.key);
        if family.entries.len() == KEPT {
            family.entries.remove(0);
            family.dropped += 1;
        }
        family.entries.push(entry);
    }

    pub fn family(&self, name: &str) -> Option<&Family> {
        self.0.get(name)
    }
}
