//! The tool calls of a task.

use foldhash::HashSet;
use riverrun_event::TaskId;
use riverrun_log::seeded::{self, Bug};

use super::{Facts, Failure, Gate, Intent, Room, gate};
use crate::agent::OnTimeout;
use crate::drive::{EffectKey, HookTarget};
use crate::hook::HookPoint;
use crate::resolved_agent::{ResolvedAgent, Tooling};
use crate::view::{ActionView, CallView, TaskView};

impl Facts<'_> {
    /// What each call needs next. True if the step is not over: something runs, waits or is about to.
    pub(super) fn calls(&self, task: &TaskView, persona: &ResolvedAgent, intents: &mut Vec<Intent>) -> bool {
        if let Some(failure) = unknown_call(task, persona) {
            intents.push(failure);
            return true;
        }
        let mut is_open = false;
        let mut is_writing = self.is_writing(task, persona);
        let mut room = self.room.get();
        // The ids of calls that were answered twice over do not matter; the newest of a name counts.
        let mut seen = HashSet::default();
        for call in task.calls.unanswered().filter(|call| call.is_complete && !call.is_answered()) {
            // Of thousands of calls nearly all wait: what is planned for the others must not cost a look at each of them.
            if self.is_waiting(call, room) {
                is_open = true;
                continue;
            }
            if !seen.insert(call.call.as_str()) {
                continue;
            }
            let tooling = persona.tooling(&call.name);
            if let Some(Tooling::Client { waits: false, .. }) = tooling {
                continue;
            }
            is_open = true;
            let writes = is_write(tooling.as_ref());
            let is_ours = matches!(tooling, Some(Tooling::Ours(_)));
            let must_wait = is_writing && writes || is_ours && room.tools == 0;
            let Some(intent) = self.call(&task.task, call, persona, must_wait) else { continue };
            match &intent {
                Intent::Run(..) => {
                    is_writing |= writes;
                    room.tools = room.tools.saturating_sub(usize::from(is_ours));
                }
                Intent::Hook(..) if room.hooks == 0 => continue,
                Intent::Hook(..) => room.hooks -= 1,
                _ => {}
            }
            intents.push(intent);
        }
        self.room.set(room);
        is_open
    }

    /// True for a call that somebody may still decide, or that may run when the session has room.
    fn is_waiting(&self, call: &CallView, room: Room) -> bool {
        let waits = match &call.action {
            Some(action) => {
                let is_open = action.resolved.is_none() && !self.is_late(action);
                is_open && !seeded::is_on(Bug::RunWithoutDecision)
            }
            None => call.is_allowed && room.tools == 0,
        };
        waits && !call.is_started
    }

    /// What nobody decided in time, also while the task is halted.
    pub(super) fn late(&self, task: &TaskView, persona: &ResolvedAgent, intents: &mut Vec<Intent>) {
        let pending = task.calls.unanswered().filter_map(|call| Some((call, call.pending()?)));
        let late = pending.filter(|(_, action)| self.is_late(action));
        intents.extend(late.map(|(call, action)| self.expired(&task.task, call, persona, action)));
    }

    fn is_late(&self, action: &ActionView) -> bool {
        action.expires_at.is_some_and(|at| at <= self.now)
    }

    fn call(
        &self,
        task: &TaskId,
        call: &CallView,
        persona: &ResolvedAgent,
        must_wait: bool,
    ) -> Option<Intent> {
        let named = |intent: fn(TaskId, String) -> Intent| Some(intent(task.clone(), call.call.clone()));
        if call.is_started {
            return self.started_call(task, call, persona);
        }
        if let Some(action) = &call.action {
            return match &action.resolved {
                Some(resolved) if matches!(resolved.decision.as_str(), "approve" | "edit") => {
                    if must_wait {
                        None
                    } else {
                        named(Intent::Run)
                    }
                }
                Some(_) => named(Intent::Decided),
                None if self.is_late(action) => Some(self.expired(task, call, persona, action)),
                None if seeded::is_on(Bug::RunWithoutDecision) => named(Intent::Run),
                None => None,
            };
        }
        if call.is_allowed && must_wait {
            return None;
        }
        if is_excess(call, persona) {
            return named(Intent::Judge);
        }
        let before = HookTarget::Before(call.call.clone());
        if self.running.contains_key(&EffectKey::Vet(task.clone(), call.call.clone()))
            || self.running.contains_key(&EffectKey::Hook(task.clone(), before.clone()))
        {
            return None;
        }
        match call.is_allowed {
            true => named(Intent::Run),
            false => match gate(persona, HookPoint::PreToolUse, Some(&call.name), &call.hooks) {
                // A call of something that is not there is refused as such.
                Gate::Due(hook) if persona.tooling(&call.name).is_some() => {
                    Some(Intent::Hook(task.clone(), before, hook))
                }
                Gate::Due(_) | Gate::Open => named(Intent::Judge),
                Gate::Shut(_) => named(Intent::Refuse),
            },
        }
    }

    /// Nobody decided in time: a no, or the end of the turn.
    fn expired(
        &self,
        task: &TaskId,
        call: &CallView,
        persona: &ResolvedAgent,
        action: &ActionView,
    ) -> Intent {
        let root = self.view.task(task).map(|(turn, _)| turn.root.clone());
        match (persona.spec.limits.on_action_timeout, root) {
            (OnTimeout::Fail, Some(root)) => {
                let message = format!("nobody decided in time about a call of `{}`", call.name);
                Intent::Fail(root, Failure { code: "action_timeout", message, limit: None })
            }
            (OnTimeout::Reject | OnTimeout::Fail, _) => Intent::Expire(action.action.clone()),
        }
    }

    fn started_call(&self, task: &TaskId, call: &CallView, persona: &ResolvedAgent) -> Option<Intent> {
        if call.is_ended {
            return self.ended_call(task, call, persona);
        }
        let is_running = self.running.contains_key(&EffectKey::Tool(task.clone(), call.call.clone()));
        let child = TaskId::new(&call.call).ok().filter(|_| !is_running);
        let child = child.and_then(|child| self.view.task(&child)).map(|(_, child)| child);
        if let Some(child) = child.filter(|child| child.parent.as_ref() == Some(task)) {
            return child.ended.is_some().then(|| Intent::Collect(task.clone(), call.call.clone()));
        }
        if seeded::is_on(Bug::RerunUnknown) && !is_running {
            return Some(Intent::Run(task.clone(), call.call.clone()));
        }
        (!is_running).then(|| Intent::Unknown(task.clone(), call.call.clone()))
    }

    /// The tool has done its part; hooks look at what it gave.
    fn ended_call(&self, task: &TaskId, call: &CallView, persona: &ResolvedAgent) -> Option<Intent> {
        let after = HookTarget::After(call.call.clone());
        if self.running.contains_key(&EffectKey::Hook(task.clone(), after.clone())) {
            return None;
        }
        Some(match gate(persona, call.after(), Some(&call.name), &call.hooks) {
            Gate::Due(hook) => Intent::Hook(task.clone(), after, hook),
            Gate::Open | Gate::Shut(_) => Intent::Conclude(task.clone(), call.call.clone()),
        })
    }

    /// A call that may change something runs now. Only one of a task does so at a time.
    fn is_writing(&self, task: &TaskView, persona: &ResolvedAgent) -> bool {
        let running = self.running.keys().filter_map(|key| match key {
            EffectKey::Tool(of, call) if *of == task.task => task.calls.get(call),
            _ => None,
        });
        running.into_iter().any(|call| is_write(persona.tooling(&call.name).as_ref()))
    }
}

/// True for a call behind those that the agent runs of one answer. The caller of a bare model runs its calls itself.
pub(crate) fn is_excess(call: &CallView, persona: &ResolvedAgent) -> bool {
    call.number >= persona.spec.limits.calls && !persona.is_gateway && !seeded::is_on(Bug::NoCallCap)
}

/// Fails a task whose agent does not let its model read that a tool is unknown. No other call of the step runs then.
/// A disconnected MCP server still counts as providing the tool.
fn unknown_call(task: &TaskView, persona: &ResolvedAgent) -> Option<Intent> {
    if !persona.spec.fails_on_unknown_tool {
        return None;
    }
    let is_absent = |call: &&CallView| {
        let is_new = call.is_complete && !call.is_answered() && !call.is_started && call.action.is_none();
        is_new && persona.tooling(&call.name).is_none() && persona.away(&call.name).is_none()
    };
    let call = task.calls.unanswered().find(is_absent)?;
    let message =
        format!("the model called `{}`, which is no tool of agent `{}`", call.name, persona.spec.name);
    Some(Intent::Fail(task.task.clone(), Failure { code: "unknown_tool", message, limit: None }))
}

fn is_write(tooling: Option<&Tooling<'_>>) -> bool {
    matches!(tooling, Some(Tooling::Ours(ours)) if !ours.tool.definition().flags.read_only)
}
