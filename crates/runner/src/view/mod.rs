//! What the runner must know of a turn beside the folded state: which effects were begun and which of them ended.
//!
//! It is built from the turn's events alone, so that a new owner knows exactly what the former one knew. Of a turn that
//! is hosted here only the runner's own events count, and decisions of keys that may decide.

mod apply;
mod call;
mod call_list;
mod hook;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use riverrun_event::{EventScope, Input, RunId, StepId, TaskId, ThreadId, Timestamp, TurnId};
use riverrun_fold::Status;

use crate::CancelMode;

pub(crate) use apply::{LOST, RESULTS, TOO_LONG, TOO_MANY_CALLS, WORKER};
pub(crate) use call::{ActionView, CallView, Resolved, ResultView};
pub(crate) use call_list::CallList;
pub(crate) use hook::{HookView, answers};

/// The turns that are running, by id.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub turns: BTreeMap<TurnId, TurnView>,
    /// Turns that the runner put into the queue, which have not started.
    pub queued: BTreeSet<TurnId>,
    trust: Trust,
}

/// Whose events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Trust {
    /// The log of a session: authors are stored with its events.
    #[default]
    ByAuthor,
    /// Events that were copied, to find what was open in them. Nothing runs from such a view.
    Copy,
}

#[derive(Debug)]
pub(crate) struct TurnView {
    pub turn: TurnId,
    pub thread: ThreadId,
    pub root: TaskId,
    pub started_at: Timestamp,
    /// Milliseconds for which the root task was halted; they count for no limit of time.
    pub paused_for: i64,
    /// True if this server's runner started it; false for a turn that somebody else runs and only records here.
    pub ours: bool,
    pub cancel: Option<Cancel>,
    /// The root task first, parents before children.
    pub tasks: Vec<TaskView>,
    /// Recorded cost in US dollars; of calls whose service counted nothing, what reading them was estimated to cost.
    pub cost: f64,
    /// Of each task's newest call.
    pub estimates: BTreeMap<TaskId, f64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cancel {
    pub mode: CancelMode,
    pub reason: Option<String>,
}

#[derive(Debug)]
pub(crate) struct TaskView {
    pub task: TaskId,
    pub scope: EventScope,
    pub parent: Option<TaskId>,
    pub depth: u32,
    pub agent: String,
    pub run: RunId,
    pub attempts: u32,
    /// The newest step and what is known of its model call.
    pub step: Option<StepId>,
    pub is_model_open: bool,
    /// A model call was begun and none has ended well since.
    pub is_call_due: bool,
    pub provider: Option<Arc<str>>,
    /// Items that the newest model call began.
    pub step_items: Vec<(String, u32)>,
    /// Model calls that ended well.
    pub steps: u32,
    /// Failures of the model since one ended well or another model was chosen.
    pub failures: u32,
    pub last_error: Option<riverrun_event::ErrorInfo>,
    /// The place of the model in the agent's list.
    pub model: usize,
    pub is_routed: bool,
    /// Inputs that came after the first, and how many the model has read.
    pub steers: Vec<Steer>,
    pub steers_read: usize,
    pub calls: CallList,
    /// What the model reads of the calls that its newest answer had too many.
    pub excess: Option<String>,
    /// Steps in which the work was handed to another agent.
    pub handoffs: Vec<StepId>,
    /// Why the newest model call that ended well did so.
    pub stop: Option<String>,
    /// The step of the summary of older turns that is being made.
    pub compacting: Option<StepId>,
    /// Older turns were to give way because the model called the conversation too long.
    pub was_too_long: bool,
    /// The task's own results were shortened to so many tokens, and how often.
    pub results_fit: Option<u64>,
    pub cuts: u32,
    pub repairs: u32,
    /// Why the newest output did not fit its schema.
    pub misfit: Option<String>,
    /// Hooks at points that are about no call.
    pub hooks: Vec<HookView>,
    /// How often hooks did not let the turn end.
    pub stops: u32,
    /// The next free place in the output.
    pub next_index: u32,
    pub ended: Option<Status>,
    /// Since when the task is halted.
    pub paused_at: Option<Timestamp>,
    pub is_closing: Option<String>,
    /// How a sub-agent stands, as its readers were told.
    pub reported_status: Option<String>,
    /// The parent was told of the end.
    pub is_reported: bool,
    /// Who made an item, for what goes back to its maker alone.
    pub makers: BTreeMap<String, Arc<str>>,
}

/// Something that a task is told while it works.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steer {
    pub input: Input,
    /// Not of a hook or of another agent.
    pub is_of_user: bool,
}

impl View {
    /// A view of copied events, which knows a hosted turn by what its attempts say.
    pub fn of_copy() -> Self {
        Self { trust: Trust::Copy, ..Self::default() }
    }

    /// The task with this id. A producer may have used the same id: the hosted one counts.
    pub fn task(&self, task: &TaskId) -> Option<(&TurnView, &TaskView)> {
        let find = |is_ours: bool| {
            let mut turns = self.turns.values().filter(move |turn| turn.ours == is_ours);
            turns.find_map(|turn| turn.task(task).map(|found| (turn, found)))
        };
        find(true).or_else(|| find(false))
    }

    pub fn task_mut(&mut self, task: &TaskId) -> Option<&mut TaskView> {
        let turn = self.task(task).map(|(turn, _)| turn.turn.clone())?;
        self.turns.get_mut(&turn)?.task_mut(task)
    }
}

impl TurnView {
    pub fn task(&self, task: &TaskId) -> Option<&TaskView> {
        self.tasks.iter().find(|known| known.task == *task)
    }

    pub fn task_mut(&mut self, task: &TaskId) -> Option<&mut TaskView> {
        self.tasks.iter_mut().find(|known| known.task == *task)
    }

    /// Sub-agents that no model called, whose parents were not told of their end.
    pub fn uncalled(&self) -> impl Iterator<Item = &TaskView> {
        self.tasks.iter().filter(|task| {
            task.parent.is_some() && task.scope.parent_tool_call_id.is_none() && !task.is_reported
        })
    }

    /// True for a task that has not ended.
    pub fn is_open(&self, task: &Option<TaskId>) -> bool {
        task.as_ref().and_then(|task| self.task(task)).is_some_and(|task| task.ended.is_none())
    }

    /// True if the task or one above it is halted. Whoever cancels the turn does not wait for it to go on.
    pub fn is_paused(&self, task: &TaskView) -> bool {
        let parent = || task.parent.as_ref().and_then(|parent| self.task(parent));
        self.cancel.is_none()
            && (task.paused_at.is_some() || parent().is_some_and(|parent| self.is_paused(parent)))
    }

    pub fn is_cancelling(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.mode == CancelMode::Immediate)
    }
}

impl TaskView {
    pub fn new(scope: EventScope, task: TaskId, run: RunId, agent: String) -> Self {
        let parent = scope.parent_task_id.clone();
        let depth = scope.depth.unwrap_or(0);
        Self {
            scope: EventScope { step_id: None, tool_call_id: None, action_id: None, ..scope },
            task,
            parent,
            depth,
            agent,
            run,
            attempts: 0,
            step: None,
            is_model_open: false,
            is_call_due: false,
            provider: None,
            step_items: Vec::new(),
            steps: 0,
            failures: 0,
            last_error: None,
            model: 0,
            is_routed: false,
            steers: Vec::new(),
            steers_read: 0,
            calls: CallList::default(),
            excess: None,
            handoffs: Vec::new(),
            stop: None,
            compacting: None,
            was_too_long: false,
            results_fit: None,
            cuts: 0,
            repairs: 0,
            misfit: None,
            hooks: Vec::new(),
            stops: 0,
            next_index: 0,
            ended: None,
            paused_at: None,
            is_closing: None,
            reported_status: None,
            is_reported: false,
            makers: BTreeMap::new(),
        }
    }

    /// Why the model's newest answer is not all that it had to say, if it is not.
    pub fn cut_short(&self) -> Option<&str> {
        self.stop.as_deref().filter(|stop| is_early(stop))
    }

    /// Takes the next place in the output.
    pub fn take_index(&mut self) -> u32 {
        self.next_index += 1;
        self.next_index - 1
    }

    pub fn call(&self, call: &str) -> Option<&CallView> {
        self.calls.get(call)
    }

    pub fn call_mut(&mut self, call: &str) -> Option<&mut CallView> {
        self.calls.get_mut(call)
    }

    /// The links of an event of the newest step.
    pub fn step_scope(&self) -> EventScope {
        EventScope { step_id: self.step.clone(), ..self.scope.clone() }
    }

    /// The links of an event of a call, with the step that asked for it.
    pub fn call_scope(&self, call: &CallView) -> EventScope {
        let scope = EventScope { step_id: call.step.clone(), ..self.scope.clone() };
        crate::event_batch::with_call(&scope, &call.call)
    }
}

/// True for a stop that the model did not choose, or by which it said nothing of what was asked.
pub(crate) fn is_early(stop: &str) -> bool {
    matches!(stop, "max_tokens" | "refusal" | "content_filter")
}

#[cfg(test)]
mod tests;
