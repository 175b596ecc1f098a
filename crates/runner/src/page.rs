//! Events on their way into the log, written together.

use riverrun_event::{
    Draft, EventType, RunId, Scope, StepId, TaskId, ThreadId, Timestamp, ToolCallId, TurnId,
};
use riverrun_log::CommandChange;
use serde::Serialize;

use crate::Entry;

/// What one append will hold. All of it has the same time.
pub(crate) struct Page {
    pub now: Timestamp,
    pub drafts: Vec<Draft>,
    pub commands: Vec<CommandChange>,
    size: usize,
}

impl Page {
    pub fn new(now: Timestamp) -> Self {
        Self { now, drafts: Vec::new(), commands: Vec::new(), size: 0 }
    }

    pub fn push(&mut self, kind: EventType, scope: &Scope, payload: &impl Serialize) {
        let draft = Draft::new(kind, scope, payload).at(self.now);
        self.size += draft.size();
        self.drafts.push(draft);
    }

    /// An event about a process.
    pub fn push_process(&mut self, kind: EventType, scope: &Scope, process: &str, payload: &impl Serialize) {
        let draft = Draft::about(kind, scope, ("processId", process), payload).at(self.now);
        self.size += draft.size();
        self.drafts.push(draft);
    }

    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty() && self.commands.is_empty()
    }

    /// The bytes so far, roughly.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn entry(&self) -> Entry {
        Entry { events: self.drafts.clone(), commands: self.commands.clone(), ..Entry::default() }
    }
}

/// The links of an event of a turn.
pub(crate) fn turn_scope(thread: &ThreadId, turn: &TurnId, task: &TaskId, run: &RunId) -> Scope {
    Scope {
        thread_id: Some(thread.clone()),
        turn_id: Some(turn.clone()),
        task_id: Some(task.clone()),
        run_id: Some(run.clone()),
        ..Scope::default()
    }
}

pub(crate) fn with_step(scope: &Scope, step: Option<&StepId>) -> Scope {
    Scope { step_id: step.cloned(), ..scope.clone() }
}

/// An id of the model's is kept where it fits the alphabet of ids; the runner makes sure that it does.
pub(crate) fn with_call(scope: &Scope, call: &str) -> Scope {
    Scope { tool_call_id: ToolCallId::new(call).ok(), ..scope.clone() }
}
