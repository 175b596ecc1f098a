//! The JSON of output items.

use riverrun_event::{
    Block, HostedItem, Item, MessageItem, Part, RawJson, TextBlock, ToolCallItem, ToolResultItem,
};
use riverrun_fold::TaskState;

use super::output_entry::{OutputEntry, Source};
use super::{action, picture};
use crate::members::{Members, write_list};
use crate::turn::{Citation, View, citations, encrypted};

/// How much of an item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it begins: nothing in it.
    Begun,
    /// The current form, or the final one.
    Whole,
    /// Taken back: the same identity, and nothing in it.
    Withdrawn,
}

/// The label under which the tools of this server are known.
pub(super) const SERVER_LABEL: &str = "riverrun";

/// True if nothing of the item will change any more.
pub(super) fn is_final(view: &View<'_>, entry: &OutputEntry) -> bool {
    let Some(task) = view.root else { return true };
    match &entry.source {
        _ if view.ending.is_some() => true,
        Source::Message(at) | Source::Reasoning(at) | Source::Function(at) | Source::Hosted(at) => {
            !task.open.contains(*at)
        }
        Source::ServerCall(at) => {
            task.retracted.contains(at) || result_of(task, *at).is_some_and(|(_, is_open)| !is_open)
        }
        Source::Picture { .. } | Source::ApprovalRequest(_) | Source::ApprovalResponse(_) => true,
    }
}

/// An item in the output of a response.
pub(super) fn write_entry(out: &mut String, view: &View<'_>, entry: &OutputEntry) {
    let is_withdrawn = match &entry.source {
        Source::Message(at)
        | Source::Reasoning(at)
        | Source::Function(at)
        | Source::ServerCall(at)
        | Source::Hosted(at)
        | Source::Picture { item: at, .. } => view.root.is_some_and(|task| task.retracted.contains(at)),
        Source::ApprovalRequest(_) | Source::ApprovalResponse(_) => false,
    };
    write(out, view, entry, if is_withdrawn { Form::Withdrawn } else { Form::Whole });
}

pub(super) fn write(out: &mut String, view: &View<'_>, entry: &OutputEntry, form: Form) {
    let item = |at: &usize| view.root.and_then(|task| task.output.get(*at));
    match &entry.source {
        Source::Message(at) => {
            if let Some(Item::Message(message)) = item(at) {
                write_message(out, view, message, form);
            }
        }
        Source::Reasoning(at) => {
            if let Some(item) = item(at) {
                write_reasoning(out, item, form);
            }
        }
        Source::Function(at) => {
            if let Some(Item::ToolCall(call)) = item(at) {
                write_function(out, call, form);
            }
        }
        Source::ServerCall(at) => {
            if let Some(Item::ToolCall(call)) = item(at) {
                write_server_call(out, view, *at, call, form);
            }
        }
        Source::Hosted(at) => {
            if let Some(Item::Hosted(hosted)) = item(at) {
                write_hosted(out, hosted, form);
            }
        }
        Source::Picture { item, block } => picture::write(out, view, *item, *block, form),
        Source::ApprovalRequest(id) => action::write_request(out, view, id),
        Source::ApprovalResponse(id) => action::write_response(out, view, id),
    }
}

/// The id that clients know an item by; None for what is not one item of ours.
pub(super) fn id_of(view: &View<'_>, entry: &OutputEntry) -> Option<String> {
    let at = match &entry.source {
        Source::Message(at) | Source::Reasoning(at) | Source::Function(at) | Source::ServerCall(at) => at,
        Source::Hosted(_)
        | Source::Picture { .. }
        | Source::ApprovalRequest(_)
        | Source::ApprovalResponse(_) => return None,
    };
    view.root?.output.get(*at)?.id().map(|id| id.into_owned())
}

/// As the service sent it. A cut or retracted item keeps its initial form and is marked.
fn write_hosted(out: &mut String, hosted: &HostedItem, form: Form) {
    let begun = || hosted.word(0).and_then(|(_, begun, _)| RawJson::parse(begun).ok());
    let is_cut = form == Form::Withdrawn || hosted.status.as_deref() == Some("incomplete");
    let object = match form {
        Form::Begun => begun(),
        Form::Whole if !is_cut => hosted.object(),
        Form::Whole | Form::Withdrawn => begun(),
    };
    let Some(object) = object else { return out.push_str("null") };
    match object.to::<std::collections::BTreeMap<String, RawJson>>() {
        Ok(known) if is_cut && form != Form::Begun => {
            let mut members = Members::open(out);
            let others = known.iter().filter(|(name, _)| *name != "status");
            others.for_each(|(name, value)| members.raw_with_name(name, value.get()));
            members.text("status", "incomplete");
            members.close();
        }
        Ok(_) | Err(_) => out.push_str(object.get()),
    }
}

fn status(status: Option<&str>, form: Form) -> &'static str {
    match (form, status) {
        (Form::Begun, _) => "in_progress",
        (Form::Withdrawn, _) => "incomplete",
        (Form::Whole, Some("completed")) => "completed",
        (Form::Whole, Some("in_progress") | None) => "in_progress",
        (Form::Whole, Some(_)) => "incomplete",
    }
}

fn write_message(out: &mut String, view: &View<'_>, message: &MessageItem, form: Form) {
    let mut members = Members::open(out);
    members.text("type", "message");
    members.text("id", &message.id);
    members.text("role", "assistant");
    members.text("status", status(message.status.as_deref(), form));
    let blocks = message.block_list.iter().flatten().filter_map(|block| match block {
        Block::Text(text) if form == Form::Whole => Some(text),
        _ => None,
    });
    members.with("content", |out| {
        write_list(out, blocks, |out, block| write_text_part(out, view, block, form));
    });
    members.close();
}

/// The current text part, or an empty one at its start.
pub(super) fn write_text_part(out: &mut String, view: &View<'_>, block: &TextBlock, form: Form) {
    let is_whole = form == Form::Whole;
    let text = if is_whole { block.text.as_str() } else { "" };
    let mut members = Members::open(out);
    if block.is_refusal() {
        members.text("type", "refusal");
        members.text("refusal", text);
        return members.close();
    }
    members.text("type", "output_text");
    members.text("text", text);
    let cited = if is_whole { citations(view, block) } else { Vec::new() };
    let annotations: Vec<String> = cited.iter().filter_map(annotation).collect();
    members.raw("annotations", &format!("[{}]", annotations.join(",")));
    let odds = block.logprobs.as_deref().filter(|_| is_whole).unwrap_or_default();
    members.with("logprobs", |out| write_odds(out, odds));
    members.close();
}

pub(super) fn write_odds(out: &mut String, odds: &[RawJson]) {
    write_list(out, odds, |out, one| out.push_str(one.get()));
}

/// Our references are `url_citation`s, the only kind with a stretch of text; a provider's own are kept if they are
/// this protocol's.
pub(super) fn annotation(citation: &Citation<'_>) -> Option<String> {
    match citation {
        Citation::Reference { number, start, end, source } => {
            let mut out = String::new();
            let mut members = Members::open(&mut out);
            members.text("type", "url_citation");
            members.text("url", &source.address(*number));
            members.text("title", &source.name(*number));
            members.number("start_index", *start);
            members.number("end_index", *end);
            members.number("reference_id", *number);
            members.close();
            Some(out)
        }
        Citation::Other { tag: "url_citation" | "file_citation" | "container_file_citation", raw } => {
            Some((*raw).to_owned())
        }
        Citation::Other { .. } => None,
    }
}

pub(super) fn write_plain(out: &mut String, kind: &str, text: &str) {
    let mut members = Members::open(out);
    members.text("type", kind);
    members.text("text", text);
    members.close();
}

fn write_reasoning(out: &mut String, item: &Item, form: Form) {
    let Item::Reasoning(reasoning) = item else { return };
    let shown = |parts: &'_ Option<Vec<Part>>| -> Vec<String> {
        let parts = parts.iter().flatten().filter(|_| form == Form::Whole);
        parts.filter_map(|part| part.text().map(str::to_owned)).collect()
    };
    let mut members = Members::open(out);
    members.text("type", "reasoning");
    members.text("id", &reasoning.id);
    members.with("summary", |out| {
        write_list(out, shown(&reasoning.summary), |out, text| write_plain(out, "summary_text", &text));
    });
    let content = shown(&reasoning.content);
    if !content.is_empty() {
        members.with("content", |out| {
            write_list(out, content, |out, text| write_plain(out, "reasoning_text", &text));
        });
    }
    if form == Form::Whole {
        members.maybe_text("encrypted_content", encrypted(item).as_deref());
    }
    // Only what did not end well has a status.
    let word = status(reasoning.status.as_deref(), form);
    members.maybe_text("status", Some(word).filter(|word| *word == "incomplete"));
    members.close();
}

fn write_function(out: &mut String, call: &ToolCallItem, form: Form) {
    let mut members = Members::open(out);
    members.text("type", "function_call");
    members.text("id", &call.id);
    members.text("call_id", &call.call_id);
    members.text("name", &call.name);
    members.text("arguments", if form == Form::Begun { "" } else { &call.arguments });
    members.text("status", status(call.status.as_deref(), form));
    members.close();
}

/// A call that the server runs is `mcp_call`: clients show it and do not try to run it.
fn write_server_call(out: &mut String, view: &View<'_>, at: usize, call: &ToolCallItem, form: Form) {
    let result = view.root.and_then(|task| result_of(task, at)).filter(|_| form == Form::Whole);
    let mut members = Members::open(out);
    members.text("type", "mcp_call");
    members.text("id", &call.id);
    members.text("name", &call.name);
    members.text("arguments", if form == Form::Begun { "" } else { &call.arguments });
    members.text("server_label", SERVER_LABEL);
    members.maybe_text("approval_request_id", action::approval_of(view, &call.call_id).as_deref());
    let text = result.map(|(result, _)| result_text(result));
    match text.as_deref().filter(|_| form == Form::Whole) {
        Some(text) if result.is_some_and(|(result, _)| result.is_error == Some(true)) => {
            members.raw("output", "null");
            members.with("error", |out| write_tool_error(out, text));
        }
        Some(text) => {
            members.text("output", text);
            members.raw("error", "null");
        }
        None => {
            members.raw("output", "null");
            members.raw("error", "null");
        }
    }
    let word = match form {
        Form::Begun => "in_progress",
        Form::Withdrawn => "incomplete",
        Form::Whole => call_status(view, at),
    };
    members.text("status", word);
    members.close();
}

fn write_tool_error(out: &mut String, text: &str) {
    let mut members = Members::open(out);
    members.text("type", "mcp_tool_execution_error");
    members.with("content", |out| {
        out.push('[');
        write_plain(out, "text", text);
        out.push(']');
    });
    members.close();
}

/// The status of a call that the server ran.
pub(super) fn call_status(view: &View<'_>, at: usize) -> &'static str {
    let Some(task) = view.root else { return "incomplete" };
    if task.retracted.contains(&at) {
        return "incomplete";
    }
    match result_of(task, at) {
        Some((result, false)) if result.is_error == Some(true) => "failed",
        Some((result, false)) if result.status.as_deref() == Some("completed") => "completed",
        Some((_, false)) => "incomplete",
        Some((_, true)) | None if view.ending.is_none() => "in_progress",
        Some((_, true)) | None => "incomplete",
    }
}

/// The result that answers the call at this position, and whether it is open.
fn result_of(task: &TaskState, call: usize) -> Option<(&ToolResultItem, bool)> {
    let Some(Item::ToolCall(call)) = task.output.get(call) else { return None };
    let found = task.output.iter().enumerate().rev().find_map(|(at, item)| match item {
        Item::ToolResult(result) if result.call_id == call.call_id => Some((result, at)),
        _ => None,
    });
    found.map(|(result, at)| (result, task.open.contains(at)))
}

/// What the user is shown, else what the model was given, without the marks around what can be cited.
fn result_text(result: &ToolResultItem) -> String {
    let text = |parts: &Option<Vec<Part>>| {
        let plain = parts.iter().flatten().filter(|part| !is_mark(part));
        plain.filter_map(|part| part.text()).collect::<Vec<_>>().join("\n")
    };
    let shown = text(&result.block_list);
    if shown.is_empty() { text(&result.content) } else { shown }
}

fn is_mark(part: &Part) -> bool {
    let Part::Text(text) = part else { return false };
    text.tags.iter().flatten().any(|tag| tag == "added_by_reference_manager")
}
