//! Payloads of runs, model calls and reasoning.

use crate::catalogue::macros::payload;
use crate::catalogue::{Annotation, BlobRef, ErrorInfo, RawJson, Usage};

payload! {
    /// How an attempt fares.
    RunStatus optional {
        /// `planning`, `working`, `verifying`, `delivering`, `waiting`, …
        phase: String,
        /// A headline for people.
        title: String,
        /// More for people.
        detail: String,
        /// `running`, `waiting_permission`, `retrying`, `lost`, …
        status: String,
        /// Points to which the attempt can go back, opaque to us.
        checkpoints: Vec<RawJson>,
    };

    /// A model call begins.
    ModelRequested optional {
        /// Who serves the model.
        provider: String,
        /// The model.
        model: String,
        /// Where the request is kept.
        input_ref "input_ref": BlobRef,
    };

    /// Text of a message block.
    ModelDelta {
        /// The text that comes after what is there.
        delta: String,
    } optional {
        /// The item.
        item_id "item_id": String,
        /// The item's place in the task's output.
        output_index "output_index": u32,
        /// The block's place in the item, 0 if absent.
        block_index "block_index": u32,
        /// The odds of the tokens of this text; they follow those that are there.
        logprobs: Vec<RawJson>,
        /// What the text, this one and what is there, was found to cite; they follow those that are there.
        annotations: Vec<Annotation>,
        /// How events of the service carried this text, if not one event as expected: bytes, or members that differ.
        sent: Vec<RawJson>,
    };

    /// An event of the service's own stream, as the difference from what is expected after those before it.
    ModelRaw optional {
        /// The service's name of the event.
        name: String,
        /// What differs: JSON pointers and the values there.
        set: RawJson,
        /// What is not there: JSON pointers.
        drop: Vec<String>,
        /// True for the first event, which needs none before it.
        fresh: bool,
        /// A piece of this payload as JSON text, where all of it is too long for one event.
        part: String,
        /// True if the next event has the next piece.
        more: bool,
    };

    /// A model call ended well.
    ModelCompleted optional {
        /// The tokens of this call.
        usage: Usage,
        /// Why the model stopped.
        stop_reason "stop_reason": String,
        /// The stop sequence that came, where the service says which.
        stop_sequence "stop_sequence": String,
        /// The model that answered.
        model: String,
        /// Who served the model.
        provider: String,
        /// The provider's name of the response.
        response_id "response_id": String,
        /// The dialect that the provider speaks.
        dialect: String,
        /// Members of its answer that have no place here, in the words of that dialect; `usage` as it came.
        members: RawJson,
        /// Where the provider's bytes are kept.
        raw_ref "raw_ref": BlobRef,
    };

    /// A model call failed.
    ModelFailed {
        /// Why.
        error: ErrorInfo,
    } optional {
        /// True if a part of the answer was shown.
        partial: bool,
        /// Where the provider's bytes are kept.
        raw_ref "raw_ref": BlobRef,
    };

    /// Text of the model's reasoning.
    ReasoningDelta {
        /// The text that comes after what is there.
        delta: String,
    } optional {
        /// The item.
        item_id "item_id": String,
        /// The item's place in the task's output.
        output_index "output_index": u32,
        /// The summary part; absent for the reasoning itself.
        summary_index "summary_index": u32,
        /// How events of the service carried this text, if not one event as expected: bytes, or members that differ.
        sent: Vec<RawJson>,
    };

    /// One part of a reasoning summary is final.
    ReasoningSummary {
        /// The whole text of the part.
        text: String,
        /// The summary part.
        summary_index "summary_index": u32,
    } optional {
        /// The item.
        item_id "item_id": String,
        /// The item's place in the task's output.
        output_index "output_index": u32,
    };
}
