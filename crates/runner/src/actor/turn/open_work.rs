//! Open work, closed honestly: nothing that was shown is lost, nothing goes on, every call has its result.

use riverrun_event::{
    ActionResolved, ErrorInfo, EventType, ItemCompleted, ModelFailed, Part, SubagentClosed, TaskChange,
    TaskId, ToolCancelled,
};
use riverrun_log::seeded::{self, Bug};

use crate::actor::Actor;
use crate::actor::approvals::questions::undecided;
use crate::actor::model::ModelCalls;
use crate::actor::session::HostedSession;
use crate::actor::tools::result::Outcome;
use crate::actor::turn::end::subagent;
use crate::ending::incomplete;
use crate::event_batch::EventBatch;
use crate::view::CallView;

/// What the model reads beside of a call that may have changed something.
const UNKNOWN: &str = "Whether it had an effect is not known.";

/// Why open work is closed.
pub(crate) struct Ending {
    /// The source of decisions that nobody made.
    source: &'static str,
    code: &'static str,
    reason: Option<String>,
    /// What the model reads of a call that ran, and of one that did not.
    begun: &'static str,
    unbegun: &'static str,
}

impl Ending {
    pub fn cancelled(reason: Option<&str>) -> Self {
        Self {
            source: "cancel",
            code: "cancelled",
            reason: reason.map(ToOwned::to_owned),
            begun: "The call was cancelled while it ran.",
            unbegun: "The call was cancelled before it ran. It had no effect.",
        }
    }

    pub fn failed() -> Self {
        Self {
            source: "turn_ended",
            code: "interrupted",
            reason: None,
            begun: "The turn failed while the call ran.",
            unbegun: "The turn failed before the call ran. It had no effect.",
        }
    }

    /// What becomes of a question that nobody answers any more.
    fn decision(&self) -> ActionResolved {
        ActionResolved {
            decision: "reject".to_owned(),
            source: Some(self.source.to_owned()),
            ..ActionResolved::default()
        }
    }
}

impl Actor {
    /// Closes everything below the task, then what is open in the task itself. The task stays to be ended.
    pub(crate) fn close_work(&mut self, task: &TaskId, ending: &Ending, batch: &mut EventBatch) {
        for child in self.session.open_children(task) {
            self.close_work(&child, ending, batch);
            let Some((_, view)) = self.session.view.task(&child) else { continue };
            let reason = ending.reason.clone();
            batch.push(
                EventType::TaskCancelled,
                &view.scope,
                &TaskChange { reason: reason.clone(), ..TaskChange::default() },
            );
            batch.push(EventType::SubagentClosed, &subagent(&view.scope, &child), &SubagentClosed { reason });
        }
        self.effects.stop_effects(|key| key.task() == task);
        self.effects.launches.retain(|(key, _)| key.task() != task);
        self.session.close_hooks(task, ending.code, batch);
        self.session.close_files(task, ending.code, batch);
        self.model.close_model(&self.session, task, ending, batch);
        self.close_calls(task, ending, batch);
        // What was said and not read yet is part of the conversation: another run or the next turn reads it.
        if !seeded::is_on(Bug::ForgetSteering) {
            self.session.write_steers(task, batch);
        }
    }

    fn close_calls(&mut self, task: &TaskId, ending: &Ending, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let open = |call: &&CallView| call.is_complete && !call.is_answered();
        let calls: Vec<String> = view.calls.iter().filter(open).map(|call| call.call.clone()).collect();
        for id in calls {
            let Some((_, view)) = self.session.view.task(task) else { return };
            let Some(call) = view.call(&id) else { continue };
            let scope = view.call_scope(call);
            if let Some(action) = call.pending() {
                let scope =
                    riverrun_event::EventScope { action_id: Some(action.action.clone()), ..scope.clone() };
                // What ran out may be why the turn ends.
                let is_late = action.expires_at.is_some_and(|at| at <= batch.now);
                let resolved = if is_late { undecided() } else { ending.decision() };
                self.session.resolve(&scope, &resolved, batch);
            }
            let text = match (call.is_started, call.is_ended) {
                (true, true) => {
                    "The tool ran, and the turn ended before its result could be read.".to_owned()
                }
                (true, false) if self.session.only_reads(task, &call.name) => ending.begun.to_owned(),
                (true, false) => format!("{} {UNKNOWN}", ending.begun),
                (false, _) => ending.unbegun.to_owned(),
            };
            let (name, is_ended) = (call.name.clone(), call.is_ended);
            self.end_processes(task, &id, ending.source, ending.reason.as_deref(), batch);
            self.write_result(task, &id, &Outcome::error("incomplete", vec![Part::plain(text)]), batch);
            if !is_ended {
                let cancelled = ToolCancelled { tool_name: Some(name), reason: ending.reason.clone() };
                batch.push(EventType::ToolCancelled, &scope, &cancelled);
            }
        }
    }
}

impl HostedSession {
    fn open_children(&self, task: &TaskId) -> Vec<TaskId> {
        let Some((turn, _)) = self.view.task(task) else { return Vec::new() };
        let children =
            turn.tasks.iter().filter(|known| known.parent.as_ref() == Some(task) && known.ended.is_none());
        children.map(|known| known.task.clone()).collect()
    }

    /// Items that a former owner left open, but for results of calls, which are closed with their calls.
    fn left_open(&self, task: &TaskId, batch: &EventBatch) -> Vec<ItemCompleted> {
        let Some(known) = self.state.tasks.iter().find(|known| known.task_id == *task) else {
            return Vec::new();
        };
        let open = known.open.iter().filter_map(|open| {
            let output_index = u32::try_from(open.position).unwrap_or(u32::MAX);
            Some(ItemCompleted { item: incomplete(&known.output[open.position])?, output_index })
        });
        // What this page closes already is not closed again.
        open.filter(|completed| !completed_in(batch, completed)).collect()
    }

    fn only_reads(&self, task: &TaskId, tool: &str) -> bool {
        let persona = self.persona(task);
        let definition = persona.as_ref().and_then(|persona| persona.tooling(tool)?.definition(tool));
        definition.is_some_and(|definition| definition.flags.read_only)
    }
}

impl ModelCalls {
    fn close_model(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        ending: &Ending,
        batch: &mut EventBatch,
    ) {
        let has_items = self.streams.get(task).is_some_and(|stream| !stream.items.is_empty());
        self.close_items(session, task, batch);
        let Some((_, view)) = session.view.task(task) else { return };
        let scope = view.step_scope();
        for completed in session.left_open(task, batch) {
            batch.push(EventType::ItemCompleted, &scope, &completed);
        }
        let error = ErrorInfo {
            message: "the model call was ended".to_owned(),
            code: Some(ending.code.to_owned()),
            ..ErrorInfo::default()
        };
        session.close_compaction(task, &error, batch);
        if view.is_model_open {
            let partial = Some(has_items || !view.step_items.is_empty());
            batch.push(EventType::ModelFailed, &scope, &ModelFailed { error, partial, raw_ref: None });
        }
    }
}

/// True if the page completes this item.
fn completed_in(batch: &EventBatch, completed: &ItemCompleted) -> bool {
    let Some(id) = completed.item.id() else { return false };
    let quoted = format!("\"id\":\"{id}\"");
    let mut drafts = batch.events.iter().map(|event| &event.draft);
    drafts.any(|draft| draft.kind == EventType::ItemCompleted && draft.members().contains(&quoted))
}
