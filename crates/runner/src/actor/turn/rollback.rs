//! A turn that is tried again after it left the state: what it was is told again, so that readers need nothing else.

use riverrun_event::{
    EventScope, EventType, HistoryRollback, Item, ItemCompleted, ItemPatch, ItemRetracted, ItemStarted,
    MessagePatch, Patch, ReasoningPatch, TaskInfo, ToolCallPatch, ToolResultPatch, TurnSubmitted,
};
use riverrun_fold::{SealedTurn, TaskState, TurnState};

use crate::actor::turn::queue::preview;
use crate::event_batch::EventBatch;

/// A turn that has ended, and its root task.
pub(crate) struct Ended {
    pub turn: TurnState,
    pub root: Option<TaskState>,
    pub is_sealed: bool,
}

impl Ended {
    pub fn sealed(sealed: &SealedTurn) -> Self {
        let turn = sealed.turn.clone();
        let root = sealed.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref()).cloned();
        Self { turn, root, is_sealed: true }
    }
}

/// What was asked, as it was asked at first.
pub(crate) fn write_again(turn: &TurnState, scope: &EventScope, batch: &mut EventBatch) {
    let submitted = TurnSubmitted {
        input: turn.input.clone(),
        agent: turn.agent.clone(),
        status: Some("accepted".to_owned()),
        input_ref: turn.input_ref.clone(),
        history: (!turn.history.is_empty()).then(|| turn.history.clone()),
        settings: turn.settings.clone(),
        request: turn.request.clone(),
        ..TurnSubmitted::default()
    };
    batch.push(EventType::TurnSubmitted, scope, &submitted);
    let objective = turn.input.as_ref().map(preview);
    let info = TaskInfo { objective, agent: turn.agent.clone(), ..TaskInfo::default() };
    batch.push(EventType::TaskCreated, scope, &info);
}

/// What came of the earlier runs, each item in its place.
pub(crate) fn write_output(root: &TaskState, scope: &EventScope, batch: &mut EventBatch) {
    for (position, item) in root.output.iter().enumerate() {
        let output_index = u32::try_from(position).unwrap_or(u32::MAX);
        batch.push(EventType::ItemStarted, scope, &ItemStarted { item: item.clone(), output_index });
        write_completed(item, output_index, scope, batch);
    }
    for position in &root.retracted {
        retract(root, *position, scope, batch);
    }
}

pub(crate) fn write_completed(item: &Item, output_index: u32, scope: &EventScope, batch: &mut EventBatch) {
    if let Some(item) = ended_as(item) {
        batch.push(EventType::ItemCompleted, scope, &ItemCompleted { item, output_index });
    }
}

/// Goes back in the turn: to its input if it begins anew, else to the last result or input that it read.
pub(crate) fn write_rollback(
    root: &TaskState,
    begins_anew: bool,
    scope: &EventScope,
    batch: &mut EventBatch,
) {
    let rollback = HistoryRollback {
        target: scope.turn_id.as_ref().map(ToString::to_string),
        surviving_baseline: Some(if begins_anew { "input" } else { "last_result" }.to_owned()),
        affected_tools: begins_anew.then(|| standing_calls(root)).filter(|calls| !calls.is_empty()),
        reason: Some("retry".to_owned()),
        ..HistoryRollback::default()
    };
    let before = batch.events.len();
    batch.push(EventType::HistoryRollbackStarted, scope, &rollback);
    if begins_anew {
        retract_output(root, scope, batch);
    } else {
        retract_cut(root, scope, batch);
    }
    if batch.events.len() == before + 1 {
        // Nothing was taken back.
        batch.events.truncate(before);
    } else {
        batch.push(EventType::HistoryRollbackCompleted, scope, &rollback);
    }
}

/// The calls whose results are taken back. Their effects are not.
fn standing_calls(root: &TaskState) -> Vec<String> {
    let standing = root.output.iter().enumerate().filter(|(position, _)| !root.retracted.contains(position));
    let calls = standing.filter_map(|(_, item)| match item {
        Item::ToolCall(call) => Some(call.call_id.clone()),
        _ => None,
    });
    calls.collect()
}

/// Takes back what stands: the turn begins anew. What its user said stays.
fn retract_output(root: &TaskState, scope: &EventScope, batch: &mut EventBatch) {
    let is_retractable =
        |position: &usize| !root.retracted.contains(position) && !is_input(&root.output[*position]);
    for position in (0..root.output.len()).filter(is_retractable) {
        retract(root, position, scope, batch);
    }
}

/// Takes back what the model said since the last result or input: it is asked for that anew, and no service lets it
/// go on in the middle of its own words. Calls that were made stay with their results, and so does what was said to it
/// meanwhile and is read now.
fn retract_cut(root: &TaskState, scope: &EventScope, batch: &mut EventBatch) {
    let standing = (0..root.output.len()).rev().filter(|position| !root.retracted.contains(position));
    let mut read = standing.skip_while(|position| is_input(&root.output[*position]));
    let last = read.find(|position| is_settled(&root.output[*position]));
    let later = last.map_or(0, |position| position + 1)..root.output.len();
    for position in later
        .filter(|position| !root.retracted.contains(position) && is_model_output(&root.output[*position]))
    {
        retract(root, position, scope, batch);
    }
}

/// True for what another run goes on from.
fn is_settled(item: &Item) -> bool {
    match item {
        Item::ToolResult(_) | Item::Handoff(_) => true,
        Item::ToolCall(call) => {
            !matches!(call.status.as_deref(), Some("incomplete" | "in_progress" | "failed"))
        }
        Item::Message(_) => is_input(item),
        Item::Reasoning(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => false,
    }
}

/// The agent that has the conversation, if it was handed over.
pub(crate) fn handed_to(root: &TaskState) -> Option<&str> {
    let standing = root.output.iter().enumerate().filter(|(position, _)| !root.retracted.contains(position));
    standing.rev().find_map(|(_, item)| match item {
        Item::Handoff(handoff) => Some(handoff.to.as_str()),
        _ => None,
    })
}

/// True for what was said to the task.
fn is_input(item: &Item) -> bool {
    matches!(item, Item::Message(message) if message.role.as_deref() == Some("user"))
}

/// True for what a model makes.
fn is_model_output(item: &Item) -> bool {
    let may_be = matches!(item, Item::Message(_) | Item::Reasoning(_) | Item::ToolCall(_) | Item::Hosted(_));
    may_be && !is_input(item)
}

fn retract(root: &TaskState, position: usize, scope: &EventScope, batch: &mut EventBatch) {
    let Some(item_id) = root.output.get(position).and_then(Item::id).map(|id| id.into_owned()) else {
        return;
    };
    let (output_index, reason) = (u32::try_from(position).unwrap_or(u32::MAX), "retry".to_owned());
    batch.push(EventType::ItemRetracted, scope, &ItemRetracted { item_id, output_index, reason });
}

/// The end of an item that has its contents, with the status that it had.
fn ended_as(item: &Item) -> Option<ItemPatch> {
    let status = |status: &Option<String>| status.clone().map_or(Patch::Keep, Patch::Set);
    Some(match item {
        Item::Message(item) => {
            let (id, status) = (item.id.clone(), status(&item.status));
            ItemPatch::Message(MessagePatch { id, status, ..MessagePatch::default() })
        }
        Item::Reasoning(item) => {
            let (id, status) = (item.id.clone(), status(&item.status));
            ItemPatch::Reasoning(ReasoningPatch { id, status, ..ReasoningPatch::default() })
        }
        Item::ToolCall(item) => {
            let (id, status) = (item.id.clone(), status(&item.status));
            ItemPatch::ToolCall(ToolCallPatch { id, status, ..ToolCallPatch::default() })
        }
        Item::ToolResult(item) => {
            let (id, status) = (item.id.clone(), status(&item.status));
            ItemPatch::ToolResult(ToolResultPatch { id, status, ..ToolResultPatch::default() })
        }
        Item::Handoff(item) => ItemPatch::Handoff(riverrun_event::HandoffPatch {
            id: item.id.clone(),
            ..riverrun_event::HandoffPatch::default()
        }),
        Item::Error(item) => ItemPatch::Error(riverrun_event::ErrorPatch {
            id: item.id.clone(),
            ..riverrun_event::ErrorPatch::default()
        }),
        Item::Hosted(item) => {
            let (id, status) = (item.id.clone(), status(&item.status));
            ItemPatch::Hosted(riverrun_event::HostedPatch {
                id,
                status,
                ..riverrun_event::HostedPatch::default()
            })
        }
        Item::Other(_) => return None,
    })
}
