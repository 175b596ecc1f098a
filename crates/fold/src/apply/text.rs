//! Deltas: the hot path. Each costs what its own text costs, whatever came before.

use riverrun_event::{
    Annotation, Block, Item, MessageItem, ModelDelta, ReferenceToBlock, ToolArgs, ToolCallItem,
};

use super::Step;
use super::contents::ItemKind;
use crate::change::{Change, ItemAt, PartAt};
use crate::citation::Marker;
use crate::problem::ProblemCode;

/// A delta may leave this many blocks or parts empty before its own.
pub(super) const MAX_HOLE: usize = 16;

impl Step<'_> {
    pub(super) fn model_delta(&mut self, delta: &ModelDelta) {
        let Some(at) = self.delta_item(ItemKind::Message, delta.item_id.as_deref(), None) else { return };
        let Some(part) = self.text_block(at, delta.block_index.unwrap_or(0) as usize) else { return };
        if self.block_mut(part).is_some_and(|block| block.base64().is_some()) {
            return self.base64_delta(part, &delta.delta);
        }
        self.trust_annotations(part);
        let Some(text) = self.block_mut(part).and_then(Block::text_mut) else {
            let detail = format!("block {} is not text", part.part);
            return self.problem(ProblemCode::WrongItemType, detail);
        };
        let from = text.len();
        text.push_str(&delta.delta);
        if let (Some(odds), Some(Block::Text(block))) = (&delta.logprobs, self.block_mut(part)) {
            block.logprobs.get_or_insert_default().extend(odds.iter().cloned());
        }
        if let (Some(cited), Some(Block::Text(block))) = (&delta.annotations, self.block_mut(part)) {
            block.annotations.get_or_insert_default().extend(cited.iter().cloned());
        }
        self.change(Change::BlockText { at: part, from });
        self.cite(part);
    }

    /// A piece of a file or a sound. The pieces are one text of base 64.
    fn base64_delta(&mut self, part: PartAt, piece: &str) {
        let Some(block) = self.block_mut(part) else { return };
        let from = block.base64().map_or(0, str::len);
        if !block.push_base64(piece) {
            let detail = format!("block {} and this piece are not one text of base 64", part.part);
            return self.problem(ProblemCode::Malformed, detail);
        }
        self.change(Change::BlockText { at: part, from });
    }

    pub(super) fn tool_args(&mut self, args: &ToolArgs) {
        let Some(at) = self.delta_item(ItemKind::ToolCall, args.item_id.as_deref(), args.call_id.as_deref())
        else {
            return;
        };
        let Item::ToolCall(call) = &mut self.state.tasks[at.task].output[at.item] else { return };
        let from = call.arguments.len();
        call.arguments.push_str(&args.delta);
        self.change(Change::Arguments { at, from });
    }

    /// The item that a delta goes to: by its id, by its call, else the newest open one of the kind; made if none is.
    pub(super) fn delta_item(
        &mut self,
        kind: ItemKind,
        item_id: Option<&str>,
        call: Option<&str>,
    ) -> Option<ItemAt> {
        let task = self.live_task()?;
        let found = match (item_id, call) {
            (Some(id), _) => self.item_by_id(task, id),
            (None, Some(call)) => self.open_call(task, call),
            (None, None) => self.newest_open(task, kind),
        };
        let Some(at) = found else { return self.implicit_item(task, kind, item_id, call) };
        if ItemKind::of(&self.state.tasks[task].output[at.item]) != Some(kind) {
            self.problem(
                ProblemCode::WrongItemType,
                format!("{} for another type of item", self.event.kind.as_str()),
            );
            return None;
        }
        if !self.state.tasks[task].open.contains(at.item) {
            self.problem(ProblemCode::AfterTerminal, "the item was complete");
            return None;
        }
        Some(at)
    }

    fn newest_open(&self, task: usize, kind: ItemKind) -> Option<ItemAt> {
        let task_state = &self.state.tasks[task];
        let newest = task_state
            .open
            .iter()
            .rev()
            .find(|open| ItemKind::of(&task_state.output[open.position]) == Some(kind));
        newest.map(|open| ItemAt { task, item: open.position })
    }

    fn open_call(&self, task: usize, call: &str) -> Option<ItemAt> {
        let task_state = &self.state.tasks[task];
        let is_call = |position: usize| matches!(&task_state.output[position], Item::ToolCall(item) if item.call_id == call);
        let found = task_state.open.iter().rev().find(|open| is_call(open.position));
        found.map(|open| ItemAt { task, item: open.position })
    }

    /// An id that no item of the task has: the kind's prefix and the next place, or a later number if that is taken.
    fn new_item_id(&self, task: usize, kind: ItemKind) -> String {
        let task = &self.state.tasks[task];
        let named = |number: usize| format!("{}{number}", kind.prefix());
        let ids = (task.output.len()..).map(named);
        ids.into_iter().find(|id| !task.positions.0.contains_key(id)).unwrap_or_default()
    }

    /// A producer that sends deltas alone gets an item without asking for one.
    fn implicit_item(
        &mut self,
        task: usize,
        kind: ItemKind,
        item_id: Option<&str>,
        call: Option<&str>,
    ) -> Option<ItemAt> {
        let id = item_id.map_or_else(|| self.new_item_id(task, kind), str::to_owned);
        let item = match kind {
            ItemKind::Message => {
                Item::Message(MessageItem { id, role: Some("assistant".to_owned()), ..Default::default() })
            }
            ItemKind::Reasoning => {
                Item::Reasoning(riverrun_event::ReasoningItem { id, ..Default::default() })
            }
            ItemKind::ToolCall => {
                let call_id = call.map_or_else(|| format!("call_{id}"), str::to_owned);
                Item::ToolCall(ToolCallItem { id, call_id, ..Default::default() })
            }
            ItemKind::ToolResult => return None,
        };
        Some(self.push_item(task, item))
    }

    /// The text block at this index, made if it is the next one. Blocks that were left out stand there empty.
    fn text_block(&mut self, at: ItemAt, index: usize) -> Option<PartAt> {
        let Item::Message(message) = &mut self.state.tasks[at.task].output[at.item] else { return None };
        let blocks = message.block_list.get_or_insert_default();
        let present = blocks.len();
        if index < present {
            return Some(PartAt { item: at, part: index });
        }
        if index - present > MAX_HOLE {
            self.problem(ProblemCode::BlockIndex, format!("block {index} of {present}"));
            return None;
        }
        blocks.resize_with(index + 1, || Block::plain(""));
        if index > present {
            self.problem(ProblemCode::BlockIndex, format!("block {index} of {present}"));
        }
        for part in present..=index {
            self.change(Change::BlockAdded(PartAt { item: at, part }));
        }
        Some(PartAt { item: at, part: index })
    }

    pub(super) fn block_mut(&mut self, at: PartAt) -> Option<&mut Block> {
        match &mut self.state.tasks[at.item.task].output[at.item.item] {
            Item::Message(item) => item.block_list.as_mut()?.get_mut(at.part),
            Item::ToolResult(item) => item.block_list.as_mut()?.get_mut(at.part),
            Item::Reasoning(_)
            | Item::ToolCall(_)
            | Item::Handoff(_)
            | Item::Error(_)
            | Item::Hosted(_)
            | Item::Other(_) => None,
        }
    }

    /// Annotations that came with a block are its producer's: they stay, and only what is added to it is searched.
    fn trust_annotations(&mut self, at: PartAt) {
        let ItemAt { task, item } = at.item;
        let task_state = &mut self.state.tasks[task];
        let Item::Message(message) = &task_state.output[item] else { return };
        let Some(Block::Text(block)) = message.block_list.as_ref().and_then(|blocks| blocks.get(at.part))
        else {
            return;
        };
        let Some(open) = task_state.open.get_mut(item).filter(|_| block.annotations.is_some()) else {
            return;
        };
        if open.scanners.0.len() <= at.part {
            open.scanners.0.resize_with(at.part + 1, Default::default);
        }
        let scanner = &mut open.scanners.0[at.part];
        if scanner.is_fresh() {
            scanner.scan(&block.text, |_| {});
        }
    }

    /// Annotates the citations in the text that is new in this block.
    pub(super) fn cite(&mut self, at: PartAt) {
        let ItemAt { task, item } = at.item;
        let task_state = &mut self.state.tasks[task];
        let Some(open) = task_state.open.get_mut(item) else { return };
        if open.scanners.0.len() <= at.part {
            open.scanners.0.resize_with(at.part + 1, Default::default);
        }
        let Item::Message(message) = &mut task_state.output[item] else { return };
        let Some(Block::Text(block)) = message.block_list.as_mut().and_then(|blocks| blocks.get_mut(at.part))
        else {
            return;
        };
        let scanner = &mut open.scanners.0[at.part];
        let mut markers = Vec::new();
        scanner.scan(&block.text, |marker| markers.push(marker));
        for marker in markers {
            self.annotate(at, marker);
        }
    }

    fn annotate(&mut self, at: PartAt, marker: Marker) {
        if !self.has_reference(at.item.task, marker.number) {
            let detail = format!("[^{}] cites nothing in this task", marker.number);
            return self.problem(ProblemCode::UnknownReference, detail);
        }
        let Some(Block::Text(block)) = self.block_mut(at) else { return };
        let annotation = ReferenceToBlock {
            reference_id: marker.number,
            start_index: marker.start,
            end_index: marker.end,
        };
        block.annotations.get_or_insert_default().push(Annotation::ReferenceToBlock(annotation));
    }

    /// True if a result of this task carries the number.
    fn has_reference(&self, task: usize, number: u64) -> bool {
        self.state.tasks[task].references.0.contains_key(&number)
    }
}
