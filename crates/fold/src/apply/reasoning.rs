//! Reasoning: summary parts, and the raw text where a provider shows it.

use riverrun_event::{Block, Item, Part, ReasoningDelta, ReasoningSummary};

use super::Step;
use super::contents::ItemKind;
use super::text::MAX_HOLE;
use crate::change::{Change, ItemAt, PartAt};
use crate::problem::ProblemCode;

impl Step<'_> {
    pub(super) fn reasoning_delta(&mut self, delta: &ReasoningDelta) {
        let Some(at) = self.delta_item(ItemKind::Reasoning, delta.item_id.as_deref(), None) else { return };
        match delta.summary_index {
            Some(index) => {
                let Some(part) = self.summary_part(at, index as usize) else { return };
                let Some(text) = self.summary_mut(part).and_then(Block::text_mut) else {
                    return self.problem(ProblemCode::WrongItemType, format!("summary {index} is not text"));
                };
                let from = text.len();
                text.push_str(&delta.delta);
                self.change(Change::SummaryText { at: part, from });
            }
            None => self.raw_reasoning(at, &delta.delta),
        }
    }

    fn raw_reasoning(&mut self, at: ItemAt, delta: &str) {
        let Item::Reasoning(reasoning) = &mut self.state.tasks[at.task].output[at.item] else { return };
        let content = reasoning.content.get_or_insert_default();
        if content.is_empty() {
            content.push(Part::plain(""));
        }
        let part = content.len() - 1;
        let Some(text) = content[part].text_mut() else {
            return self.problem(ProblemCode::WrongItemType, format!("reasoning part {part} is not text"));
        };
        let from = text.len();
        text.push_str(delta);
        self.change(Change::ReasoningText { at: PartAt { item: at, part }, from });
    }

    pub(super) fn reasoning_summary(&mut self, summary: &ReasoningSummary) {
        let Some(at) = self.delta_item(ItemKind::Reasoning, summary.item_id.as_deref(), None) else { return };
        let Some(part) = self.summary_part(at, summary.summary_index as usize) else { return };
        if let Some(text) = self.summary_mut(part).and_then(Block::text_mut) {
            text.clone_from(&summary.text);
        }
        self.mark_done(at, part.part, true);
        self.change(Change::SummaryDone(part));
    }

    fn summary_mut(&mut self, at: PartAt) -> Option<&mut Part> {
        match &mut self.state.tasks[at.item.task].output[at.item.item] {
            Item::Reasoning(reasoning) => reasoning.summary.as_mut()?.get_mut(at.part),
            Item::Message(_)
            | Item::ToolCall(_)
            | Item::ToolResult(_)
            | Item::Handoff(_)
            | Item::Error(_)
            | Item::Hosted(_)
            | Item::Other(_) => None,
        }
    }

    fn summary_part(&mut self, at: ItemAt, index: usize) -> Option<PartAt> {
        let Item::Reasoning(reasoning) = &mut self.state.tasks[at.task].output[at.item] else { return None };
        let summary = reasoning.summary.get_or_insert_default();
        let present = summary.len();
        if index < present {
            return Some(PartAt { item: at, part: index });
        }
        if index - present > MAX_HOLE {
            self.problem(ProblemCode::BlockIndex, format!("summary {index} of {present}"));
            return None;
        }
        summary.resize_with(index + 1, || Part::plain(""));
        if index > present {
            self.problem(ProblemCode::BlockIndex, format!("summary {index} of {present}"));
        }
        for part in present..=index {
            self.change(Change::SummaryAdded(PartAt { item: at, part }));
        }
        Some(PartAt { item: at, part: index })
    }
}
