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

use crate::actor::{Actor, LONGEST_BREATH};
use crate::approve::Rules;
use crate::drive::EffectKey;
use crate::page::Page;
use crate::{CommandError, JournalError, Landed, Landfall, Landing};

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
    landing: Box<dyn Landing>,
    now: Timestamp,
    size: usize,
    began: Instant,
}

impl InFlight {
    /// Ready when the log did not take it.
    pub fn poll_failed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.landing.ticket().poll_failed(context)
    }
}

/// Where a page went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
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

impl Actor {
    pub(crate) fn page(&self) -> Page {
        Page::new(self.core.now())
    }

    /// Appends work in progress. A full disk is waited for: nothing that was done is given up.
    pub(crate) async fn append(&mut self, mut page: Page) -> Result<(), Stop> {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            match self.append_once(&mut page).await {
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
            session = self.key.session.as_str(),
            reason,
            "the log does not take what a turn wrote"
        );
        let message = format!("what the turn wrote could not be recorded: {reason}");
        self.fail_turns("not_recordable", &message).await
    }

    /// The tenant may store no more: the turns at work fail with that. What they showed before stays, and their ends
    /// use what is kept back beyond the quota.
    async fn over_quota(&mut self, error: &JournalError) -> Result<(), Stop> {
        tracing::warn!(session = self.key.session.as_str(), %error, "a turn ends at its tenant's quota");
        let message = format!("{error}; delete sessions, or ask the operator for more, then retry the turn");
        self.fail_turns("quota_exceeded", &message).await
    }

    /// Ends the turns at work with a failure, from where the log stands.
    async fn fail_turns(&mut self, code: &str, message: &str) -> Result<(), Stop> {
        self.stop_effects(|_| true);
        self.launches.clear();
        self.blobs.clear();
        self.afterwards.clear();
        self.reload().await?;
        let ours = self.view.turns.values().filter(|turn| turn.ours);
        let roots: Vec<TaskId> = ours.map(|turn| turn.root.clone()).collect();
        let mut page = self.page();
        page.urgency = Urgency::Reserved;
        for root in &roots {
            self.fail_task(root, code, message, &mut page);
        }
        self.append_once(&mut page).await.map(|_| ()).map_err(Stop::of)
    }

    /// Appends what a command asked for; if that is not possible, who asked is told.
    pub(crate) async fn append_once(&mut self, page: &mut Page) -> Result<Option<Place>, JournalError> {
        if page.is_empty() {
            return Ok(None);
        }
        self.put_spilled(page).await?;
        let mut entry = page.take_entry()?;
        match self.core.journal.append(&self.incarnation, &mut entry).await {
            Ok(landed) => self.landed(landed, page.now).await.map(Some),
            Err(error) => {
                page.put_back(entry);
                Err(error)
            }
        }
    }

    /// Stores the texts that are too large for the page's events. One that was not stored stays with the page.
    async fn put_spilled(&mut self, page: &mut Page) -> Result<(), JournalError> {
        while let Some((reference, blob)) = page.spilled.last() {
            let blob = NewBlob { session: Some(self.key.session.clone()), ..blob.clone() };
            match self.core.journal.log().put_blob(&self.key.tenant, blob).await {
                Ok(_) => page.facts.push(Fact::Blob(reference.clone())),
                Err(Error::Full) => return Err(JournalError::Full),
                Err(Error::Quota { quota, limit, used }) => {
                    return Err(JournalError::Quota { quota, limit, used });
                }
                Err(error) => return Err(JournalError::Unavailable(error.to_string())),
            }
            page.spilled.pop();
        }
        Ok(())
    }

    async fn landed(&mut self, landed: Landed, now: Timestamp) -> Result<Place, JournalError> {
        self.fold_text();
        let Landed { first, last, events } = landed;
        if self.state.sequence.next() == Some(first) {
            for (place, event) in (0..).zip(events) {
                let sequence = first.plus(place).unwrap_or(Sequence::MAX);
                self.apply(&event.into_event(sequence, now));
                tokio::task::consume_budget().await;
            }
        } else {
            self.others += 1;
            self.catch_up().await?;
        }
        Ok(Place { first, last })
    }

    /// Appends text, which changes no plan: nobody waits until it is durable, but nothing else happens before.
    pub(crate) async fn append_text(&mut self, mut page: Page) -> Result<(), Stop> {
        if !page.spilled.is_empty() {
            return self.append(page).await;
        }
        let (now, size) = (page.now, page.size());
        let mut entry = match page.take_entry() {
            Ok(entry) => entry,
            Err(error) => return self.not_appended(error, page).await,
        };
        match self.core.journal.begin(&self.incarnation, &mut entry).await {
            Ok(Some(landing)) => {
                self.in_flight = Some(InFlight { landing, now, size, began: Instant::now() });
                Ok(())
            }
            Ok(None) => {
                page.put_back(entry);
                self.append(page).await
            }
            Err(error) => {
                page.put_back(entry);
                self.not_appended(error, page).await
            }
        }
    }

    /// Waits for the text that is on its way, and takes all text into the state.
    pub(crate) async fn land(&mut self) -> Result<(), Stop> {
        self.land_text().await?;
        self.fold_text();
        Ok(())
    }

    /// Waits for the text that is on its way.
    pub(crate) async fn land_text(&mut self) -> Result<(), Stop> {
        let Some(InFlight { mut landing, now, size, began }) = self.in_flight.take() else {
            self.is_log_busy = false;
            return Ok(());
        };
        let was_there = landing.ticket().is_resolved();
        self.is_log_busy = !was_there;
        let answer = landing.ticket().await;
        if !was_there {
            // The next word came before: everything is busy, and text is written in larger bites.
            self.calls.rest(began.elapsed().min(LONGEST_BREATH));
        }
        let landed = match landing.land(answer) {
            Landfall::There(landed) => Ok(landed),
            Landfall::Later(landed) => landed.await,
        };
        match landed {
            Ok(landed) if size <= SMALL && self.is_next(landed.first) => {
                let sequences = (0..).map(|place| landed.first.plus(place).unwrap_or(Sequence::MAX));
                let texts = sequences.zip(landed.events);
                self.unfolded.extend(texts.map(|(sequence, event)| event.into_event(sequence, now)));
                if self.unfolded.len() >= TOGETHER {
                    self.fold_text();
                }
                Ok(())
            }
            Ok(landed) => self.landed(landed, now).await.map(drop).map_err(Stop::of),
            Err((error, entry)) => {
                let mut page = Page::new(now);
                page.put_back(entry);
                self.not_appended(error, page).await
            }
        }
    }

    /// True for the event behind all that is known here.
    fn is_next(&self, sequence: Sequence) -> bool {
        let known = self.unfolded.last().map_or(self.state.sequence, |event| event.sequence);
        known.next() == Some(sequence)
    }

    /// Takes the text that landed into the state. Until something else happens nobody looks for it there, and word by
    /// word each would find the state gone from the processor's cache.
    pub(crate) fn fold_text(&mut self) {
        let mut unfolded = std::mem::take(&mut self.unfolded);
        for event in unfolded.drain(..) {
            self.apply(&event);
        }
        self.unfolded = unfolded;
    }

    async fn not_appended(&mut self, error: JournalError, page: Page) -> Result<(), Stop> {
        match error {
            JournalError::Full => self.append(page).await,
            JournalError::Invalid(reason) => self.refused(&reason).await,
            error @ JournalError::Quota { .. } => self.over_quota(&error).await,
            error => Err(Stop::of(error)),
        }
    }

    /// Others wrote into this session too: what they wrote is read, in its place.
    pub(crate) async fn catch_up(&mut self) -> Result<(), JournalError> {
        self.fold_text();
        for chunk in self.core.journal.read(&self.key, self.state.sequence).await? {
            let after = self.state.sequence;
            for (sequence, record) in chunk.records_after(after) {
                let unreadable = || JournalError::Invalid(format!("event {sequence} cannot be read back"));
                let event = self.whole_event(record, sequence).await.ok_or_else(unreadable)?;
                self.apply(&event);
                tokio::task::consume_budget().await;
            }
        }
        // They may have ended a turn of ours.
        let gone: Vec<EffectKey> =
            self.running.keys().filter(|key| self.view.task(key.task()).is_none()).cloned().collect();
        self.stop_effects(|key| gone.contains(key));
        self.processes.held.retain(|_, held| self.view.task(&held.task).is_some());
        Ok(())
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        let mut changes = Vec::new();
        let _ = self.state.apply(event, &mut changes);
        for change in changes {
            // What leaves the state is still read by the model, and may not be stored by itself yet.
            if let Change::TurnSealed(sealed) = change {
                self.sealed.insert(sealed.turn.turn_id.clone(), Arc::from(sealed));
            }
        }
        self.view.apply(event);
        if let Some(rules) = Rules::told_by(event) {
            self.rules = rules;
        }
        self.context.apply(event);
        // Where a task's output ends is the fold's to say: a retried turn goes on behind what is there.
        let Some(task_id) = &event.scope.task_id else { return };
        let Some(length) =
            self.state.tasks.iter().rev().find(|task| task.task_id == *task_id).map(|task| task.output.len())
        else {
            return;
        };
        if let Some(task) = self.view.task_mut(task_id) {
            task.next_index = task.next_index.max(u32::try_from(length).unwrap_or(u32::MAX));
        }
    }
}
