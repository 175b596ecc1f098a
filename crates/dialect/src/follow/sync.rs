//! Emits what the state has and the reader has not.

use riverrun_event::{Annotation, Block, Item};
use riverrun_fold::{ActionStatus, ItemAt, PartAt, State};

use super::emitted::{Emitted, EmittedItem, EmittedTask, EmittedText, Growth, entry};
use super::happening::{Happening, List, Spot};
use super::read::shown_blocks;

/// One pass over positions of `state`. News goes to `out` and counts as emitted.
pub(super) struct Sync<'a> {
    pub(super) state: &'a State,
    pub(super) emitted: &'a mut Emitted,
    pub(super) out: &'a mut Vec<Happening>,
    /// The event only appended text: what was shown need not be compared.
    pub(super) is_appended: bool,
}

impl Sync<'_> {
    fn emitted_task(&mut self, task: usize) -> &mut EmittedTask {
        let id = &self.state.tasks[task].task_id;
        if !self.emitted.tasks.contains_key(id) {
            self.emitted.tasks.insert(id.clone(), EmittedTask::default());
        }
        self.emitted.tasks.get_mut(id).expect("it was just put there")
    }

    pub(super) fn task_started(&mut self, task: usize) {
        let emitted = self.emitted_task(task);
        // A task that is tried again begins anew.
        if !emitted.is_started || (emitted.is_ended && !self.state.tasks[task].status.is_terminal()) {
            let emitted = self.emitted_task(task);
            (emitted.is_started, emitted.is_ended) = (true, false);
            self.out.push(Happening::TaskStarted(task));
        }
    }

    pub(super) fn task_ended(&mut self, task: usize) {
        self.task_started(task);
        if self.state.tasks[task].status.is_terminal() && !self.emitted_task(task).is_ended {
            self.emitted_task(task).is_ended = true;
            self.out.push(Happening::TaskEnded(task));
        }
    }

    pub(super) fn action(&mut self, action: usize) {
        let action_state = &self.state.actions[action];
        let id = action_state.action_id.as_str();
        if !self.emitted.actions.contains_key(id) {
            self.emitted.actions.insert(id.to_owned(), false);
            self.out.push(Happening::Asked(action));
        }
        if action_state.status != ActionStatus::Pending && self.emitted.actions.get(id) == Some(&false) {
            self.emitted.actions.insert(id.to_owned(), true);
            self.out.push(Happening::Answered(action));
        }
    }

    /// An item that is started again is emitted from the beginning.
    pub(super) fn item_added(&mut self, at: ItemAt) {
        if entry(&mut self.emitted_task(at.task).items, at.item).is_started {
            self.retract(at);
            *entry(&mut self.emitted_task(at.task).items, at.item) = EmittedItem::default();
        }
        self.item(at);
    }

    pub(super) fn item(&mut self, at: ItemAt) {
        let state = self.state;
        if state.tasks[at.task].retracted.contains(&at.item) {
            return self.retracted(at);
        }
        let mut emitted = std::mem::take(entry(&mut self.emitted_task(at.task).items, at.item));
        match &state.tasks[at.task].output[at.item] {
            Item::Message(_) => self.message(at, &mut emitted),
            Item::Reasoning(_) => self.reasoning(at, &mut emitted),
            Item::ToolCall(call) => self.call(at, &call.name, &mut emitted),
            Item::ToolResult(_) => self.whole(at, &mut emitted, Happening::Result(at)),
            Item::Handoff(_) | Item::Error(_) | Item::Other(_) => {
                self.whole(at, &mut emitted, Happening::Other(at));
            }
            // In the words of a dialect that is none of these.
            Item::Hosted(_) => {}
        }
        *entry(&mut self.emitted_task(at.task).items, at.item) = emitted;
    }

    fn is_done(&self, at: ItemAt) -> bool {
        !self.state.tasks[at.task].open.contains(at.item)
    }

    fn is_part_done(&self, at: ItemAt, part: usize) -> bool {
        let open = self.state.tasks[at.task].open.get(at.item);
        open.is_none_or(|open| open.done.contains(&part))
    }

    fn start(&mut self, at: ItemAt, emitted: &mut EmittedItem) {
        if !emitted.is_started {
            emitted.is_started = true;
            self.out.push(Happening::ItemStarted(at));
        }
    }

    fn end(&mut self, at: ItemAt, emitted: &mut EmittedItem) {
        if self.is_done(at) && !emitted.is_done {
            emitted.is_done = true;
            self.out.push(Happening::ItemEnded(at));
        }
    }

    fn whole(&mut self, at: ItemAt, emitted: &mut EmittedItem, happening: Happening) {
        if self.is_done(at) && !emitted.is_done {
            (emitted.is_started, emitted.is_done) = (true, true);
            self.out.push(happening);
        }
    }

    fn message(&mut self, at: ItemAt, emitted: &mut EmittedItem) {
        self.start(at, emitted);
        let blocks = shown_blocks(&self.state.tasks[at.task].output[at.item]);
        for (part, block) in blocks.iter().enumerate() {
            let spot = Spot { item: at, list: List::Blocks, part };
            let is_done = self.is_part_done(at, part);
            let emitted = entry(&mut emitted.blocks, part);
            match block {
                Block::Text(text) => {
                    self.text(spot, &text.text, is_done, emitted);
                    self.citations(spot, text.annotations.as_deref().unwrap_or_default(), emitted);
                }
                _ => self.other_block(spot, is_done, emitted),
            }
        }
        // Blocks that were taken away cannot go on.
        for part in blocks.len()..emitted.blocks.len() {
            self.end_text(Spot { item: at, list: List::Blocks, part }, &mut emitted.blocks[part]);
        }
        self.end(at, emitted);
    }

    fn other_block(&mut self, spot: Spot, is_done: bool, emitted: &mut EmittedText) {
        if emitted.is_text {
            self.end_text(spot, emitted);
            *emitted = EmittedText { is_started: true, ..EmittedText::default() };
        }
        if is_done && !emitted.is_done {
            emitted.is_done = true;
            self.out.push(Happening::Block(PartAt { item: spot.item, part: spot.part }));
        }
    }

    fn text(&mut self, spot: Spot, text: &str, is_done: bool, emitted: &mut EmittedText) {
        // The end was emitted; later changes cannot be shown by appending.
        if !emitted.is_started {
            (emitted.is_started, emitted.is_text) = (true, true);
            self.out.push(Happening::TextStarted(spot));
        }
        let is_closed = emitted.is_done;
        match emitted.grow(text, self.is_appended) {
            Growth::Same => {}
            Growth::From(from) if !is_closed => self.out.push(Happening::Text { at: spot, from }),
            Growth::From(_) | Growth::Replaced => self.out.push(Happening::TextReplaced(spot)),
        }
        if is_done {
            self.end_text(spot, emitted);
        }
    }

    fn end_text(&mut self, spot: Spot, emitted: &mut EmittedText) {
        if emitted.is_text && !emitted.is_done {
            emitted.is_done = true;
            self.out.push(Happening::TextEnded(spot));
        }
    }

    fn citations(&mut self, spot: Spot, annotations: &[Annotation], emitted: &mut EmittedText) {
        for annotation in emitted.annotations..annotations.len() {
            self.out.push(Happening::Cited { at: spot, annotation });
        }
        emitted.annotations = annotations.len().max(emitted.annotations);
    }

    fn reasoning(&mut self, at: ItemAt, emitted: &mut EmittedItem) {
        self.start(at, emitted);
        let Item::Reasoning(item) = &self.state.tasks[at.task].output[at.item] else { return };
        for (part, block) in item.summary.iter().flatten().enumerate() {
            let spot = Spot { item: at, list: List::Summary, part };
            let is_done = self.is_part_done(at, part);
            self.text(spot, block.text().unwrap_or_default(), is_done, entry(&mut emitted.summary, part));
        }
        for (part, block) in item.content.iter().flatten().enumerate() {
            let spot = Spot { item: at, list: List::Raw, part };
            let is_done = self.is_done(at);
            self.text(spot, block.text().unwrap_or_default(), is_done, entry(&mut emitted.raw, part));
        }
        self.end(at, emitted);
    }

    /// A call begins when its name is known.
    fn call(&mut self, at: ItemAt, name: &str, emitted: &mut EmittedItem) {
        let is_done = self.is_done(at);
        if name.is_empty() && !is_done {
            return;
        }
        if !emitted.is_started {
            emitted.is_started = true;
            self.out.push(Happening::CallStarted(at));
        }
        let Item::ToolCall(call) = &self.state.tasks[at.task].output[at.item] else { return };
        match emitted.arguments.grow(&call.arguments, self.is_appended) {
            Growth::Same => {}
            Growth::From(from) => self.out.push(Happening::Arguments { at, from }),
            Growth::Replaced => self.out.push(Happening::ArgumentsReplaced(at)),
        }
        if is_done && !emitted.is_done {
            emitted.is_done = true;
            self.out.push(Happening::CallEnded(at));
        }
    }

    /// What is retracted before it was emitted is skipped.
    fn retracted(&mut self, at: ItemAt) {
        let emitted = entry(&mut self.emitted_task(at.task).items, at.item);
        if emitted.is_retracted {
            return;
        }
        if emitted.is_started {
            self.retract(at);
        }
        let emitted = entry(&mut self.emitted_task(at.task).items, at.item);
        (emitted.is_started, emitted.is_done, emitted.is_retracted) = (true, true, true);
    }

    /// Ends what is open of an item and takes it back.
    fn retract(&mut self, at: ItemAt) {
        let mut emitted = std::mem::take(entry(&mut self.emitted_task(at.task).items, at.item));
        let lists = [
            (List::Blocks, &mut emitted.blocks),
            (List::Summary, &mut emitted.summary),
            (List::Raw, &mut emitted.raw),
        ];
        for (list, texts) in lists {
            for (part, emitted) in texts.iter_mut().enumerate() {
                self.end_text(Spot { item: at, list, part }, emitted);
            }
        }
        if !emitted.is_done {
            let is_call = matches!(self.state.tasks[at.task].output[at.item], Item::ToolCall(_));
            self.out.push(if is_call { Happening::CallEnded(at) } else { Happening::ItemEnded(at) });
        }
        self.out.push(Happening::Retracted(at));
        *entry(&mut self.emitted_task(at.task).items, at.item) = emitted;
    }
}
