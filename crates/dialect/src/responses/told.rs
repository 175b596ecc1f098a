//! What was told of each output item, and the frames that tell the rest.

use riverrun_event::{ActionId, HostedItem, HostedWord, Item};
use riverrun_fold::Task;

use super::Out;
use super::item::{self, Form, write_told};
use super::part::{Part, Place, tell_blocks, tell_reasoning};
use super::picture::tell_pictures;
use crate::turn::{Progress, View, is_assistant};

/// One output item; its place in the list is its `output_index`.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub source: Source,
    pub is_added: bool,
    pub is_done: bool,
    /// The parts of a message or a summary, in the order of their `content_index` or `summary_index`.
    parts: Vec<Part>,
    /// The reasoning itself.
    raw: Vec<Part>,
    arguments: Progress,
    are_arguments_done: bool,
    /// Blocks of a hosted item that were told.
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

impl Told {
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

    /// The same item at the same place, of which nothing was told yet.
    pub(super) fn untold(&self) -> Self {
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

/// Tells the items that changed, or all of them.
pub(super) fn tell_items(told: &mut Vec<Told>, view: &View<'_>, out: &mut Out<'_>) {
    let Some(task) = view.root else { return };
    match view.touched {
        Some(touched) => touched.iter().for_each(|at| tell_touched(told, view, task, *at, out)),
        None => {
            // What has a place keeps it; the rest follows in the order of the output.
            for (index, told) in told.iter_mut().enumerate() {
                match told.position() {
                    Some(_) => tell(told, index, view, task, out),
                    None => super::action::tell(told, index, view, out),
                }
            }
            (0..task.output.len()).for_each(|at| tell_touched(told, view, task, at, out));
        }
    }
}

fn tell_touched(told: &mut Vec<Told>, view: &View<'_>, task: &Task, at: usize, out: &mut Out<'_>) {
    // A result is told with its call.
    let at = match &task.output[at] {
        Item::ToolResult(result) => match call_of(task, &result.call_id) {
            Some(call) => call,
            None => return,
        },
        _ => at,
    };
    let index = match told.iter().rposition(|told| told.position() == Some(at)) {
        Some(index) => index,
        None => {
            let Some(source) = source(view, task, at) else { return };
            told.push(Told::new(source));
            told.len() - 1
        }
    };
    tell(&mut told[index], index, view, task, out);
    tell_pictures(told, view, task, at, out);
}

fn call_of(task: &Task, call_id: &str) -> Option<usize> {
    task.output.iter().rposition(|item| matches!(item, Item::ToolCall(call) if call.call_id == call_id))
}

/// None for what this protocol has no item for, or whose name is not known yet.
fn source(view: &View<'_>, task: &Task, at: usize) -> Option<Source> {
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

/// The turn is over: what still waits for something is closed as it is.
pub(super) fn close_all(told: &mut Vec<Told>, view: &View<'_>, out: &mut Out<'_>) {
    let Some(task) = view.root else { return };
    for (index, told) in told.iter_mut().enumerate() {
        tell(told, index, view, task, out);
    }
    (0..task.output.len()).for_each(|at| tell_pictures(told, view, task, at, out));
}

/// Tells what is new of one item.
fn tell(told: &mut Told, index: usize, view: &View<'_>, task: &Task, out: &mut Out<'_>) {
    let Some(position) = told.position().filter(|_| !told.is_done) else { return };
    if !std::mem::replace(&mut told.is_added, true) {
        out.push("response.output_item.added", |members| {
            members.number("output_index", index as u64);
            members.with("item", |out| item::write(out, view, told, Form::Begun));
        });
        if matches!(told.source, Source::ServerCall(_)) {
            progress(out, "response.mcp_call.in_progress", index, task, position);
        }
    }
    let is_final = item::is_final(view, told);
    match (&told.source, &task.output[position]) {
        (Source::Message(_), Item::Message(message)) => {
            let place = Place { index, position, id: &message.id };
            tell_blocks(&mut told.parts, view, task, message, &place, is_final, out);
        }
        (Source::Reasoning(_), Item::Reasoning(reasoning)) => {
            let place = Place { index, position, id: &reasoning.id };
            tell_reasoning(&mut told.parts, &mut told.raw, task, reasoning, &place, is_final, out);
        }
        (Source::Function(_) | Source::ServerCall(_), Item::ToolCall(_)) => {
            tell_arguments(told, index, task, position, is_final, out);
        }
        (Source::Hosted(_), Item::Hosted(hosted)) => tell_words(told, index, hosted, out),
        _ => {}
    }
    if is_final {
        told.is_done = true;
        if matches!(told.source, Source::ServerCall(_)) {
            let name = match item::call_status(view, position) {
                "completed" => "response.mcp_call.completed",
                _ => "response.mcp_call.failed",
            };
            progress(out, name, index, task, position);
        }
        out.push("response.output_item.done", |members| {
            members.number("output_index", index as u64);
            members.with("item", |out| write_told(out, view, told));
        });
    }
}

/// What the service said of a tool of its own while it worked.
fn tell_words(told: &mut Told, index: usize, hosted: &HostedItem, out: &mut Out<'_>) {
    while let Some((word, text, next)) = hosted.word(told.words) {
        told.words = next;
        if word == HostedWord::Frame {
            out.push_told(&text, index);
        }
    }
}

fn progress(out: &mut Out<'_>, name: &'static str, index: usize, task: &Task, position: usize) {
    let id = task.output[position].id().unwrap_or_default().into_owned();
    out.push(name, |members| {
        members.text("item_id", &id);
        members.number("output_index", index as u64);
    });
}

fn tell_arguments(
    told: &mut Told,
    index: usize,
    task: &Task,
    position: usize,
    is_final: bool,
    out: &mut Out<'_>,
) {
    let Item::ToolCall(call) = &task.output[position] else { return };
    if told.are_arguments_done {
        return;
    }
    let is_function = matches!(told.source, Source::Function(_));
    let (delta, done) = match is_function {
        true => ("response.function_call_arguments.delta", "response.function_call_arguments.done"),
        false => ("response.mcp_call_arguments.delta", "response.mcp_call_arguments.done"),
    };
    let is_done = is_final || !task.open.contains(position);
    let is_replaced = is_done && !told.arguments.is_beginning_of(&call.arguments);
    let news = if is_replaced { "" } else { told.arguments.news(&call.arguments) };
    if !news.is_empty() {
        out.push(delta, |members| {
            members.text("item_id", &call.id);
            members.number("output_index", index as u64);
            members.text("delta", news);
        });
    }
    if is_done {
        told.are_arguments_done = true;
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
