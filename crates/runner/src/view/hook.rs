//! What hooks were asked and what they answered.

use riverrun_event::{BlobRef, Event, HookRun, Payload};

use super::TaskView;
use super::apply::LOST;
use crate::hook::HookPoint;

/// A hook at one point, of a task or of one of its calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookView {
    pub name: String,
    pub point: HookPoint,
    /// None while it is asked.
    pub answer: Option<Answer>,
}

/// The texts that an answer brought are in the store, by these references.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    /// `continue`, `allow`, `block`, `deny`, `ask`.
    pub outcome: String,
    pub reason: Option<String>,
    pub updated_input: Option<String>,
    pub context: Vec<String>,
    pub updated_output: Option<String>,
    pub suppresses: bool,
}

impl Answer {
    pub fn is_refusal(&self) -> bool {
        matches!(self.outcome.as_str(), "block" | "deny")
    }

    pub fn refs(&self) -> impl Iterator<Item = &String> {
        self.updated_input.iter().chain(&self.context).chain(&self.updated_output)
    }
}

impl HookView {
    /// The refusal, for whoever reads it.
    pub fn refusal(&self, what: &str) -> String {
        let reason = self.answer.as_ref().and_then(|answer| answer.reason.as_deref());
        match reason.filter(|reason| !reason.is_empty()) {
            Some(reason) => format!("{what} was refused by hook `{}`: {reason}", self.name),
            None => format!("{what} was refused by hook `{}`", self.name),
        }
    }
}

/// The answers at a point, in the order in which they came.
pub(crate) fn answers(
    hooks: &[HookView],
    point: HookPoint,
) -> impl DoubleEndedIterator<Item = (&HookView, &Answer)> {
    let at_point = hooks.iter().filter(move |hook| hook.point == point);
    at_point.filter_map(|hook| Some((hook, hook.answer.as_ref()?)))
}

impl TaskView {
    pub(super) fn hook(&mut self, event: &Event, payload: &Payload) {
        let (run, answer) = match payload {
            Payload::HookStarted(run) => (run, None),
            Payload::HookCompleted(run) => (run, Some(answered(run))),
            Payload::HookFailed(run) => (run, Some(answered(run))),
            _ => return,
        };
        let (Some(name), Some(point)) = (&run.hook_name, run.point.as_deref().and_then(HookPoint::parse))
        else {
            return;
        };
        let hooks = match &event.scope.tool_call_id {
            Some(call) => match self.call_mut(call.as_str()) {
                Some(call) => &mut call.hooks,
                None => return,
            },
            None => &mut self.hooks,
        };
        hooks.retain(|known| known.name != *name || known.point != point);
        // One that was cut off is asked again.
        let is_cut = run.error.as_ref().is_some_and(|error| error.code.as_deref() == Some(LOST));
        if is_cut {
            return;
        }
        let is_refused = answer.as_ref().is_some_and(Answer::is_refusal);
        hooks.push(HookView { name: name.clone(), point, answer });
        self.stops += u32::from(is_refused && point == HookPoint::Stop);
    }
}

fn answered(run: &HookRun) -> Answer {
    let name = |reference: &BlobRef| reference.as_str().to_owned();
    Answer {
        outcome: run.outcome.clone().unwrap_or_default(),
        reason: run.reason.clone(),
        updated_input: run.updated_input_ref.as_ref().map(name),
        context: run.additional_context_refs.iter().flatten().map(name).collect(),
        updated_output: run.updated_tool_output_ref.as_ref().map(name),
        suppresses: run.suppress_output.unwrap_or(false),
    }
}
