//! What a reader of one turn sees, as positions in the state after the event.

use riverrun_fold::{ItemAt, PartAt};

/// The list of an item that has the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// The blocks of a message.
    Blocks,
    /// The summary of reasoning.
    Summary,
    /// Raw reasoning.
    Raw,
}

/// One text that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) item: ItemAt,
    pub(crate) list: List,
    pub(crate) part: usize,
}

impl Spot {
    pub(crate) fn block(self) -> PartAt {
        PartAt { item: self.item, part: self.part }
    }
}

/// Everything that begins is ended before the turn pauses or ends, sub-tasks excepted: they may outlive a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The turn runs. Also the first word after a pause or a retry: then `again`.
    Began {
        again: bool,
    },
    /// Nothing streams and a decision is waited for.
    Paused,
    Ended,
    /// A task below the root task.
    TaskStarted(usize),
    TaskEnded(usize),
    ItemStarted(ItemAt),
    ItemEnded(ItemAt),
    TextStarted(Spot),
    /// The text from byte `from` on is new.
    Text {
        at: Spot,
        from: usize,
    },
    /// The text is not an extension of what was emitted: readers that only append cannot follow.
    TextReplaced(Spot),
    TextEnded(Spot),
    /// An annotation of a text block.
    Cited {
        at: Spot,
        annotation: usize,
    },
    /// A block of a message that is not text, whole.
    Block(PartAt),
    CallStarted(ItemAt),
    Arguments {
        at: ItemAt,
        from: usize,
    },
    ArgumentsReplaced(ItemAt),
    CallEnded(ItemAt),
    /// A tool's result, whole.
    Result(ItemAt),
    /// A hand-off, an error, or an item of a foreign type, whole.
    Other(ItemAt),
    Retracted(ItemAt),
    Asked(usize),
    Answered(usize),
    /// A tool's execution moved on.
    Tool(usize),
    Agent,
    /// The session's own description changed.
    Session,
    /// Something became known of the files of the input.
    Files,
    /// A model call ended; usage may have grown.
    Model,
}

impl Happening {
    /// The item of the turn's output that it is about.
    pub(crate) fn item(self) -> Option<ItemAt> {
        match self {
            Happening::ItemStarted(at)
            | Happening::ItemEnded(at)
            | Happening::CallStarted(at)
            | Happening::Arguments { at, .. }
            | Happening::ArgumentsReplaced(at)
            | Happening::CallEnded(at)
            | Happening::Result(at)
            | Happening::Other(at)
            | Happening::Retracted(at) => Some(at),
            Happening::TextStarted(spot)
            | Happening::Text { at: spot, .. }
            | Happening::TextReplaced(spot)
            | Happening::TextEnded(spot)
            | Happening::Cited { at: spot, .. } => Some(spot.item),
            Happening::Block(part) => Some(part.item),
            Happening::Began { .. }
            | Happening::Paused
            | Happening::Ended
            | Happening::TaskStarted(_)
            | Happening::TaskEnded(_)
            | Happening::Asked(_)
            | Happening::Answered(_)
            | Happening::Tool(_)
            | Happening::Agent
            | Happening::Session
            | Happening::Files
            | Happening::Model => None,
        }
    }

    /// True for what belongs to the turn's output. The rest does not wake a paused turn.
    pub(crate) fn is_output(self) -> bool {
        !matches!(
            self,
            Happening::Tool(_) | Happening::Agent | Happening::Session | Happening::Files | Happening::Model
        )
    }
}
