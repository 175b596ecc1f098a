//! Questions about a state that dialects and routes share.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_event::{
    Block, Item, ItemBlock, RawJson, TaskId, ToolCatalogResolved, ToolDescription, cut_text,
};

use crate::state::{ActionState, ActionStatus, State, TaskState, TurnState};

/// The task and every task below it, as far as the state holds them.
pub fn descendants(state: &State, task: &TaskId) -> BTreeSet<TaskId> {
    let children = children(state);
    let (mut found, mut next) = (BTreeSet::new(), vec![task]);
    while let Some(task) = next.pop() {
        if found.insert(task.clone()) {
            next.extend(children.get(task).into_iter().flatten().map(|child| &child.task_id));
        }
    }
    found
}

/// The tasks below each task that has some.
fn children(state: &State) -> BTreeMap<&TaskId, Vec<&TaskState>> {
    let mut children: BTreeMap<&TaskId, Vec<&TaskState>> = BTreeMap::new();
    for task in &state.tasks {
        if let Some(parent) = &task.parent_task_id {
            children.entry(parent).or_default().push(task);
        }
    }
    children
}

/// The actions that wait for somebody, oldest first.
pub fn pending_actions(state: &State) -> impl Iterator<Item = &ActionState> {
    state.actions.iter().filter(|action| action.status == ActionStatus::Pending)
}

/// The available tools, from the last catalogue event; None without one.
pub fn tool_inventory(state: &State) -> Option<Vec<ToolDescription>> {
    let family = state.ledger.family("tool")?;
    let found = family.entries.iter().rev().find(|entry| entry.kind == "tool.catalog.resolved")?;
    found.payload.as_ref()?.to::<ToolCatalogResolved>().ok()?.tools
}

/// What the turn came to, whole. An event that was too large keeps the beginning of it; its message has all.
pub fn final_output(state: &State, turn: &TurnState) -> Option<RawJson> {
    let found = turn.final_output.as_ref()?;
    let is_cut = found.get().contains(" bytes, whole in blob_");
    let answer = turn.task_id.as_ref().filter(|_| is_cut).and_then(|task| final_text(state, task));
    let whole = answer.and_then(|answer| match found.as_text() {
        Some(text) => {
            cut_text(&text).filter(|(start, _)| answer.starts_with(start)).map(|_| RawJson::of(&answer).ok())
        }
        None => Some(RawJson::parse(&answer).ok()),
    });
    whole.flatten().or_else(|| Some(found.clone()))
}

/// The text of the task's answer.
fn final_text(state: &State, task: &TaskId) -> Option<String> {
    let task = state.tasks.iter().find(|known| known.task_id == *task)?;
    let answer = answer(task);
    let messages = answer.iter().map(|position| &task.output[*position]);
    (!answer.is_empty()).then(|| messages.flat_map(blocks).filter_map(Block::text).collect())
}

/// The places of the messages that the task ended with: those that stand side by side behind everything else. Some
/// services give one text in several.
pub fn answer(task: &TaskState) -> Vec<usize> {
    let last = last_words(task);
    let mut answer: Vec<usize> = Vec::new();
    for position in last.into_iter().rev() {
        let next = answer.last().copied().unwrap_or(position);
        let is_beside = (position + 1..next).all(|between| task.retracted.contains(&between));
        if !is_beside {
            break;
        }
        answer.push(position);
    }
    answer.reverse();
    answer
}

/// The places of all messages since the last call, result or input, also those before what a service's own tools did.
pub fn last_words(task: &TaskState) -> Vec<usize> {
    let mut words = Vec::new();
    for (position, item) in task.output.iter().enumerate().rev() {
        match item {
            _ if task.retracted.contains(&position) => {}
            Item::Message(message) if message.role.as_deref() == Some("user") => break,
            Item::Message(_) => words.push(position),
            Item::ToolCall(_) | Item::ToolResult(_) | Item::Handoff(_) => break,
            Item::Reasoning(_) | Item::Hosted(_) | Item::Error(_) | Item::Other(_) => {}
        }
    }
    words.reverse();
    words
}

fn blocks(item: &Item) -> impl Iterator<Item = &Block> {
    let list = match item {
        Item::Message(message) => message.block_list.as_deref(),
        Item::Reasoning(_) | Item::ToolCall(_) | Item::ToolResult(_) | Item::Handoff(_) => None,
        Item::Error(_) | Item::Hosted(_) | Item::Other(_) => None,
    };
    list.unwrap_or_default().iter()
}

/// The output of a task with the items of its children inside the results that answer their calls, at any depth.
/// What the model was given is left out: the user sees blocks.
pub fn nested_output(state: &State, task: &TaskId) -> Option<Vec<Item>> {
    let children = children(state);
    let task = state.tasks.iter().find(|known| known.task_id == *task)?;
    Some(nest(task, &children, &mut BTreeSet::new()))
}

fn nest<'a>(
    task: &'a TaskState,
    children: &BTreeMap<&TaskId, Vec<&'a TaskState>>,
    above: &mut BTreeSet<&'a TaskId>,
) -> Vec<Item> {
    // A state that was read from elsewhere may hold a cycle.
    if !above.insert(&task.task_id) {
        return Vec::new();
    }
    let mut output = task.output.clone();
    for item in &mut output {
        let Item::ToolResult(result) = item else {
            without_content(item);
            continue;
        };
        result.content = None;
        let answers = |child: &&&TaskState| {
            let named = child.parent_tool_call_id.as_ref().map(|call| call.as_str());
            named.unwrap_or(child.task_id.as_str()) == result.call_id
        };
        for child in children.get(&task.task_id).into_iter().flatten().filter(answers) {
            let items = nest(child, children, above);
            let block = |item: Item| {
                Block::Item(ItemBlock { item: Box::new(item), task_id: Some(child.task_id.to_string()) })
            };
            result.block_list.get_or_insert_default().extend(items.into_iter().map(block));
        }
    }
    above.remove(&task.task_id);
    output
}

fn without_content(item: &mut Item) {
    match item {
        Item::Message(message) => message.content = None,
        Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::ToolResult(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => {}
    }
}
