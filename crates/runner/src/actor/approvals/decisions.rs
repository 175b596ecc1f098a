//! Decisions: the first one wins, and everybody is told which it was.

use riverrun_event::{ActionId, ActionRequired, ActionResolved, EventType, RawJson, Scope, Sequence};
use riverrun_fold::{Action, ActionStatus};
use riverrun_log::seeded::{self, Bug};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::approvals::Approvals;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::approve::{Rule, digest, identity};
use crate::event_batch::EventBatch;
use crate::schema::find_misfit;
use crate::{CommandError, Decide, Decided, Decision, RequestKey};

/// What an edit may hold, with its message. An event may have 256 KiB, and there are words beside it; what was taken
/// out of an event would not be what was decided upon.
const LARGEST_EDIT: usize = 248 << 10;

impl Actor {
    pub(crate) async fn decide(
        &mut self,
        mut decide: Decide,
        request: Option<RequestKey>,
    ) -> Result<Decided, Refusal> {
        if let Some(first) = self.session.answered_before::<Decided>(request).await? {
            let decision = first.decision.clone();
            let first = Decided { behind: self.session.state.sequence, ..first };
            return Ok(self.session.still_holds(&decide, first, |holds| holds.decision == decision));
        }
        if seeded::is_on(Bug::ApprovalByPosition) {
            self.session.first_open(&mut decide);
        }
        let known = self.session.state.actions.iter().find(|known| known.action_id == decide.action);
        let Some(action) = known else { return self.session.decided_long_ago(&decide).await };
        if let Some(settled) = self.session.settled(&decide, action) {
            return Ok(settled);
        }
        let action = action.clone();
        if self.session.is_pretended(&action) {
            return Err(CommandError::NoAction(decide.action.to_string()).into());
        }
        let scope =
            self.session.action_scope(&decide.action).unwrap_or_else(|| self.session.ingested_scope(&action));
        let mut batch = self.session.new_batch();
        let resolved = self.session.resolution(&decide, &action)?;
        let (decision, source) = (resolved.decision.clone(), resolved.source.clone().unwrap_or_default());
        self.session.resolve(&scope, &resolved, &mut batch);
        if decide.always {
            self.approvals.write_rule(&self.session, &decide, &action, &decision, &scope, &mut batch)?;
        }
        self.session.write_resumed(&scope, &mut batch);
        let (action, sequence) = (decide.action.clone(), self.session.state.sequence);
        let (decided_by, won, is_same, behind) = (decide.decided_by.clone(), true, true, sequence);
        let mut decided = Decided { action, decision, source, decided_by, won, is_same, sequence, behind };
        self.session.remember_answer(request, &decided, &mut batch);
        let appended = self.append_once(&mut batch).await?;
        decided.sequence = appended.map_or(Sequence::ZERO, |appended| appended.first);
        decided.behind = decided.sequence;
        Ok(self.session.still_holds(&decide, decided, |holds| *holds == resolved))
    }
}

impl HostedSession {
    /// True if the action says that it is about a hosted task, and the runner did not ask.
    fn is_pretended(&self, action: &Action) -> bool {
        let turn = action.turn_id.as_ref().and_then(|turn| self.view.turns.get(turn));
        let of_task = action.task_id.as_ref().and_then(|task| self.view.task(task)).map(|(turn, _)| turn);
        let is_hosted = [turn, of_task].into_iter().flatten().any(|turn| turn.ours);
        is_hosted && !self.is_hosted(&action.action_id)
    }

    /// True if the runner asked, in a turn that it runs.
    fn is_hosted(&self, action: &ActionId) -> bool {
        let hosted = self.view.turns.values().filter(|turn| turn.ours);
        let mut calls = hosted.flat_map(|turn| &turn.tasks).flat_map(|task| &task.calls);
        calls.any(|call| call.action.as_ref().is_some_and(|known| known.action == *action))
    }

    /// What became of an action that waits no more.
    fn settled(&self, decide: &Decide, action: &Action) -> Option<Decided> {
        let first = match action.status {
            ActionStatus::Pending => return None,
            ActionStatus::Resolved if seeded::is_on(Bug::LastDecisionWins) => return None,
            ActionStatus::Resolved => {
                action.resolution.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default()
            }
            ActionStatus::Abandoned => {
                let (decision, source) = ("reject".to_owned(), Some("turn_ended".to_owned()));
                ActionResolved { decision, source, ..ActionResolved::default() }
            }
        };
        let asked = action.request.to::<ActionRequired>().unwrap_or_default();
        Some(self.lost(decide, &asked, first, action.sequence))
    }

    /// Somebody who writes into the log directly may have been first.
    fn still_holds(
        &self,
        decide: &Decide,
        decided: Decided,
        is_ours: impl Fn(&ActionResolved) -> bool,
    ) -> Decided {
        let Some(known) = self.state.actions.iter().find(|known| known.action_id == decide.action) else {
            return decided;
        };
        match known.resolution.as_ref().and_then(|raw| raw.to::<ActionResolved>().ok()) {
            Some(holds) if !is_ours(&holds) => {
                let asked = known.request.to::<ActionRequired>().unwrap_or_default();
                self.lost(decide, &asked, holds, decided.sequence)
            }
            Some(_) | None => decided,
        }
    }

    /// What a decision must never do: hold for the action that is first in line.
    fn first_open(&self, decide: &mut Decide) {
        let first = self.state.actions.iter().find(|known| known.status == ActionStatus::Pending);
        let Some(first) = first else { return };
        decide.action = first.action_id.clone();
        let asked = first.request.to::<ActionRequired>().unwrap_or_default();
        decide.digest = asked.digest;
    }

    /// The action is no longer in the state; the catalogue knows what became of it.
    async fn decided_long_ago(&self, decide: &Decide) -> Result<Decided, Refusal> {
        let record = self.shared.journal.log().action(&self.key, &decide.action).await?;
        let absent = || CommandError::NoAction(decide.action.to_string());
        let record = record.ok_or_else(absent)?;
        let Some(resolution) = record.resolution else { return Err(absent().into()) };
        let first = serde_json::from_slice(&resolution.body).unwrap_or_default();
        let asked = serde_json::from_slice(&record.opened.body).unwrap_or_default();
        Ok(self.lost(decide, &asked, first, record.opened.sequence))
    }

    /// Another decision was first, or the same.
    fn lost(
        &self,
        decide: &Decide,
        asked: &ActionRequired,
        first: ActionResolved,
        sequence: Sequence,
    ) -> Decided {
        Decided {
            action: decide.action.clone(),
            is_same: is_same(decide, asked, &first),
            decision: first.decision,
            source: first.source.unwrap_or_default(),
            decided_by: first.decided_by,
            won: false,
            sequence,
            behind: self.state.sequence,
        }
    }

    fn resolution(&self, decide: &Decide, action: &Action) -> Result<ActionResolved, CommandError> {
        let asked = action.request.to::<ActionRequired>().unwrap_or_default();
        let decision = word(&decide.decision);
        let possible = asked.decisions.clone().unwrap_or_default();
        if !possible.is_empty() && !possible.iter().any(|known| known == decision) {
            let (action, decision) = (decide.action.to_string(), decision.to_owned());
            return Err(CommandError::DecisionNotPossible {
                action,
                decision,
                possible: possible.join(", "),
            });
        }
        let names_it = match (&decide.digest, &asked.digest) {
            (Some(digest), Some(asked)) => digest == asked,
            (None, Some(_)) => matches!(decide.decision, Decision::Reject),
            (_, None) => true,
        };
        if !names_it {
            return Err(CommandError::DigestMismatch);
        }
        self.still_the_tool(decide, action, &asked)?;
        let (arguments, response, digest) = match &decide.decision {
            Decision::Approve | Decision::Reject => (None, None, asked.digest),
            Decision::Respond(answer) => (Some(answer.clone()), Some(answer.clone()), asked.digest),
            Decision::Edit(edited) => {
                let size = edited.get().len() + decide.message.as_ref().map_or(0, String::len);
                if size > LARGEST_EDIT {
                    return Err(CommandError::ArgumentsTooLarge { size, limit: LARGEST_EDIT });
                }
                (Some(edited.clone()), None, self.edited_digest(action, edited)?)
            }
        };
        Ok(ActionResolved {
            decision: decision.to_owned(),
            source: Some("person".to_owned()),
            decided_by: decide.decided_by.clone(),
            message: decide.message.clone(),
            arguments,
            response,
            always: decide.always.then_some(true),
            digest,
        })
    }

    /// Consent to what was shown is none to what took its place since.
    fn still_the_tool(
        &self,
        decide: &Decide,
        action: &Action,
        asked: &ActionRequired,
    ) -> Result<(), CommandError> {
        let lets_run = matches!(decide.decision, Decision::Approve | Decision::Edit(_));
        let arguments = asked.arguments.as_ref().and_then(|raw| raw.to::<Value>().ok());
        let (true, Some(asked), Some(arguments)) = (lets_run, &asked.digest, arguments) else {
            return Ok(());
        };
        let now = self.with_tool(action, |tool| (digest(tool, &arguments), tool.name.clone()));
        match now {
            Some((now, name)) if now != *asked => Err(CommandError::ToolChanged(name)),
            Some(_) | None => Ok(()),
        }
    }

    /// The digest of the call with other arguments, which must fit the tool too.
    fn edited_digest(&self, action: &Action, arguments: &RawJson) -> Result<Option<String>, CommandError> {
        let at = |field: &str, detail: String| CommandError::Invalid { field: field.to_owned(), detail };
        let invalid = |detail: String| at("arguments", detail);
        let value: Value = arguments.to().map_err(|error| invalid(error.to_string()))?;
        crate::exact::check(arguments.get()).map_err(invalid)?;
        if !self.is_hosted(&action.action_id) {
            // Somebody else runs the tool, and knows what fits it.
            return Ok(None);
        }
        let found = self.with_tool(action, |definition| {
            find_misfit(&definition.parameters, &value).map(|()| digest(definition, &value))
        });
        let fits = found.ok_or_else(|| invalid("the tool is not there any more".to_owned()))?;
        let path = |pointer: Option<String>| pointer.unwrap_or_default().replace('/', ".");
        fits.map(Some).map_err(|misfit| at(&format!("arguments{}", path(misfit.place)), misfit.fault))
    }

    /// The links of an action in a turn that somebody else runs.
    fn ingested_scope(&self, action: &Action) -> Scope {
        let turn = self.state.turns.iter().find(|turn| Some(&turn.turn_id) == action.turn_id.as_ref());
        Scope {
            thread_id: turn.map(|turn| turn.thread_id.clone()),
            turn_id: action.turn_id.clone(),
            task_id: action.task_id.clone(),
            tool_call_id: action.tool_call_id.clone(),
            action_id: Some(action.action_id.clone()),
            ..Scope::default()
        }
    }

    fn with_tool<T>(
        &self,
        action: &Action,
        look: impl FnOnce(&riverrun_tool::ToolDefinition) -> T,
    ) -> Option<T> {
        let task = action.task_id.as_ref().filter(|_| self.is_hosted(&action.action_id))?;
        let (_, view) = self.view.task(task)?;
        let call = view.call(action.tool_call_id.as_ref()?.as_str())?;
        self.persona(task)?.tooling(&call.name)?.definition(&call.name).as_ref().map(look)
    }
}

impl Approvals {
    fn write_rule(
        &self,
        session: &HostedSession,
        decide: &Decide,
        action: &Action,
        decision: &str,
        scope: &Scope,
        batch: &mut EventBatch,
    ) -> Result<(), CommandError> {
        let refused =
            |detail: &str| CommandError::Invalid { field: "always".to_owned(), detail: detail.to_owned() };
        if !matches!(decision, "approve" | "reject") {
            return Err(refused("only `approve` and `reject` can hold always"));
        }
        let agent = action
            .task_id
            .as_ref()
            .and_then(|task| session.view.task(task))
            .map(|(_, view)| view.agent.clone());
        let named = session.with_tool(action, |definition| (identity(definition), definition.name.clone()));
        let (Some(agent), Some((tool, tool_name))) = (agent, named) else {
            return Err(refused("this action is not about a tool of the server"));
        };
        let rule = Rule {
            rule_id: action.action_id.to_string(),
            tool,
            tool_name,
            agent,
            decision: decision.to_owned(),
            decided_by: decide.decided_by.clone(),
            decided_at: Some(batch.now),
        };
        batch.push(EventType::PolicyChanged, scope, &self.rules.clone().with(rule).made());
        Ok(())
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve => "approve",
        Decision::Edit(_) => "edit",
        Decision::Reject => "reject",
        Decision::Respond(_) => "respond",
    }
}

/// True if it says what was decided, about what was asked. Who decided makes no difference.
fn is_same(decide: &Decide, asked: &ActionRequired, first: &ActionResolved) -> bool {
    let arguments = match &decide.decision {
        Decision::Approve | Decision::Reject => None,
        Decision::Edit(arguments) | Decision::Respond(arguments) => Some(arguments),
    };
    let value = |raw: Option<&RawJson>| raw.and_then(|raw| raw.to::<Value>().ok());
    first.decision == word(&decide.decision)
        && value(arguments) == value(first.response.as_ref().or(first.arguments.as_ref()))
        && decide.always == first.always.unwrap_or(false)
        && decide.message == first.message
        && (decide.digest.is_none() || decide.digest == asked.digest)
}
