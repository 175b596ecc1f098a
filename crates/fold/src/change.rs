//! What an event did to the state, as places in it. Dialects encode these; the state after the event has the values.

use crate::state::SealedTurn;

/// A place in a task's output. Positions are those of the state after the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemAt {
    /// Position in `state.tasks`.
    pub task: usize,
    /// Position in the task's output.
    pub item: usize,
}

/// A block, or a part of a reasoning summary, of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartAt {
    pub item: ItemAt,
    pub part: usize,
}

/// One step of the state. `State::revision` counts them.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An old turn left the window; its full form is here for the last time.
    TurnSealed(Box<SealedTurn>),
    Session,
    Thread {
        thread: usize,
    },
    Turn {
        turn: usize,
    },
    TaskCreated {
        task: usize,
    },
    TaskStatus {
        task: usize,
    },
    ItemAdded(ItemAt),
    SummaryAdded(PartAt),
    /// The text from byte `from` on is new.
    SummaryText {
        at: PartAt,
        from: usize,
    },
    SummaryDone(PartAt),
    /// Raw reasoning: the text from byte `from` on is new.
    ReasoningText {
        at: PartAt,
        from: usize,
    },
    Arguments {
        at: ItemAt,
        from: usize,
    },
    ArgumentsDone(ItemAt),
    BlockAdded(PartAt),
    BlockText {
        at: PartAt,
        from: usize,
    },
    /// The block is another one now, as a whole; `partial` numbers the drafts of a picture. `from`: it is the text of a
    /// result, and what was there before is the beginning of it, so many bytes long.
    BlockReplaced {
        at: PartAt,
        partial: Option<u32>,
        from: Option<usize>,
    },
    BlockDone(PartAt),
    ItemDone(ItemAt),
    ItemRetracted(ItemAt),
    ToolCall {
        call: usize,
    },
    ActionRequired {
        action: usize,
    },
    ActionResolved {
        action: usize,
    },
    Queue,
    Usage,
    Agent,
    /// A fact of one of the kept families: a process, a channel, a job, an artifact, …
    Ledger,
    Problem,
}
