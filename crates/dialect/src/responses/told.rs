//! What was told of each output item, and the frames that tell the rest.

use riverrun_event::{ActionId, Block, Item, MessageItem, ReasoningItem, TextBlock};
use riverrun_fold::Task;

use super::Out;
use super::item::{self, Form, write_told};
use crate::members::Members;
use crate::turn::{Citation, Progress, View, citations, is_assistant};

/// One output item; its place in the list is its `output_index`.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub source: Source,
    pub is_added: bool,
    pub is_done: bool,
    /// The parts of a message or a summary, in the order of their `content_index` or `summary_index`.
    pub parts: Vec<Part>,
    /// The reasoning itself.
    raw: Vec<Part>,
    arguments: Progress,
    are_arguments_done: bool,
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
    /// An action that waits, and its resolution.
    ApprovalRequest(ActionId),
    ApprovalResponse(ActionId),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    /// The block's position in the item.
    pub block: usize,
    progress: Progress,
    /// Annotations of the block that were looked at, and those of them that were told.
    seen: usize,
    annotations: u64,
    is_added: bool,
    is_done: bool,
    is_stale: bool,
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
        }
    }

    /// The same item at the same place, of which nothing was told yet.
    pub(super) fn untold(&self) -> Self {
        Self::new(self.source.clone())
    }

    fn position(&self) -> Option<usize> {
        match self.source {
            Source::Message(at) | Source::Reasoning(at) | Source::Function(at) | Source::ServerCall(at) => {
                Some(at)
            }
            Source::ApprovalRequest(_) | Source::ApprovalResponse(_) => None,
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
            for index in 0..told.len() {
                match told[index].position() {
                    Some(_) => tell(&mut told[index], index, view, task, out),
                    None => super::action::tell(&mut told[index], index, view, out),
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
        Item::Message(_) | Item::ToolResult(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => None,
    }
}

/// The turn is over: what still waits for something is closed as it is.
pub(super) fn close_all(told: &mut [Told], view: &View<'_>, out: &mut Out<'_>) {
    let Some(task) = view.root else { return };
    for (index, told) in told.iter_mut().enumerate() {
        tell(told, index, view, task, out);
    }
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
            tell_summary(&mut told.parts, task, reasoning, &place, is_final, out);
            tell_raw(&mut told.raw, reasoning, &place, is_final, out);
        }
        (Source::Function(_) | Source::ServerCall(_), Item::ToolCall(_)) => {
            tell_arguments(told, index, task, position, is_final, out);
        }
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

fn progress(out: &mut Out<'_>, name: &'static str, index: usize, task: &Task, position: usize) {
    let id = task.output[position].id().unwrap_or_default().into_owned();
    out.push(name, |members| {
        members.text("item_id", &id);
        members.number("output_index", index as u64);
    });
}

/// Where an item stands: its `output_index`, its position in the task's output, its id.
struct Place<'a> {
    index: usize,
    position: usize,
    id: &'a str,
}

impl Place<'_> {
    fn write(&self, members: &mut Members<'_>, part_name: &str, part: usize) {
        members.text("item_id", self.id);
        members.number("output_index", self.index as u64);
        members.number(part_name, part as u64);
    }

    fn is_done(&self, task: &Task, part: usize) -> bool {
        task.open.get(self.position).is_none_or(|open| open.done.contains(&part))
    }
}

fn tell_blocks(
    parts: &mut Vec<Part>,
    view: &View<'_>,
    task: &Task,
    message: &MessageItem,
    place: &Place<'_>,
    is_final: bool,
    out: &mut Out<'_>,
) {
    for (block, content) in message.block_list.iter().flatten().enumerate() {
        let (Block::Text(_), index) = (content, parts.iter().position(|part| part.block == block)) else {
            continue;
        };
        let index = index.unwrap_or_else(|| {
            parts.push(Part { block, ..Part::default() });
            parts.len() - 1
        });
        let Block::Text(text) = content else { continue };
        let part = &mut parts[index];
        part.is_stale |= view.replaced.contains(&(place.position, block));
        let is_done = is_final || place.is_done(task, block);
        tell_text(part, index, view, text, place, is_done, out);
    }
}

fn tell_text(
    part: &mut Part,
    index: usize,
    view: &View<'_>,
    block: &TextBlock,
    place: &Place<'_>,
    is_done: bool,
    out: &mut Out<'_>,
) {
    if part.is_done {
        return;
    }
    if !std::mem::replace(&mut part.is_added, true) {
        out.push("response.content_part.added", |members| {
            place.write(members, "content_index", index);
            members.with("part", |out| item::write_text_part(out, view, None));
        });
    }
    // A text that was replaced is told by its `done` alone.
    let is_replaced = part.is_stale || (is_done && !part.progress.is_beginning_of(&block.text));
    let news = if is_replaced { "" } else { part.progress.news(&block.text) };
    if !news.is_empty() {
        out.push("response.output_text.delta", |members| {
            place.write(members, "content_index", index);
            members.text("delta", news);
            members.raw("logprobs", "[]");
        });
    }
    tell_annotations(part, index, view, block, place, out);
    if is_done {
        part.is_done = true;
        out.push("response.output_text.done", |members| {
            place.write(members, "content_index", index);
            members.text("text", &block.text);
            members.raw("logprobs", "[]");
        });
        out.push("response.content_part.done", |members| {
            place.write(members, "content_index", index);
            members.with("part", |out| item::write_text_part(out, view, Some(block)));
        });
    }
}

fn tell_annotations(
    part: &mut Part,
    index: usize,
    view: &View<'_>,
    block: &TextBlock,
    place: &Place<'_>,
    out: &mut Out<'_>,
) {
    if block.annotations.as_ref().map_or(0, Vec::len) <= part.seen {
        return;
    }
    let all: Vec<Citation<'_>> = citations(view, block);
    for citation in &all[part.seen..] {
        let Some(annotation) = item::annotation(citation) else { continue };
        out.push("response.output_text.annotation.added", |members| {
            place.write(members, "content_index", index);
            members.number("annotation_index", part.annotations);
            members.raw("annotation", &annotation);
        });
        part.annotations += 1;
    }
    part.seen = all.len();
}

fn tell_summary(
    parts: &mut Vec<Part>,
    task: &Task,
    reasoning: &ReasoningItem,
    place: &Place<'_>,
    is_final: bool,
    out: &mut Out<'_>,
) {
    for (index, content) in reasoning.summary.iter().flatten().enumerate() {
        if parts.len() <= index {
            parts.push(Part { block: index, ..Part::default() });
        }
        let (part, text) = (&mut parts[index], content.text().unwrap_or_default());
        if part.is_done {
            continue;
        }
        if !std::mem::replace(&mut part.is_added, true) {
            out.push("response.reasoning_summary_part.added", |members| {
                place.write(members, "summary_index", index);
                members.with("part", |out| item::write_plain(out, "summary_text", ""));
            });
        }
        let is_done = is_final || place.is_done(task, index);
        let is_replaced = is_done && !part.progress.is_beginning_of(text);
        let news = if is_replaced { "" } else { part.progress.news(text) };
        if !news.is_empty() {
            out.push("response.reasoning_summary_text.delta", |members| {
                place.write(members, "summary_index", index);
                members.text("delta", news);
            });
        }
        if is_done {
            part.is_done = true;
            out.push("response.reasoning_summary_text.done", |members| {
                place.write(members, "summary_index", index);
                members.text("text", text);
            });
            out.push("response.reasoning_summary_part.done", |members| {
                place.write(members, "summary_index", index);
                members.with("part", |out| item::write_plain(out, "summary_text", text));
            });
        }
    }
}

/// The reasoning itself, where the provider shows it. Sealed parts are members of the item.
fn tell_raw(
    parts: &mut Vec<Part>,
    reasoning: &ReasoningItem,
    place: &Place<'_>,
    is_final: bool,
    out: &mut Out<'_>,
) {
    let texts = reasoning.content.iter().flatten().filter_map(|part| part.text());
    for (index, text) in texts.enumerate() {
        if parts.len() <= index {
            parts.push(Part { block: index, ..Part::default() });
        }
        let part = &mut parts[index];
        if part.is_done {
            continue;
        }
        if !std::mem::replace(&mut part.is_added, true) {
            out.push("response.content_part.added", |members| {
                place.write(members, "content_index", index);
                members.with("part", |out| item::write_plain(out, "reasoning_text", ""));
            });
        }
        let is_replaced = is_final && !part.progress.is_beginning_of(text);
        let news = if is_replaced { "" } else { part.progress.news(text) };
        if !news.is_empty() {
            out.push("response.reasoning_text.delta", |members| {
                place.write(members, "content_index", index);
                members.text("delta", news);
            });
        }
        if is_final {
            part.is_done = true;
            out.push("response.reasoning_text.done", |members| {
                place.write(members, "content_index", index);
                members.text("text", text);
            });
            out.push("response.content_part.done", |members| {
                place.write(members, "content_index", index);
                members.with("part", |out| item::write_plain(out, "reasoning_text", text));
            });
        }
    }
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
