//! The output of a turn as one thing after the other.
//!
//! Items of a turn may grow side by side; many protocols cannot say that. A line goes through the output in its
//! order: what comes later waits until what comes before is final. So the order never depends on who read when.

use riverrun_event::{Block, HostedItem, HostedWord, Item, RawJson};
use riverrun_fold::TaskState;

use super::View;
use super::progress::Progress;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A whole reasoning item: its summary, or the reasoning itself where there is no summary.
    Thinking,
    /// One text block of a message.
    Text,
    /// A text by which the model refuses to answer; a line that does not show it apart shows it as text.
    Refusal,
    /// What a service did itself, in its own words.
    Hosted,
    /// A call that the client runs.
    Call,
}

/// A step along the line.
pub(crate) enum Step<'a> {
    Opened(Shown, &'a Item),
    /// What is new of a text, and the odds of its tokens where they are known.
    Text(Shown, &'a str, &'a [RawJson]),
    /// A word about what a service does itself.
    Frame(&'a str),
    Closed(Shown, &'a Item, Option<&'a Block>),
}

#[derive(Debug, Clone)]
pub(crate) struct Line {
    shows: &'static [Shown],
    /// Which of the things that services did themselves stand on this line.
    hosts: fn(&HostedItem) -> bool,
    item: usize,
    part: usize,
    progress: Progress,
    /// Odds that were told.
    odds: usize,
    is_open: bool,
    /// The text was replaced: what comes now does not continue what was told.
    is_stale: bool,
    has_thought: bool,
    /// The reasoning itself is told, because it came before any summary.
    is_raw: bool,
}

/// Whether the line can go on to the next thing.
#[derive(PartialEq)]
enum Then {
    Wait,
    GoOn,
}

impl Line {
    pub(crate) fn of(shows: &'static [Shown]) -> Self {
        Self {
            shows,
            hosts: |_| false,
            item: 0,
            part: 0,
            progress: Progress::default(),
            odds: 0,
            is_open: false,
            is_stale: false,
            has_thought: false,
            is_raw: false,
        }
    }

    /// A line that shows these things of services too.
    pub(crate) fn hosting(self, hosts: fn(&HostedItem) -> bool) -> Self {
        Self { hosts, ..self }
    }

    /// Tells everything that can be told now.
    pub(crate) fn advance(&mut self, view: &View<'_>, emit: &mut dyn FnMut(Step<'_>)) {
        let Some(task) = view.root else { return };
        self.is_stale |= view.replaced.contains(&(self.item, self.part));
        while let Some(item) = task.output.get(self.item) {
            let then = match shown(view, item) {
                _ if task.retracted.contains(&self.item) => self.withdraw(view, item, emit),
                Some(shown) if self.shows.contains(&shown) => match (shown, item) {
                    (Shown::Thinking, Item::Reasoning(_)) => self.thinking(task, item, emit),
                    (Shown::Text, Item::Message(_)) => self.text(task, item, emit),
                    (Shown::Call, Item::ToolCall(_)) => self.call(task, item, emit),
                    (Shown::Hosted, Item::Hosted(hosted)) if (self.hosts)(hosted) => {
                        self.hosted(task, item, emit)
                    }
                    _ => Then::GoOn,
                },
                Some(_) | None => Then::GoOn,
            };
            if then == Then::Wait {
                return;
            }
            self.next_item();
        }
    }

    fn next_item(&mut self) {
        *self = Self { item: self.item + 1, ..Self::of(self.shows).hosting(self.hosts) };
    }

    fn next_part(&mut self) {
        self.part += 1;
        self.progress = Progress::default();
        self.odds = 0;
        self.is_stale = false;
    }

    fn is_done(&self, task: &TaskState) -> bool {
        task.open.get(self.item).is_none_or(|open| open.done.contains(&self.part))
    }

    fn is_item_done(&self, task: &TaskState) -> bool {
        !task.open.contains(self.item)
    }

    /// What was told of it stays told: these protocols cannot take anything back.
    fn withdraw(&mut self, view: &View<'_>, item: &Item, emit: &mut dyn FnMut(Step<'_>)) -> Then {
        if let Some(shown) = shown(view, item).filter(|_| self.is_open) {
            emit(Step::Closed(shown, item, None));
        }
        Then::GoOn
    }

    fn thinking(&mut self, task: &TaskState, item: &Item, emit: &mut dyn FnMut(Step<'_>)) -> Then {
        let Item::Reasoning(reasoning) = item else { return Then::GoOn };
        let summary = reasoning.summary.as_deref().unwrap_or_default();
        let is_summary = !self.is_raw && !summary.is_empty();
        let parts = if is_summary { summary } else { reasoning.content.as_deref().unwrap_or_default() };
        let is_item_done = self.is_item_done(task);
        while let Some(part) = parts.get(self.part) {
            self.thought(item, part.text().unwrap_or_default(), emit);
            self.is_raw = !is_summary && self.has_thought;
            if !(is_item_done || is_summary && self.is_done(task)) {
                return Then::Wait;
            }
            self.next_part();
        }
        if !is_item_done {
            return Then::Wait;
        }
        if !self.is_open && (redacted(item).is_some() || signature(item).is_some()) {
            self.is_open = true;
            emit(Step::Opened(Shown::Thinking, item));
        }
        if self.is_open {
            emit(Step::Closed(Shown::Thinking, item, None));
        }
        Then::GoOn
    }

    /// The parts of one item's reasoning are told as paragraphs.
    fn thought(&mut self, item: &Item, text: &str, emit: &mut dyn FnMut(Step<'_>)) {
        let is_first_of_part = self.progress.is_empty();
        let news = self.progress.news(text);
        if news.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.is_open, true) {
            emit(Step::Opened(Shown::Thinking, item));
        }
        if is_first_of_part && self.has_thought {
            emit(Step::Text(Shown::Thinking, "\n\n", &[]));
        }
        self.has_thought = true;
        emit(Step::Text(Shown::Thinking, news, &[]));
    }

    fn text(&mut self, task: &TaskState, item: &Item, emit: &mut dyn FnMut(Step<'_>)) -> Then {
        let Item::Message(message) = item else { return Then::GoOn };
        let blocks = message.block_list.as_deref().unwrap_or_default();
        while let Some(block) = blocks.get(self.part) {
            let is_done = self.is_done(task);
            let mut shown = Shown::Text;
            if let Block::Text(text) = block {
                let is_apart = text.is_refusal() && self.shows.contains(&Shown::Refusal);
                shown = if is_apart { Shown::Refusal } else { Shown::Text };
                let odds = text.logprobs.as_deref().unwrap_or_default();
                self.grow(shown, item, &text.text, odds, is_done, emit);
            }
            if !is_done {
                return Then::Wait;
            }
            if std::mem::replace(&mut self.is_open, false) {
                emit(Step::Closed(shown, item, Some(block)));
            }
            self.next_part();
        }
        if self.is_item_done(task) { Then::GoOn } else { Then::Wait }
    }

    fn call(&mut self, task: &TaskState, item: &Item, emit: &mut dyn FnMut(Step<'_>)) -> Then {
        let Item::ToolCall(call) = item else { return Then::GoOn };
        let is_done = self.is_item_done(task);
        if call.name.is_empty() && !is_done {
            return Then::Wait;
        }
        if !std::mem::replace(&mut self.is_open, true) {
            emit(Step::Opened(Shown::Call, item));
        }
        self.grow(Shown::Call, item, &call.arguments, &[], is_done, emit);
        if !is_done {
            return Then::Wait;
        }
        emit(Step::Closed(Shown::Call, item, None));
        Then::GoOn
    }

    fn hosted(&mut self, task: &TaskState, item: &Item, emit: &mut dyn FnMut(Step<'_>)) -> Then {
        let Item::Hosted(hosted) = item else { return Then::GoOn };
        while let Some((word, text, next)) = hosted.word(self.part) {
            match word {
                HostedWord::Begun => {
                    self.is_open = true;
                    emit(Step::Opened(Shown::Hosted, item));
                }
                HostedWord::Frame => emit(Step::Frame(&text)),
                HostedWord::Whole => {}
            }
            self.part = next;
        }
        if !self.is_item_done(task) {
            return Then::Wait;
        }
        if self.is_open {
            emit(Step::Closed(Shown::Hosted, item, None));
        }
        Then::GoOn
    }

    /// Tells what is new of a text, if it continues what was told.
    fn grow(
        &mut self,
        shown: Shown,
        item: &Item,
        text: &str,
        odds: &[RawJson],
        is_done: bool,
        emit: &mut dyn FnMut(Step<'_>),
    ) {
        if self.is_stale || (is_done && !self.progress.is_beginning_of(text)) {
            return;
        }
        let news = self.progress.news(text);
        let odds = odds.get(self.odds..).unwrap_or_default();
        self.odds += odds.len();
        if news.is_empty() && odds.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.is_open, true) {
            emit(Step::Opened(shown, item));
        }
        emit(Step::Text(shown, news, odds));
    }
}

/// What an item is shown as; None for what such a protocol has no words for.
fn shown(view: &View<'_>, item: &Item) -> Option<Shown> {
    match item {
        Item::Message(message) if is_assistant(message.role.as_deref()) => Some(Shown::Text),
        Item::Reasoning(_) => Some(Shown::Thinking),
        // A call without a name is only seen by its deltas yet; it waits.
        Item::ToolCall(call) if call.name.is_empty() || view.facts.is_client_run(&call.name) => {
            Some(Shown::Call)
        }
        Item::Hosted(_) => Some(Shown::Hosted),
        Item::Message(_)
        | Item::ToolCall(_)
        | Item::ToolResult(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Other(_) => None,
    }
}

pub(crate) fn is_assistant(role: Option<&str>) -> bool {
    role.is_none_or(|role| role == "assistant")
}

/// Anthropic's proof of a reasoning, as its adapter keeps the block.
pub(crate) fn signature(item: &Item) -> Option<String> {
    opaque(item, "signature")
}

/// Gemini's proof of a thought.
pub(crate) fn thought_signature(item: &Item) -> Option<String> {
    opaque(item, "thoughtSignature")
}

/// Reasoning that only Anthropic can read.
pub(crate) fn redacted(item: &Item) -> Option<String> {
    opaque(item, "type").filter(|kind| kind == "redacted_thinking").and_then(|_| opaque(item, "data"))
}

/// Reasoning that only OpenAI can read.
pub(crate) fn encrypted(item: &Item) -> Option<String> {
    opaque(item, "encrypted_content")
}

/// A text member of what the item's provider wants back.
fn opaque(item: &Item, member: &str) -> Option<String> {
    let Item::Reasoning(reasoning) = item else { return None };
    let members: serde_json::Value = reasoning.opaque.as_ref()?.to().ok()?;
    members.get(member)?.as_str().map(str::to_owned)
}
