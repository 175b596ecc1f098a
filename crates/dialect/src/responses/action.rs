//! Approvals: an action that waits is an `mcp_approval_request`, what was decided is an `mcp_approval_response`.
//!
//! The response stays open while somebody decides, by whatever way the decision comes.

use riverrun_event::{ActionId, Item, RawJson};
use riverrun_fold::{Action, ActionStatus};
use serde::Deserialize;

use super::Out;
use super::item::{SERVER_LABEL, write_told};
use super::told::{Source, Told};
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

/// Tells the actions of the turn that were not told.
pub(super) fn tell_actions(told: &mut Vec<Told>, view: &View<'_>, out: &mut Out<'_>) {
    let of_turn = |action: &&Action| action.turn_id.as_ref() == Some(&view.turn.turn_id);
    for action in view.state.actions.iter().filter(of_turn).filter(|action| is_approval(action)) {
        let id = &action.action_id;
        tell_once(told, Source::ApprovalRequest(id.clone()), view, out);
        if action.status == ActionStatus::Resolved {
            tell_once(told, Source::ApprovalResponse(id.clone()), view, out);
        }
    }
}

/// An item that comes whole, unless it was told.
pub(super) fn tell_once(told: &mut Vec<Told>, source: Source, view: &View<'_>, out: &mut Out<'_>) {
    if told.iter().any(|told| told.source == source) {
        return;
    }
    told.push(Told::new(source));
    let index = told.len() - 1;
    tell(&mut told[index], index, view, out);
}

/// Such an item comes whole.
pub(super) fn tell(told: &mut Told, index: usize, view: &View<'_>, out: &mut Out<'_>) {
    if std::mem::replace(&mut told.is_done, true) {
        return;
    }
    told.is_added = true;
    for name in ["response.output_item.added", "response.output_item.done"] {
        out.push(name, |members| {
            members.number("output_index", index as u64);
            members.with("item", |out| write_told(out, view, told));
        });
    }
}

/// Questions and calls that the client runs have no such item.
fn is_approval(action: &Action) -> bool {
    let request: Request = action.request.to().unwrap_or_default();
    action.tool_call_id.is_some() && !matches!(request.action_type.as_str(), "question" | "client_tool")
}

fn find<'a>(view: &View<'a>, id: &ActionId) -> Option<&'a Action> {
    view.state.actions.iter().find(|action| action.action_id == *id)
}

/// The action that guards a call.
pub(super) fn approval_of(view: &View<'_>, call_id: &str) -> Option<String> {
    let guards = |action: &&Action| action.tool_call_id.as_ref().is_some_and(|call| call.as_str() == call_id);
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
    let told = request.arguments.map(|arguments| match arguments.as_text() {
        Some(text) => text.into_owned(),
        None => arguments.get().to_owned(),
    });
    let arguments = told.or_else(|| call.map(|call| call.arguments.clone()));
    members.text("arguments", arguments.as_deref().unwrap_or("{}"));
    members.text("server_label", SERVER_LABEL);
    members.close();
}

/// The call that the action guards, in whatever task it is.
fn call_of<'a>(view: &View<'a>, action: &Action) -> Option<&'a riverrun_event::ToolCallItem> {
    let call_id = action.tool_call_id.as_ref()?;
    let items = view.state.tasks.iter().rev().flat_map(|task| &task.output);
    let mut calls = items.filter_map(|item| match item {
        Item::ToolCall(call) if call.call_id == call_id.as_str() => Some(call),
        _ => None,
    });
    calls.next()
}

pub(super) fn write_response(out: &mut String, view: &View<'_>, id: &ActionId) {
    let told = find(view, id).and_then(|action| action.resolution.as_ref());
    let resolution: Resolution = told.and_then(|told| told.to().ok()).unwrap_or_default();
    let is_approved = matches!(resolution.decision.as_str(), "approve" | "edit");
    let mut members = Members::open(out);
    members.text("type", "mcp_approval_response");
    members.text("id", &format!("{id}_response"));
    members.text("approval_request_id", id.as_str());
    members.flag("approve", is_approved);
    members.maybe_text("reason", resolution.message.as_deref());
    members.close();
}
