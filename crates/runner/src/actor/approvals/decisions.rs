//! Decisions: the first one wins, and everybody is told which it was.

use riverrun_event::{ActionRequired, ActionResolved, EventScope, EventType, RawJson, Sequence};
use riverrun_fold::{ActionState, ActionStatus};
use riverrun_log::seeded::{self, Bug};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::approvals::Approvals;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::approve::{Rule, identity};
use crate::event_batch::EventBatch;
use crate::{CommandError, Decide, Decided, Decision, RequestKey};

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
    /// What became of an action that waits no more.
    fn settled(&self, decide: &Decide, action: &ActionState) -> Option<Decided> {
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

    /// The links of an action in a turn that somebody else runs.
    fn ingested_scope(&self, action: &ActionState) -> EventScope {
        let turn = self.state.turns.iter().find(|turn| Some(&turn.turn_id) == action.turn_id.as_ref());
        EventScope {
            thread_id: turn.map(|turn| turn.thread_id.clone()),
            turn_id: action.turn_id.clone(),
            task_id: action.task_id.clone(),
            tool_call_id: action.tool_call_id.clone(),
            action_id: Some(action.action_id.clone()),
            ..EventScope::default()
        }
    }
}

impl Approvals {
    fn write_rule(
        &self,
        session: &HostedSession,
        decide: &Decide,
        action: &ActionState,
        decision: &str,
        scope: &EventScope,
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

pub(crate) fn word(decision: &Decision) -> &'static str {
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
