//! Decisions that hold from now on, for one tool (with its schema) and one agent.
//!
//! They are events: each `policy.changed` holds all rules of the session, and the state keeps the newest.

use riverrun_fold::State;
use serde::{Deserialize, Serialize};

/// The policy that the events name.
pub(crate) const POLICY: &str = "approvals";
pub(crate) const REFUSED: &str = "somebody refused this tool for this agent always";
/// More rules than a person makes in one session; the oldest goes.
const MOST: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rule {
    /// The identity of the tool.
    pub tool: String,
    pub tool_name: String,
    pub agent: String,
    /// `approve` or `reject`.
    pub decision: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules(Vec<Rule>);

/// The payload of `policy.changed`: the standard's members, and the rules.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    policy: String,
    source: String,
    rules: Vec<Rule>,
}

impl Rules {
    pub fn of(state: &State) -> Self {
        let entries =
            state.ledger.family("policy").map(|family| family.entries.as_slice()).unwrap_or_default();
        let told = entries.iter().rev().filter(|entry| entry.kind == "policy.changed");
        let mut told = told.filter_map(|entry| entry.payload.as_ref()?.to::<Told>().ok());
        Self(told.find(|told| told.policy == POLICY).map(|told| told.rules).unwrap_or_default())
    }

    pub fn find(&self, tool: &str, agent: &str) -> Option<&Rule> {
        self.0.iter().rev().find(|rule| rule.tool == tool && rule.agent == agent)
    }

    /// The newest word on a tool and an agent holds.
    pub fn with(mut self, rule: Rule) -> Self {
        self.0.retain(|known| (&known.tool, &known.agent) != (&rule.tool, &rule.agent));
        self.0.push(rule);
        let surplus = self.0.len().saturating_sub(MOST);
        self.0.drain(..surplus);
        self
    }

    pub fn payload(self) -> impl Serialize {
        Told { policy: POLICY.to_owned(), source: "person".to_owned(), rules: self.0 }
    }
}
