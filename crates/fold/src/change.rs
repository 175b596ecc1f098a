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
    /// The item.
    pub item: ItemAt,
    /// Position in the item.
    pub part: usize,
}

/// One step of the state. `State::revision` counts them.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An old turn left the window; its full form is here for the last time.
    TurnSealed(Box<SealedTurn>),
    /// The session's title, agent, tags or status.
    Session,
    /// A thread began or changed.
    Thread {
        /// Position in `state.threads`.
        thread: usize,
    },
    /// A turn began or changed.
    Turn {
        /// Position in `state.turns`.
        turn: usize,
    },
    /// A task began.
    TaskCreated {
        /// Position in `state.tasks`.
        task: usize,
    },
    /// A task's status or error changed.
    TaskStatus {
        /// Position in `state.tasks`.
        task: usize,
    },
    /// An item was appended to a task's output.
    ItemAdded(ItemAt),
    /// A part of a reasoning summary began.
    SummaryAdded(PartAt),
    /// The text from byte `from` on is new.
    SummaryText {
        /// The part of the summary.
        at: PartAt,
        /// The first new byte.
        from: usize,
    },
    /// A part of a reasoning summary is final.
    SummaryDone(PartAt),
    /// Raw reasoning: the text from byte `from` on is new.
    ReasoningText {
        /// The part of the reasoning.
        at: PartAt,
        /// The first new byte.
        from: usize,
    },
    /// The arguments of a tool call: the text from byte `from` on is new.
    Arguments {
        /// The tool call's item.
        at: ItemAt,
        /// The first new byte.
        from: usize,
    },
    /// The arguments of a tool call are final.
    ArgumentsDone(ItemAt),
    /// A block was appended to an item.
    BlockAdded(PartAt),
    /// A block's text from byte `from` on is new.
    BlockText {
        /// The block.
        at: PartAt,
        /// The first new byte.
        from: usize,
    },
    /// The whole block was replaced.
    BlockReplaced {
        /// The block.
        at: PartAt,
        /// The number of the draft of a picture.
        partial: Option<u32>,
        /// The length of the previous text in bytes, if the block is the text of a result that begins with it.
        from: Option<usize>,
    },
    /// A block is final.
    BlockDone(PartAt),
    /// An item is final.
    ItemDone(ItemAt),
    /// An item was withdrawn.
    ItemRetracted(ItemAt),
    /// A tool call began or changed.
    ToolCall {
        /// Position in `state.tool_calls`.
        call: usize,
    },
    /// Somebody must decide something.
    ActionRequired {
        /// Position in `state.actions`.
        action: usize,
    },
    /// An action was decided, or its turn ended without a decision.
    ActionResolved {
        /// Position in `state.actions`.
        action: usize,
    },
    /// The queue of turns changed.
    Queue,
    /// Tokens or cost were counted.
    Usage,
    /// Another agent acts.
    Agent,
    /// A fact of one of the kept families: a process, a channel, a job, an artifact, …
    Ledger,
    /// An event did not fit; see `state.problems`.
    Problem,
}
