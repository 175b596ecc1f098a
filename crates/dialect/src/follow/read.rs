//! Questions about the places of a turn that its dialects share.

use riverrun_event::{ActionRequired, Annotation, Block, Item, TurnId};
use riverrun_fold::{ActionState, ActionStatus, ItemAt, PartAt, State, TaskState, TurnState};

use super::happening::{List, Spot};
pub(crate) use super::phase::{pending, tasks_of};

pub(crate) fn item(state: &State, at: ItemAt) -> &Item {
    &state.tasks[at.task].output[at.item]
}

/// What a user sees of an item: its blocks, or its content where it has none.
pub(crate) fn shown_blocks(item: &Item) -> &[Block] {
    let (blocks, content) = match item {
        Item::Message(item) => (&item.block_list, &item.content),
        Item::ToolResult(item) => (&item.block_list, &item.content),
        Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => {
            return &[];
        }
    };
    let list = blocks.as_deref().filter(|blocks| !blocks.is_empty()).or(content.as_deref());
    list.unwrap_or_default()
}

/// The item as a user sees it: nothing that is for the model alone, and no marks around what can be cited.
pub(crate) fn shown_item(item: &Item) -> Item {
    let blocks = || shown_blocks(item).iter().filter(|block| !is_reference_mark(block)).cloned().collect();
    let mut shown = item.clone();
    match &mut shown {
        Item::Message(message) => (message.block_list, message.content) = (Some(blocks()), None),
        Item::ToolResult(result) => (result.block_list, result.content) = (Some(blocks()), None),
        Item::Reasoning(reasoning) => reasoning.content = None,
        Item::ToolCall(_) | Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {}
    }
    shown
}

/// True for a part that wraps what the model may cite.
fn is_reference_mark(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.tags.iter().flatten().any(|tag| tag == "added_by_reference_manager"),
        Block::Html(_)
        | Block::Image(_)
        | Block::File(_)
        | Block::Audio(_)
        | Block::Table(_)
        | Block::Json(_)
        | Block::Item(_)
        | Block::Other(_) => false,
    }
}

pub(crate) fn block(state: &State, at: PartAt) -> Option<&Block> {
    shown_blocks(item(state, at.item)).get(at.part)
}

pub(crate) fn text(state: &State, spot: Spot) -> &str {
    let item = item(state, spot.item);
    let found = match (spot.list, item) {
        (List::Blocks, item) => shown_blocks(item).get(spot.part),
        (List::Summary, Item::Reasoning(item)) => item.summary.as_ref().and_then(|list| list.get(spot.part)),
        (List::Raw, Item::Reasoning(item)) => item.content.as_ref().and_then(|list| list.get(spot.part)),
        (List::Summary | List::Raw, _) => None,
    };
    found.and_then(Block::text).unwrap_or_default()
}

pub(crate) fn arguments(state: &State, at: ItemAt) -> &str {
    match item(state, at) {
        Item::ToolCall(call) => &call.arguments,
        Item::Message(_)
        | Item::Reasoning(_)
        | Item::ToolResult(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => "",
    }
}

/// The id of an item, made unique where the fold had to make one up: those count from 0 in every task.
pub(crate) fn item_id(state: &State, at: ItemAt) -> String {
    let task = &state.tasks[at.task];
    let id = task.output[at.item].id().unwrap_or_default().into_owned();
    let made_up = ["msg_", "rs_", "fc_", "fco_"];
    let number = made_up.iter().find_map(|prefix| id.strip_prefix(prefix));
    let is_made_up = number.is_some_and(|number| *number == *at.item.to_string());
    if id.is_empty() || is_made_up { format!("{}.{}", task.task_id, at.item) } else { id }
}

/// The id of one text of an item: the item's own for the first.
pub(crate) fn spot_id(state: &State, spot: Spot) -> String {
    let id = item_id(state, spot.item);
    let suffix = if spot.list == List::Raw { "raw" } else { "" };
    if spot.part == 0 && suffix.is_empty() { id } else { format!("{id}.{suffix}{}", spot.part) }
}

/// The text of a result as the model got it, or as the user sees it.
pub(crate) fn result_text(item: &Item) -> String {
    result_texts(item).join("\n")
}

/// The same, text by text.
pub(crate) fn result_texts(item: &Item) -> Vec<&str> {
    let Item::ToolResult(result) = item else { return Vec::new() };
    let shown = texts_of(result.block_list.as_deref());
    if shown.iter().all(|text| text.is_empty()) { texts_of(result.content.as_deref()) } else { shown }
}

fn texts_of(blocks: Option<&[Block]>) -> Vec<&str> {
    let blocks = blocks.into_iter().flatten().filter(|block| !is_reference_mark(block));
    blocks.filter_map(shown_text).collect()
}

/// A block as text: what it says, or its data as JSON.
fn shown_text(block: &Block) -> Option<&str> {
    let data = match block {
        Block::Json(block) | Block::Table(block) => block.data.as_ref().map(|data| data.get()),
        _ => None,
    };
    block.text().or(data)
}

/// True for a result that says that the tool did not do what it was asked.
pub(crate) fn is_failed(state: &State, item: &Item) -> bool {
    let Item::ToolResult(result) = item else { return false };
    if let Some(is_error) = result.is_error {
        return is_error;
    }
    let call = state.tool_calls.iter().find(|call| call.tool_call_id.as_str() == result.call_id);
    matches!(result.status.as_deref(), Some("failed" | "error"))
        || call.is_some_and(|call| call.error.is_some())
}

/// The turn with this id, if the state holds it.
pub(crate) fn turn<'a>(state: &'a State, id: &TurnId) -> Option<&'a TurnState> {
    state.turns.iter().find(|turn| turn.turn_id == *id)
}

/// The root task of a turn.
pub(crate) fn root<'a>(state: &'a State, id: &'a TurnId) -> Option<(usize, &'a TaskState)> {
    let named = turn(state, id).and_then(|turn| turn.task_id.as_ref());
    let is_named = |task: &TaskState| named.is_some_and(|named| *named == task.task_id);
    let found = tasks_of(state, id).find(|(_, task)| is_named(task));
    found.or_else(|| tasks_of(state, id).find(|(_, task)| task.parent_task_id.is_none()))
}

/// True for a task that another task of the state started.
pub(crate) fn is_child(state: &State, task: usize) -> bool {
    state.tasks[task].parent_task_id.is_some()
}

/// The call of the parent that a child answers.
pub(crate) fn parent_call(task: &TaskState) -> &str {
    task.parent_tool_call_id.as_ref().map_or(task.task_id.as_str(), |call| call.as_str())
}

/// True if an item begins a new step of its task: it is no result, and the first or behind one. A hand-off belongs to
/// the step before it.
pub(crate) fn begins_step(state: &State, at: ItemAt) -> bool {
    let output = &state.tasks[at.task].output;
    if matches!(output[at.item], Item::ToolResult(_) | Item::Handoff(_)) {
        return false;
    }
    let before = output[..at.item].iter().rfind(|item| !matches!(item, Item::Handoff(_)));
    before.is_none_or(|item| matches!(item, Item::ToolResult(_)))
}

/// The steps of the root task that a reader has: those up to the last emitted item.
pub(crate) fn emitted_steps(state: &State, turn: &TurnId) -> usize {
    let Some((task, of)) = root(state, turn) else { return 0 };
    let is_emitted = |item: &usize| match &of.output[*item] {
        Item::Message(_) | Item::Reasoning(_) => true,
        Item::ToolCall(call) => !call.name.is_empty() || !of.open.contains(*item),
        Item::ToolResult(_) | Item::Hosted(_) => false,
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => !of.open.contains(*item),
    };
    let count = (0..of.output.len()).rev().find(is_emitted).map_or(0, |last| last + 1);
    (0..count).filter(|item| begins_step(state, ItemAt { task, item: *item })).count()
}

/// Steps of a task up to and with this item.
pub(crate) fn steps_to(state: &State, at: ItemAt) -> usize {
    (0..=at.item).filter(|item| begins_step(state, ItemAt { task: at.task, item: *item })).count()
}

/// The block that an annotation cites: the one with its number, in the task's results.
pub(crate) fn cited<'a>(state: &'a State, task: usize, annotation: &Annotation) -> Option<(u64, &'a Block)> {
    let Annotation::ReferenceToBlock(reference) = annotation else { return None };
    let results = state.tasks[task].output.iter().filter(|item| matches!(item, Item::ToolResult(_)));
    let mut blocks = results.flat_map(shown_blocks);
    let found = blocks.find(|block| block.ref_id() == Some(reference.reference_id));
    found.map(|block| (reference.reference_id, block))
}

/// Decisions of this turn that were made: how often it went on after being asked.
pub(crate) fn answers(state: &State, turn: &TurnId) -> usize {
    let is_made = |action: &&ActionState| {
        action.status == ActionStatus::Resolved && action.turn_id.as_ref() == Some(turn)
    };
    state.actions.iter().filter(is_made).count()
}

/// True for a call that the client runs itself: it is asked for a result, not for leave.
pub(crate) fn is_client_run(action: &ActionState) -> bool {
    let request: ActionRequired = action.request.to().unwrap_or_default();
    request.action_type == "client_tool"
}

/// The client's own id of the message that the turn answers, if any.
pub(crate) fn message_id(turn: &TurnState) -> Option<String> {
    let request: serde_json::Value = turn.request.as_ref()?.to().ok()?;
    request["messageId"].as_str().map(str::to_owned)
}

/// The member `state` of the session's metadata: what agents share with their readers.
pub(crate) fn shared_state(state: &State) -> Option<serde_json::Value> {
    let metadata: serde_json::Value = state.session.metadata.as_ref()?.to().ok()?;
    metadata.get("state").cloned()
}

/// True for input that came while the turn ran, as the conversation shows it.
pub(crate) fn is_input(state: &State, at: ItemAt) -> bool {
    matches!(item(state, at), Item::Message(message) if message.role.as_deref() == Some("user"))
}
