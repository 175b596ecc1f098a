//! Events on their way into the log, written together.

use riverrun_event::{
    DecodeError, Decoded, DeltaMaker, Draft, EventType, RunId, Scope, StepId, TaskId, ThreadId, Timestamp,
    ToolCallId, TurnId,
};
use riverrun_log::CommandChange;
use serde::Serialize;

use crate::{Entry, JournalError};

/// What one append will hold. All of it has the same time.
pub(crate) struct Page {
    pub now: Timestamp,
    pub events: Vec<Decoded>,
    pub commands: Vec<CommandChange>,
    size: usize,
    /// Why the log would not take it.
    problem: Option<DecodeError>,
}

impl Page {
    pub fn new(now: Timestamp) -> Self {
        Self { now, events: Vec::new(), commands: Vec::new(), size: 0, problem: None }
    }

    pub fn push(&mut self, kind: EventType, scope: &Scope, payload: &impl Serialize) {
        self.put(Draft::new(kind, scope, payload).at(self.now).into_decoded());
    }

    /// A piece of a text.
    pub fn push_delta(&mut self, maker: &DeltaMaker, delta: String) {
        self.put(Ok(maker.make(delta, self.now)));
    }

    /// An event about a process.
    pub fn push_process(&mut self, kind: EventType, scope: &Scope, process: &str, payload: &impl Serialize) {
        let draft = Draft::about(kind, scope, ("processId", process), payload);
        self.put(draft.at(self.now).into_decoded());
    }

    fn put(&mut self, event: Result<Decoded, DecodeError>) {
        match event {
            Ok(event) => {
                if self.events.capacity() == 0 {
                    // Most pages hold one piece of text, and an event is large.
                    self.events.reserve_exact(1);
                }
                self.size += event.draft.size();
                self.events.push(event);
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.commands.is_empty() && self.problem.is_none()
    }

    /// The bytes so far, roughly.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What is handed to the log. What the log did not take is put back with [`Page::put_back`].
    pub fn take_entry(&mut self) -> Result<Entry, JournalError> {
        if let Some(problem) = &self.problem {
            return Err(JournalError::Invalid(problem.to_string()));
        }
        let (events, commands) = (std::mem::take(&mut self.events), std::mem::take(&mut self.commands));
        Ok(Entry { events, commands, ..Entry::default() })
    }

    pub fn put_back(&mut self, entry: Entry) {
        (self.events, self.commands) = (entry.events, entry.commands);
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
