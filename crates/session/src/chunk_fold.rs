use riverrun_event::{Record, Sequence};
use riverrun_fold::{Change, State};
use riverrun_log::Chunk;

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
