//! The decision whether an append is taken: one place for every engine, because this is the fence.

use riverrun_event::Sequence;

use crate::seeded::{self, Bug};
use crate::{Append, AppendStamp, Chunk, Epoch, LogError, ProducerState, SessionHead};

/// The state that an append is checked against.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionState<'a> {
    /// The shard's newest epoch.
    pub epoch: Epoch,
    /// The end of the session's log.
    pub head: &'a SessionHead,
    /// The newest stamp of the append's producer, if it has one.
    pub producer: Option<ProducerState>,
}

/// What becomes of an append that is not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is new: store it.
    Store,
    /// The very same chunk is stored already.
    Duplicate,
}

/// `stored` looks up the committed chunk that begins at a place; it is asked only about places up to the head.
pub fn admit(
    append: &Append,
    standing: AdmissionState<'_>,
    stored: impl FnOnce(Sequence) -> Result<Option<Chunk>, LogError>,
) -> Result<Admission, LogError> {
    if append.epoch != standing.epoch && !seeded::is_on(Bug::NoEpochCheck) {
        return Err(LogError::Fenced { used: append.epoch, current: standing.epoch });
    }
    let (first, head) = (append.chunk.first(), standing.head);
    // What was built for a session that was deleted must not go into the next one with its id.
    if append.incarnation.is_some_and(|meant| meant != head.incarnation) {
        return Err(LogError::NoSession(append.key.session.clone()));
    }
    if first <= head.last {
        if stored(first)?.is_some_and(|chunk| chunk == append.chunk) {
            return Ok(Admission::Duplicate);
        }
        if head.last == Sequence::MAX {
            return Err(LogError::SequenceExhausted(append.key.session.clone()));
        }
        if !seeded::is_on(Bug::NoCasOnFirst) {
            return Err(LogError::Conflict { first, head: head.last });
        }
    }
    let follows = head.last.next() == Some(first) && append.chunk.previous() == head.link;
    if !follows && !seeded::is_on(Bug::NoCasOnFirst) {
        return Err(LogError::Conflict { first, head: head.last });
    }
    if let Some(stamp) = &append.producer {
        admit_producer(stamp, standing.producer)?;
    }
    Ok(Admission::Store)
}

/// A producer's stamps are dense in each epoch, from 0, and epochs only rise.
pub fn admit_producer(stamp: &AppendStamp, newest: Option<ProducerState>) -> Result<(), LogError> {
    let expected = match newest {
        Some(state) if stamp.epoch < state.epoch => {
            let (producer, current) = (stamp.id.clone(), state.epoch);
            return Err(LogError::ProducerStale { producer, used: stamp.epoch, current });
        }
        Some(state) if stamp.epoch == state.epoch => {
            if stamp.sequence <= state.sequence {
                let (producer, sequence) = (stamp.id.clone(), stamp.sequence);
                return Err(LogError::ProducerDuplicate { producer, sequence, last: state });
            }
            state.sequence + 1
        }
        Some(_) | None => 0,
    };
    if stamp.sequence == expected {
        Ok(())
    } else {
        Err(LogError::ProducerGap { producer: stamp.id.clone(), found: stamp.sequence, expected })
    }
}
