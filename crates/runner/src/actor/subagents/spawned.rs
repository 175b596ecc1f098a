//! Sub-agents that somebody outside starts under a task at work.
//!
//! No model called them, so there is no call that a result could answer, and none is made up: a provider takes back
//! only the calls that its model wrote. What such a child says at its end reaches its parent's model as more input.

use riverrun_event::{
    EventScope, EventType, Input, InputSteered, Part, RunId, Sequence, TaskDelegated, TaskId,
};
use riverrun_fold::Status;

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::actor::subagents::called::{cut_note, write_child};
use crate::actor::tools::ToolCalls;
use crate::actor::turn::end::subagent;
use crate::event_batch::EventBatch;
use crate::reference::{Keep, Pool};
use crate::{CommandError, RequestKey, Spawn, Submitted};

/// What the answer to a started sub-agent says.
pub(crate) const SPAWNED: &str = "running";

/// Why no more sub-agents may come.
pub(crate) enum Crowd {
    Depth(u32),
    Children(u32),
}

impl Crowd {
    pub fn for_model(&self) -> String {
        match self {
            Crowd::Depth(most) => {
                format!("Agents may call agents {most} deep; this one may not call another.")
            }
            Crowd::Children(most) => format!("A turn may have {most} sub-agents, and it has them."),
        }
    }

    fn for_caller(&self) -> CommandError {
        CommandError::SubagentLimit(match self {
            Crowd::Depth(most) => {
                format!(
                    "sub-agents may be {most} deep (`limits.depth`), and this task is; start it under another"
                )
            }
            Crowd::Children(most) => {
                format!("a turn may have {most} sub-agents (`limits.children`), and this one has them")
            }
        })
    }
}

impl Actor {
    pub(crate) async fn spawn_asked(
        &mut self,
        spawn: Spawn,
        request: Option<RequestKey>,
    ) -> Result<Submitted, Refusal> {
        if let Some(first) = self.session.done_before(request).await? {
            return Ok(first);
        }
        if self.session.shared.is_draining() {
            return Err(CommandError::Draining.into());
        }
        let mut batch = self.session.new_batch();
        let mut submitted = self.session.write_spawn(&spawn, &mut batch)?;
        self.session.remember_request(request, &submitted, &mut batch);
        if let Some(appended) = self.append_once(&mut batch).await? {
            submitted.first = appended.first;
        }
        Ok(submitted)
    }
}

impl HostedSession {
    fn write_spawn(&self, spawn: &Spawn, batch: &mut EventBatch) -> Result<Submitted, CommandError> {
        let registry = &self.registry;
        if !registry.agents.contains_key(&spawn.agent) {
            let known: Vec<&str> = registry.agents.keys().map(String::as_str).collect();
            return Err(CommandError::UnknownAgent { name: spawn.agent.clone(), known: known.join(", ") });
        }
        self.check_parent(&spawn.parent)?;
        if let Some(crowd) = self.too_many(&spawn.parent, batch) {
            return Err(crowd.for_caller());
        }
        let absent = || CommandError::NoTask(spawn.parent.to_string());
        let (turn, view) = self.view.task(&spawn.parent).ok_or_else(absent)?;
        let child = TaskId::from_bytes(self.shared.fresh());
        let run = RunId::from_bytes(self.shared.fresh());
        let scope = EventScope {
            task_id: Some(child.clone()),
            run_id: Some(run.clone()),
            parent_task_id: Some(spawn.parent.clone()),
            parent_tool_call_id: None,
            depth: Some(view.depth + 1),
            ..view.scope.clone()
        };
        let delegated = TaskDelegated { to_task_id: child.to_string(), agent: Some(spawn.agent.clone()) };
        batch.push(EventType::TaskDelegated, &view.scope, &delegated);
        write_child(batch, &scope, &child, &spawn.agent, &spawn.input);
        let (status, first) = (SPAWNED.to_owned(), Sequence::ZERO);
        Ok(Submitted {
            turn_id: turn.turn.clone(),
            task_id: child,
            run_id: run,
            status,
            first,
            duplicate: false,
        })
    }

    /// Only a task that goes on can read what the child will say.
    fn check_parent(&self, parent: &TaskId) -> Result<(), CommandError> {
        let Some((turn, view)) = self.view.task(parent) else {
            let known = self.state.tasks.iter().find(|known| known.task_id == *parent);
            let turn = known.and_then(|known| known.turn_id.as_ref()).map(ToString::to_string);
            return Err(match (turn, known) {
                (Some(turn), Some(known)) if known.status.is_terminal() => {
                    CommandError::TurnEnded { turn, status: known.status.as_str().to_owned() }
                }
                (_, _) => CommandError::NoTask(parent.to_string()),
            });
        };
        let ended =
            |status: &str| CommandError::TurnEnded { turn: turn.turn.to_string(), status: status.to_owned() };
        if turn.cancel.is_some() || view.is_closing.is_some() {
            return Err(ended("cancelling"));
        }
        if let Some(status) = view.ended {
            return Err(ended(status.as_str()));
        }
        if !turn.ours {
            let detail = format!("task `{parent}` is run elsewhere and only recorded here");
            return Err(CommandError::Invalid { field: "parentTaskId".to_owned(), detail });
        }
        Ok(())
    }
}

impl ToolCalls {
    /// The parent's model reads it with its next step, behind everything that is there.
    pub(crate) fn inform_parent(&mut self, session: &HostedSession, child: &TaskId, batch: &mut EventBatch) {
        let Some((_, view)) = session.view.task(child) else { return };
        let (Some(status), Some(parent)) = (view.ended, view.parent.clone()) else { return };
        let agent = view.agent.clone();
        let cut = view.cut_short().and_then(|stop| cut_note(&agent, stop));
        let message = session.final_blocks(child).filter(|_| status == Status::Completed);
        let input = match message {
            Some(message) => {
                let of_child = self.pools.remove(child).unwrap_or_else(|| session.restored(child));
                let opening =
                    format!("The sub-agent {agent} ({child}), which was started beside you, answered:");
                let mut parts = vec![Part::plain(opening)];
                parts.extend(uncited(&of_child, &message, session.source_policy(&parent)));
                parts.extend(cut.map(Part::plain));
                Input::Parts(parts)
            }
            None => {
                let why = session.without_message(child, status, &agent);
                Input::Text(format!("About the sub-agent {child}, which was started beside you: {why}"))
            }
        };
        let Some((_, view)) = session.view.task(&parent) else { return };
        batch.push(
            EventType::InputSteered,
            &subagent(&view.scope, child),
            &InputSteered { input, source: Some("subagent".to_owned()) },
        );
    }
}

/// The message, with what it cites behind it. Input has no numbers in the parent's pool, so they are plain ones.
fn uncited(pool: &Pool, message: &[Part], keep: Keep) -> Vec<Part> {
    let mut scratch = Pool::default();
    if keep == Keep::Nothing {
        return scratch.adopt(pool, message, keep).content;
    }
    let mut parts = scratch.adopt(&Pool::default(), message, Keep::Cited);
    let mut out = std::mem::take(&mut parts.content);
    let mut numbers = parts.unknown;
    if keep == Keep::All {
        let remaining: Vec<u64> =
            pool.groups().map(|(number, _)| number).filter(|n| !numbers.contains(n)).collect();
        numbers.extend(remaining);
    }
    for number in numbers {
        let Some(group) = pool.group(number) else { continue };
        out.push(Part::plain(format!("[{number}]:")));
        out.extend(group.unnumbered().content);
    }
    out
}
