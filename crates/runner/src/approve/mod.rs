//! May a call run? Pure: the policy, the rules that people made, and the digest of exactly what would run.

mod digest;
mod rules;

use serde_json::Value;

pub(crate) use digest::{digest, identity, named};
pub(crate) use rules::Rules;
pub use rules::{Rule, rules};

use crate::agent::{Approval, ToolUse};

/// What the policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow { source: &'static str, reason: String },
    Ask { source: &'static str, reason: String },
    Deny { source: &'static str, reason: String },
}

/// Deny beats allow wherever it comes from, a rule answers what the policy asks, and what fails asks.
pub(crate) fn judge(tool: &ToolUse, arguments: &Value, rules: &Rules, agent: &str) -> Verdict {
    if let Approval::Denied(reason) = &tool.approval {
        return Verdict::Deny { source: "policy", reason: reason.clone() };
    }
    let rule = rules.find(&identity(tool.tool.definition()), agent);
    match (by_policy(tool, arguments), rule) {
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

fn by_policy(tool: &ToolUse, arguments: &Value) -> Verdict {
    let flags = tool.tool.definition().flags;
    let ask = |reason: &str| Verdict::Ask { source: "policy", reason: reason.to_owned() };
    let allow = |reason: &str| Verdict::Allow { source: "policy", reason: reason.to_owned() };
    match &tool.approval {
        Approval::Never => allow("the agent runs this tool without asking"),
        Approval::Always | Approval::Denied(_) => ask("the agent asks before every call of this tool"),
        Approval::Policy if flags.destructive && !flags.read_only => ask("the call may destroy something"),
        Approval::Policy => allow("the call destroys nothing"),
        Approval::Predicate(predicate) => match predicate(arguments) {
            Ok(false) => allow("the arguments need nobody's consent"),
            Ok(true) => ask("the arguments need somebody's consent"),
            Err(error) => ask(&format!("the rule for this tool failed: {error}")),
        },
    }
}
