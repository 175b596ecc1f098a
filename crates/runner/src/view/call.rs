//! One tool call as far as it is.

use riverrun_event::{ActionId, RawJson, StepId, Timestamp};

#[derive(Debug)]
pub(crate) struct CallView {
    pub call: String,
    pub item: String,
    pub name: String,
    pub step: Option<StepId>,
    /// The model wrote all of it.
    pub is_complete: bool,
    /// The policy let it run without a person.
    pub is_allowed: bool,
    pub action: Option<ActionView>,
    /// Its effect may have begun.
    pub is_started: bool,
    pub is_ended: bool,
    /// Its process, which has not ended.
    pub process: Option<String>,
    pub result: ResultView,
}

#[derive(Debug, Clone)]
pub(crate) struct ActionView {
    pub action: ActionId,
    pub digest: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub resolved: Option<Resolved>,
}

/// The decision that holds.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub decision: String,
    pub source: Option<String>,
    pub message: Option<String>,
    pub arguments: Option<RawJson>,
    pub digest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResultView {
    Absent,
    Open { item: String, index: u32 },
    Done,
}

impl CallView {
    pub fn new(call: String, item: String, name: String, step: Option<StepId>) -> Self {
        Self {
            call,
            item,
            name,
            step,
            is_complete: false,
            is_allowed: false,
            action: None,
            is_started: false,
            is_ended: false,
            process: None,
            result: ResultView::Absent,
        }
    }

    /// The action that still waits.
    pub fn pending(&self) -> Option<&ActionView> {
        self.action.as_ref().filter(|action| action.resolved.is_none())
    }

    pub fn is_answered(&self) -> bool {
        self.result == ResultView::Done
    }
}
