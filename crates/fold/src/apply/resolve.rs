//! Finds what an event is about, and makes it if the event is the first to name it.

use riverrun_event::{TaskId, ThreadId, TurnId, Usage};

use super::Step;
use crate::change::{Change, ItemAt};
use crate::problem::ProblemCode;
use crate::state::{TaskState, Thread, TurnState};
use crate::status::Status;

/// Deeper chains of tasks are a cycle or an attack.
const MAX_DEPTH: usize = 64;

impl Step<'_> {
    /// The turn that the event names, with its last sequence moved on.
    pub(super) fn touch_turn(&mut self) {
        let Some(turn_id) = &self.event.scope.turn_id else { return };
        if let Some(turn) = self.state.index.turns.get(turn_id) {
            self.state.turns[*turn].last_sequence = self.event.sequence;
        }
    }

    pub(super) fn find_turn(&self, turn_id: &TurnId) -> Option<usize> {
        self.state.index.turns.get(turn_id).copied()
    }

    /// The turn that the event names; made if no event submitted it.
    pub(super) fn turn(&mut self) -> Option<usize> {
        let turn_id = self.event.scope.turn_id.clone()?;
        match self.find_turn(&turn_id) {
            Some(turn) => Some(turn),
            None => Some(self.new_turn(turn_id)),
        }
    }

    pub(super) fn new_turn(&mut self, turn_id: TurnId) -> usize {
        self.seal_old_turns();
        let thread_id = self.event.scope.thread_id.clone().unwrap_or_else(main_thread);
        let thread = self.thread_of(thread_id.clone());
        self.state.threads[thread].turns += 1;
        self.state.threads[thread].last_turn_id = Some(turn_id.clone());
        let turn = self.state.turns.len();
        self.state.index.turns.insert(turn_id.clone(), turn);
        self.state.turns.push(TurnState {
            turn_id,
            thread_id,
            status: Status::Unknown,
            first_sequence: self.event.sequence,
            last_sequence: self.event.sequence,
            task_id: None,
            run_id: self.event.scope.run_id.clone(),
            agent: None,
            input: None,
            input_ref: None,
            history: Vec::new(),
            settings: None,
            files: Vec::new(),
            texts: None,
            request: None,
            submitted_at: None,
            started_at: None,
            ended_at: None,
            final_output: None,
            stop_reason: None,
            error: None,
            removed: false,
            usage: Usage::default(),
        });
        turn
    }

    pub(super) fn thread_of(&mut self, thread_id: ThreadId) -> usize {
        if let Some(thread) = self.state.index.threads.get(&thread_id) {
            return *thread;
        }
        self.state.index.threads.insert(thread_id.clone(), self.state.threads.len());
        self.state.threads.push(Thread {
            thread_id,
            status: Status::Idle,
            title: None,
            active_turn_id: None,
            last_turn_id: None,
            last_outcome: None,
            turns: 0,
        });
        self.state.threads.len() - 1
    }

    /// The task that the event belongs to; made if it is the first to name it. Without a task id it is the turn's
    /// root task, and without a turn the task `main`.
    pub(super) fn task(&mut self) -> usize {
        if let Some(task_id) = &self.event.scope.task_id {
            if let Some(task) = self.state.index.tasks.get(task_id) {
                return *task;
            }
            return self.new_task(task_id.clone());
        }
        let turn = self.turn();
        let root = turn.and_then(|turn| self.state.turns[turn].task_id.clone());
        let task_id = root.unwrap_or_else(|| {
            let name = self.event.scope.turn_id.as_ref().map_or("main", TurnId::as_str);
            TaskId::new(name).expect("a turn id fits the alphabet of ids")
        });
        match self.state.index.tasks.get(&task_id) {
            Some(task) => *task,
            None => self.new_task(task_id),
        }
    }

    pub(super) fn find_task(&self) -> Option<usize> {
        let scope = &self.event.scope;
        let of_turn = || {
            let turn = self.find_turn(scope.turn_id.as_ref()?)?;
            self.state.turns[turn].task_id.as_ref()
        };
        let task_id = scope.task_id.as_ref().or_else(of_turn)?;
        self.state.index.tasks.get(task_id).copied()
    }

    pub(super) fn new_task(&mut self, task_id: TaskId) -> usize {
        let turn = self.turn();
        let scope = &self.event.scope;
        let (mut parent, mut call) = (scope.parent_task_id.clone(), scope.parent_tool_call_id.clone());
        if parent.is_none() {
            // A child's task id is its parent's call id.
            parent = self.task_that_called(&task_id);
            if parent.is_some() {
                call = call.or_else(|| riverrun_event::ToolCallId::new(task_id.as_str()).ok());
            }
        }
        if parent.as_ref().is_some_and(|parent| self.is_ancestor(&task_id, parent)) {
            self.task_cycle(&task_id);
            parent = None;
        }
        let depth = self.event.scope.depth.unwrap_or_else(|| self.depth_below(parent.as_ref()));
        let turn_id = self.event.scope.turn_id.clone();
        if let (Some(turn), None) = (turn, &parent) {
            self.state.turns[turn].task_id.get_or_insert_with(|| task_id.clone());
        }
        let task = self.state.tasks.len();
        self.state.index.tasks.insert(task_id.clone(), task);
        self.state.tasks.push(TaskState {
            task_id,
            status: Status::Running,
            depth,
            turn_id,
            run_id: self.event.scope.run_id.clone(),
            parent_task_id: parent,
            parent_tool_call_id: call,
            title: None,
            objective: None,
            agent: None,
            status_reason: None,
            error: None,
            created_at: Some(self.event.timestamp),
            ended_at: None,
            attempts: Vec::new(),
            usage: Usage::default(),
            output: Vec::new(),
            open: Default::default(),
            retracted: Default::default(),
            positions: Default::default(),
            references: Default::default(),
        });
        self.change(Change::TaskCreated { task });
        task
    }

    /// The task whose output holds a call with this id.
    fn task_that_called(&self, call: &TaskId) -> Option<TaskId> {
        let task = self.state.index.caller(call.as_str())?;
        Some(self.state.tasks[task].task_id.clone())
    }

    /// The depth of a task below this parent, which may not have been told yet.
    pub(super) fn depth_below(&self, parent: Option<&TaskId>) -> u32 {
        let known = |parent: &TaskId| {
            self.state.index.tasks.get(parent).map_or(0, |above| self.state.tasks[*above].depth)
        };
        parent.map_or(0, |parent| known(parent).saturating_add(1))
    }

    pub(super) fn task_cycle(&mut self, task_id: &TaskId) {
        self.problem(ProblemCode::TaskCycle, format!("task `{task_id}` would be its own ancestor"));
    }

    /// True if `task` is `below` or one of its ancestors.
    pub(super) fn is_ancestor(&self, task: &TaskId, below: &TaskId) -> bool {
        let mut at = Some(below);
        for _ in 0..MAX_DEPTH {
            let Some(current) = at else { return false };
            if current == task {
                return true;
            }
            let known = self.state.index.tasks.get(current);
            at = known.and_then(|known| self.state.tasks[*known].parent_task_id.as_ref());
        }
        true
    }

    /// The outermost task above this one.
    pub(super) fn root_of(&self, task: usize) -> usize {
        let mut at = task;
        for _ in 0..MAX_DEPTH {
            let parent = self.state.tasks[at].parent_task_id.as_ref();
            match parent.and_then(|parent| self.state.index.tasks.get(parent)) {
                Some(above) => at = *above,
                None => break,
            }
        }
        at
    }

    pub(super) fn item_by_id(&self, task: usize, item_id: &str) -> Option<ItemAt> {
        let item = *self.state.tasks[task].positions.0.get(item_id)?;
        Some(ItemAt { task, item })
    }
}

pub(super) fn main_thread() -> ThreadId {
    ThreadId::new("main").expect("`main` fits the alphabet of ids")
}
