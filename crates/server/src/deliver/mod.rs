//! Delivery: a subscriber is a cursor over the log, a dialect, and a small output buffer.
//!
//! Live tail and resume are the same reader at different places. There is no queue per subscriber: one that is slow
//! costs its place, never memory, and loses nothing.

mod encoder;
mod filter;
mod one_turn;
mod open;
mod page;
mod request;
mod snapshot_event;
mod subscription;

use riverrun_event::{Record, Sequence};
use riverrun_fold::{Change, State};
use riverrun_log::Chunk;

pub use filter::TypePattern;
pub use open::{check_origin, open};
pub use page::page;
pub use request::{
    CatchUp, Follow, Request, approvals, catch_up, index_unit, languages, one_of, read_cursor,
};
pub use subscription::Subscription;

/// Applies the events of a chunk up to `at`.
pub fn fold_chunk(state: &mut State, chunk: &Chunk, at: Sequence, changes: &mut Vec<Change>) {
    for (sequence, bytes) in chunk.records_after(state.sequence) {
        if sequence > at {
            return;
        }
        if let Some(event) = Record::read(bytes).ok().and_then(|record| record.to_event(sequence).ok()) {
            // The chunk is dense and behind the state, so the event is neither a duplicate nor after a gap.
            let _ = state.apply(&event, changes);
        }
    }
}
