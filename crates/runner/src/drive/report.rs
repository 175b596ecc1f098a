//! What effects report.

use riverrun_provider::ModelEvent;
use riverrun_tool::{CallProgress, ToolError, ToolOutput};

use super::{EffectKey, FileEnd, HookFailure, ProcessReport, Summarised};
use crate::hook::HookOutput;

/// What an effect tells.
#[derive(Debug)]
pub(crate) enum Report {
    Model(ModelEvent),
    Progress(CallProgress),
    /// Of the process of a tool call, by its name.
    Process(String, Box<ProcessReport>),
    Tool(Result<ToolOutput, ToolError>),
    Delayed,
    Checked(Result<(), Tripped>),
    Vetted(Result<(), Tripped>),
    /// What the guardrails say of this input.
    Admitted(Vec<String>, Result<(), Tripped>),
    Summary(Box<Summarised>),
    Hooked(Result<HookOutput, HookFailure>),
    File(Box<FileEnd>),
    /// All of them were told.
    FilesRead,
}

/// A guardrail said no.
#[derive(Debug, Clone)]
pub(crate) struct Tripped {
    pub guardrail: String,
    pub reason: String,
}

#[derive(Debug)]
pub(crate) struct Reported {
    pub key: EffectKey,
    pub generation: u64,
    pub report: Report,
}

/// Takes `more` in if both are text of one place and not too long together.
fn join_text(known: &mut ModelEvent, more: &ModelEvent) -> bool {
    /// A joined delta is no longer than this, so that readers get it in bites.
    const LONGEST: usize = 4 << 10;
    match (known, more) {
        (ModelEvent::Text { index, delta }, ModelEvent::Text { index: same, delta: more })
        | (ModelEvent::Arguments { index, delta }, ModelEvent::Arguments { index: same, delta: more })
            if index == same && delta.len() + more.len() <= LONGEST =>
        {
            delta.push_str(more);
            true
        }
        (
            ModelEvent::Reasoning { index, summary_index, delta },
            ModelEvent::Reasoning { index: same, summary_index: part, delta: more },
        ) if index == same && summary_index == part && delta.len() + more.len() <= LONGEST => {
            delta.push_str(more);
            true
        }
        _ => false,
    }
}

impl Report {
    /// True for text that is only shown.
    pub(crate) fn is_text(&self) -> bool {
        use riverrun_provider::ModelEvent::*;
        match self {
            Report::Model(Sent { text, .. }) => {
                matches!(**text, Text { .. } | Reasoning { .. } | Arguments { .. })
            }
            report => matches!(report, Report::Model(Text { .. } | Reasoning { .. } | Arguments { .. })),
        }
    }

    /// True for an end of an effect that may be the end of its turn. That of a tool or of a hook is only planned upon.
    pub(crate) fn may_end_turn(&self) -> bool {
        self.is_last() && !matches!(self, Report::Tool(..) | Report::Hooked(_))
    }

    /// True for what ends an effect.
    pub(crate) fn is_last(&self) -> bool {
        match self {
            Report::Model(event) => matches!(
                event,
                riverrun_provider::ModelEvent::Completed { .. } | riverrun_provider::ModelEvent::Failed(_)
            ),
            Report::Progress(_) | Report::Process(..) | Report::File(_) => false,
            Report::Tool(..)
            | Report::Delayed
            | Report::Checked(_)
            | Report::Vetted(_)
            | Report::Admitted(..)
            | Report::Summary(_)
            | Report::FilesRead
            | Report::Hooked(_) => true,
        }
    }
}

impl Tripped {
    /// What the model reads of a call that was refused.
    pub fn refusal(&self, what: &str) -> String {
        format!("{what} was refused by guardrail `{}`: {}", self.guardrail, self.reason)
    }
}

impl Reported {
    /// Takes the next report in if both are text of one place: what came while the disk was busy is one delta. Gives
    /// it back if it stands for itself.
    pub fn join(&mut self, next: Reported) -> Option<Reported> {
        if self.generation != next.generation || self.key != next.key {
            return Some(next);
        }
        let (Report::Model(known), Report::Model(more)) = (&mut self.report, &next.report) else {
            return Some(next);
        };
        if let (ModelEvent::Sent { text, events }, ModelEvent::Sent { text: next, events: more }) =
            (&mut *known, more)
            && !events.is_empty()
            && !more.is_empty()
            && join_text(text, next)
        {
            events.extend(more.iter().cloned());
            return None;
        }
        let is_joined = join_text(known, more);
        (!is_joined).then_some(next)
    }
}
