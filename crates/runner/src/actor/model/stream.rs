//! An answer of a model while it arrives: the items it began and what is still to be written of them.

use riverrun_event::{
    Annotation, Block, BlockChange, Cost, DeltaMaker, Growth, ItemUpdated, ModelDelta, RawJson, SentText,
    ServiceStream,
};
use riverrun_log::seeded::{self, Bug};
use riverrun_provider::ItemKind;

/// The longest text that one event tells again, with what it cites. Of a longer one an event tells so much of what it
/// cites.
pub(crate) const MAX_REPEATED_TEXT: usize = 32 << 10;

/// An open model call and the items that it began.
#[derive(Default)]
pub(crate) struct Stream {
    pub items: Vec<StreamItem>,
    /// A text that has come to its end: whether the model chose that is known with what comes next.
    pub done: Option<(u32, Option<RawJson>)>,
    /// What reading the request will cost, until it is told.
    pub estimate: Option<Cost>,
    pub model: Option<String>,
    pub response: Option<String>,
    /// The bytes of the service, where they are to be kept.
    pub raw: Vec<u8>,
    /// Each piece of text is a delta of its own.
    pub is_as_sent: bool,
    /// The service's own events are in the log too.
    pub records_events: bool,
    /// The service's events that carried the text which is written next, where they are known.
    pub carriers: Option<Vec<SentText>>,
    /// Tool calls that the agent runs of one answer; None for a bare model, whose caller runs them.
    pub most_calls: Option<u32>,
    /// Tool calls that the model wrote.
    pub calls: u32,
}

impl Stream {
    pub fn new(is_as_sent: bool, most_calls: Option<u32>) -> Self {
        Self { is_as_sent, most_calls, ..Self::default() }
    }

    /// How the service's events carried a text that is written now; `known` is what the log has of its stream.
    pub fn sent(
        &mut self,
        known: Option<&mut ServiceStream>,
        growth: Growth,
        text: &str,
    ) -> Option<Vec<RawJson>> {
        let carriers = self.carriers.take();
        known.filter(|_| self.records_events)?.record_text(growth, text, carriers)
    }

    /// Counts a call. True if it is written down: those that run, and one that stands for all beyond them.
    pub fn takes_call(&mut self) -> bool {
        self.calls = self.calls.saturating_add(1);
        self.most_calls.is_none_or(|most| self.calls <= most.saturating_add(1))
            || seeded::is_on(Bug::NoCallCap)
    }

    /// What the model reads of the calls that its answer had too many.
    pub fn excess(&self) -> Option<String> {
        let most = self.most_calls.filter(|most| self.calls > *most)?;
        Some(format!(
            "The answer had {} tool calls; at most {most} of one answer are run. This call and {} after it were not run. \
             Ask again for what is still needed, with at most {most} calls in each answer.",
            self.calls,
            self.calls - most - 1
        ))
    }

    /// True if something is to be written before what comes next.
    pub fn owes(&self) -> bool {
        self.done.is_some() || self.estimate.is_some()
    }
}

pub(crate) struct StreamItem {
    pub index: u32,
    pub item: String,
    pub output_index: u32,
    pub kind: ItemKind,
    /// Blocks so far, and which of them hold the text and the refusal of a message.
    pub blocks: u32,
    pub text_block: Option<u32>,
    /// Makes the pieces of the text.
    pub maker: Option<DeltaMaker>,
    pub refusal_block: Option<u32>,
    pub text: String,
    pub logprobs: Vec<RawJson>,
    pub annotations: Vec<Annotation>,
    /// The part of a reasoning summary that grows.
    pub summary: Option<SummaryPart>,
    /// Parts of the summary that have begun.
    pub summary_parts: u32,
    pub is_done: bool,
}

/// A part of a reasoning summary as far as it is.
pub(crate) struct SummaryPart {
    pub part: u32,
    pub text: String,
    /// False if text of it came earlier, before that of another part.
    pub is_whole: bool,
}

impl SummaryPart {
    /// True if it is complete and short enough for one event.
    pub fn is_reported(&self) -> bool {
        self.is_whole && self.text.len() <= MAX_REPEATED_TEXT
    }
}

impl StreamItem {
    /// Takes text of a summary part. Gives the part before it if that is complete and short enough for one event.
    pub fn summary_grows(&mut self, part: u32, delta: &str) -> Option<SummaryPart> {
        if let Some(open) = self.summary.as_mut().filter(|open| open.part == part) {
            if open.text.len() <= MAX_REPEATED_TEXT {
                open.text.push_str(delta);
            }
            return None;
        }
        let is_whole = part >= self.summary_parts;
        self.summary_parts = self.summary_parts.max(part.saturating_add(1));
        let ended = self.summary.replace(SummaryPart { part, text: delta.to_owned(), is_whole });
        ended.filter(|ended| ended.part < part && ended.is_reported())
    }

    pub fn next_block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }

    pub fn delta(&self, delta: String, block: u32) -> ModelDelta {
        let (item_id, output_index) = (Some(self.item.clone()), Some(self.output_index));
        let block_index = (block > 0).then_some(block);
        ModelDelta { delta, item_id, output_index, block_index, ..ModelDelta::default() }
    }

    /// A block that comes as a whole.
    pub fn updated(&self, block_index: u32, block: Block, change: BlockChange) -> ItemUpdated {
        let (item_id, output_index) = (self.item.clone(), self.output_index);
        ItemUpdated { item_id, output_index, block_index, block, change, partial_index: None }
    }
}
