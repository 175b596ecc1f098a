//! Payloads of sessions, threads, turns, the queue, and who does the work.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, ErrorInfo, Input, Item, Metadata, RawJson, Usage};

payload! {
    /// What is known of a session; in an update, what changed.
    SessionInfo optional {
        /// A name for people.
        title: String,
        /// The agent that answers unless a turn names another.
        agent: String,
        /// Named values of the caller, opaque to us.
        metadata: Metadata,
        /// `open` or `closed`.
        status: String,
        /// Words to find the session by.
        tags: Vec<String>,
        /// Where the session was forked from.
        forked_from "forked_from": ForkPoint,
    };

    /// A place in another session's log.
    ForkPoint {
        /// The session that was forked.
        session_id "session_id": String,
        /// The last event that the fork shares with it.
        at: u64,
    };

    /// What is known of a thread; in an update, what changed.
    ThreadInfo optional {
        /// A name for people.
        title: String,
        /// `idle`, `queued`, `running`, `blocked`, `completed`, `failed`, `cancelled`, `stale`, `unknown`.
        status: String,
    };

    /// Somebody asked for something.
    TurnSubmitted optional {
        /// What was asked. Absent only if `inputRef` says where it is.
        input: Input,
        /// The agent that should answer.
        agent: String,
        /// Where the turn came from.
        source: String,
        /// `accepted` or `queued`.
        status: String,
        /// Where a large input is.
        input_ref "input_ref": BlobRef,
        /// What was said before, where the caller brings it along.
        history: Vec<Item>,
        /// What this turn asks of the model beside its agent: a model, tools of the caller, limits. Opaque here.
        settings: RawJson,
        /// The dialect of the request and what its answers echo, opaque to us.
        request: RawJson,
        /// Named values of the caller, opaque to us.
        metadata: Metadata,
    };

    /// Work on the turn began.
    TurnStarted optional {
        /// The agent that answers.
        agent: String,
        /// The agent's own texts for people, by language and name, opaque to us: `{"vi":{"stopped":"…"}}`. The language
        /// `default` is for readers of any other.
        texts: RawJson,
    };

    /// The turn ended well.
    TurnCompleted optional {
        /// What the turn came to: a text, or a value where the agent has an output schema.
        final_output "final_output": RawJson,
        /// The tokens of all its model calls.
        usage: Usage,
        /// Why the model stopped, where it did not end by itself: `max_tokens` (the output is cut), `refusal`,
        /// `content_filter`.
        stop_reason "stop_reason": String,
    };

    /// The turn ended in a failure.
    TurnFailed {
        /// Why.
        error: ErrorInfo,
    } optional {
        /// The tokens of all its model calls.
        usage: Usage,
    };

    /// The turn ended because somebody asked for it.
    TurnCancelled optional {
        /// `immediate` or `after_turn`.
        mode: String,
        /// Why.
        reason: String,
        /// The tokens of all its model calls.
        usage: Usage,
    };

    /// The turns that wait, in order.
    QueueChanged {
        /// The queue as it is now.
        queued: Vec<QueuedTurn>,
    } optional {
        /// Why it changed.
        reason: String,
    };

    /// A turn that waits.
    QueuedTurn {
        /// The turn.
        turn_id "turn_id": String,
        /// Its place in the queue, from 0.
        position: u32,
    } optional {
        /// The beginning of its input.
        preview: String,
    };

    /// Another agent has the conversation now.
    AgentChanged {
        /// The agent.
        agent: String,
    } optional {
        /// The agent before.
        from: String,
    };

    /// The model asked to hand the work to another agent.
    HandoffRequested {
        /// The agent that should go on.
        to: String,
    } optional {
        /// The item that asked for it.
        item_id "item_id": String,
    };

    /// Another agent took the work.
    HandoffCompleted {
        /// The agent that goes on.
        to: String,
    } optional {
        /// The agent that had the work.
        from: String,
    };

    /// A running turn was given more input.
    InputSteered {
        /// What was added.
        input: Input,
    } optional {
        /// Who added it, where that is not the user: `hook:NAME`.
        source: String,
    };
}
