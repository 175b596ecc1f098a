//! May a call run? Pure: the policy, the rules that people made, and the digest of exactly what would run.

mod digest;
mod rules;

use std::panic::{AssertUnwindSafe, catch_unwind};

use riverrun_log::seeded::{self, Bug};
use riverrun_tool::ToolDefinition;

pub(crate) use digest::{digest, identity, named};
pub use rules::Rule;
pub(crate) use rules::Rules;

use crate::agent::{Approval, AskedCall};

/// What the policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow { source: &'static str, reason: String },
    Ask { source: &'static str, reason: String },
    Deny { source: &'static str, reason: String },
}

impl Verdict {
    /// Who says so: `policy`, `rule`, `hook`.
    pub fn source(&self) -> &'static str {
        match self {
            Verdict::Allow { source, .. } | Verdict::Ask { source, .. } | Verdict::Deny { source, .. } => {
                source
            }
        }
    }
}

/// Deny beats allow wherever it comes from, a rule answers what the policy asks, and what fails asks.
pub(crate) fn judge(
    call: &AskedCall<'_>,
    definition: &ToolDefinition,
    approval: &Approval,
    rules: &Rules,
) -> Verdict {
    if let Approval::Denied(reason) = approval {
        return Verdict::Deny { source: "policy", reason: reason.clone() };
    }
    let rule = rules.find(&identity(definition), call.agent);
    match (by_policy(call, definition, approval), rule) {
        (_, Some(rule)) if rule.decision != "approve" => {
            Verdict::Deny { source: "rule", reason: rules::REFUSED.to_owned() }
        }
        (Verdict::Ask { .. }, Some(_)) => Verdict::Allow {
            source: "rule",
            reason: "somebody allowed this tool for this agent always".to_owned(),
        },
        (verdict, _) => verdict,
    }
}

fn by_policy(call: &AskedCall<'_>, definition: &ToolDefinition, approval: &Approval) -> Verdict {
    let flags = definition.flags;
    let ask = |reason: &str| Verdict::Ask { source: "policy", reason: reason.to_owned() };
    let allow = |reason: &str| Verdict::Allow { source: "policy", reason: reason.to_owned() };
    match approval {
        Approval::Never => allow("the agent runs this tool without asking"),
        Approval::Asked(reason) => ask(reason),
        Approval::Always | Approval::Denied(_) => ask("the agent asks before every call of this tool"),
        Approval::Policy if flags.destructive && !flags.read_only => ask("the call may destroy something"),
        Approval::Policy => allow("the call destroys nothing"),
        Approval::Predicate(predicate) => match catch_unwind(AssertUnwindSafe(|| predicate(call))) {
            Ok(Ok(false)) => allow("the arguments need nobody's consent"),
            Ok(Ok(true)) => ask("the arguments need somebody's consent"),
            Ok(Err(_)) if seeded::is_on(Bug::PredicateFailsOpen) => allow("the rule failed"),
            Ok(Err(error)) => ask(&format!("the rule for this tool failed: {error}")),
            Err(_) => ask("the rule for this tool broke down; see the server's log"),
        },
    }
}
