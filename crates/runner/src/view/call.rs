//! One tool call as far as it is.

use riverrun_event::{ActionId, BlobRef, RawJson, StepId, Timestamp};

use super::hook::{Answer, HookView, answers};
use crate::hook::HookPoint;

#[derive(Debug)]
pub(crate) struct CallView {
    pub call: String,
    pub item: String,
    /// Where the item stands in the output of its task.
    pub index: u32,
    pub name: String,
    pub step: Option<StepId>,
    /// How many calls of the same answer stand before it.
    pub number: u32,
    /// The model wrote all of it.
    pub is_complete: bool,
    /// The policy let it run without a person.
    pub is_allowed: bool,
    pub action: Option<ActionView>,
    /// Its effect may have begun.
    pub is_started: bool,
    pub is_ended: bool,
    /// Where its output is, for a call that has ended and whose result hooks look at first.
    pub held: Option<String>,
    pub did_fail: bool,
    pub hooks: Vec<HookView>,
    /// Its process, which has not ended.
    pub process: Option<String>,
    pub result: ResultView,
}

#[derive(Debug, Clone)]
pub(crate) struct ActionView {
    pub action: ActionId,
    pub digest: Option<String>,
    /// It asks whether a tool may run.
    pub is_permission: bool,
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
    pub fn new(call: String, item: String, index: u32, name: String, step: Option<StepId>) -> Self {
        Self {
            call,
            item,
            index,
            name,
            step,
            number: 0,
            is_complete: false,
            is_allowed: false,
            action: None,
            is_started: false,
            is_ended: false,
            held: None,
            did_fail: false,
            hooks: Vec::new(),
            process: None,
            result: ResultView::Absent,
        }
    }

    pub fn ended(&mut self, output: Option<&BlobRef>, did_fail: bool) {
        (self.is_ended, self.did_fail) = (true, did_fail);
        self.held = output.map(|reference| reference.as_str().to_owned());
    }

    /// True if somebody who may decide agreed to run the call.
    pub fn is_approved(&self) -> bool {
        let resolved = self.action.as_ref().filter(|action| action.is_permission);
        let resolved = resolved.and_then(|action| action.resolved.as_ref());
        resolved.is_some_and(|resolved| matches!(resolved.decision.as_str(), "approve" | "edit"))
    }

    /// The arguments that a person put in place of the model's.
    pub fn edited(&self) -> Option<&RawJson> {
        let resolved = self.action.as_ref()?.resolved.as_ref()?;
        resolved.arguments.as_ref().filter(|_| resolved.decision == "edit")
    }

    /// The action that still waits.
    pub fn pending(&self) -> Option<&ActionView> {
        self.action.as_ref().filter(|action| action.resolved.is_none())
    }

    /// Where the arguments are that a hook put in place of the model's.
    pub fn rewritten(&self) -> Option<&str> {
        let mut answers = answers(&self.hooks, HookPoint::PreToolUse).rev();
        answers.find_map(|(_, answer)| answer.updated_input.as_deref())
    }

    /// The first hook that wants a person to agree.
    pub fn asking(&self) -> Option<(&HookView, &Answer)> {
        answers(&self.hooks, HookPoint::PreToolUse).find(|(_, answer)| answer.outcome == "ask")
    }

    /// The point whose hooks look at the result.
    pub fn after(&self) -> HookPoint {
        if self.did_fail { HookPoint::PostToolFailure } else { HookPoint::PostToolUse }
    }

    pub fn is_answered(&self) -> bool {
        self.result == ResultView::Done
    }
}
