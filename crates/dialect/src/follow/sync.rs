//! Tells what the state has and the reader was not told.

use riverrun_event::{Annotation, Block, Item};
use riverrun_fold::{ActionStatus, ItemAt, PartAt, State};

use super::happening::{Happening, List, Spot};
use super::read::shown_blocks;
use super::told::{Growth, ItemTold, TaskTold, TextTold, Told, entry};

/// One pass over places of `state`. What is new goes to `out` and counts as told.
pub(super) struct Sync<'a> {
    pub(super) state: &'a State,
    pub(super) told: &'a mut Told,
    pub(super) out: &'a mut Vec<Happening>,
    /// The event only appended text: what was shown need not be compared.
    pub(super) is_appended: bool,
}

impl Sync<'_> {
    fn task_told(&mut self, task: usize) -> &mut TaskTold {
        let id = &self.state.tasks[task].task_id;
        if !self.told.tasks.contains_key(id) {
            self.told.tasks.insert(id.clone(), TaskTold::default());
        }
        self.told.tasks.get_mut(id).expect("it was just put there")
    }

    pub(super) fn task_started(&mut self, task: usize) {
        let told = self.task_told(task);
        // A task that is tried again begins anew.
        if !told.is_started || (told.is_ended && !self.state.tasks[task].status.is_terminal()) {
            let told = self.task_told(task);
            (told.is_started, told.is_ended) = (true, false);
            self.out.push(Happening::TaskStarted(task));
        }
    }

    pub(super) fn task_ended(&mut self, task: usize) {
        self.task_started(task);
        if self.state.tasks[task].status.is_terminal() && !self.task_told(task).is_ended {
            self.task_told(task).is_ended = true;
            self.out.push(Happening::TaskEnded(task));
        }
    }

    pub(super) fn action(&mut self, action: usize) {
        let action_state = &self.state.actions[action];
        let id = action_state.action_id.as_str();
        if !self.told.actions.contains_key(id) {
            self.told.actions.insert(id.to_owned(), false);
            self.out.push(Happening::Asked(action));
        }
        if action_state.status != ActionStatus::Pending && self.told.actions.get(id) == Some(&false) {
            self.told.actions.insert(id.to_owned(), true);
            self.out.push(Happening::Answered(action));
        }
    }

    /// An item that is started again is told from the beginning.
    pub(super) fn item_added(&mut self, at: ItemAt) {
        if entry(&mut self.task_told(at.task).items, at.item).is_started {
            self.retract(at);
            *entry(&mut self.task_told(at.task).items, at.item) = ItemTold::default();
        }
        self.item(at);
    }

    pub(super) fn item(&mut self, at: ItemAt) {
        let state = self.state;
        if state.tasks[at.task].retracted.contains(&at.item) {
            return self.retracted(at);
        }
        let mut told = std::mem::take(entry(&mut self.task_told(at.task).items, at.item));
        match &state.tasks[at.task].output[at.item] {
            Item::Message(_) => self.message(at, &mut told),
            Item::Reasoning(_) => self.reasoning(at, &mut told),
            Item::ToolCall(call) => self.call(at, &call.name, &mut told),
            Item::ToolResult(_) => self.whole(at, &mut told, Happening::Result(at)),
            Item::Handoff(_) | Item::Error(_) | Item::Other(_) => {
                self.whole(at, &mut told, Happening::Other(at));
            }
            // In the words of a dialect that is none of these.
            Item::Hosted(_) => {}
        }
        *entry(&mut self.task_told(at.task).items, at.item) = told;
    }

    fn is_done(&self, at: ItemAt) -> bool {
        !self.state.tasks[at.task].open.contains(at.item)
    }

    fn is_part_done(&self, at: ItemAt, part: usize) -> bool {
        let open = self.state.tasks[at.task].open.get(at.item);
        open.is_none_or(|open| open.done.contains(&part))
    }

    fn start(&mut self, at: ItemAt, told: &mut ItemTold) {
        if !told.is_started {
            told.is_started = true;
            self.out.push(Happening::ItemStarted(at));
        }
    }

    fn end(&mut self, at: ItemAt, told: &mut ItemTold) {
        if self.is_done(at) && !told.is_done {
            told.is_done = true;
            self.out.push(Happening::ItemEnded(at));
        }
    }

    fn whole(&mut self, at: ItemAt, told: &mut ItemTold, happening: Happening) {
        if self.is_done(at) && !told.is_done {
            (told.is_started, told.is_done) = (true, true);
            self.out.push(happening);
        }
    }

    fn message(&mut self, at: ItemAt, told: &mut ItemTold) {
        self.start(at, told);
        let blocks = shown_blocks(&self.state.tasks[at.task].output[at.item]);
        for (part, block) in blocks.iter().enumerate() {
            let spot = Spot { item: at, list: List::Blocks, part };
            let is_done = self.is_part_done(at, part);
            let told = entry(&mut told.blocks, part);
            match block {
                Block::Text(text) => {
                    self.text(spot, &text.text, is_done, told);
                    self.citations(spot, text.annotations.as_deref().unwrap_or_default(), told);
                }
                _ => self.other_block(spot, is_done, told),
            }
        }
        // Blocks that were taken away cannot go on.
        for part in blocks.len()..told.blocks.len() {
            self.end_text(Spot { item: at, list: List::Blocks, part }, &mut told.blocks[part]);
        }
        self.end(at, told);
    }

    fn other_block(&mut self, spot: Spot, is_done: bool, told: &mut TextTold) {
        if told.is_text {
            self.end_text(spot, told);
            *told = TextTold { is_started: true, ..TextTold::default() };
        }
        if is_done && !told.is_done {
            told.is_done = true;
            self.out.push(Happening::Block(PartAt { item: spot.item, part: spot.part }));
        }
    }

    fn text(&mut self, spot: Spot, text: &str, is_done: bool, told: &mut TextTold) {
        // The end was told; what changes after it cannot be shown by appending.
        if !told.is_started {
            (told.is_started, told.is_text) = (true, true);
            self.out.push(Happening::TextStarted(spot));
        }
        let is_closed = told.is_done;
        match told.grow(text, self.is_appended) {
            Growth::Same => {}
            Growth::From(from) if !is_closed => self.out.push(Happening::Text { at: spot, from }),
            Growth::From(_) | Growth::Replaced => self.out.push(Happening::TextReplaced(spot)),
        }
        if is_done {
            self.end_text(spot, told);
        }
    }

    fn end_text(&mut self, spot: Spot, told: &mut TextTold) {
        if told.is_text && !told.is_done {
            told.is_done = true;
            self.out.push(Happening::TextEnded(spot));
        }
    }

    fn citations(&mut self, spot: Spot, annotations: &[Annotation], told: &mut TextTold) {
        for annotation in told.annotations..annotations.len() {
            self.out.push(Happening::Cited { at: spot, annotation });
        }
        told.annotations = annotations.len().max(told.annotations);
    }

    fn reasoning(&mut self, at: ItemAt, told: &mut ItemTold) {
        self.start(at, told);
        let Item::Reasoning(item) = &self.state.tasks[at.task].output[at.item] else { return };
        for (part, block) in item.summary.iter().flatten().enumerate() {
            let spot = Spot { item: at, list: List::Summary, part };
            let is_done = self.is_part_done(at, part);
            self.text(spot, block.text().unwrap_or_default(), is_done, entry(&mut told.summary, part));
        }
        for (part, block) in item.content.iter().flatten().enumerate() {
            let spot = Spot { item: at, list: List::Raw, part };
            let is_done = self.is_done(at);
            self.text(spot, block.text().unwrap_or_default(), is_done, entry(&mut told.raw, part));
        }
        self.end(at, told);
    }

    /// A call begins when its name is known.
    fn call(&mut self, at: ItemAt, name: &str, told: &mut ItemTold) {
        let is_done = self.is_done(at);
        if name.is_empty() && !is_done {
            return;
        }
        if !told.is_started {
            told.is_started = true;
            self.out.push(Happening::CallStarted(at));
        }
        let Item::ToolCall(call) = &self.state.tasks[at.task].output[at.item] else { return };
        match told.arguments.grow(&call.arguments, self.is_appended) {
            Growth::Same => {}
            Growth::From(from) => self.out.push(Happening::Arguments { at, from }),
            Growth::Replaced => self.out.push(Happening::ArgumentsReplaced(at)),
        }
        if is_done && !told.is_done {
            told.is_done = true;
            self.out.push(Happening::CallEnded(at));
        }
    }

    /// What is retracted before it was told is not told.
    fn retracted(&mut self, at: ItemAt) {
        let told = entry(&mut self.task_told(at.task).items, at.item);
        if told.is_retracted {
            return;
        }
        if told.is_started {
            self.retract(at);
        }
        let told = entry(&mut self.task_told(at.task).items, at.item);
        (told.is_started, told.is_done, told.is_retracted) = (true, true, true);
    }

    /// Ends what is open of an item and takes it back.
    fn retract(&mut self, at: ItemAt) {
        let mut told = std::mem::take(entry(&mut self.task_told(at.task).items, at.item));
        let lists = [
            (List::Blocks, &mut told.blocks),
            (List::Summary, &mut told.summary),
            (List::Raw, &mut told.raw),
        ];
        for (list, texts) in lists {
            for (part, told) in texts.iter_mut().enumerate() {
                self.end_text(Spot { item: at, list, part }, told);
            }
        }
        if !told.is_done {
            let is_call = matches!(self.state.tasks[at.task].output[at.item], Item::ToolCall(_));
            self.out.push(if is_call { Happening::CallEnded(at) } else { Happening::ItemEnded(at) });
        }
        self.out.push(Happening::Retracted(at));
        *entry(&mut self.task_told(at.task).items, at.item) = told;
    }
}
