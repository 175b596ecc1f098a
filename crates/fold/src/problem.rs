//! What the fold could not make sense of. A malformed event is data, not a panic.

use riverrun_event::Sequence;
use serde::{Deserialize, Serialize};

/// How many are kept in full; older ones are only counted.
const MAX_RECENT: usize = 32;

/// Events that did not fit the state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Problems {
    /// How many there were in all.
    pub count: u64,
    /// The newest of them.
    pub recent: Vec<FoldProblem>,
}

/// An event that did not fit the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoldProblem {
    /// The event.
    pub sequence: Sequence,
    /// What is wrong.
    pub code: ProblemCode,
    /// The same for people.
    pub detail: String,
}

/// Stable names of what can be wrong with an event in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The payload does not fit its type.
    Malformed,
    /// An id is missing without which the event joins nothing. Nothing is guessed from time.
    MissingCorrelation,
    /// It names something that no event announced.
    UnknownItem,
    /// It is about an action that was never required.
    UnknownAction,
    /// The item is of another type than the event needs.
    WrongItemType,
    /// A new item's index is not the next place of the output; it went to the end.
    OutputIndex,
    /// A block index leaves a hole; the block went to the end.
    BlockIndex,
    /// The turn had ended.
    AfterTerminal,
    /// A second terminal event, or a second decision: the first one wins.
    AlreadyEnded,
    /// A task would be its own ancestor.
    TaskCycle,
    /// `[^n]` with a number that no result has.
    UnknownReference,
}

impl Problems {
    pub(crate) fn push(&mut self, problem: FoldProblem) {
        self.count += 1;
        if self.recent.len() == MAX_RECENT {
            self.recent.remove(0);
        }
        self.recent.push(problem);
    }
}
