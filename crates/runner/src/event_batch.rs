//! Events on their way into the log, written together.

use riverrun_event::{
    ActionRequired, Author, DecodeError, Decoded, DeltaMaker, Draft, EventScope, EventType, RunId, StepId,
    TaskId, ThreadId, Timestamp, ToolCallId, TurnId, spill,
};
use riverrun_log::{BlobId, CommandChange, Fact, NewBlob, Urgency};
use serde::Serialize;

use crate::{Entry, JournalError};

/// An event larger than this has its texts taken out as it is made, and has so much left.
const HUGE: usize = 4 << 20;
const LIGHT: usize = 256 << 10;

/// What one append will hold. All of it has the same time.
pub(crate) struct EventBatch {
    pub now: Timestamp,
    pub events: Vec<Decoded>,
    pub commands: Vec<CommandChange>,
    /// Texts that were too large for their events; they are stored before the page is.
    pub spilled: Vec<(BlobId, NewBlob)>,
    /// What keeps them.
    pub facts: Vec<Fact>,
    pub urgency: Urgency,
    /// Actions, and where among the events each belongs: how many were required at once is known at the end.
    required: Vec<(usize, EventScope, ActionRequired)>,
    size: usize,
    /// Why the log would not take it.
    problem: Option<DecodeError>,
}

impl EventBatch {
    pub fn new(now: Timestamp) -> Self {
        let (spilled, facts) = (Vec::new(), Vec::new());
        let urgency = Urgency::Normal;
        Self {
            now,
            events: Vec::new(),
            commands: Vec::new(),
            spilled,
            facts,
            urgency,
            required: Vec::new(),
            size: 0,
            problem: None,
        }
    }

    pub fn push(&mut self, kind: EventType, scope: &EventScope, payload: &impl Serialize) {
        let mut draft = Draft::new(kind, scope, payload).at(self.now);
        if draft.size() > HUGE {
            self.lighten(&mut draft);
        }
        self.put(draft.into_decoded());
    }

    /// The log would do the same later, and hold the text as often as there are forms of the event.
    fn lighten(&mut self, draft: &mut Draft) {
        for part in spill(draft, LIGHT).unwrap_or_default() {
            let reference = BlobId::of(part.content.as_bytes());
            if self.spilled.iter().all(|(known, _)| *known != reference) {
                let media_type = "text/plain; charset=utf-8".to_owned();
                let blob = NewBlob { session: None, media_type, bytes: part.content.into() };
                self.spilled.push((reference, blob));
            }
        }
    }

    /// Somebody must decide. The event says how many actions of its batch are required with it.
    pub fn require(&mut self, scope: &EventScope, required: ActionRequired) {
        self.required.push((self.events.len(), scope.clone(), required));
    }

    /// True if somebody must decide something of it.
    pub fn requires_action(&self) -> bool {
        !self.required.is_empty()
    }

    /// Writes the actions to where they belong.
    fn number_actions(&mut self) {
        let required = std::mem::take(&mut self.required);
        let group = |one: &ActionRequired| (one.batch_id.clone(), one.action_type.clone());
        for (added, (position, scope, action)) in required.iter().enumerate() {
            let is_beside = |other: &&(usize, EventScope, ActionRequired)| {
                action.batch_id.is_some() && group(&other.2) == group(action)
            };
            let size = required.iter().filter(is_beside).count();
            let index = required[..added].iter().filter(is_beside).count();
            let numbered = (size > 1).then_some((index, size));
            let number = |number: usize| u32::try_from(number).ok();
            let action = ActionRequired {
                batch_index: numbered.and_then(|(index, _)| number(index)),
                batch_size: numbered.and_then(|(_, size)| number(size)),
                ..action.clone()
            };
            let before = self.events.len();
            self.push(EventType::ActionRequired, scope, &action);
            if let Some(event) = (self.events.len() > before).then(|| self.events.pop()).flatten() {
                self.events.insert(position + added, event);
            }
        }
    }

    /// A piece of a text.
    pub fn push_delta(&mut self, maker: &DeltaMaker, delta: String) {
        self.put(Ok(maker.make(delta, self.now)));
    }

    /// An event about a process.
    pub fn push_process(
        &mut self,
        kind: EventType,
        scope: &EventScope,
        process: &str,
        payload: &impl Serialize,
    ) {
        self.push_about(kind, scope, ("processId", process), payload);
    }

    /// An event about a thing that the envelope names: the member, and the thing's id.
    pub fn push_about(
        &mut self,
        kind: EventType,
        scope: &EventScope,
        subject: (&str, &str),
        payload: &impl Serialize,
    ) {
        let draft = Draft::about(kind, scope, subject, payload);
        self.put(draft.at(self.now).into_decoded());
    }

    fn put(&mut self, event: Result<Decoded, DecodeError>) {
        match event {
            Ok(mut event) => {
                event.draft.author = Author::Runner;
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
        self.events.is_empty()
            && self.required.is_empty()
            && self.commands.is_empty()
            && self.problem.is_none()
    }

    /// The bytes so far, roughly.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What is handed to the log. What the log did not take is put back with [`EventBatch::put_back`].
    pub fn take_entry(&mut self) -> Result<Entry, JournalError> {
        self.number_actions();
        if let Some(problem) = &self.problem {
            return Err(JournalError::Invalid(problem.to_string()));
        }
        let (events, commands) = (std::mem::take(&mut self.events), std::mem::take(&mut self.commands));
        let facts = std::mem::take(&mut self.facts);
        Ok(Entry { events, commands, facts, urgency: self.urgency, ..Entry::default() })
    }

    pub fn put_back(&mut self, entry: Entry) {
        (self.events, self.commands, self.facts) = (entry.events, entry.commands, entry.facts);
    }
}

/// The links of an event of a turn.
pub(crate) fn turn_scope(thread: &ThreadId, turn: &TurnId, task: &TaskId, run: &RunId) -> EventScope {
    EventScope {
        thread_id: Some(thread.clone()),
        turn_id: Some(turn.clone()),
        task_id: Some(task.clone()),
        run_id: Some(run.clone()),
        ..EventScope::default()
    }
}

pub(crate) fn with_step(scope: &EventScope, step: Option<&StepId>) -> EventScope {
    EventScope { step_id: step.cloned(), ..scope.clone() }
}

/// An id of the model's is kept where it fits the alphabet of ids; the runner makes sure that it does.
pub(crate) fn with_call(scope: &EventScope, call: &str) -> EventScope {
    EventScope { tool_call_id: ToolCallId::new(call).ok(), ..scope.clone() }
}
