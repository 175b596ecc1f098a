//! The parts of messages and reasoning: added, grown, done, in the order that clients insist on.

use riverrun_event::{Block, MessageItem, ReasoningItem, TextBlock};
use riverrun_fold::TaskState;

use super::Out;
use super::item::{self, Form};
use crate::members::Members;
use crate::turn::{Citation, Progress, View, citations};

/// What was emitted of a part.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    /// The block's position in the item.
    block: usize,
    progress: Progress,
    /// Annotations of the block that were looked at, and those of them that were told.
    seen: usize,
    annotations: u64,
    /// Token log probabilities that were emitted.
    odds: usize,
    is_added: bool,
    is_done: bool,
    is_stale: bool,
}

/// An item's position: its `output_index`, its position in the task's output, its id.
pub(super) struct ItemPosition<'a> {
    pub index: usize,
    pub position: usize,
    pub id: &'a str,
}

impl ItemPosition<'_> {
    fn write(&self, members: &mut Members<'_>, part_name: &str, part: usize) {
        members.text("item_id", self.id);
        members.number("output_index", self.index as u64);
        members.number(part_name, part as u64);
    }

    fn is_done(&self, task: &TaskState, part: usize) -> bool {
        task.open.get(self.position).is_none_or(|open| open.done.contains(&part))
    }
}

pub(super) fn emit_blocks(
    parts: &mut Vec<Part>,
    view: &View<'_>,
    task: &TaskState,
    message: &MessageItem,
    position: &ItemPosition<'_>,
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
        part.is_stale |= view.replaced.contains(&(position.position, block));
        let is_done = is_final || position.is_done(task, block);
        emit_text(part, index, view, text, position, is_done, out);
    }
}

fn emit_text(
    part: &mut Part,
    index: usize,
    view: &View<'_>,
    block: &TextBlock,
    position: &ItemPosition<'_>,
    is_done: bool,
    out: &mut Out<'_>,
) {
    if part.is_done {
        return;
    }
    if !std::mem::replace(&mut part.is_added, true) {
        out.push("response.content_part.added", |members| {
            position.write(members, "content_index", index);
            members.with("part", |out| item::write_text_part(out, view, block, Form::Begun));
        });
    }
    // A text that was replaced has only its `done` frame.
    let is_replaced = part.is_stale || (is_done && !part.progress.is_beginning_of(&block.text));
    let news = if is_replaced { "" } else { part.progress.news(&block.text) };
    let all_odds = block.logprobs.as_deref().unwrap_or_default();
    let odds = all_odds.get(part.odds..).filter(|_| !is_replaced).unwrap_or_default();
    part.odds += odds.len();
    let is_refusal = block.is_refusal();
    if !news.is_empty() || !odds.is_empty() {
        let name = if is_refusal { "response.refusal.delta" } else { "response.output_text.delta" };
        out.push(name, |members| {
            position.write(members, "content_index", index);
            members.text("delta", news);
            if !is_refusal {
                members.with("logprobs", |out| item::write_odds(out, odds));
            }
        });
    }
    emit_annotations(part, index, view, block, position, out);
    if is_done {
        part.is_done = true;
        let name = if is_refusal { "response.refusal.done" } else { "response.output_text.done" };
        out.push(name, |members| {
            position.write(members, "content_index", index);
            if is_refusal {
                return members.text("refusal", &block.text);
            }
            members.text("text", &block.text);
            members.with("logprobs", |out| item::write_odds(out, all_odds));
        });
        out.push("response.content_part.done", |members| {
            position.write(members, "content_index", index);
            members.with("part", |out| item::write_text_part(out, view, block, Form::Whole));
        });
    }
}

fn emit_annotations(
    part: &mut Part,
    index: usize,
    view: &View<'_>,
    block: &TextBlock,
    position: &ItemPosition<'_>,
    out: &mut Out<'_>,
) {
    if block.annotations.as_ref().map_or(0, Vec::len) <= part.seen {
        return;
    }
    let all: Vec<Citation<'_>> = citations(view, block);
    for citation in &all[part.seen..] {
        let Some(annotation) = item::annotation(citation) else { continue };
        out.push("response.output_text.annotation.added", |members| {
            position.write(members, "content_index", index);
            members.number("annotation_index", part.annotations);
            members.raw("annotation", &annotation);
        });
        part.annotations += 1;
    }
    part.seen = all.len();
}

/// The words for one kind of plain part.
struct Words {
    index: &'static str,
    kind: &'static str,
    added: &'static str,
    delta: &'static str,
    text_done: &'static str,
    done: &'static str,
}

const SUMMARY: Words = Words {
    index: "summary_index",
    kind: "summary_text",
    added: "response.reasoning_summary_part.added",
    delta: "response.reasoning_summary_text.delta",
    text_done: "response.reasoning_summary_text.done",
    done: "response.reasoning_summary_part.done",
};

const RAW: Words = Words {
    index: "content_index",
    kind: "reasoning_text",
    added: "response.content_part.added",
    delta: "response.reasoning_text.delta",
    text_done: "response.reasoning_text.done",
    done: "response.content_part.done",
};

/// The summary, and the reasoning itself where the provider shows it. Sealed parts are members of the item.
pub(super) fn emit_reasoning(
    summary: &mut Vec<Part>,
    raw: &mut Vec<Part>,
    task: &TaskState,
    reasoning: &ReasoningItem,
    position: &ItemPosition<'_>,
    is_final: bool,
    out: &mut Out<'_>,
) {
    let parts = reasoning.summary.iter().flatten().map(|part| part.text().unwrap_or_default());
    for (index, text) in parts.enumerate() {
        let is_done = is_final || position.is_done(task, index);
        emit_plain(part_at(summary, index), index, text, position, &SUMMARY, is_done, out);
    }
    let texts = reasoning.content.iter().flatten().filter_map(|part| part.text());
    for (index, text) in texts.enumerate() {
        emit_plain(part_at(raw, index), index, text, position, &RAW, is_final, out);
    }
}

fn part_at(parts: &mut Vec<Part>, index: usize) -> &mut Part {
    if parts.len() <= index {
        parts.push(Part { block: index, ..Part::default() });
    }
    &mut parts[index]
}

fn emit_plain(
    part: &mut Part,
    index: usize,
    text: &str,
    position: &ItemPosition<'_>,
    words: &Words,
    is_done: bool,
    out: &mut Out<'_>,
) {
    if part.is_done {
        return;
    }
    if !std::mem::replace(&mut part.is_added, true) {
        out.push(words.added, |members| {
            position.write(members, words.index, index);
            members.with("part", |out| item::write_plain(out, words.kind, ""));
        });
    }
    let is_replaced = is_done && !part.progress.is_beginning_of(text);
    let news = if is_replaced { "" } else { part.progress.news(text) };
    if !news.is_empty() {
        out.push(words.delta, |members| {
            position.write(members, words.index, index);
            members.text("delta", news);
        });
    }
    if is_done {
        part.is_done = true;
        out.push(words.text_done, |members| {
            position.write(members, words.index, index);
            members.text("text", text);
        });
        out.push(words.done, |members| {
            position.write(members, words.index, index);
            members.with("part", |out| item::write_plain(out, words.kind, text));
        });
    }
}
