//! Which events a reader wants: one turn, one task with its descendants, some types. All conditions hold together.

use std::collections::HashSet;

use riverrun_event::{Event, EventType, TaskId, TurnId, json};
use riverrun_fold::State;

use super::error::InvalidPattern;
use super::request::Request;

/// `model.delta`, or a family as `model.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypePattern(String);

impl TypePattern {
    /// Reads a type, or a family as `model.*`.
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let name = text.strip_suffix(".*").unwrap_or(text);
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if name.is_empty() || text.len() > 128 || !name.bytes().all(plain) {
            return Err(InvalidPattern);
        }
        Ok(Self(text.to_owned()))
    }

    fn admits(&self, kind: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(family) => kind.starts_with(family),
            None => kind == self.0,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Filter {
    turn: Option<TurnId>,
    task: Option<TaskId>,
    /// The task and the descendants that are known so far.
    tasks: HashSet<TaskId>,
    types: Vec<TypePattern>,
}

impl Filter {
    /// None if the reader wants everything.
    pub fn new(request: &Request) -> Option<Self> {
        request.is_filtered().then(|| Self {
            turn: request.turn.clone(),
            task: request.task.clone(),
            tasks: request.task.iter().cloned().collect(),
            types: request.types.clone(),
        })
    }

    /// A task's descendants may have come before the reader's place.
    pub fn needs_state(&self) -> bool {
        self.task.is_some()
    }

    pub fn learn(&mut self, state: &State) {
        // Parents stand before their children.
        for task in &state.tasks {
            if task.parent_task_id.as_ref().is_some_and(|parent| self.tasks.contains(parent)) {
                self.tasks.insert(task.task_id.clone());
            }
        }
    }

    pub fn admits(&mut self, event: &Event) -> bool {
        let scope = &event.scope;
        if let (Some(parent), Some(task)) = (&scope.parent_task_id, &scope.task_id)
            && self.tasks.contains(parent)
        {
            self.tasks.insert(task.clone());
        }
        if self.turn.is_some() && scope.turn_id != self.turn {
            return false;
        }
        if self.task.is_some() && !scope.task_id.as_ref().is_some_and(|task| self.tasks.contains(task)) {
            return false;
        }
        // A turn's end always comes: the stream must not end without it.
        let kind = &event.kind;
        self.types.is_empty()
            || self.ends(kind)
            || self.types.iter().any(|pattern| pattern.admits(kind.as_str()))
    }

    fn ends(&self, kind: &EventType) -> bool {
        self.turn.is_some() && kind.is_turn_terminal()
    }

    /// True if nothing that this filter admits can follow the event.
    pub fn is_over(&self, event: &Event) -> bool {
        self.turn.is_some() && event.scope.turn_id == self.turn && event.kind.is_turn_terminal()
    }

    /// The filter as its reader sees it in `stream.opened`.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        let mut member = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                out.push_str(if out.len() > 1 { ",\"" } else { "\"" });
                out.push_str(name);
                out.push_str("\":");
                json::write_string(&mut out, value);
            }
        };
        member("turn", self.turn.as_ref().map(TurnId::as_str));
        member("task", self.task.as_ref().map(TaskId::as_str));
        let types: Vec<_> = self.types.iter().map(|pattern| pattern.0.as_str()).collect();
        let types = types.join(",");
        member("types", (!types.is_empty()).then_some(&types));
        out.push('}');
        out
    }
}
