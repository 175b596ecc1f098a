//! Items that are not complete yet, and how far they are.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::citation::Scanner;

/// The open items of a task, by their positions in its output. In JSON a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenItems(BTreeMap<usize, OpenItem>);

/// How far an item is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenItem {
    /// Position in the task's output.
    pub position: usize,
    /// Blocks (or summary parts, or the arguments as part 0) that are final.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub done: BTreeSet<usize>,
    #[serde(skip)]
    pub(crate) scanners: Scanners,
}

/// The citation scan of each text block, derived from the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scanners(pub Vec<Scanner>);

impl PartialEq for Scanners {
    /// They follow from the texts.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl OpenItems {
    /// The open item at this position of the task's output.
    pub fn get(&self, position: usize) -> Option<&OpenItem> {
        self.0.get(&position)
    }

    /// True if the item at this position is open.
    pub fn contains(&self, position: usize) -> bool {
        self.0.contains_key(&position)
    }

    /// True if every item is final.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of the output.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &OpenItem> {
        self.0.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut OpenItem> {
        self.0.values_mut()
    }

    pub(crate) fn get_mut(&mut self, position: usize) -> Option<&mut OpenItem> {
        self.0.get_mut(&position)
    }

    /// Opens the item at this position, from the beginning.
    pub(crate) fn open(&mut self, position: usize) {
        self.0.insert(position, OpenItem { position, ..OpenItem::default() });
    }

    pub(crate) fn close(&mut self, position: usize) {
        self.0.remove(&position);
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.0.retain(|position, _| keep(*position));
    }
}

impl Serialize for OpenItems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.values())
    }
}

impl<'de> Deserialize<'de> for OpenItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<OpenItem>::deserialize(deserializer)?;
        Ok(Self(items.into_iter().map(|item| (item.position, item)).collect()))
    }
}
