//! A task as one object: AgentLin's end state, at any moment.

use std::collections::HashMap;

use riverrun_event::{Item, TaskId};
use riverrun_fold::{ActionState, SealedTurn, State, TaskState};

use super::item::{Audience, ItemForm, write_item};
use super::lifecycle::write_summary;
use crate::OffsetUnit;
use crate::members::{List, Members, write_list};

/// Deeper nesting is a cycle; the fold refuses it, a stored state may still hold it.
const MAX_DEPTH: usize = 64;

/// `{task_id, status, output:[…]}` of a task in the window; None if it is not there.
pub fn object(state: &State, task_id: &TaskId, unit: OffsetUnit) -> Option<String> {
    write(&state.tasks, &state.actions, task_id, unit)
}

/// The same of a task whose turn was sealed.
pub fn object_of_sealed(turn: &SealedTurn, task_id: &TaskId, unit: OffsetUnit) -> Option<String> {
    write(&turn.tasks, &turn.actions, task_id, unit)
}

fn write(tasks: &[TaskState], actions: &[ActionState], task_id: &TaskId, unit: OffsetUnit) -> Option<String> {
    let task = tasks.iter().find(|task| task.task_id == *task_id)?;
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    write_summary(&mut members, task, actions, task.status);
    let tree = Tree::of(tasks, unit);
    members.with("output", |out| {
        write_list(out, 0..task.output.len(), |out, item| tree.write_item(out, task, item, Shown::Own, 0));
    });
    members.close();
    Some(out)
}

/// The call of the parent that a task answers: a child's task id is its parent's call id, unless it says otherwise.
pub(super) fn call_of(task: &TaskState) -> &str {
    task.parent_tool_call_id.as_ref().map_or(task.task_id.as_str(), |call| call.as_str())
}

/// Whether an item stands in its own task's output, or inside its parent's result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Own,
    Embedded,
}

struct Tree<'a> {
    /// Children by their parent and the call that they answer.
    children: HashMap<(&'a TaskId, &'a str), Vec<&'a TaskState>>,
    unit: OffsetUnit,
}

impl<'a> Tree<'a> {
    fn of(tasks: &'a [TaskState], unit: OffsetUnit) -> Self {
        let mut children: HashMap<_, Vec<&TaskState>> = HashMap::new();
        for task in tasks {
            if let Some(parent) = &task.parent_task_id {
                children.entry((parent, call_of(task))).or_default().push(task);
            }
        }
        Self { children, unit }
    }

    fn write_item(&self, out: &mut String, task: &TaskState, item: usize, shown: Shown, depth: usize) {
        let write_children = |list: &mut List<'_>| self.write_children(list, task, item, depth);
        let (audience, child_of) = match shown {
            Shown::Own => (Audience::All, None),
            // A child's content is for the child's model: the user and the parent never had it.
            Shown::Embedded => (Audience::User, Some(task.task_id.as_str())),
        };
        let form = ItemForm {
            child_of,
            is_retracted: task.retracted.contains(&item),
            children: Some(&write_children),
            ..ItemForm::whole(audience, self.unit)
        };
        write_item(out, &task.output[item], &form);
    }

    /// Behind a result's own blocks stand the items of the tasks that answer its call.
    fn write_children(&self, list: &mut List<'_>, task: &TaskState, item: usize, depth: usize) {
        let Item::ToolResult(result) = &task.output[item] else { return };
        let children = self.children.get(&(&task.task_id, result.call_id.as_str()));
        let Some(children) = children.filter(|_| depth < MAX_DEPTH && is_first_result(task, item)) else {
            return;
        };
        for child in children {
            for item in 0..child.output.len() {
                self.write_item(list.entry(), child, item, Shown::Embedded, depth + 1);
            }
        }
    }
}

/// A call's children are shown once: in its first result.
fn is_first_result(task: &TaskState, item: usize) -> bool {
    let call = answered_call(&task.output[item]);
    task.output.iter().position(|other| answered_call(other) == call) == Some(item)
}

fn answered_call(item: &Item) -> Option<&str> {
    match item {
        Item::ToolResult(result) => Some(&result.call_id),
        Item::Message(_)
        | Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => None,
    }
}
