//! Turns that are open in events which this server's runner did not write: in a file, in a fork, in the log of an older
//! version. They end, and nothing of them runs here.
//!
//! The source may still run them, and may have had every effect that the events do not tell the end of. So a call that
//! had begun has an unknown outcome, open questions are rejected, and the turn fails with a code that says why; a retry
//! goes on with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use riverrun_event::{
    ActionResolved, Compaction, Decoded, ErrorInfo, Event, EventScope, EventType, HistoryReconstructed,
    HookRun, Item, ItemCompleted, ItemId, ItemPatch, ItemStarted, ModelFailed, Part, Patch,
    PermissionDecision, ProcessEnded, QueueChanged, QueuedTurn, Sequence, SubagentFailed, TaskAttempt,
    TaskChange, TaskFailed, TaskId, ToolCancelled, ToolOutcomeUnknown, ToolResultItem, ToolResultPatch,
    TurnFailed, TurnId,
};
use riverrun_fold::{Density, State, TurnState};

use riverrun_log::seeded::{self, Bug};

use crate::approve::Rules;
use crate::drive::failed_process;
use crate::ending::{incomplete, write_unread};
use crate::event_batch::{EventBatch, turn_scope, with_step};
use crate::shared::RunnerShared;
use crate::view::{CallView, HookView, ResultView, TaskView, View};

/// CopyReason the events are not the runner's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyReason {
    /// They came as a file.
    Imported,
    /// They are the beginning of another session.
    Forked,
    /// An older version wrote them, which did not store authors.
    Unproven,
}

impl CopyReason {
    fn code(self) -> &'static str {
        match self {
            CopyReason::Imported => "imported",
            CopyReason::Forked => "forked",
            CopyReason::Unproven => "upgraded",
        }
    }

    fn message(self) -> &'static str {
        match self {
            CopyReason::Imported => {
                "the session was exported while this turn was open, and an imported turn does not run by itself; \
                 retry it to go on here"
            }
            CopyReason::Forked => {
                "the session was forked while this turn was open, and a copied turn does not run by itself; retry it \
                 to go on here"
            }
            CopyReason::Unproven => {
                "an older version of the server left this turn open, without a record of who wrote its events; retry \
                 it to go on"
            }
        }
    }

    fn left(self) -> &'static str {
        match self {
            CopyReason::Imported => "the session was exported while this was open",
            CopyReason::Forked => "the session was forked while this was open",
            CopyReason::Unproven => "the server was upgraded while this was open",
        }
    }

    /// Who resolves what nobody can decide any more.
    fn source(self) -> &'static str {
        match self {
            CopyReason::Imported => "import",
            CopyReason::Forked => "fork",
            CopyReason::Unproven => "upgrade",
        }
    }

    fn error(self, message: &str) -> ErrorInfo {
        ErrorInfo {
            message: message.to_owned(),
            code: Some(self.code().to_owned()),
            retryable: Some(true),
            ..ErrorInfo::default()
        }
    }

    /// Of a task that had begun: the source may go on with it, and here nobody does.
    fn task_lost(self) -> TaskChange {
        TaskChange { reason: Some(self.message().to_owned()), ..TaskChange::default() }
    }

    fn task_failed(self) -> TaskFailed {
        TaskFailed { error: self.error(self.message()), status: None, reason: None }
    }
}

/// Follows copied events, and ends what is open behind the last of them.
pub struct CopiedTurns {
    shared: Arc<RunnerShared>,
    reason: CopyReason,
    state: State,
    view: View,
    /// Turns whose newest event of their own is a start.
    started: BTreeSet<TurnId>,
}

impl CopiedTurns {
    pub(crate) fn new(shared: Arc<RunnerShared>, reason: CopyReason) -> Self {
        Self { shared, reason, state: State::default(), view: View::of_copy(), started: BTreeSet::new() }
    }

    /// The next event, at its place.
    pub fn follow(&mut self, event: &Decoded, sequence: Sequence) {
        self.follow_event(&event.clone().into_event(sequence, self.shared.now()));
    }

    pub(crate) fn follow_event(&mut self, event: &Event) {
        // The beginning of a long log may have been retired.
        let _ = self.state.apply_as(Density::Filtered, event, &mut Vec::new());
        self.view.apply(event);
        if let Some(turn) = &event.scope.turn_id {
            if event.kind == EventType::TurnStarted {
                self.started.insert(turn.clone());
            } else if event.kind.is_turn_terminal() {
                self.started.remove(turn);
            }
        }
    }

    /// What ends the open turns of hosted agents, and those turns. Turns that somebody else runs and only tells of
    /// stay as they are.
    pub fn end(self) -> (Vec<Decoded>, Vec<TurnId>) {
        let mut batch = EventBatch::new(self.shared.now());
        self.drop_rules(&mut batch);
        let ended = self.end_into(&mut batch, |_| true);
        (batch.events, ended)
    }

    /// The same for those of the turns that are meant.
    pub(crate) fn end_into(
        mut self,
        batch: &mut EventBatch,
        is_meant: impl Fn(&TurnId) -> bool,
    ) -> Vec<TurnId> {
        let ours = self.view.turns.values().filter(|turn| turn.ours && is_meant(&turn.turn));
        let mut ended: Vec<TurnId> = ours.map(|turn| turn.turn.clone()).collect();
        for turn in &ended {
            self.end_turn(turn, batch);
        }
        ended.extend(self.end_queue(batch, &is_meant));
        ended.extend(self.end_reopened(batch, &ended, is_meant));
        if !ended.is_empty() {
            let rebuilt = HistoryReconstructed {
                layers: Some(vec!["event_log".to_owned()]),
                sequence: Some(self.state.sequence.get()),
                degraded: Some(true),
                gaps: Some(ended.iter().map(|turn| format!("the end of turn {turn}")).collect()),
                reason: Some(self.reason.code().to_owned()),
            };
            batch.push(EventType::HistoryReconstructed, &EventScope::default(), &rebuilt);
        }
        ended
    }

    /// Turns of hosted agents that had ended, and that a later event opens again without a run of ours.
    fn end_reopened(
        &self,
        batch: &mut EventBatch,
        ended: &[TurnId],
        is_meant: impl Fn(&TurnId) -> bool,
    ) -> Vec<TurnId> {
        // A forged start may name another task: the turn is ours if any of its tasks ran here.
        let is_ours = |turn: &TurnState| {
            let mut tasks =
                self.state.tasks.iter().filter(|task| task.turn_id.as_ref() == Some(&turn.turn_id));
            tasks.any(|task| task.attempts.iter().any(|attempt| attempt.is_hosted()))
        };
        let is_left = |turn: &&TurnState| {
            let is_open = self.started.contains(&turn.turn_id);
            let is_seeded = seeded::is_on(Bug::LeaveReopened);
            is_open
                && !is_seeded
                && is_ours(turn)
                && !ended.contains(&turn.turn_id)
                && is_meant(&turn.turn_id)
        };
        let mut closed = Vec::new();
        for turn in self.state.turns.iter().filter(is_left) {
            let (Some(task), Some(run)) = (&turn.task_id, &turn.run_id) else { continue };
            let scope = turn_scope(&turn.thread_id, &turn.turn_id, task, run);
            let error = Some(self.reason.error(self.reason.message()));
            let attempt = TaskAttempt { error, ..TaskAttempt::default() };
            // A start without another run opens the turn for the catalogue alone; its tasks have ended.
            if !turn.status.is_terminal() {
                batch.push(EventType::TaskAttemptFailed, &scope, &attempt);
                batch.push(EventType::TaskFailed, &scope, &self.reason.task_failed());
            }
            let failed = TurnFailed { error: self.reason.error(self.reason.message()), usage: None };
            batch.push(EventType::TurnFailed, &scope, &failed);
            closed.push(turn.turn_id.clone());
        }
        closed
    }

    /// Says that the rules of the source do not hold here.
    fn drop_rules(&self, batch: &mut EventBatch) {
        if seeded::is_on(Bug::ImportGrantsRules) || seeded::is_on(Bug::ForkRevivesRules) {
            return;
        }
        let newest = Rules::candidates(&self.state).into_iter().next();
        if newest.is_some_and(|(_, rules)| !rules.is_empty()) && self.reason != CopyReason::Unproven {
            let no_rules = Rules::default().not_copied();
            batch.push(EventType::PolicyChanged, &EventScope::default(), &no_rules);
        }
    }

    fn end_turn(&mut self, turn: &TurnId, batch: &mut EventBatch) {
        let reason = self.reason;
        let Some(view) = self.view.turns.get(turn) else { return };
        let root = view.root.clone();
        // Parents stand before their children.
        let open = view.tasks.iter().rev().filter(|task| task.ended.is_none());
        let tasks: Vec<TaskId> = open.map(|task| task.task.clone()).collect();
        for task in tasks {
            self.end_work(&task, batch);
            let Some((_, view)) = self.view.task(&task) else { continue };
            let attempt =
                TaskAttempt { error: Some(reason.error(reason.message())), ..TaskAttempt::default() };
            batch.push(EventType::TaskAttemptFailed, &view.scope, &attempt);
            batch.push(EventType::TaskLost, &view.scope, &reason.task_lost());
            if task != root {
                let scope = EventScope { subagent_id: Some(task.to_string()), ..view.scope.clone() };
                let failed = SubagentFailed {
                    error: Some(reason.error(reason.message())),
                    ..SubagentFailed::default()
                };
                batch.push(EventType::SubagentFailed, &scope, &failed);
            }
        }
        let Some((_, view)) = self.view.task(&root) else { return };
        let usage = self.state.turns.iter().find(|known| known.turn_id == *turn);
        let usage = usage.map(|known| known.usage.clone());
        batch.push(
            EventType::TurnFailed,
            &view.scope,
            &TurnFailed { error: reason.error(reason.message()), usage },
        );
    }

    /// Turns that waited: none of them begins here by itself.
    fn end_queue(&self, batch: &mut EventBatch, is_meant: impl Fn(&TurnId) -> bool) -> Vec<TurnId> {
        let waits = |turn: &&TurnState| {
            let mut queue = self.state.queue.iter();
            let is_queued = queue.any(|entry| entry.turn_id == turn.turn_id.as_str());
            is_queued && turn.started_at.is_none() && !turn.status.is_terminal() && is_meant(&turn.turn_id)
        };
        let mut ended: Vec<TurnId> = Vec::new();
        for turn in self.state.turns.iter().filter(waits) {
            let (Some(task), Some(run)) = (&turn.task_id, &turn.run_id) else { continue };
            ended.push(turn.turn_id.clone());
            let scope = turn_scope(&turn.thread_id, &turn.turn_id, task, run);
            batch.push(EventType::QueueChanged, &scope, &self.queue_without(&ended));
            batch.push(EventType::TaskFailed, &scope, &self.reason.task_failed());
            batch.push(
                EventType::TurnFailed,
                &scope,
                &TurnFailed { error: self.reason.error(self.reason.message()), usage: None },
            );
        }
        ended
    }

    fn queue_without(&self, ended: &[TurnId]) -> QueueChanged {
        let left =
            self.state.queue.iter().filter(|entry| ended.iter().all(|turn| turn.as_str() != entry.turn_id));
        let queued = (0..).zip(left).map(|(position, entry)| {
            let (turn_id, preview) = (entry.turn_id.clone(), entry.preview.clone());
            QueuedTurn { turn_id, position, preview }
        });
        QueueChanged { queued: queued.collect(), reason: Some(self.reason.code().to_owned()) }
    }

    fn end_work(&mut self, task: &TaskId, batch: &mut EventBatch) {
        if let Some((_, view)) = self.view.task(task) {
            end_hooks(self.reason, view, batch);
            self.end_model(view, batch);
        }
        // Where the output ends is the fold's to say.
        let known = self.state.tasks.iter().find(|known| known.task_id == *task);
        let length = known.map_or(0, |known| u32::try_from(known.output.len()).unwrap_or(u32::MAX));
        let (shared, reason) = (self.shared.clone(), self.reason);
        let Some(view) = self.view.task_mut(task) else { return };
        view.next_index = view.next_index.max(length);
        let open = |call: &&CallView| call.is_complete && !call.is_answered();
        let calls: Vec<String> = view.calls.iter().filter(open).map(|call| call.call.clone()).collect();
        for call in calls {
            end_call(&shared, reason, view, &call, batch);
        }
        write_unread(&shared, view, batch);
    }

    fn end_model(&self, view: &TaskView, batch: &mut EventBatch) {
        let (reason, scope) = (self.reason, view.step_scope());
        let known = self.state.tasks.iter().find(|known| known.task_id == view.task);
        for (position, item) in known
            .into_iter()
            .flat_map(|known| known.open.iter().map(|open| (open.position, &known.output[open.position])))
        {
            let Some(item) = incomplete(item) else { continue };
            let output_index = u32::try_from(position).unwrap_or(u32::MAX);
            batch.push(EventType::ItemCompleted, &scope, &ItemCompleted { item, output_index });
        }
        let failed = |partial| ModelFailed {
            error: reason.error(reason.left()),
            partial: Some(partial),
            raw_ref: None,
        };
        if let Some(step) = &view.compacting {
            let scope = with_step(&view.scope, Some(step));
            batch.push(EventType::ModelFailed, &scope, &failed(false));
            let compaction = Compaction { error: Some(reason.error(reason.left())), ..Compaction::default() };
            batch.push(EventType::ContextCompactionFailed, &scope, &compaction);
        }
        if view.is_model_open {
            batch.push(EventType::ModelFailed, &scope, &failed(!view.step_items.is_empty()));
        }
    }
}

fn end_hooks(reason: CopyReason, view: &TaskView, batch: &mut EventBatch) {
    let failed = |hook: &HookView| HookRun {
        hook_name: Some(hook.name.clone()),
        point: Some(hook.point.as_str().to_owned()),
        error: Some(reason.error(reason.left())),
        ..HookRun::default()
    };
    for hook in view.hooks.iter().filter(|hook| hook.answer.is_none()) {
        batch.push(EventType::HookFailed, &view.step_scope(), &failed(hook));
    }
    for call in &view.calls {
        for hook in call.hooks.iter().filter(|hook| hook.answer.is_none()) {
            batch.push(EventType::HookFailed, &view.call_scope(call), &failed(hook));
        }
    }
}

/// Gives a call that had no result the one that it has here.
fn end_call(
    shared: &RunnerShared,
    reason: CopyReason,
    view: &mut TaskView,
    id: &str,
    batch: &mut EventBatch,
) {
    let Some(call) = view.call(id) else { return };
    let (scope, name) = (view.call_scope(call), Some(call.name.clone()));
    end_action(reason, call, &scope, batch);
    if let Some(process) = &call.process {
        let message = format!("{}; what became of the process is not known here", reason.left());
        let ended = ProcessEnded { error: Some(failed_process("lost", message)), ..ProcessEnded::default() };
        batch.push_process(EventType::ProcessFailed, &scope, process, &ended);
    }
    let (is_started, is_ended) = (call.is_started, call.is_ended);
    let text = match (is_started, is_ended) {
        (true, true) => "The tool ran, and the session was copied before its result could be read.",
        (true, false) => {
            "The session was copied while the call ran. Whether it had its effect is not known. Find out before you \
             call it again."
        }
        (false, _) => "The session was copied before the call ran. It had no effect.",
    };
    write_result(shared, view, id, text, batch);
    let reason = Some(reason.left().to_owned());
    match (is_started, is_ended) {
        (_, true) => {}
        (true, false) => {
            let unknown = ToolOutcomeUnknown { tool_name: name, reason };
            batch.push(EventType::ToolOutcomeUnknown, &scope, &unknown);
        }
        (false, false) => {
            batch.push(EventType::ToolCancelled, &scope, &ToolCancelled { tool_name: name, reason });
        }
    }
}

/// A question to which no answer would come any more.
fn end_action(reason: CopyReason, call: &CallView, scope: &EventScope, batch: &mut EventBatch) {
    let Some(action) = call.pending() else { return };
    let source = Some(reason.source().to_owned());
    let resolved =
        ActionResolved { decision: "reject".to_owned(), source: source.clone(), ..ActionResolved::default() };
    let asked = EventScope { action_id: Some(action.action.clone()), ..scope.clone() };
    batch.push(EventType::ActionResolved, &asked, &resolved);
    if action.is_permission {
        let permission = PermissionDecision {
            tool_name: Some(call.name.clone()),
            decision: Some("deny".to_owned()),
            decision_source: source,
            decision_reason: Some(reason.left().to_owned()),
            approval_action_id: Some(action.action.to_string()),
            ..PermissionDecision::default()
        };
        batch.push(EventType::PermissionResolved, scope, &permission);
    }
}

fn write_result(shared: &RunnerShared, view: &mut TaskView, id: &str, text: &str, batch: &mut EventBatch) {
    let Some(call) = view.call(id) else { return };
    let scope = view.call_scope(call);
    let (item, output_index) = match &call.result {
        ResultView::Open { item, index } => (item.clone(), *index),
        ResultView::Absent | ResultView::Done => {
            let (item, output_index) = (ItemId::from_bytes(shared.fresh()).to_string(), view.take_index());
            let result =
                ToolResultItem { id: item.clone(), call_id: id.to_owned(), ..ToolResultItem::default() };
            let started = ItemStarted { item: Item::ToolResult(result), output_index };
            batch.push(EventType::ItemStarted, &scope, &started);
            (item, output_index)
        }
    };
    let patch = ToolResultPatch {
        id: item,
        content: Patch::Set(vec![Part::plain(text.to_owned())]),
        status: Patch::Set("incomplete".to_owned()),
        is_error: Patch::Set(true),
        ..ToolResultPatch::default()
    };
    let completed = ItemCompleted { item: ItemPatch::ToolResult(patch), output_index };
    batch.push(EventType::ItemCompleted, &scope, &completed);
}
