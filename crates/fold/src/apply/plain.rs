//! Facts that need little: usage, cost, the queue, the acting agent, and the families that are kept as told.

use riverrun_event::{Cost, EventType, ModelCompleted, ModelFailed, QueueChanged, Usage};

use super::Step;
use crate::change::Change;
use crate::ledger::Entry;
use crate::state::{QueueEntry, Status};

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
        *self.state.cost.entry(currency).or_default() += cost.amount;
        self.change(Change::Usage);
    }

    pub(super) fn queue_changed(&mut self, changed: &QueueChanged) {
        let entry = |queued: &riverrun_event::QueuedTurn| QueueEntry {
            turn_id: queued.turn_id.clone(),
            position: Some(queued.position.into()),
            preview: queued.preview.clone(),
        };
        self.state.queue = changed.queued.iter().map(entry).collect();
        self.change(Change::Queue);
    }

    pub(super) fn agent_changed(&mut self, agent: &str) {
        self.state.agent = Some(agent.to_owned());
        if let Some(task) = self.find_task() {
            self.state.tasks[task].agent = Some(agent.to_owned());
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
        let key = event.subject.clone().or_else(|| event.scope.subagent_id.clone());
        self.state.ledger.record(
            family,
            Entry {
                key: key.unwrap_or_else(|| event.kind.as_str().to_owned()),
                kind: event.kind.as_str().to_owned(),
                sequence: event.sequence,
                turn_id: event.scope.turn_id.clone(),
                payload: event.raw_payload.clone(),
            },
        );
        self.change(Change::Ledger);
    }

    /// The session's status is that of the newest word on a turn or an action.
    pub(super) fn session_status(&mut self) {
        let Some(status) = session_status(&self.event.kind) else { return };
        if self.state.session.status != status {
            self.state.session.status = status;
            self.change(Change::Session);
        }
    }
}

/// What an event says about its session, without the rest of the log. The catalogue uses the same rule.
pub fn session_status(kind: &EventType) -> Option<Status> {
    match kind {
        EventType::TurnSubmitted | EventType::TurnStarted | EventType::ActionResolved => Some(Status::Running),
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
    add(&mut sum.output_tokens, more.output_tokens);
    add(&mut sum.reasoning_tokens, more.reasoning_tokens);
    add(&mut sum.total_tokens, more.total_tokens);
}
