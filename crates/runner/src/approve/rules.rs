//! Decisions that hold from now on, for one tool (with its schema) and one agent.
//!
//! They are events: each `policy.changed` holds all rules of the session, and the newest one that somebody who may decide
//! wrote into this very session holds. One that was copied from a file or another session is shown and means nothing.

use riverrun_event::{Event, EventType, RawJson, Sequence, Timestamp};
use riverrun_fold::State;
use riverrun_log::seeded::{self, Bug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The policy that the events name.
pub(crate) const POLICY: &str = "approvals";
pub(crate) const REFUSED: &str = "somebody refused this tool for this agent always";
/// More rules than a person makes in one session; the oldest goes.
const MOST: usize = 200;

/// A decision that holds from now on, until somebody revokes it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The action whose decision made it: the same rule made anew has another id.
    #[serde(default)]
    pub rule_id: String,
    /// The identity of the tool: where it comes from, its name, its schema and what it sets in motion.
    pub tool: String,
    pub tool_name: String,
    pub agent: String,
    /// `approve` or `reject`.
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules(Vec<Rule>);

/// The payload of `policy.changed`: the standard's members, and the rules.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PolicyPayload {
    policy: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who revoked a rule; who made one stands with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    rules: Vec<Rule>,
}

impl Rules {
    /// The events that may hold the rules, the newest first. Who wrote them is in the log.
    pub fn candidates(state: &State) -> Vec<(Sequence, Self)> {
        let entries =
            state.ledger.family("policy").map(|family| family.entries.as_slice()).unwrap_or_default();
        let changes = entries.iter().rev().filter(|entry| entry.kind == EventType::PolicyChanged.as_str());
        changes.filter_map(|entry| Some((entry.sequence, Self::read(entry.payload.as_ref()?)?))).collect()
    }

    /// The rules that hold from this event on. None if it is about something else, or its author may not decide.
    pub fn from_event(event: &Event) -> Option<Self> {
        let is_meant = event.kind == EventType::PolicyChanged && event.author.may_decide();
        event.raw_payload.as_ref().filter(|_| is_meant).and_then(Self::read)
    }

    fn read(payload: &RawJson) -> Option<Self> {
        let payload = payload.to::<PolicyPayload>().ok().filter(|payload| payload.policy == POLICY)?;
        Some(Self(payload.rules.into_iter().map(named).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The oldest first.
    pub fn into_list(self) -> Vec<Rule> {
        self.0
    }

    pub fn find(&self, tool: &str, agent: &str) -> Option<&Rule> {
        let is_for = |rule: &Rule| rule.agent == agent || seeded::is_on(Bug::RuleForAllAgents);
        self.0.iter().rev().find(|rule| rule.tool == tool && is_for(rule))
    }

    /// The newest word on a tool and an agent holds.
    pub fn with(mut self, rule: Rule) -> Self {
        self.0.retain(|known| (&known.tool, &known.agent) != (&rule.tool, &rule.agent));
        self.0.push(rule);
        let surplus = self.0.len().saturating_sub(MOST);
        self.0.drain(..surplus);
        self
    }

    /// Takes a rule out; None if it does not hold.
    pub fn take(&mut self, id: &str) -> Option<Rule> {
        let position = self.0.iter().position(|rule| rule.rule_id == id)?;
        Some(self.0.remove(position))
    }

    pub fn made(self) -> impl Serialize {
        self.payload_with(None, None)
    }

    pub fn revoked(self, rule: &Rule, by: Option<String>) -> impl Serialize {
        let Rule { decision, tool_name, agent, .. } = rule;
        let reason = format!("`{decision}` of `{tool_name}` for `{agent}` was revoked");
        self.payload_with(Some(reason), by)
    }

    /// That a copy begins without rules.
    pub fn not_copied(self) -> impl Serialize {
        let reason = "rules hold only in the session in which somebody made them".to_owned();
        PolicyPayload { source: "server".to_owned(), ..self.payload_with(Some(reason), None) }
    }

    fn payload_with(self, reason: Option<String>, changed_by: Option<String>) -> PolicyPayload {
        PolicyPayload {
            policy: POLICY.to_owned(),
            source: "person".to_owned(),
            reason,
            changed_by,
            rules: self.0,
        }
    }
}

/// Rules of earlier versions have no id; the tool's identity stands in for it.
fn named(mut rule: Rule) -> Rule {
    if rule.rule_id.is_empty() {
        rule.rule_id.clone_from(&rule.tool);
    }
    rule
}
