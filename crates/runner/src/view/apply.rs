//! Events into the view.

use riverrun_event::{
    ActionId, ActionRequired, ActionResolved, Compaction, Event, Item, ItemCompleted, ItemPatch, ItemStarted,
    Patch, Payload, RunId, TaskId, Timestamp, TurnId, Usage,
};
use riverrun_fold::Status;
use riverrun_log::seeded::{self, Bug};

use super::{ActionView, CallView, Cancel, Resolved, Steer, TaskView, Trust, TurnView, View};
use crate::CancelMode;
use crate::hook::HookPoint;

/// What the runner writes as the worker of its attempts. Only in a copy a turn is known by it.
pub(crate) const WORKER: &str = riverrun_fold::HOSTED;

/// The code of a model call whose end nobody saw.
pub(crate) const LOST: &str = "interrupted";

/// The category of a model call that failed because the conversation does not fit, and the trigger of its remedy.
pub(crate) const TOO_LONG: &str = "context_too_long";

/// The code of the warning that an answer had more calls than its agent runs.
pub(crate) const TOO_MANY_CALLS: &str = "too_many_calls";

/// The trigger of a remedy for the same inside a turn: its own results give way.
pub(crate) const RESULTS: &str = "tool_results";

impl View {
    pub fn apply(&mut self, event: &Event) {
        if let (Ok(Payload::ActionResolved(resolved)), Some(action)) =
            (&event.payload, &event.scope.action_id)
        {
            return self.resolved(event, action, resolved);
        }
        let (Ok(payload), Some(turn_id)) = (&event.payload, &event.scope.turn_id) else { return };
        if !self.believes(event, turn_id) {
            return;
        }
        if self.is_own(event) && matches!(payload, Payload::TurnSubmitted(_)) {
            self.queued.insert(turn_id.clone());
        }
        if let Payload::TurnStarted(started) = payload {
            return self.turn_started(event, started.agent.clone().unwrap_or_default());
        }
        if event.kind.is_turn_terminal() {
            self.queued.remove(turn_id);
            self.turns.remove(turn_id);
            return;
        }
        let is_copy = self.trust == Trust::Copy;
        let Some(turn) = self.turns.get_mut(turn_id) else { return };
        if let (true, Payload::TaskAttemptStarted(attempt)) = (is_copy, payload) {
            let worker = attempt.worker.as_ref().and_then(|worker| worker.as_text());
            turn.ours |= worker.as_deref() == Some(WORKER);
        }
        turn.apply(event, payload);
    }

    /// True if the event was written by this server's runner.
    fn is_own(&self, event: &Event) -> bool {
        self.trust == Trust::Copy || event.author.is_runner() || seeded::is_on(Bug::BelieveProducers)
    }

    /// Anybody may tell of a turn that is run elsewhere; of a hosted one only the runner may.
    fn believes(&self, event: &Event, turn: &TurnId) -> bool {
        let is_hosted = || self.queued.contains(turn) || self.turns.get(turn).is_some_and(|turn| turn.ours);
        self.is_own(event) || !is_hosted()
    }

    /// An action is known by its id, whatever else its decision names.
    fn resolved(&mut self, event: &Event, action: &ActionId, resolved: &ActionResolved) {
        let may_decide = self.is_own(event) || event.author.may_decide();
        let turns = self.turns.values_mut().filter(|turn| may_decide || !turn.ours);
        let tasks = turns.flat_map(|turn| &mut turn.tasks);
        let actions = tasks.flat_map(|task| &mut task.calls).filter_map(|call| call.action.as_mut());
        for known in actions.filter(|known| known.action == *action) {
            known.resolved.get_or_insert_with(|| decision(resolved));
        }
    }

    fn turn_started(&mut self, event: &Event, agent: String) {
        let scope = event.scope.clone();
        let (Some(turn), Some(task), Some(run)) =
            (scope.turn_id.clone(), scope.task_id.clone(), scope.run_id.clone())
        else {
            return;
        };
        self.queued.remove(&turn);
        let thread = scope.thread_id.clone().unwrap_or_else(crate::main_thread);
        let root = TaskView::new(scope, task.clone(), run, agent);
        let view = TurnView {
            turn: turn.clone(),
            thread,
            root: task,
            started_at: event.timestamp,
            paused_for: 0,
            ours: self.trust == Trust::ByAuthor && self.is_own(event),
            cancel: None,
            tasks: vec![root],
            cost: 0.0,
            estimates: Default::default(),
        };
        self.turns.insert(turn, view);
    }
}

impl TurnView {
    fn apply(&mut self, event: &Event, payload: &Payload) {
        let Some(task_id) = event.scope.task_id.clone() else { return };
        match payload {
            Payload::TaskCreated(info) if event.scope.parent_task_id.is_some() => {
                let run = event.scope.run_id.clone();
                self.child(event, &task_id, run, info.agent.clone().unwrap_or_default());
            }
            Payload::TaskCancelRequested(change) if task_id == self.root => {
                let is_immediate = change.native_status.as_deref() != Some("after_turn");
                let mode = if is_immediate { CancelMode::Immediate } else { CancelMode::AfterTurn };
                self.cancel = Some(Cancel { mode, reason: change.reason.clone() });
            }
            Payload::TaskResumed(_) if task_id == self.root => {
                let since = self.task(&task_id).and_then(|root| root.paused_at);
                self.paused_for += since.map_or(0, |since| event.timestamp.millis() - since.millis());
            }
            Payload::InputSteered(_) => self.child_reported(event),
            Payload::CostEstimated(cost) => drop(self.estimates.insert(task_id.clone(), cost.amount)),
            Payload::CostRecorded(cost) => self.cost += cost.amount,
            Payload::ModelCompleted(completed) if !is_counted(completed.usage.as_ref()) => {
                self.cost += self.estimates.get(&task_id).copied().unwrap_or_default();
            }
            _ => {}
        }
        if let Some(task) = self.task_mut(&task_id) {
            task.apply(event, payload);
        }
    }

    /// Input of a task that names a sub-agent is what that one said at its end.
    fn child_reported(&mut self, event: &Event) {
        let child = event.scope.subagent_id.as_deref().and_then(|id| TaskId::new(id).ok());
        if let Some(child) = child.and_then(|child| self.task_mut(&child)) {
            child.is_reported = true;
        }
    }

    fn child(&mut self, event: &Event, task: &TaskId, run: Option<RunId>, agent: String) {
        if self.task(task).is_none()
            && let Some(run) = run
        {
            self.tasks.push(TaskView::new(event.scope.clone(), task.clone(), run, agent));
        }
    }
}

/// True if the service said what its answer cost in tokens.
fn is_counted(usage: Option<&Usage>) -> bool {
    usage.is_some_and(|usage| usage.input_tokens.is_some() && usage.output_tokens.is_some())
}

impl TaskView {
    fn apply(&mut self, event: &Event, payload: &Payload) {
        match payload {
            Payload::TaskAttemptStarted(_) => self.attempt(event),
            Payload::AgentChanged(changed) => {
                self.agent.clone_from(&changed.agent);
                (self.model, self.is_routed) = (0, false);
            }
            Payload::TaskCompleted(_) => self.ended = Some(Status::Completed),
            Payload::TaskFailed(_) => self.ended = Some(Status::Failed),
            Payload::TaskCancelled(_) => self.ended = Some(Status::Cancelled),
            Payload::TaskTimedOut(_) => self.ended = Some(Status::TimedOut),
            Payload::TaskLost(_) => self.ended = Some(Status::Lost),
            Payload::TaskPaused(_) => self.paused_at = Some(self.paused_at.unwrap_or(event.timestamp)),
            Payload::TaskResumed(_) => self.paused_at = None,
            Payload::TaskCancelRequested(change) if self.parent.is_some() => {
                self.is_closing = Some(change.reason.clone().unwrap_or_default());
            }
            Payload::InputSteered(steered) => {
                let (input, is_of_user) = (steered.input.clone(), steered.source.is_none());
                self.steers.push(Steer { input, is_of_user });
            }
            Payload::SubagentSpawned(spawned) => self.reported_status.clone_from(&spawned.status),
            Payload::SubagentStatus(update) => self.reported_status.clone_from(&update.status),
            Payload::SubagentInput(update) => {
                self.steers.extend(update.input.clone().map(|input| Steer { input, is_of_user: true }));
            }
            Payload::RuntimeWarning(notice) if notice.code.as_deref() == Some("output_mismatch") => {
                self.repairs += 1;
                self.misfit.clone_from(&notice.message);
                self.is_call_due = true;
            }
            Payload::RuntimeWarning(notice) if notice.code.as_deref() == Some(TOO_MANY_CALLS) => {
                self.excess.clone_from(&notice.message);
            }
            Payload::ContextCompactionStarted(update)
            | Payload::ContextCompactionCompleted(update)
            | Payload::ContextCompactionFailed(update) => self.compaction(event, update, payload),
            Payload::HookStarted(_) | Payload::HookCompleted(_) | Payload::HookFailed(_) => {
                self.hook(event, payload);
            }
            // The call that makes a summary is no step of the task.
            _ if self.compacting.is_some() && self.compacting == event.scope.step_id => {}
            _ => self.apply_step(event, payload),
        }
    }

    fn compaction(&mut self, event: &Event, compaction: &Compaction, payload: &Payload) {
        let is_start = matches!(payload, Payload::ContextCompactionStarted(_));
        self.compacting = event.scope.step_id.clone().filter(|_| is_start);
        let is_remedy = compaction.trigger.as_deref() == Some(TOO_LONG);
        self.was_too_long |= is_start && is_remedy;
        let is_cut = compaction.trigger.as_deref() == Some(RESULTS);
        if !matches!(payload, Payload::ContextCompactionCompleted(_)) {
            return;
        }
        if is_cut {
            (self.results_fit, self.cuts) = (compaction.tokens_after, self.cuts + 1);
        }
        if is_remedy || is_cut {
            // The next request is another one.
            self.failures = 0;
        }
    }

    fn attempt(&mut self, event: &Event) {
        self.attempts += 1;
        if let Some(run) = &event.scope.run_id {
            self.run = run.clone();
            self.scope.run_id = Some(run.clone());
        }
    }

    fn apply_step(&mut self, event: &Event, payload: &Payload) {
        match payload {
            Payload::ModelRequested(requested) => {
                self.step.clone_from(&event.scope.step_id);
                (self.is_model_open, self.is_call_due) = (true, true);
                self.provider = requested.provider.as_deref().map(Into::into);
                self.step_items.clear();
                self.excess = None;
                // Whether the turn may end is asked anew after every step.
                self.hooks.retain(|hook| hook.point != HookPoint::Stop);
            }
            Payload::ModelCompleted(completed) => {
                (self.is_model_open, self.is_call_due) = (false, false);
                self.steps += 1;
                self.failures = 0;
                self.stop = Some(completed.stop_reason.clone().unwrap_or_default());
            }
            Payload::ModelFailed(failed) => {
                self.is_model_open = false;
                // A call that died with its server says nothing about the model.
                let is_lost = failed.error.code.as_deref() == Some(LOST);
                self.failures += u32::from(!is_lost);
                self.last_error = Some(failed.error.clone());
            }
            Payload::RoutingDecided(_) | Payload::RoutingSingleCandidate(_) => self.is_routed = true,
            Payload::RoutingFallbackApplied(_) => (self.model, self.failures) = (self.model + 1, 0),
            Payload::HandoffRequested(_) => self.handoffs.extend(event.scope.step_id.clone()),
            Payload::ItemStarted(started) => self.item_started(event, started),
            Payload::ItemCompleted(completed) => self.item_completed(completed),
            Payload::ItemRetracted(retracted) => {
                self.calls.retract(&retracted.item_id);
                self.step_items.retain(|(item, _)| *item != retracted.item_id);
            }
            _ => self.apply_call(event, payload),
        }
    }

    fn item_started(&mut self, event: &Event, started: &ItemStarted) {
        self.next_index = self.next_index.max(started.output_index + 1);
        let id = started.item.id().unwrap_or_default().into_owned();
        if let Some(provider) = self.provider.clone().filter(|_| self.is_model_open) {
            self.makers.insert(id.clone(), provider);
        }
        if self.is_model_open && event.scope.step_id == self.step {
            self.step_items.push((id.clone(), started.output_index));
        }
        match &started.item {
            Item::ToolCall(call) => self.calls.push(CallView::new(
                call.call_id.clone(),
                id,
                started.output_index,
                call.name.clone(),
                event.scope.step_id.clone(),
            )),
            Item::ToolResult(result) => {
                let index = started.output_index;
                self.calls.open_result(&result.call_id, id, index);
            }
            // What is told again of an earlier run was read then.
            Item::Message(message) if message.role.as_deref() == Some("user") => {
                self.steers_read = self.steers.len().min(self.steers_read + 1);
            }
            Item::Message(_)
            | Item::Reasoning(_)
            | Item::Handoff(_)
            | Item::Error(_)
            | Item::Hosted(_)
            | Item::Other(_) => {}
        }
    }

    fn item_completed(&mut self, completed: &ItemCompleted) {
        match &completed.item {
            ItemPatch::ToolCall(patch) => {
                let is_whole = match &patch.status {
                    Patch::Set(status) => status == "completed",
                    Patch::Keep | Patch::Clear => true,
                };
                if let Some(call) = self.calls.with_item_mut(&patch.id) {
                    call.is_complete = is_whole;
                }
            }
            ItemPatch::ToolResult(patch) => {
                self.calls.answer(&patch.id);
            }
            ItemPatch::Message(_)
            | ItemPatch::Reasoning(_)
            | ItemPatch::Handoff(_)
            | ItemPatch::Error(_)
            | ItemPatch::Hosted(_)
            | ItemPatch::Other(_) => {}
        }
    }

    fn apply_call(&mut self, event: &Event, payload: &Payload) {
        let Some(call) = event.scope.tool_call_id.as_ref().and_then(|call| self.call_mut(call.as_str()))
        else {
            return;
        };
        match payload {
            Payload::PermissionEvaluated(permission) => {
                call.is_allowed = permission.decision.as_deref() == Some("allow");
            }
            // A call has one question: another one does not take its place.
            Payload::ActionRequired(required) if call.action.is_none() => {
                call.action = action(event, required);
            }
            Payload::ToolStarted(_) => call.is_started = true,
            Payload::ToolResult(result) => call.ended(result.output_ref.as_ref(), false),
            Payload::ToolFailed(failed) => call.ended(failed.output_ref.as_ref(), true),
            Payload::ToolCancelled(_) | Payload::ToolOutcomeUnknown(_) => call.is_ended = true,
            Payload::ProcessStarted(_) => call.process.clone_from(&event.subject),
            Payload::ProcessCompleted(_) | Payload::ProcessFailed(_) | Payload::ProcessTerminated(_) => {
                call.process = None;
            }
            _ => {}
        }
    }
}

fn action(event: &Event, required: &ActionRequired) -> Option<ActionView> {
    Some(ActionView {
        action: event.scope.action_id.clone()?,
        digest: required.digest.clone(),
        is_permission: required.action_type == "tool_permission",
        expires_at: required
            .expires_at
            .as_deref()
            .and_then(|text| Timestamp::parse(text).ok())
            .filter(|_| !seeded::is_on(Bug::ForgetTimers)),
        resolved: None,
    })
}

fn decision(resolved: &ActionResolved) -> Resolved {
    Resolved {
        decision: resolved.decision.clone(),
        source: resolved.source.clone(),
        message: resolved.message.clone(),
        arguments: resolved.response.clone().or_else(|| resolved.arguments.clone()),
        digest: resolved.digest.clone(),
    }
}
