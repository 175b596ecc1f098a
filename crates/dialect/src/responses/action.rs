//! Approvals: an action that waits is an `mcp_approval_request`, what was decided is an `mcp_approval_response`.
//!
//! The response stays open while somebody decides, by whatever way the decision comes.

use riverrun_event::{ActionId, Item, RawJson};
use riverrun_fold::{ActionState, ActionStatus};
use serde::Deserialize;

use super::Out;
use super::item::{SERVER_LABEL, write_entry};
use super::output_entry::{OutputEntry, Source};
use crate::members::Members;
use crate::turn::View;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    action_type: String,
    tool_name: Option<String>,
    arguments: Option<RawJson>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Resolution {
    decision: String,
    message: Option<String>,
}

/// Emits the actions of the turn that were not emitted yet.
pub(super) fn emit_actions(entries: &mut Vec<OutputEntry>, view: &View<'_>, out: &mut Out<'_>) {
    let of_turn = |action: &&ActionState| action.turn_id.as_ref() == Some(&view.turn.turn_id);
    for action in view.state.actions.iter().filter(of_turn).filter(|action| is_approval(action)) {
        let id = &action.action_id;
        emit_once(entries, Source::ApprovalRequest(id.clone()), view, out);
        if action.status == ActionStatus::Resolved {
            emit_once(entries, Source::ApprovalResponse(id.clone()), view, out);
        }
    }
}

/// An item that comes whole, unless it was emitted.
pub(super) fn emit_once(entries: &mut Vec<OutputEntry>, source: Source, view: &View<'_>, out: &mut Out<'_>) {
    if entries.iter().any(|entry| entry.source == source) {
        return;
    }
    entries.push(OutputEntry::new(source));
    let index = entries.len() - 1;
    emit(&mut entries[index], index, view, out);
}

/// Such an item comes whole.
pub(super) fn emit(entry: &mut OutputEntry, index: usize, view: &View<'_>, out: &mut Out<'_>) {
    if std::mem::replace(&mut entry.is_done, true) {
        return;
    }
    entry.is_added = true;
    for name in ["response.output_item.added", "response.output_item.done"] {
        out.push(name, |members| {
            members.number("output_index", index as u64);
            members.with("item", |out| write_entry(out, view, entry));
        });
    }
}

/// Questions and calls that the client runs have no such item.
fn is_approval(action: &ActionState) -> bool {
    let request: Request = action.request.to().unwrap_or_default();
    action.tool_call_id.is_some() && !matches!(request.action_type.as_str(), "question" | "client_tool")
}

fn find<'a>(view: &View<'a>, id: &ActionId) -> Option<&'a ActionState> {
    view.state.actions.iter().find(|action| action.action_id == *id)
}

/// The action that guards a call.
pub(super) fn approval_of(view: &View<'_>, call_id: &str) -> Option<String> {
    let guards =
        |action: &&ActionState| action.tool_call_id.as_ref().is_some_and(|call| call.as_str() == call_id);
    let found = view.state.actions.iter().filter(guards).find(|action| is_approval(action));
    found.map(|action| action.action_id.to_string())
}

pub(super) fn write_request(out: &mut String, view: &View<'_>, id: &ActionId) {
    let action = find(view, id);
    let request: Request = action.and_then(|action| action.request.to().ok()).unwrap_or_default();
    let call = action.and_then(|action| call_of(view, action));
    let mut members = Members::open(out);
    members.text("type", "mcp_approval_request");
    members.text("id", id.as_str());
    let name = request.tool_name.or_else(|| call.map(|call| call.name.clone()));
    members.text("name", name.as_deref().unwrap_or_default());
    let proposed = request.arguments.map(|arguments| match arguments.as_text() {
        Some(text) => text.into_owned(),
        None => arguments.get().to_owned(),
    });
    let arguments = proposed.or_else(|| call.map(|call| call.arguments.clone()));
    members.text("arguments", arguments.as_deref().unwrap_or("{}"));
    members.text("server_label", SERVER_LABEL);
    members.close();
}

/// The call that the action guards, in whatever task it is.
fn call_of<'a>(view: &View<'a>, action: &ActionState) -> Option<&'a riverrun_event::ToolCallItem> {
    let call_id = action.tool_call_id.as_ref()?;
    let items = view.state.tasks.iter().rev().flat_map(|task| &task.output);
    let mut calls = items.filter_map(|item| match item {
        Item::ToolCall(call) if call.call_id == call_id.as_str() => Some(call),
        _ => None,
    });
    calls.next()
}

pub(super) fn write_response(out: &mut String, view: &View<'_>, id: &ActionId) {
    let recorded = find(view, id).and_then(|action| action.resolution.as_ref());
    let resolution: Resolution = recorded.and_then(|recorded| recorded.to().ok()).unwrap_or_default();
    let is_approved = matches!(resolution.decision.as_str(), "approve" | "edit");
    let mut members = Members::open(out);
    members.text("type", "mcp_approval_response");
    members.text("id", &format!("{id}_response"));
    members.text("approval_request_id", id.as_str());
    members.flag("approve", is_approved);
    members.maybe_text("reason", resolution.message.as_deref());
    members.close();
}
