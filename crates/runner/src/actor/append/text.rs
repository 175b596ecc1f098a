//! Text on its way into the log: nobody waits until it is durable, but nothing else happens before.

use std::task::{Context, Poll};

use riverrun_event::{Sequence, Timestamp};
use tokio::time::Instant;

use crate::actor::Actor;
use crate::actor::MAX_COALESCE_DELAY;
use crate::actor::append::Appends;
use crate::actor::session::HostedSession;
use crate::actor::stop::Stop;
use crate::event_batch::EventBatch;
use crate::{AppendOutcome, JournalError, PendingAppend};

/// Pieces of text that are taken into the state together, and the largest of them in bytes.
const TOGETHER: usize = 32;

const SMALL: usize = 4 << 10;

/// Text that was handed to the log.
pub(crate) struct InFlight {
    pending: Box<dyn PendingAppend>,
    now: Timestamp,
    size: usize,
    began: Instant,
}

impl Actor {
    /// Appends text, which changes no plan: nobody waits until it is durable, but nothing else happens before.
    pub(crate) async fn append_text(&mut self, mut batch: EventBatch) -> Result<(), Stop> {
        if !batch.spilled.is_empty() {
            return self.append(batch).await;
        }
        let (now, size) = (batch.now, batch.size());
        let mut entry = match batch.take_entry() {
            Ok(entry) => entry,
            Err(error) => return self.not_appended(error, batch).await,
        };
        match self.session.shared.journal.begin(&self.session.incarnation, &mut entry).await {
            Ok(Some(pending)) => {
                self.appends.in_flight = Some(InFlight { pending, now, size, began: Instant::now() });
                Ok(())
            }
            Ok(None) => {
                batch.put_back(entry);
                self.append(batch).await
            }
            Err(error) => {
                batch.put_back(entry);
                self.not_appended(error, batch).await
            }
        }
    }

    /// Waits for the text that is on its way, and takes all text into the state.
    pub(crate) async fn finish_text_append(&mut self) -> Result<(), Stop> {
        self.await_text_append().await?;
        self.fold_text();
        Ok(())
    }

    /// Waits for the text that is on its way.
    pub(crate) async fn await_text_append(&mut self) -> Result<(), Stop> {
        let Some(InFlight { mut pending, now, size, began }) = self.appends.in_flight.take() else {
            self.appends.is_log_busy = false;
            return Ok(());
        };
        let was_there = pending.ticket().is_resolved();
        self.appends.is_log_busy = !was_there;
        let answer = pending.ticket().await;
        if !was_there {
            // The next word came before: everything is busy, and text is written in larger bites.
            self.model.open.hold_text(began.elapsed().min(MAX_COALESCE_DELAY));
        }
        let appended = match pending.complete(answer) {
            AppendOutcome::Durable(appended) => Ok(appended),
            AppendOutcome::Retrying(appended) => appended.await,
        };
        match appended {
            Ok(appended) if size <= SMALL && self.appends.is_next(&self.session, appended.first) => {
                let sequences = (0..).map(|offset| appended.first.plus(offset).unwrap_or(Sequence::MAX));
                let texts = sequences.zip(appended.events);
                self.appends.unfolded.extend(texts.map(|(sequence, event)| event.into_event(sequence, now)));
                if self.appends.unfolded.len() >= TOGETHER {
                    self.fold_text();
                }
                Ok(())
            }
            Ok(appended) => self.apply_appended(appended, now).await.map(drop).map_err(Stop::of),
            Err((error, entry)) => {
                let mut batch = EventBatch::new(now);
                batch.put_back(entry);
                self.not_appended(error, batch).await
            }
        }
    }

    /// Takes the text that landed into the state. Until something else happens nobody looks for it there, and word by
    /// word each would find the state gone from the processor's cache.
    pub(crate) fn fold_text(&mut self) {
        let mut unfolded = std::mem::take(&mut self.appends.unfolded);
        for event in unfolded.drain(..) {
            self.apply(&event);
        }
        self.appends.unfolded = unfolded;
    }

    pub(crate) async fn not_appended(&mut self, error: JournalError, batch: EventBatch) -> Result<(), Stop> {
        match error {
            JournalError::Full => self.append(batch).await,
            JournalError::Invalid(reason) => self.refused(&reason).await,
            error @ JournalError::Quota { .. } => self.over_quota(&error).await,
            error => Err(Stop::of(error)),
        }
    }
}

impl Appends {
    /// True for the event behind all that is known here.
    pub(crate) fn is_next(&self, session: &HostedSession, sequence: Sequence) -> bool {
        let known = self.unfolded.last().map_or(session.state.sequence, |event| event.sequence);
        known.next() == Some(sequence)
    }
}

impl InFlight {
    /// Ready when the log did not take it.
    pub fn poll_failed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.pending.ticket().poll_failed(context)
    }
}
