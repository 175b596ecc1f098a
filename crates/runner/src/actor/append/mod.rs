//! Into the log, and from the log into the state.

pub(super) mod blobs;
pub(super) mod media;
pub(super) mod text;

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Event, Sequence, TaskId, Timestamp};
use riverrun_fold::Change;
use riverrun_log::{Fact, LogError, NewBlob, Urgency};

use crate::actor::Actor;
use crate::actor::append::text::InFlight;
use crate::actor::session::HostedSession;
use crate::actor::stop::Stop;
use crate::approve::Rules;
use crate::drive::EffectKey;
use crate::event_batch::EventBatch;
use crate::{AppendedEvents, JournalError};

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
                Err(LogError::Full) => return Err(JournalError::Full),
                Err(LogError::Quota { quota, limit, used }) => {
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
