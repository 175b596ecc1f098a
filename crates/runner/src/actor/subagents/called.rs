//! Sub-agents and handoffs.

use riverrun_event::{
    AgentChanged, EventScope, EventType, HandoffCompleted, HandoffItem, HandoffPatch, HandoffRequested, Item,
    ItemCompleted, ItemId, ItemPatch, ItemStarted, Part, RawJson, RunId, SubagentSpawned, SubagentStatus,
    TaskChange, TaskDelegated, TaskId, TaskInfo, ToolCancelled, ToolResult,
};
use riverrun_fold::Status;
use riverrun_tool::ToolErrorKind;
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::session::HostedSession;
use crate::actor::subagents::spawned::Crowd;
use crate::actor::tools::result::Outcome;
use crate::actor::turn::end::subagent;
use crate::actor::turn::open_work::Ending;
use crate::actor::turn::start::write_attempt;
use crate::event_batch::EventBatch;
use crate::reference::Pool;
use crate::resolved_agent::Tooling;

impl Actor {
    #[allow(clippy::too_many_arguments, reason = "the parts of one call, taken apart by its only caller")]
    /// Gives work to a sub-agent: a task of its own, named by the call.
    pub(crate) fn spawn(
        &mut self,
        task: &TaskId,
        call: &str,
        agent: &str,
        tooling: &Tooling<'_>,
        value: &Value,
        source: &str,
        batch: &mut EventBatch,
    ) {
        if !self.session.registry.agents.contains_key(agent) {
            let message = format!("There is no agent `{agent}`.");
            return self.refuse_call(task, call, ToolErrorKind::LimitPassed, &message, batch);
        }
        if let Some(crowd) = self.session.too_many(task, batch) {
            let message = crowd.for_model();
            return self.refuse_call(task, call, ToolErrorKind::LimitPassed, &message, batch);
        }
        let Ok(child) = TaskId::new(call) else { return };
        let input = value["input"].as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let run = RunId::from_bytes(self.session.shared.fresh());
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let scope = view.call_scope(known);
        let child_scope = EventScope {
            task_id: Some(child.clone()),
            run_id: Some(run),
            step_id: None,
            tool_call_id: None,
            parent_task_id: Some(task.clone()),
            parent_tool_call_id: scope.tool_call_id.clone(),
            depth: Some(view.depth + 1),
            ..view.scope.clone()
        };
        self.write_started(task, call, tooling, value, source, batch);
        // The child's items are shown inside this result, so it stands before the child's first event.
        self.session.open_result(task, call, batch);
        let delegated = TaskDelegated { to_task_id: call.to_owned(), agent: Some(agent.to_owned()) };
        batch.push(EventType::TaskDelegated, &scope, &delegated);
        write_child(batch, &child_scope, &child, agent, &input);
    }

    /// The child has ended: the parent's model reads its message and what it cites, or why there is none.
    pub(crate) fn collect(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        let Ok(child) = TaskId::new(call) else { return };
        let Some(status) = self.session.view.task(&child).and_then(|(_, child)| child.ended) else { return };
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let (scope, name) = (view.call_scope(known), known.name.clone());
        let message = self.session.final_blocks(&child).filter(|_| status == Status::Completed);
        let cut =
            self.session.view.task(&child).and_then(|(_, child)| cut_note(&child.agent, child.cut_short()?));
        if let Some(message) = message {
            let of_child = self.tools.pools.remove(&child).unwrap_or_else(|| self.session.restored(&child));
            let keep = self.session.source_policy(task);
            let adopted = self.tools.pool(&self.session, task).adopt(&of_child, &message, keep);
            // A user who reads `[^2]` here finds what it cites among the child's items, as its `[^1]`.
            let references = RawJson::of(&adopted.numbers).ok().filter(|_| !adopted.numbers.is_empty());
            let (status, mut content) =
                (if cut.is_some() { "incomplete" } else { "completed" }, adopted.content);
            content.extend(cut.map(Part::plain));
            let outcome = Outcome { status, content, blocks: None, is_error: false, references };
            self.write_result(task, call, &outcome, batch);
            let (tool_name, status) = (Some(name), Some(status.to_owned()));
            return batch.push(
                EventType::ToolResult,
                &scope,
                &ToolResult { tool_name, status, ..ToolResult::default() },
            );
        }
        let text = self.session.without_message(&child, status, &name);
        self.write_result(task, call, &Outcome::error("incomplete", vec![Part::plain(text.clone())]), batch);
        if status == Status::Cancelled {
            let cancelled = ToolCancelled { tool_name: Some(name), reason: Some("closed".to_owned()) };
            return batch.push(EventType::ToolCancelled, &scope, &cancelled);
        }
        batch.push(
            EventType::ToolFailed,
            &scope,
            &self.session.failure(task, name, ToolErrorKind::Failed, &text),
        );
    }

    /// Somebody closed the sub-agent; its parent goes on.
    pub(crate) fn close_child(&mut self, task: &TaskId, batch: &mut EventBatch) {
        let reason = self
            .session
            .view
            .task(task)
            .and_then(|(_, view)| view.is_closing.clone())
            .filter(|reason| !reason.is_empty());
        self.close_work(task, &Ending::cancelled(reason.as_deref()), batch);
        let Some((_, view)) = self.session.view.task(task) else { return };
        batch.push(
            EventType::TaskCancelled,
            &view.scope,
            &TaskChange { reason: reason.clone(), ..TaskChange::default() },
        );
        let closed = riverrun_event::SubagentClosed { reason };
        batch.push(EventType::SubagentClosed, &subagent(&view.scope, task), &closed);
    }

    /// Another agent goes on with the same conversation.
    pub(crate) fn hand_off(&mut self, task: &TaskId, call: &str, to: &str, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let (scope, name, item, from) =
            (view.call_scope(known), known.name.clone(), known.item.clone(), view.agent.clone());
        if view.has_handed_off() || !self.session.registry.agents.contains_key(to) {
            let message = format!(
                "The conversation was not handed to `{to}`: another handoff came first, or there is no such agent."
            );
            return self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
        }
        let requested = HandoffRequested { to: to.to_owned(), item_id: Some(item) };
        batch.push(EventType::HandoffRequested, &scope, &requested);
        let content = vec![Part::plain(format!("The conversation was handed to {to}."))];
        let outcome =
            Outcome { status: "completed", content, blocks: None, is_error: false, references: None };
        self.write_result(task, call, &outcome, batch);
        let (tool_name, status) = (Some(name), Some("completed".to_owned()));
        batch.push(EventType::ToolResult, &scope, &ToolResult { tool_name, status, ..ToolResult::default() });
        self.session.take_over_by(task, call, to, from, &scope, batch);
    }
}

impl HostedSession {
    /// Why no more sub-agents may come.
    pub(crate) fn too_many(&self, task: &TaskId, batch: &EventBatch) -> Option<Crowd> {
        let (turn, view) = self.view.task(task)?;
        let limits = self.persona(&turn.root)?.spec.limits.clone();
        if view.depth >= limits.depth {
            return Some(Crowd::Depth(limits.depth));
        }
        let coming =
            batch.events.iter().filter(|event| event.draft.kind == EventType::SubagentSpawned).count();
        let there = turn.tasks.iter().filter(|task| task.parent.is_some()).count() + coming;
        (there >= limits.children as usize).then_some(Crowd::Children(limits.children))
    }

    /// What a parent's model reads of a child that said nothing.
    pub(crate) fn without_message(&self, child: &TaskId, status: Status, name: &str) -> String {
        let known = self.state.tasks.iter().find(|known| known.task_id == *child);
        let why = known.and_then(|known| {
            known.error.as_ref().map(|error| error.message.clone()).or(known.status_reason.clone())
        });
        match (status, why) {
            (Status::Cancelled, Some(why)) if !why.is_empty() => {
                format!("The agent {name} was closed: {why}")
            }
            (Status::Cancelled, _) => format!("The agent {name} was closed before it had an answer."),
            (_, Some(why)) => format!("The agent {name} failed. Error: {why}"),
            (_, None) => format!("The agent {name} ended without a message."),
        }
    }

    pub(crate) fn restored(&self, task: &TaskId) -> Pool {
        let known = self.state.tasks.iter().find(|known| known.task_id == *task);
        Pool::restore(Default::default(), known.map(|known| known.output.as_slice()).unwrap_or_default())
    }

    /// Whoever reads the parent is told that the child waits, or goes on.
    pub(crate) fn write_child_status(&self, child: &TaskId, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(child) else { return };
        let Some(known) = self.state.tasks.iter().find(|known| known.task_id == *child) else { return };
        let status = SubagentStatus {
            status: Some(known.status.as_str().to_owned()),
            reason: known.status_reason.clone(),
            ..SubagentStatus::default()
        };
        batch.push(EventType::SubagentStatus, &subagent(&view.scope, child), &status);
    }

    /// The item that shows the handoff, and who has the conversation from now on.
    fn take_over_by(
        &mut self,
        task: &TaskId,
        call: &str,
        to: &str,
        from: String,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let id = ItemId::from_bytes(self.shared.fresh()).to_string();
        let Some(view) = self.view.task_mut(task) else { return };
        view.handoffs.extend(view.step.clone());
        let output_index = view.take_index();
        let item = HandoffItem {
            id: id.clone(),
            to: to.to_owned(),
            from: Some(from.clone()),
            call_id: Some(call.to_owned()),
        };
        batch.push(EventType::ItemStarted, scope, &ItemStarted { item: Item::Handoff(item), output_index });
        let item = ItemPatch::Handoff(HandoffPatch { id, ..HandoffPatch::default() });
        batch.push(EventType::ItemCompleted, scope, &ItemCompleted { item, output_index });
        let task_scope = view.scope.clone();
        batch.push(
            EventType::AgentChanged,
            &task_scope,
            &AgentChanged { agent: to.to_owned(), from: Some(from.clone()) },
        );
        batch.push(
            EventType::HandoffCompleted,
            &task_scope,
            &HandoffCompleted { to: to.to_owned(), from: Some(from) },
        );
    }
}

/// What a parent's model reads behind a child's answer that is not all of it.
pub(crate) fn cut_note(agent: &str, stop: &str) -> Option<String> {
    let why = match stop {
        "max_tokens" => "it reached its limit of output tokens",
        "refusal" => "its model refused to go on",
        "content_filter" => "a content filter stopped it",
        _ => return None,
    };
    Some(format!("\n[The answer of {agent} is incomplete: {why}.]"))
}

pub(crate) fn write_child(
    batch: &mut EventBatch,
    scope: &EventScope,
    child: &TaskId,
    agent: &str,
    input: &str,
) {
    let info = TaskInfo {
        objective: Some(input.to_owned()),
        agent: Some(agent.to_owned()),
        kind: Some("subagent".to_owned()),
        parent_tool_call_id: scope.parent_tool_call_id.as_ref().map(ToString::to_string),
        ..TaskInfo::default()
    };
    batch.push(EventType::TaskCreated, scope, &info);
    let spawned = SubagentSpawned {
        agent: Some(agent.to_owned()),
        objective: Some(input.to_owned()),
        child_task_id: Some(child.as_str().to_owned()),
        status: Some("running".to_owned()),
        ..SubagentSpawned::default()
    };
    batch.push(EventType::SubagentSpawned, &subagent(scope, child), &spawned);
    write_attempt(batch, scope, 1);
    batch.push(EventType::TaskStarted, scope, &TaskChange::default());
}
