//! The beginning of a turn's work.

use riverrun_event::{
    AgentChanged, EventScope, EventType, RawJson, RunStatus, TaskAttempt, TaskChange, TurnId, TurnStarted,
};

use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::actor::turn::queue::write_queue;
use crate::event_batch::{EventBatch, turn_scope};
use crate::view::WORKER;

impl SessionHistory {
    /// Work on the turn begins with these events. `scope` names its run.
    pub(crate) fn write_start(
        &self,
        session: &HostedSession,
        batch: &mut EventBatch,
        scope: &EventScope,
        agent: &str,
        attempt: u32,
    ) {
        let texts = session.registry.texts(agent).and_then(|texts| RawJson::of(&texts).ok());
        batch.push(EventType::TurnStarted, scope, &TurnStarted { agent: Some(agent.to_owned()), texts });
        write_attempt(batch, scope, attempt);
        batch.push(EventType::TaskStarted, scope, &TaskChange::default());
        let before = session.state.agent.clone().filter(|before| before != agent);
        if let Some(from) = before {
            let changed = AgentChanged { agent: agent.to_owned(), from: Some(from) };
            batch.push(EventType::AgentChanged, scope, &changed);
        }
        self.write_context(session, batch, scope);
        self.write_window(session, batch, scope);
    }
}

impl SessionHistory {
    /// A turn that waited has its place now.
    pub(crate) fn start_queued(&mut self, session: &HostedSession, turn: &TurnId, batch: &mut EventBatch) {
        let Some(known) = session.state.turns.iter().find(|known| known.turn_id == *turn) else { return };
        let (Some(task), Some(run)) = (&known.task_id, &known.run_id) else { return };
        let scope = turn_scope(&known.thread_id, turn, task, run);
        let agent = known.agent.clone().unwrap_or_default();
        let mut queued = session.queued();
        queued.retain(|entry| entry.turn_id != turn.as_str());
        write_queue(batch, &scope, queued, "started");
        self.write_start(session, batch, &scope, &agent, 1);
    }
}

pub(crate) fn write_attempt(batch: &mut EventBatch, scope: &EventScope, attempt: u32) {
    let attempt =
        TaskAttempt { attempt: Some(attempt), worker: RawJson::of(WORKER).ok(), ..TaskAttempt::default() };
    batch.push(EventType::TaskAttemptStarted, scope, &attempt);
    write_run_status(batch, scope, "working", "running", None);
}

/// Says how an attempt fares: `phase` and `status` are words of the standard.
pub(crate) fn write_run_status(
    batch: &mut EventBatch,
    scope: &EventScope,
    phase: &str,
    status: &str,
    detail: Option<String>,
) {
    let (phase, status) = (Some(phase.to_owned()), Some(status.to_owned()));
    batch.push(EventType::RunStatus, scope, &RunStatus { phase, status, detail, ..RunStatus::default() });
}
