//! Turns that wait: in the log, so that they wait over restarts too.

use riverrun_event::{
    EventScope, EventType, Input, QueueChanged, QueuedTurn, TaskChange, ThreadId, TurnCancelled, TurnId,
};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::event_batch::{EventBatch, turn_scope};
use crate::{Cancelled, CommandError, QueueEntry, RequestKey};

impl HostedSession {
    pub(crate) fn queue(&self, thread: Option<&ThreadId>) -> Vec<QueueEntry> {
        let mut entries: Vec<QueueEntry> = Vec::new();
        for entry in &self.state.queue {
            let known = self.state.turns.iter().find(|turn| turn.turn_id.as_str() == entry.turn_id);
            let Some(known) = known.filter(|turn| thread.is_none_or(|thread| turn.thread_id == *thread))
            else {
                continue;
            };
            let before = entries.iter().filter(|entry| entry.thread_id == known.thread_id).count();
            entries.push(QueueEntry {
                turn_id: known.turn_id.clone(),
                thread_id: known.thread_id.clone(),
                position: u32::try_from(before).unwrap_or(u32::MAX),
                preview: entry.preview.clone().unwrap_or_default(),
            });
        }
        entries
    }

    /// The queue as it stands.
    pub(crate) fn queued(&self) -> Vec<QueuedTurn> {
        let entries = self.state.queue.iter();
        entries
            .map(|entry| QueuedTurn {
                turn_id: entry.turn_id.clone(),
                position: 0,
                preview: entry.preview.clone(),
            })
            .collect()
    }

    /// Puts a turn behind the others, or before them.
    pub(crate) fn enqueue(
        &self,
        batch: &mut EventBatch,
        scope: &EventScope,
        turn: &TurnId,
        input: Option<&Input>,
        is_first: bool,
    ) {
        let entry =
            QueuedTurn { turn_id: turn.as_str().to_owned(), position: 0, preview: input.map(preview) };
        let mut queued = self.queued();
        queued.insert(if is_first { 0 } else { queued.len() }, entry);
        batch.push(EventType::TaskQueued, scope, &TaskChange::default());
        write_queue(batch, scope, queued, "submitted");
    }

    fn waiting_scope(&self, turn: &TurnId) -> Result<EventScope, CommandError> {
        let known = self.state.turns.iter().find(|known| known.turn_id == *turn);
        let known = known.ok_or_else(|| CommandError::NoTurn(turn.to_string()))?;
        let status = known.status.as_str().to_owned();
        if known.status.is_terminal() {
            return Err(CommandError::TurnEnded { turn: turn.to_string(), status });
        }
        match (&known.task_id, &known.run_id) {
            (Some(task), Some(run)) if known.started_at.is_none() => {
                Ok(turn_scope(&known.thread_id, turn, task, run))
            }
            _ => Err(CommandError::TurnRunning { turn: turn.to_string(), status }),
        }
    }
}

impl Actor {
    pub(crate) async fn unqueue(
        &mut self,
        turn: &TurnId,
        request: Option<RequestKey>,
    ) -> Result<Cancelled, Refusal> {
        if let Some(first) = self.session.answered_before(request).await? {
            return Ok(first);
        }
        let scope = self.session.waiting_scope(turn)?;
        let mut batch = self.session.new_batch();
        let mut queued = self.session.queued();
        queued.retain(|entry| entry.turn_id != turn.as_str());
        write_queue(&mut batch, &scope, queued, "removed");
        let reason = Some("taken out of the queue".to_owned());
        batch.push(
            EventType::TaskCancelled,
            &scope,
            &TaskChange { reason: reason.clone(), ..TaskChange::default() },
        );
        batch.push(EventType::TurnCancelled, &scope, &TurnCancelled { reason, ..TurnCancelled::default() });
        let (turn_id, sequence) = (turn.clone(), self.session.state.sequence);
        let mut cancelled = Cancelled { turn_id, status: "cancelled".to_owned(), sequence };
        self.session.remember_answer(request, &cancelled, &mut batch);
        let appended = self.append_once(&mut batch).await?;
        cancelled.sequence = appended.map_or(sequence, |appended| appended.last);
        Ok(cancelled)
    }

    pub(crate) async fn promote(
        &mut self,
        turn: &TurnId,
        request: Option<RequestKey>,
    ) -> Result<Vec<QueueEntry>, Refusal> {
        if self.session.answered_before::<()>(request).await?.is_some() {
            return Ok(self.session.queue(None));
        }
        let scope = self.session.waiting_scope(turn)?;
        let mut queued = self.session.queued();
        if let Some(position) = queued.iter().position(|entry| entry.turn_id == turn.as_str()) {
            let entry = queued.remove(position);
            queued.insert(0, entry);
        }
        let mut batch = self.session.new_batch();
        write_queue(&mut batch, &scope, queued, "promoted");
        self.session.remember_answer(request, &(), &mut batch);
        self.append_once(&mut batch).await?;
        Ok(self.session.queue(None))
    }
}

/// Numbers the entries and says why they changed.
pub(crate) fn write_queue(
    batch: &mut EventBatch,
    scope: &EventScope,
    mut queued: Vec<QueuedTurn>,
    reason: &str,
) {
    for (position, entry) in (0..).zip(&mut queued) {
        entry.position = position;
    }
    batch.push(EventType::QueueChanged, scope, &QueueChanged { queued, reason: Some(reason.to_owned()) });
}

/// The beginning of an input, for lists.
pub(crate) fn preview(input: &Input) -> String {
    const LONGEST: usize = 80;
    let text = input.text();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
