//! Open turns whose first events are gone from the log: they cannot go on, and end here.
//!
//! Retention keeps the events of open turns. A store that an older version, or a hand, cut short in the middle of a turn
//! would otherwise leave a session that answers nothing.

use riverrun_event::{
    ErrorInfo, EventScope, EventType, HistoryReconstructed, ItemCompleted, QueueChanged, QueuedTurn,
    RuntimeNotice, Sequence, SubagentFailed, TaskAttempt, TaskChange, TurnFailed, TurnId,
};
use riverrun_fold::{State, TaskState, TurnState};
use riverrun_log::{SessionKey, TurnFact, Urgency, WorkProgress};

use crate::actor::Actor;
use crate::actor::Stop;
use crate::ending::incomplete;
use crate::event_batch::{EventBatch, turn_scope};
use crate::shared::RunnerShared;

const CODE: &str = "events_retired";
const MESSAGE: &str = "the first events of this turn were deleted while it was open, so it cannot go on; \
                       submit its input as a new turn";

/// The catalogue is asked for so many of the newest turns.
const NEWEST: usize = 100;

/// The turns that cannot go on, and where the log begins.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    pub turns: Vec<TurnId>,
    /// Open turns that only the catalogue knows: neither an event nor a snapshot of them is left.
    pub forgotten: Vec<TurnFact>,
    pub first_available: Sequence,
}

/// The hosted turns of a session whose beginnings are not in the log any more.
pub(crate) async fn lost_turns(shared: &RunnerShared, key: &SessionKey, state: &State) -> Result<Lost, Stop> {
    let unavailable = |error: riverrun_log::LogError| Stop::Unavailable(error.to_string());
    let log = shared.journal.log();
    let head = log.head(key).await.map_err(unavailable)?.ok_or(Stop::NoSession)?;
    let first_available = head.first_available;
    if first_available.previous() == Sequence::ZERO {
        return Ok(Lost::default());
    }
    let records = log.turns(key, None, NEWEST).await.map_err(unavailable)?;
    let is_forgotten = |fact: &TurnFact| {
        fact.progress == WorkProgress::Open
            && fact.first < first_available
            && state.turns.iter().all(|turn| turn.turn_id != fact.turn)
    };
    let forgotten = records.into_iter().map(|record| record.fact).filter(is_forgotten).collect();
    let is_open = |turn: &&TurnState| !turn.status.is_terminal();
    let is_lost = |turn: &&TurnState| turn.first_sequence < first_available && is_hosted(state, turn);
    let lost = state.turns.iter().filter(is_open).filter(is_lost);
    Ok(Lost { turns: lost.map(|turn| turn.turn_id.clone()).collect(), forgotten, first_available })
}

/// A turn that runs here, or waits to.
fn is_hosted(state: &State, turn: &TurnState) -> bool {
    let root = state.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref());
    let runs = root.is_some_and(|root| root.attempts.iter().any(|attempt| attempt.is_hosted()));
    runs || state.queue.iter().any(|entry| entry.turn_id == turn.turn_id.as_str())
}

impl Actor {
    /// Ends the lost turns with a failure. What they showed stays.
    pub(crate) async fn end_lost(&mut self, lost: &Lost) -> Result<(), Stop> {
        if lost.turns.is_empty() && lost.forgotten.is_empty() {
            return Ok(());
        }
        let mut batch = self.session.new_batch();
        batch.urgency = Urgency::Reserved;
        for turn in self.session.state.turns.iter().filter(|turn| lost.turns.contains(&turn.turn_id)) {
            tracing::warn!(
                session = self.session.key.session.as_str(),
                turn = turn.turn_id.as_str(),
                "an open turn ends: its first events are gone from the log"
            );
            write_end(&self.session.state, turn, &lost.turns, &mut batch);
        }
        for fact in &lost.forgotten {
            let (thread_id, turn_id) = (Some(fact.thread.clone()), Some(fact.turn.clone()));
            let scope = EventScope { thread_id, turn_id, ..EventScope::default() };
            batch.push(EventType::TurnFailed, &scope, &TurnFailed { error: error(), usage: None });
        }
        write_incident(&self.session.state, lost, &mut batch);
        self.append_once(&mut batch).await.map(drop).map_err(Stop::of)
    }
}

fn write_end(state: &State, turn: &TurnState, lost: &[TurnId], batch: &mut EventBatch) {
    let (Some(root), Some(run)) = (&turn.task_id, &turn.run_id) else { return };
    let scope = turn_scope(&turn.thread_id, &turn.turn_id, root, run);
    if state.queue.iter().any(|entry| entry.turn_id == turn.turn_id.as_str()) {
        batch.push(EventType::QueueChanged, &scope, &queue_without(state, lost));
    }
    let is_open =
        |task: &&TaskState| task.turn_id.as_ref() == Some(&turn.turn_id) && !task.status.is_terminal();
    // Children stand behind their parents.
    for task in state.tasks.iter().rev().filter(is_open) {
        let run = task.run_id.as_ref().unwrap_or(run);
        let scope = EventScope {
            depth: Some(task.depth).filter(|depth| *depth > 0),
            parent_task_id: task.parent_task_id.clone(),
            ..turn_scope(&turn.thread_id, &turn.turn_id, &task.task_id, run)
        };
        for open in task.open.iter() {
            let Some(item) = task.output.get(open.position).and_then(incomplete) else { continue };
            let output_index = u32::try_from(open.position).unwrap_or(u32::MAX);
            batch.push(EventType::ItemCompleted, &scope, &ItemCompleted { item, output_index });
        }
        if task.attempts.iter().any(|attempt| !attempt.status.is_terminal()) {
            let attempt = TaskAttempt { error: Some(error()), ..TaskAttempt::default() };
            batch.push(EventType::TaskAttemptFailed, &scope, &attempt);
        }
        let lost = TaskChange { reason: Some(MESSAGE.to_owned()), ..TaskChange::default() };
        batch.push(EventType::TaskLost, &scope, &lost);
        if task.task_id != *root {
            let scope = EventScope { subagent_id: Some(task.task_id.to_string()), ..scope.clone() };
            let failed = SubagentFailed { error: Some(error()), ..SubagentFailed::default() };
            batch.push(EventType::SubagentFailed, &scope, &failed);
        }
    }
    let usage = Some(turn.usage.clone());
    batch.push(EventType::TurnFailed, &scope, &TurnFailed { error: error(), usage });
}

/// What is left of the session's history, and that it is not all of it.
fn write_incident(state: &State, lost: &Lost, batch: &mut EventBatch) {
    let notice = RuntimeNotice {
        code: Some(CODE.to_owned()),
        message: Some(MESSAGE.to_owned()),
        retryable: Some(false),
        ..RuntimeNotice::default()
    };
    batch.push(EventType::RuntimeError, &EventScope::default(), &notice);
    let rebuilt = HistoryReconstructed {
        layers: Some(vec!["session_snapshot".to_owned(), "event_log".to_owned()]),
        sequence: Some(state.sequence.get()),
        degraded: Some(true),
        gaps: Some(vec![format!("the events before {}", lost.first_available)]),
        reason: Some(CODE.to_owned()),
    };
    batch.push(EventType::HistoryReconstructed, &EventScope::default(), &rebuilt);
}

fn queue_without(state: &State, lost: &[TurnId]) -> QueueChanged {
    let left = state.queue.iter().filter(|entry| lost.iter().all(|turn| turn.as_str() != entry.turn_id));
    let queued = (0..).zip(left).map(|(position, entry)| {
        let (turn_id, preview) = (entry.turn_id.clone(), entry.preview.clone());
        QueuedTurn { turn_id, position, preview }
    });
    QueueChanged { queued: queued.collect(), reason: Some(CODE.to_owned()) }
}

fn error() -> ErrorInfo {
    ErrorInfo {
        message: MESSAGE.to_owned(),
        code: Some(CODE.to_owned()),
        retryable: Some(false),
        ..ErrorInfo::default()
    }
}
