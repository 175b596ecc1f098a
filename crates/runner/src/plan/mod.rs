//! What to do next, from what is known: pure, so that a new owner comes to the same plan as the former one.

mod calls;
mod hooks;
mod limits;

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};

use foldhash::HashMap;
use riverrun_event::{ActionId, TaskId, Timestamp, TurnId};
use riverrun_fold::{State, Status};

pub(crate) use calls::is_excess;
pub(crate) use hooks::{Gate, gate};
pub(crate) use limits::{TIME_PASSED, TRIES, deadline};

use crate::drive::{EffectKey, HookTarget, Running};
use crate::hook::HookPoint;
use crate::resolved_agent::ResolvedAgent;
use crate::view::{TOO_LONG, TaskView, TurnView, View, is_early};
use crate::{CancelMode, Registry, Settings};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Intent {
    /// A queued turn has its place.
    Start(TurnId),
    /// The turn must stop now.
    Stop(TurnId),
    /// A sub-agent must stop; its parent goes on.
    Close(TaskId),
    /// Nobody knows what became of the model call: it counts as failed.
    Interrupted(TaskId),
    /// The model's failures are used up, or the next model must be tried.
    GiveUp(TaskId),
    /// The conversation does not fit the model: older turns give way to a summary, or results become shorter.
    Compact(TaskId),
    Call(TaskId),
    Judge(TaskId, String),
    Run(TaskId, String),
    /// A person said no, answered instead, or nobody said anything in time.
    Decided(TaskId, String),
    /// The tool was begun and nobody knows its end.
    Unknown(TaskId, String),
    /// The child has ended; its parent reads what it said.
    Collect(TaskId, String),
    /// A child that no model called has ended; its parent's model is told.
    InformParent(TaskId),
    /// A child begins to wait or goes on.
    Status(TaskId),
    Expire(ActionId),
    Fail(TaskId, Failure),
    /// A hook is to be asked, by its name.
    Hook(TaskId, HookTarget, String),
    /// A hook does not let the call run.
    Refuse(TaskId, String),
    /// The hooks have seen the call's output: it is its result now.
    Conclude(TaskId, String),
    Check(TaskId),
    Finish(TaskId),
}

impl Intent {
    /// True for what may start a call of a model, a tool, a hook or a guardrail, or ask somebody something.
    pub fn begins_something(&self) -> bool {
        match self {
            Intent::Start(_)
            | Intent::Interrupted(_)
            | Intent::Compact(_)
            | Intent::Call(_)
            | Intent::Judge(..)
            | Intent::Run(..)
            | Intent::Unknown(..)
            | Intent::Hook(..)
            | Intent::Check(_) => true,
            Intent::Stop(_)
            | Intent::Close(_)
            | Intent::GiveUp(_)
            | Intent::Decided(..)
            | Intent::Collect(..)
            | Intent::InformParent(_)
            | Intent::Status(_)
            | Intent::Expire(_)
            | Intent::Fail(..)
            | Intent::Refuse(..)
            | Intent::Conclude(..)
            | Intent::Finish(_) => false,
        }
    }
}

/// A task whose server stops this often may be the reason for it.
const MOST_ATTEMPTS: u32 = 20;

/// A turn whose results are an eighth of what they were, and that still does not fit, has something else that is large.
const MOST_CUTS: u32 = 3;

/// The stop reason of a model that is not done.
const PAUSED: &str = "pause_turn";

/// Why a task cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub code: &'static str,
    pub message: String,
    /// The limit that was passed.
    pub limit: Option<Passed>,
}

/// A limit of the agent, in its own unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Passed {
    pub kind: &'static str,
    pub limit: f64,
    pub used: f64,
}

/// How many effects of a session may begin beside those that run. More calls wait where they are: without an event,
/// without a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub tools: usize,
    pub hooks: usize,
}

impl Room {
    /// Of `most` effects of each kind in a session.
    pub fn beside(running: impl Iterator<Item = impl std::borrow::Borrow<EffectKey>>, most: usize) -> Self {
        let mut room = Self { tools: most, hooks: most };
        for key in running {
            match key.borrow() {
                EffectKey::Tool(..) => room.tools = room.tools.saturating_sub(1),
                EffectKey::Hook(..) => room.hooks = room.hooks.saturating_sub(1),
                EffectKey::Model(_)
                | EffectKey::Delay(_)
                | EffectKey::Admit(_)
                | EffectKey::Check(_)
                | EffectKey::Vet(..)
                | EffectKey::Files(_)
                | EffectKey::Summary(_) => {}
            }
        }
        room
    }
}

/// What the planner may look at.
pub(crate) struct Facts<'a> {
    pub state: &'a State,
    pub view: &'a View,
    pub registry: &'a Registry,
    pub running: &'a HashMap<EffectKey, Running>,
    /// Tool calls and hooks that this session may begin now, less those that are planned.
    pub room: Cell<Room>,
    pub checked: &'a HashSet<TaskId>,
    pub now: Timestamp,
}

pub(crate) fn plan(facts: &Facts<'_>) -> Vec<Intent> {
    let mut intents = Vec::new();
    for turn in facts.view.turns.values().filter(|turn| turn.ours) {
        facts.turn(turn, &mut intents);
    }
    facts.starts(&mut intents);
    intents
}

impl Facts<'_> {
    /// The first waiting turn of every thread that has none at work.
    fn starts(&self, intents: &mut Vec<Intent>) {
        let mut busy = BTreeSet::new();
        for turn in
            self.state.turns.iter().filter(|turn| turn.started_at.is_some() && !turn.status.is_terminal())
        {
            busy.insert(turn.thread_id.clone());
        }
        for entry in &self.state.queue {
            let Some(turn) = self.state.turns.iter().find(|turn| turn.turn_id.as_str() == entry.turn_id)
            else {
                continue;
            };
            let is_whole = turn.task_id.is_some() && turn.run_id.is_some();
            // A turn that a producer told of never begins here.
            if is_whole
                && self.view.queued.contains(&turn.turn_id)
                && turn.started_at.is_none()
                && !turn.status.is_terminal()
                && busy.insert(turn.thread_id.clone())
            {
                intents.push(Intent::Start(turn.turn_id.clone()));
            }
        }
    }

    fn turn(&self, turn: &TurnView, intents: &mut Vec<Intent>) {
        if turn.is_cancelling() {
            return intents.push(Intent::Stop(turn.turn.clone()));
        }
        if let Some(failure) = self.overrun(turn) {
            return intents.push(Intent::Fail(turn.root.clone(), failure));
        }
        let untold = turn.uncalled().filter(|child| child.ended.is_some() && turn.is_open(&child.parent));
        intents.extend(untold.map(|child| Intent::InformParent(child.task.clone())));
        let changed = turn.tasks.iter().filter(|child| self.unreported_status(child).is_some());
        intents.extend(changed.map(|child| Intent::Status(child.task.clone())));
        for task in turn.tasks.iter().filter(|task| task.ended.is_none()) {
            if task.is_closing.is_some() {
                return intents.push(Intent::Close(task.task.clone()));
            }
            self.task(turn, task, intents);
        }
    }

    fn task(&self, turn: &TurnView, task: &TaskView, intents: &mut Vec<Intent>) {
        let id = || task.task.clone();
        if self.is_at_work(&task.task) {
            return;
        }
        if task.is_model_open || task.compacting.is_some() {
            return intents.push(Intent::Interrupted(id()));
        }
        if task.attempts > MOST_ATTEMPTS {
            let message = format!("the server stopped {MOST_ATTEMPTS} times during this task");
            return intents
                .push(Intent::Fail(id(), Failure { code: "too_many_attempts", message, limit: None }));
        }
        let Some(persona) = self.persona(turn, task) else {
            let message = format!("there is no agent `{}` any more", task.agent);
            return intents.push(Intent::Fail(id(), Failure { code: "unknown_agent", message, limit: None }));
        };
        if turn.is_paused(task) {
            return self.late(task, &persona, intents);
        }
        if task.failures > 0 {
            let next = match (self.may_retry(task), may_compact(task, &persona)) {
                (true, _) => Intent::Call(id()),
                (false, true) => Intent::Compact(id()),
                (false, false) => Intent::GiveUp(id()),
            };
            return intents.push(next);
        }
        if self.calls(task, &persona, intents) {
            return;
        }
        let is_stopping = turn.cancel.as_ref().is_some_and(|cancel| cancel.mode == CancelMode::AfterTurn);
        if is_stopping && task.task == turn.root && task.steps > 0 {
            return intents.push(Intent::Stop(turn.turn.clone()));
        }
        self.step(turn, task, &persona, intents);
    }

    /// Every call of the newest step has its result: the model goes on, or has said everything.
    fn step(&self, turn: &TurnView, task: &TaskView, persona: &ResolvedAgent, intents: &mut Vec<Intent>) {
        let id = task.task.clone();
        let is_root = task.parent.is_none();
        if task.step.is_none() && is_root {
            match hooks::gate(persona, HookPoint::UserPromptSubmit, None, &task.hooks) {
                Gate::Open => {}
                Gate::Due(hook) => return intents.push(Intent::Hook(id, HookTarget::Prompt, hook)),
                Gate::Shut(hook) => return intents.push(Intent::Fail(id, hooks::blocked(hook))),
            }
        }
        let has_unread = task.steers.len() > task.steers_read;
        let newest = task.calls.of_newest_step(&task.step).filter(|call| call.is_complete);
        let (mut is_answered, mut is_open) = (false, false);
        for call in newest {
            is_answered |= call.is_answered();
            is_open |= !call.is_answered();
        }
        // A call that the caller runs ends the turn; its result comes with the next one.
        // A service that runs tools of its own may stop in between and wants to be asked to go on. The caller of a bare
        // model does that itself.
        let is_paused = task.stop.as_deref() == Some(PAUSED) && !persona.is_gateway;
        let has_more = has_unread || is_paused || (is_answered && !is_open);
        if task.steps == 0 || task.is_call_due || has_more {
            return intents.push(match self.exhausted(task, persona) {
                Some(failure) => Intent::Fail(id, failure),
                None => Intent::Call(id),
            });
        }
        if let Some(failure) = cut_call(task, persona) {
            return intents.push(Intent::Fail(id, failure));
        }
        // A child that no model called has its say before its parent ends.
        if turn.uncalled().any(|child| child.parent.as_ref() == Some(&task.task)) {
            return;
        }
        if is_root
            && !is_open
            && let Gate::Due(hook) = hooks::gate(persona, HookPoint::Stop, None, &task.hooks)
        {
            return intents.push(Intent::Hook(id, HookTarget::Stop, hook));
        }
        let is_unchecked = !persona.spec.guardrails.is_empty() && !self.checked.contains(&task.task);
        intents.push(if is_unchecked && !is_open { Intent::Check(id) } else { Intent::Finish(id) });
    }

    /// How an open sub-agent stands, if its readers were told something else.
    fn unreported_status(&self, child: &TaskView) -> Option<Status> {
        let reported =
            child.reported_status.as_deref().filter(|_| child.parent.is_some() && child.ended.is_none())?;
        let known = self.state.tasks.iter().find(|known| known.task_id == child.task)?;
        Some(known.status).filter(|status| status.as_str() != reported && !status.is_terminal())
    }

    fn is_at_work(&self, task: &TaskId) -> bool {
        let names = [
            EffectKey::Model,
            EffectKey::Delay,
            EffectKey::Admit,
            EffectKey::Check,
            EffectKey::Summary,
            EffectKey::Files,
        ];
        let places = [HookTarget::Prompt, HookTarget::Stop];
        names.into_iter().any(|name| self.running.contains_key(&name(task.clone())))
            || places.into_iter().any(|at| self.running.contains_key(&EffectKey::Hook(task.clone(), at)))
    }

    pub fn persona(&self, turn: &TurnView, task: &TaskView) -> Option<ResolvedAgent> {
        persona(self.state, self.registry, turn, task)
    }
}

/// An answer that ended inside a call is none. The caller of a bare model reads the stop reason itself.
fn cut_call(task: &TaskView, persona: &ResolvedAgent) -> Option<Failure> {
    let stop = task.stop.as_deref().filter(|stop| is_early(stop) && !persona.is_gateway)?;
    let call = task.calls.of_newest_step(&task.step).find(|call| !call.is_complete)?;
    let message = format!(
        "the model's answer ended ({stop}) in the middle of a call of `{}`, which was not run; raise the limit of output tokens, or ask for less at once",
        call.name
    );
    Some(Failure { code: "answer_cut", message, limit: None })
}

/// Older turns give way once, then the results of the turn itself, each time by half. Only where the conversation is
/// ours to shorten: the caller of a bare model brought it along.
fn may_compact(task: &TaskView, persona: &ResolvedAgent) -> bool {
    let category = task.last_error.as_ref().and_then(|error| error.category.as_deref());
    let may_summarise = !task.was_too_long && task.parent.is_none();
    category == Some(TOO_LONG) && !persona.is_gateway && (may_summarise || task.cuts < MOST_CUTS)
}

/// The agent of a task, with the turn's settings if it is the root.
pub(crate) fn persona(
    state: &State,
    registry: &Registry,
    turn: &TurnView,
    task: &TaskView,
) -> Option<ResolvedAgent> {
    let settings =
        state.turns.iter().find(|known| known.turn_id == turn.turn).and_then(|known| known.settings.as_ref());
    let settings = settings.filter(|_| task.parent.is_none()).and_then(|raw| raw.to::<Settings>().ok());
    ResolvedAgent::find(registry, &task.agent, settings.unwrap_or_default())
}
