//! Into the log, and from the log into the state.

pub(super) mod blobs;
pub(super) mod media;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use riverrun_event::{Event, Sequence, TaskId, Timestamp};
use tokio::time::Instant;

use riverrun_fold::Change;
use riverrun_log::{Error, Fact, NewBlob, Urgency};

use crate::actor::Actor;
use crate::actor::MAX_COALESCE_DELAY;
use crate::actor::session::HostedSession;
use crate::approve::Rules;
use crate::drive::EffectKey;
use crate::event_batch::EventBatch;
use crate::{AppendOutcome, AppendedEvents, CommandError, JournalError, PendingAppend};

/// Pieces of text that are taken into the state together, and the largest of them in bytes.
const TOGETHER: usize = 32;
const SMALL: usize = 4 << 10;

/// Why an actor ends before its work does. The log has everything; who comes next goes on from there.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Stop {
    #[error("there is no such session")]
    NoSession,
    #[error("another server owns this session now")]
    Fenced,
    #[error("the server is going down")]
    Draining,
    #[error("the store is not available: {0}")]
    Unavailable(String),
    #[error("{0}")]
    Broken(String),
}

/// Text that was handed to the log.
pub(crate) struct InFlight {
    pending: Box<dyn PendingAppend>,
    now: Timestamp,
    size: usize,
    began: Instant,
}

impl InFlight {
    /// Ready when the log did not take it.
    pub fn poll_failed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.pending.ticket().poll_failed(context)
    }
}

/// What is on its way into the log, and from there into the state.
#[derive(Default)]
pub(crate) struct Appends {
    /// Text that the log has not answered yet.
    pub in_flight: Option<InFlight>,
    /// The last text was not durable when the next came.
    pub is_log_busy: bool,
    /// Text that is in the log and not yet in the state and the view.
    pub unfolded: Vec<Event>,
    /// How often others wrote into the session in between.
    pub others: u64,
}

/// The sequences of an appended batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceRange {
    pub first: Sequence,
    pub last: Sequence,
}

impl From<Stop> for CommandError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NoSession => CommandError::NoSession,
            Stop::Fenced => CommandError::Fenced,
            Stop::Draining => CommandError::Draining,
            Stop::Unavailable(reason) | Stop::Broken(reason) => CommandError::Unavailable(reason),
        }
    }
}

impl Stop {
    pub fn of(error: JournalError) -> Self {
        match error {
            JournalError::NoSession => Stop::NoSession,
            JournalError::Fenced => Stop::Fenced,
            JournalError::Unavailable(reason) => Stop::Unavailable(reason),
            JournalError::CommandExists => Stop::Broken("a command was stored twice".to_owned()),
            JournalError::Full => Stop::Unavailable("the store is full".to_owned()),
            JournalError::Quota { .. } => Stop::Unavailable(error.to_string()),
            JournalError::Invalid(reason) => Stop::Broken(reason),
        }
    }
}

impl HostedSession {
    pub(crate) fn new_batch(&self) -> EventBatch {
        EventBatch::new(self.shared.now())
    }

    /// Stores the texts that are too large for the page's events. One that was not stored stays with the page.
    async fn put_spilled(&self, batch: &mut EventBatch) -> Result<(), JournalError> {
        while let Some((reference, blob)) = batch.spilled.last() {
            let blob = NewBlob { session: Some(self.key.session.clone()), ..blob.clone() };
            match self.shared.journal.log().put_blob(&self.key.tenant, blob).await {
                Ok(_) => batch.facts.push(Fact::Blob(reference.clone())),
                Err(Error::Full) => return Err(JournalError::Full),
                Err(Error::Quota { quota, limit, used }) => {
                    return Err(JournalError::Quota { quota, limit, used });
                }
                Err(error) => return Err(JournalError::Unavailable(error.to_string())),
            }
            batch.spilled.pop();
        }
        Ok(())
    }
}

impl Actor {
    /// Appends work in progress. A full disk is waited for: nothing that was done is given up.
    pub(crate) async fn append(&mut self, mut batch: EventBatch) -> Result<(), Stop> {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            match self.append_once(&mut batch).await {
                Ok(_) => return Ok(()),
                Err(JournalError::Full) => tokio::time::sleep(PAUSE).await,
                Err(JournalError::Invalid(reason)) => return self.refused(&reason).await,
                Err(error @ JournalError::Quota { .. }) => return self.over_quota(&error).await,
                Err(error) => return Err(Stop::of(error)),
            }
        }
    }

    /// The log does not take what happened: the turns at work fail with that, from where the log stands.
    async fn refused(&mut self, reason: &str) -> Result<(), Stop> {
        tracing::error!(
            session = self.session.key.session.as_str(),
            reason,
            "the log does not take what a turn wrote"
        );
        let message = format!("what the turn wrote could not be recorded: {reason}");
        self.fail_turns("not_recordable", &message).await
    }

    /// The tenant may store no more: the turns at work fail with that. What they showed before stays, and their ends
    /// use what is kept back beyond the quota.
    async fn over_quota(&mut self, error: &JournalError) -> Result<(), Stop> {
        tracing::warn!(session = self.session.key.session.as_str(), %error, "a turn ends at its tenant's quota");
        let message = format!("{error}; delete sessions, or ask the operator for more, then retry the turn");
        self.fail_turns("quota_exceeded", &message).await
    }

    /// Ends the turns at work with a failure, from where the log stands.
    async fn fail_turns(&mut self, code: &str, message: &str) -> Result<(), Stop> {
        self.effects.stop_effects(|_| true);
        self.effects.launches.clear();
        self.blobs.pending.clear();
        self.effects.when_durable.clear();
        self.reload().await?;
        let ours = self.session.view.turns.values().filter(|turn| turn.ours);
        let roots: Vec<TaskId> = ours.map(|turn| turn.root.clone()).collect();
        let mut batch = self.session.new_batch();
        batch.urgency = Urgency::Reserved;
        for root in &roots {
            self.fail_task(root, code, message, &mut batch);
        }
        self.append_once(&mut batch).await.map(|_| ()).map_err(Stop::of)
    }

    /// Appends what a command asked for; if that is not possible, who asked is told.
    pub(crate) async fn append_once(
        &mut self,
        batch: &mut EventBatch,
    ) -> Result<Option<SequenceRange>, JournalError> {
        if batch.is_empty() {
            return Ok(None);
        }
        self.session.put_spilled(batch).await?;
        let mut entry = batch.take_entry()?;
        match self.session.shared.journal.append(&self.session.incarnation, &mut entry).await {
            Ok(appended) => self.apply_appended(appended, batch.now).await.map(Some),
            Err(error) => {
                batch.put_back(entry);
                Err(error)
            }
        }
    }

    async fn apply_appended(
        &mut self,
        appended: AppendedEvents,
        now: Timestamp,
    ) -> Result<SequenceRange, JournalError> {
        self.fold_text();
        let AppendedEvents { first, last, events } = appended;
        if self.session.state.sequence.next() == Some(first) {
            for (offset, event) in (0..).zip(events) {
                let sequence = first.plus(offset).unwrap_or(Sequence::MAX);
                self.apply(&event.into_event(sequence, now));
                tokio::task::consume_budget().await;
            }
        } else {
            self.appends.others += 1;
            self.catch_up().await?;
        }
        Ok(SequenceRange { first, last })
    }

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

    async fn not_appended(&mut self, error: JournalError, batch: EventBatch) -> Result<(), Stop> {
        match error {
            JournalError::Full => self.append(batch).await,
            JournalError::Invalid(reason) => self.refused(&reason).await,
            error @ JournalError::Quota { .. } => self.over_quota(&error).await,
            error => Err(Stop::of(error)),
        }
    }

    /// Others wrote into this session too: what they wrote is read, in its place.
    pub(crate) async fn catch_up(&mut self) -> Result<(), JournalError> {
        self.fold_text();
        for chunk in self.session.shared.journal.read(&self.session.key, self.session.state.sequence).await? {
            let after = self.session.state.sequence;
            for (sequence, record) in chunk.records_after(after) {
                let unreadable = || JournalError::Invalid(format!("event {sequence} cannot be read back"));
                let event = self.session.whole_event(record, sequence).await.ok_or_else(unreadable)?;
                self.apply(&event);
                tokio::task::consume_budget().await;
            }
        }
        // They may have ended a turn of ours.
        let gone: Vec<EffectKey> = self
            .effects
            .running
            .keys()
            .filter(|key| self.session.view.task(key.task()).is_none())
            .cloned()
            .collect();
        self.effects.stop_effects(|key| gone.contains(key));
        self.processes.held.retain(|_, held| self.session.view.task(&held.task).is_some());
        Ok(())
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        let mut changes = Vec::new();
        let _ = self.session.state.apply(event, &mut changes);
        for change in changes {
            // What leaves the state is still read by the model, and may not be stored by itself yet.
            if let Change::TurnSealed(sealed) = change {
                self.history.sealed.insert(sealed.turn.turn_id.clone(), Arc::from(sealed));
            }
        }
        self.session.view.apply(event);
        if let Some(rules) = Rules::from_event(event) {
            self.approvals.rules = rules;
        }
        self.history.context.apply(event);
        // Where a task's output ends is the fold's to say: a retried turn goes on behind what is there.
        let Some(task_id) = &event.scope.task_id else { return };
        let Some(length) = self
            .session
            .state
            .tasks
            .iter()
            .rev()
            .find(|task| task.task_id == *task_id)
            .map(|task| task.output.len())
        else {
            return;
        };
        if let Some(task) = self.session.view.task_mut(task_id) {
            task.next_index = task.next_index.max(u32::try_from(length).unwrap_or(u32::MAX));
        }
    }
}

impl Appends {
    /// True for the event behind all that is known here.
    fn is_next(&self, session: &HostedSession, sequence: Sequence) -> bool {
        let known = self.unfolded.last().map_or(session.state.sequence, |event| event.sequence);
        known.next() == Some(sequence)
    }
}
