//! What was emitted of each output item, and the frames for what is new.

use riverrun_event::{ActionId, HostedItem, HostedWord, Item};
use riverrun_fold::TaskState;

use super::Out;
use super::item::{self, Form, write_entry};
use super::part::{ItemPosition, Part, emit_blocks, emit_reasoning};
use super::picture::emit_pictures;
use crate::turn::{Progress, View, is_assistant};

/// One output item; its place in the list is its `output_index`.
#[derive(Debug, Clone)]
pub(super) struct OutputEntry {
    pub source: Source,
    pub is_added: bool,
    pub is_done: bool,
    /// The parts of a message or a summary, in the order of their `content_index` or `summary_index`.
    parts: Vec<Part>,
    /// The reasoning itself.
    raw: Vec<Part>,
    arguments: Progress,
    are_arguments_done: bool,
    /// Blocks of a hosted item that were emitted.
    words: usize,
}

/// Where an output item comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A position in the root task's output.
    Message(usize),
    Reasoning(usize),
    /// A call that the client runs.
    Function(usize),
    /// A call that the server runs, with its result.
    ServerCall(usize),
    /// What a service of this dialect did itself.
    Hosted(usize),
    /// A block of a message.
    Picture {
        item: usize,
        block: usize,
    },
    /// An action that waits, and its resolution.
    ApprovalRequest(ActionId),
    ApprovalResponse(ActionId),
}

impl OutputEntry {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            is_added: false,
            is_done: false,
            parts: Vec::new(),
            raw: Vec::new(),
            arguments: Progress::default(),
            are_arguments_done: false,
            words: 0,
        }
    }

    /// The same item at the same position, with nothing emitted yet.
    pub(super) fn unsent(&self) -> Self {
        Self::new(self.source.clone())
    }

    fn position(&self) -> Option<usize> {
        match self.source {
            Source::Message(at) | Source::Reasoning(at) | Source::Hosted(at) => Some(at),
            Source::Function(at) | Source::ServerCall(at) => Some(at),
            Source::Picture { .. } | Source::ApprovalRequest(_) | Source::ApprovalResponse(_) => None,
        }
    }
}

/// Emits the items that changed, or all of them.
pub(super) fn emit_items(entries: &mut Vec<OutputEntry>, view: &View<'_>, out: &mut Out<'_>) {
    let Some(task) = view.root else { return };
    match view.touched {
        Some(touched) => touched.iter().for_each(|at| emit_touched(entries, view, task, *at, out)),
        None => {
            // Items with a position keep it; the others follow in the order of the output.
            for (index, entry) in entries.iter_mut().enumerate() {
                match entry.position() {
                    Some(_) => emit(entry, index, view, task, out),
                    None => super::action::emit(entry, index, view, out),
                }
            }
            (0..task.output.len()).for_each(|at| emit_touched(entries, view, task, at, out));
        }
    }
}

fn emit_touched(
    entries: &mut Vec<OutputEntry>,
    view: &View<'_>,
    task: &TaskState,
    at: usize,
    out: &mut Out<'_>,
) {
    // A result is emitted with its call.
    let at = match &task.output[at] {
        Item::ToolResult(result) => match call_of(task, &result.call_id) {
            Some(call) => call,
            None => return,
        },
        _ => at,
    };
    let index = match entries.iter().rposition(|entry| entry.position() == Some(at)) {
        Some(index) => index,
        None => {
            let Some(source) = source(view, task, at) else { return };
            entries.push(OutputEntry::new(source));
            entries.len() - 1
        }
    };
    emit(&mut entries[index], index, view, task, out);
    emit_pictures(entries, view, task, at, out);
}

fn call_of(task: &TaskState, call_id: &str) -> Option<usize> {
    task.output.iter().rposition(|item| matches!(item, Item::ToolCall(call) if call.call_id == call_id))
}

/// None for what this protocol has no item for, or whose name is not known yet.
fn source(view: &View<'_>, task: &TaskState, at: usize) -> Option<Source> {
    match &task.output[at] {
        Item::Message(message) if is_assistant(message.role.as_deref()) => Some(Source::Message(at)),
        Item::Reasoning(_) => Some(Source::Reasoning(at)),
        Item::ToolCall(call) if call.name.is_empty() && task.open.contains(at) => None,
        Item::ToolCall(call) if view.facts.is_client_run(&call.name) => Some(Source::Function(at)),
        Item::ToolCall(_) => Some(Source::ServerCall(at)),
        Item::Hosted(hosted) if hosted.dialect == "responses" && hosted.word(0).is_some() => {
            Some(Source::Hosted(at))
        }
        Item::Message(_)
        | Item::ToolResult(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => None,
    }
}

/// The turn is over: open items are closed as they are.
pub(super) fn close_all(entries: &mut Vec<OutputEntry>, view: &View<'_>, out: &mut Out<'_>) {
    let Some(task) = view.root else { return };
    for (index, entry) in entries.iter_mut().enumerate() {
        emit(entry, index, view, task, out);
    }
    (0..task.output.len()).for_each(|at| emit_pictures(entries, view, task, at, out));
}

/// Emits the news of one item.
fn emit(entry: &mut OutputEntry, index: usize, view: &View<'_>, task: &TaskState, out: &mut Out<'_>) {
    let Some(position) = entry.position().filter(|_| !entry.is_done) else { return };
    if !std::mem::replace(&mut entry.is_added, true) {
        out.push("response.output_item.added", |members| {
            members.number("output_index", index as u64);
            members.with("item", |out| item::write(out, view, entry, Form::Begun));
        });
        if matches!(entry.source, Source::ServerCall(_)) {
            progress(out, "response.mcp_call.in_progress", index, task, position);
        }
    }
    let is_final = item::is_final(view, entry);
    match (&entry.source, &task.output[position]) {
        (Source::Message(_), Item::Message(message)) => {
            let at_position = ItemPosition { index, position, id: &message.id };
            emit_blocks(&mut entry.parts, view, task, message, &at_position, is_final, out);
        }
        (Source::Reasoning(_), Item::Reasoning(reasoning)) => {
            let at_position = ItemPosition { index, position, id: &reasoning.id };
            emit_reasoning(&mut entry.parts, &mut entry.raw, task, reasoning, &at_position, is_final, out);
        }
        (Source::Function(_) | Source::ServerCall(_), Item::ToolCall(_)) => {
            emit_arguments(entry, index, task, position, is_final, out);
        }
        (Source::Hosted(_), Item::Hosted(hosted)) => emit_service_frames(entry, index, hosted, out),
        _ => {}
    }
    if is_final {
        entry.is_done = true;
        if matches!(entry.source, Source::ServerCall(_)) {
            let name = match item::call_status(view, position) {
                "completed" => "response.mcp_call.completed",
                _ => "response.mcp_call.failed",
            };
            progress(out, name, index, task, position);
        }
        out.push("response.output_item.done", |members| {
            members.number("output_index", index as u64);
            members.with("item", |out| write_entry(out, view, entry));
        });
    }
}

/// Frames of the service about a tool of its own.
fn emit_service_frames(entry: &mut OutputEntry, index: usize, hosted: &HostedItem, out: &mut Out<'_>) {
    while let Some((word, text, next)) = hosted.word(entry.words) {
        entry.words = next;
        if word == HostedWord::Frame {
            out.push_service_frame(&text, index);
        }
    }
}

fn progress(out: &mut Out<'_>, name: &'static str, index: usize, task: &TaskState, position: usize) {
    let id = task.output[position].id().unwrap_or_default().into_owned();
    out.push(name, |members| {
        members.text("item_id", &id);
        members.number("output_index", index as u64);
    });
}

fn emit_arguments(
    entry: &mut OutputEntry,
    index: usize,
    task: &TaskState,
    position: usize,
    is_final: bool,
    out: &mut Out<'_>,
) {
    let Item::ToolCall(call) = &task.output[position] else { return };
    if entry.are_arguments_done {
        return;
    }
    let is_function = matches!(entry.source, Source::Function(_));
    let (delta, done) = match is_function {
        true => ("response.function_call_arguments.delta", "response.function_call_arguments.done"),
        false => ("response.mcp_call_arguments.delta", "response.mcp_call_arguments.done"),
    };
    let is_done = is_final || !task.open.contains(position);
    let is_replaced = is_done && !entry.arguments.is_beginning_of(&call.arguments);
    let news = if is_replaced { "" } else { entry.arguments.news(&call.arguments) };
    if !news.is_empty() {
        out.push(delta, |members| {
            members.text("item_id", &call.id);
            members.number("output_index", index as u64);
            members.text("delta", news);
        });
    }
    if is_done {
        entry.are_arguments_done = true;
        out.push(done, |members| {
            members.text("item_id", &call.id);
            members.number("output_index", index as u64);
            members.text("arguments", &call.arguments);
            if is_function {
                members.text("name", &call.name);
            }
        });
    }
}
