//! Follows the log of a run's session, from any place to the run's end or pause.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::State;
use riverrun_session::{Hub, Slot};

use super::Error;
use super::run::Shared;
use super::standing::{Standing, has_ended, standing};

const READ_BYTES: usize = 256 * 1024;

pub(super) struct Taken {
    pub event: Event,
    pub json: String,
    pub record: Bytes,
    /// Of the run, or of the session as a whole; not of another run.
    pub is_ours: bool,
}

pub(super) struct Follow {
    shared: Arc<Shared>,
    /// What was read and not handed out.
    ready: VecDeque<(Sequence, Bytes)>,
    /// The last event that was read.
    read: Sequence,
    /// Nothing up to here is handed out.
    after: Sequence,
    state: State,
    hub: Option<Arc<Hub>>,
    slot: Slot,
}

impl Follow {
    /// Hands out what is behind `after`. The state is folded from the run's first event on in any case.
    pub fn new(shared: Arc<Shared>, after: Sequence) -> Self {
        let state = shared.blank();
        let read = state.sequence;
        Self { shared, ready: VecDeque::new(), read, after, state, hub: None, slot: Slot::default() }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn note_seen(&self, sequence: Sequence) {
        self.shared.note_seen(sequence);
    }

    /// The next event of the run; None when it ended, or waits for a decision that is not there yet.
    pub async fn next(&mut self) -> Result<Option<Taken>, Error> {
        loop {
            match self.next_of_any().await? {
                Some(taken) if !taken.is_ours => {}
                end_or_ours => return Ok(end_or_ours),
            }
        }
    }

    /// The same, with the events of other runs in the session.
    pub async fn next_of_any(&mut self) -> Result<Option<Taken>, Error> {
        loop {
            if let Some((sequence, record)) = self.ready.pop_front() {
                if let Some(taken) = self.take(sequence, record)? {
                    return Ok(Some(taken));
                }
                continue;
            }
            let head = self.hub().await?.head();
            match standing(&self.state, self.shared.turn()) {
                Standing::Ended if self.has_ended() => return Ok(None),
                Standing::Paused if self.read >= head => return Ok(None),
                Standing::Ended | Standing::Paused | Standing::Running => self.more().await?,
            }
        }
    }

    /// The state at the run's end, or at the log's end if that is not there yet. Waits for nothing.
    pub async fn now(mut self) -> Result<State, Error> {
        let head = self.hub().await?.head();
        loop {
            while let Some((sequence, record)) = self.ready.pop_front() {
                self.take(sequence, record)?;
            }
            if self.read >= head || self.has_ended() {
                return Ok(std::mem::take(&mut self.state));
            }
            self.more().await?;
        }
    }

    /// True at the run's end. An end before the run was tried again is none.
    fn has_ended(&self) -> bool {
        has_ended(&self.state, self.shared.turn()) && self.state.sequence >= self.shared.retried()
    }

    fn take(&mut self, sequence: Sequence, bytes: Bytes) -> Result<Option<Taken>, Error> {
        let damaged = || Error::Store(format!("event {sequence} cannot be read"));
        if self.has_ended() {
            self.ready.clear();
            return Ok(None);
        }
        let record = Record::read(&bytes).map_err(|_| damaged())?;
        let event = record.to_event(sequence).map_err(|_| damaged())?;
        let _ = self.state.apply(&event, &mut Vec::new());
        let is_ours = event.scope.turn_id.as_ref().is_none_or(|turn| turn == self.shared.turn());
        if sequence <= self.after {
            return Ok(None);
        }
        let mut json = String::new();
        if let Some(hub) = &self.hub {
            hub.composer().write(&record, sequence, &mut json);
        }
        Ok(Some(Taken { event, json, record: bytes, is_ours }))
    }

    async fn hub(&mut self) -> Result<Arc<Hub>, Error> {
        if let Some(hub) = &self.hub {
            return Ok(hub.clone());
        }
        let hub = self.shared.hub().await?;
        self.hub = Some(hub.clone());
        Ok(hub)
    }

    /// Reads what is new; waits for it if nothing is.
    async fn more(&mut self) -> Result<(), Error> {
        let hub = self.hub().await?;
        let (read, home) = (self.read, self.shared.home());
        poll_fn(|context| {
            hub.wait(&mut self.slot, context.waker());
            let is_over = hub.head() > read || hub.is_gone() || home.is_closed();
            if is_over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        hub.stop_waiting(&mut self.slot);
        if home.is_closed() || hub.is_gone() {
            return Err(Error::Closed);
        }
        for chunk in home.sessions().log().read(&hub.key, read, READ_BYTES).await? {
            for (sequence, record) in chunk.records_after(read) {
                self.ready.push_back((sequence, Bytes::copy_from_slice(record)));
            }
            self.read = chunk.last();
        }
        Ok(())
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if let Some(hub) = &self.hub {
            hub.stop_waiting(&mut self.slot);
        }
    }
}
