//! How far a turn may go.

use riverrun_event::Timestamp;

use super::{Facts, Failure, Passed};
use crate::Registry;
use crate::resolved_agent::ResolvedAgent;
use crate::view::{TaskView, TurnView, View};

/// The code of a turn that took longer than it may.
pub(crate) const TIME_PASSED: &str = "max_time_exceeded";
/// Calls of the same model before the next is tried.
pub(crate) const TRIES: u32 = 3;

impl Facts<'_> {
    /// True if the newest failure of the model may be tried again on the same model.
    pub(super) fn may_retry(&self, task: &TaskView) -> bool {
        let is_retryable = task.last_error.as_ref().is_some_and(|error| error.retryable == Some(true));
        is_retryable && task.failures < TRIES
    }

    /// A limit of the whole turn that was passed.
    pub(super) fn overrun(&self, turn: &TurnView) -> Option<Failure> {
        let root = turn.task(&turn.root)?;
        // A bare model has no limits of its own.
        let limits = &self.registry.agents.get(&root.agent)?.limits;
        if let Some(time) = limits.time
            && due(turn, time).is_some_and(|at| at <= self.now)
        {
            let message = format!("the turn took longer than {} s", time.as_secs_f32());
            let used = (self.now.millis() - turn.started_at.millis() - turn.paused_for) as f64 / 1000.0;
            let passed = Passed { kind: "time", limit: time.as_secs_f64(), used };
            return Some(Failure { code: TIME_PASSED, message, limit: Some(passed) });
        }
        if let Some(limit) = limits.cost.filter(|limit| turn.cost > *limit) {
            let message = format!("the turn cost {:.4} USD, the limit is {limit:.4}", turn.cost);
            let passed = Passed { kind: "cost", limit, used: turn.cost };
            return Some(Failure { code: "max_cost_exceeded", message, limit: Some(passed) });
        }
        let used = self
            .state
            .turns
            .iter()
            .find(|known| known.turn_id == turn.turn)
            .and_then(|known| known.usage.total_tokens);
        let used = used.unwrap_or(0);
        let limit = limits.tokens.filter(|limit| used > *limit)?;
        let message = format!("the turn used {used} tokens, the limit is {limit}");
        let passed = Passed { kind: "tokens", limit: limit as f64, used: used as f64 };
        Some(Failure { code: "max_tokens_exceeded", message, limit: Some(passed) })
    }

    /// A limit that forbids another step.
    pub(super) fn exhausted(&self, task: &TaskView, persona: &ResolvedAgent) -> Option<Failure> {
        let limit = persona.spec.limits.steps;
        (task.steps >= limit).then(|| Failure {
            code: "max_turns_exceeded",
            message: format!("agent `{}` has used its {limit} steps", task.agent),
            limit: Some(Passed { kind: "turns", limit: limit.into(), used: task.steps.into() }),
        })
    }
}

/// The next time at which an action or a turn runs out.
pub(crate) fn deadline(view: &View, registry: &Registry) -> Option<Timestamp> {
    let ours = || view.turns.values().filter(|turn| turn.ours);
    let calls = ours().flat_map(|turn| &turn.tasks).flat_map(|task| task.calls.unanswered());
    let actions = calls.filter_map(|call| call.pending().and_then(|action| action.expires_at));
    let turns = ours().filter_map(|turn| {
        let agent = registry.agents.get(&turn.task(&turn.root)?.agent)?;
        due(turn, agent.limits.time?)
    });
    actions.chain(turns).min()
}

/// When a turn has used its time; never while it is halted.
fn due(turn: &TurnView, time: std::time::Duration) -> Option<Timestamp> {
    let is_paused = turn.task(&turn.root).is_some_and(|root| turn.is_paused(root));
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX).saturating_add(turn.paused_for);
    (!is_paused).then(|| Timestamp::from_millis(turn.started_at.millis().saturating_add(millis)))
}
