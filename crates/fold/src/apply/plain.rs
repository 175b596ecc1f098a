//! Facts that need little: usage, cost, the queue, the acting agent, and the families that are kept as told.

use riverrun_event::{
    Cost, Event, EventFamily, EventType, HookRun, ModelCompleted, ModelFailed, Payload, QueueChanged, TaskId,
    Usage,
};

use super::Step;
use crate::change::Change;
use crate::ledger::LedgerEntry;
use crate::state::QueuedTurnState;
use crate::status::Status;

impl Step<'_> {
    pub(super) fn model_completed(&mut self, completed: &ModelCompleted) {
        let Some(usage) = &completed.usage else { return self.ledger() };
        if let Some(task) = self.find_task() {
            add_usage(&mut self.state.tasks[task].usage, usage);
        }
        let turn = self.event.scope.turn_id.as_ref().and_then(|turn| self.find_turn(turn));
        if let Some(turn) = turn {
            add_usage(&mut self.state.turns[turn].usage, usage);
        }
        add_usage(&mut self.state.usage, usage);
        self.change(Change::Usage);
        self.ledger();
    }

    pub(super) fn model_failed(&mut self, _: &ModelFailed) {
        // What was shown stays; the runner retracts it or the turn's end marks it.
        self.ledger();
    }

    pub(super) fn cost_recorded(&mut self, cost: &Cost) {
        let currency = cost.currency.clone().unwrap_or_else(|| "USD".to_owned());
        let sum = self.state.cost.entry(currency).or_default();
        // JSON has no infinity.
        *sum = (*sum + cost.amount).clamp(f64::MIN, f64::MAX);
        self.change(Change::Usage);
    }

    pub(super) fn queue_changed(&mut self, changed: &QueueChanged) {
        let entry = |queued: &riverrun_event::QueuedTurn| QueuedTurnState {
            turn_id: queued.turn_id.clone(),
            position: Some(queued.position.into()),
            preview: queued.preview.clone(),
        };
        self.state.queue = changed.queued.iter().map(entry).collect();
        self.change(Change::Queue);
    }

    pub(super) fn agent_changed(&mut self, agent: &str) {
        let task = self.find_task();
        if let Some(task) = task {
            self.state.tasks[task].agent = Some(agent.to_owned());
        }
        // A child's agent is its own.
        if task.is_none_or(|task| self.state.tasks[task].parent_task_id.is_none()) {
            self.state.agent = Some(agent.to_owned());
        }
        self.change(Change::Agent);
    }

    /// Keeps the last word about what the event names.
    pub(super) fn ledger(&mut self) {
        let event = self.event;
        if let EventType::Other(_) = event.kind {
            // What we do not know we do not keep: the log has it, and it is delivered verbatim.
            return;
        }
        let family = event.kind.family().as_str();
        self.state.ledger.record(
            family,
            LedgerEntry {
                key: ledger_key(event),
                kind: event.kind.as_str().to_owned(),
                sequence: event.sequence,
                turn_id: event.scope.turn_id.clone(),
                payload: event.raw_payload.clone(),
            },
        );
        self.change(Change::Ledger);
    }
}

/// What the event is about: the thing that it names, a hook at its point, an edge of the task graph, its task, or its
/// type alone.
fn ledger_key(event: &Event) -> String {
    let kind = event.kind.as_str();
    if let Some(subject) = event.subject.as_ref().or(event.scope.subagent_id.as_ref()) {
        return subject.clone();
    }
    if let Some(run) = hook_run(event)
        && let Some(name) = &run.hook_name
    {
        let call = event.scope.tool_call_id.as_ref().map(|call| call.as_str());
        let parts = [Some(name.as_str()), run.point.as_deref(), call];
        return parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    }
    let (target, edge) = match &event.payload {
        Ok(Payload::TaskDelegated(delegated)) => (Some(delegated.to_task_id.as_str()), None),
        Ok(Payload::TaskDependencyUpdated(edge)) => (edge.target_id.as_deref(), edge.kind.as_deref()),
        Ok(_) | Err(_) => (None, None),
    };
    let task = event.scope.task_id.as_ref().filter(|_| event.kind.family() == EventFamily::Task);
    let parts = [Some(kind), task.map(TaskId::as_str), target, edge];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn hook_run(event: &Event) -> Option<&HookRun> {
    match &event.payload {
        Ok(Payload::HookStarted(run) | Payload::HookCompleted(run) | Payload::HookFailed(run)) => Some(run),
        Ok(_) | Err(_) => None,
    }
}

/// What an event says about its session, without the rest of the log. The catalogue uses the same rule.
pub fn session_status(kind: &EventType) -> Option<Status> {
    match kind {
        EventType::TurnSubmitted | EventType::TurnStarted | EventType::ActionResolved => {
            Some(Status::Running)
        }
        EventType::ActionRequired => Some(Status::WaitingPermission),
        EventType::TurnCompleted => Some(Status::Completed),
        EventType::TurnFailed => Some(Status::Failed),
        EventType::TurnCancelled => Some(Status::Cancelled),
        _ => None,
    }
}

pub(super) fn add_usage(sum: &mut Usage, more: &Usage) {
    let add = |sum: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0).saturating_add(more));
        }
    };
    add(&mut sum.input_tokens, more.input_tokens);
    add(&mut sum.cached_input_tokens, more.cached_input_tokens);
    add(&mut sum.cache_write_input_tokens, more.cache_write_input_tokens);
    add(&mut sum.output_tokens, more.output_tokens);
    add(&mut sum.reasoning_tokens, more.reasoning_tokens);
    add(&mut sum.total_tokens, more.total_tokens);
}
