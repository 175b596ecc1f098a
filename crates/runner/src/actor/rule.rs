//! A decision for always: the rule that it makes, and what waits already and is covered by it.

use riverrun_event::{ActionResolved, EventType, Scope, Timestamp};
use riverrun_fold::{Action, ActionStatus};

use super::Actor;
use super::tools::approval_of;
use crate::approve::{Rule, Rules, Verdict, digest, identity};
use crate::page::Page;
use crate::{CommandError, Decide};

impl Actor {
    pub(super) fn write_rule(
        &self,
        decide: &Decide,
        action: &Action,
        decision: &str,
        scope: &Scope,
        page: &mut Page,
    ) -> Result<(), CommandError> {
        let refused =
            |detail: &str| CommandError::Invalid { field: "always".to_owned(), detail: detail.to_owned() };
        if !matches!(decision, "approve" | "reject") {
            return Err(refused("only `approve` and `reject` can hold always"));
        }
        let agent =
            action.task_id.as_ref().and_then(|task| self.view.task(task)).map(|(_, view)| view.agent.clone());
        let named = self.with_tool(action, |definition| (identity(definition), definition.name.clone()));
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
            decided_at: Some(page.now),
        };
        let rules = Rules::of(&self.state).with(rule.clone());
        page.push(EventType::PolicyChanged, scope, &rules.clone().made());
        self.decide_covered(&rule, &rules, page);
        Ok(())
    }

    /// What waits already is decided as a call that comes later would be, in the order of the questions. It is written
    /// with the rule, all or nothing: whoever reads the log after a crash finds it decided once.
    fn decide_covered(&self, rule: &Rule, rules: &Rules, page: &mut Page) {
        let waiting = self.state.actions.iter().filter(|action| action.status == ActionStatus::Pending);
        for action in waiting.filter(|action| action.action_id.as_str() != rule.rule_id) {
            let digest = self.covered(action, rule, rules, page.now);
            let (Some(digest), Some(scope)) = (digest, self.action_scope(&action.action_id)) else {
                continue;
            };
            let resolved = ActionResolved {
                decision: rule.decision.clone(),
                source: Some("rule".to_owned()),
                decided_by: rule.decided_by.clone(),
                digest: Some(digest),
                ..ActionResolved::default()
            };
            self.resolve(&scope, &resolved, page);
        }
    }

    /// The digest of what an action asks about, if the rule is the last word on it: the tool is still the one that was
    /// asked about, the agent is that of the rule, and nothing else asks, as a hook may.
    fn covered(&self, action: &Action, rule: &Rule, rules: &Rules, now: Timestamp) -> Option<String> {
        let (task, call) = (action.task_id.as_ref()?, action.tool_call_id.as_ref()?.as_str());
        let (turn, view) = self.view.task(task)?;
        let known = view.call(call)?;
        let asked =
            known.pending().filter(|asked| asked.action == action.action_id && asked.is_permission)?;
        let is_late = asked.expires_at.is_some_and(|at| at <= now);
        let is_ending = turn.is_cancelling() || view.is_closing.is_some();
        if is_late || is_ending || view.agent != rule.agent {
            return None;
        }
        let persona = self.persona(task)?;
        let tooling = persona.tooling(&known.name)?;
        let definition = tooling.definition(&known.name).filter(|now| identity(now) == rule.tool)?;
        let value = serde_json::from_str(&self.effective_arguments(task, call)?).ok()?;
        let digest = Some(digest(&definition, &value)).filter(|now| asked.digest.as_ref() == Some(now))?;
        let approval = approval_of(&persona, &tooling, &known.name);
        match self.verdict_by(rules, task, call, &definition, &approval, &value)? {
            Verdict::Allow { source: "rule", .. } | Verdict::Deny { source: "rule", .. } => Some(digest),
            Verdict::Allow { .. } | Verdict::Deny { .. } | Verdict::Ask { .. } => None,
        }
    }
}
