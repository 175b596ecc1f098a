//! Which calls a person must agree to. Deny beats ask, ask beats allow, and all of them beat what a tool says itself.

use riverrun_runner::agent::Approval as Rule;
use riverrun_runner::hook::fits;

use crate::cli::config::{Approval, Name, Policy};

/// The rule for a tool: the policy's, then the tool's, then the agent's.
pub fn rule(policy: &Policy, tool: &str, of_tool: Option<Approval>, of_agent: Option<Approval>) -> Rule {
    let first = |patterns: &[Name]| patterns.iter().find(|pattern| fits(&pattern.text, tool)).cloned();
    if let Some(pattern) = first(&policy.deny) {
        return Rule::Denied(format!("the policy denies `{}`", pattern.text));
    }
    if let Some(pattern) = first(&policy.ask) {
        return Rule::Asked(format!("the policy asks about `{}`", pattern.text));
    }
    if first(&policy.allow).is_some() {
        return Rule::Never;
    }
    let origin = if of_tool.is_some() { "tool" } else { "agent" };
    match of_tool.or(of_agent).unwrap_or(Approval::Policy) {
        Approval::Policy => Rule::Policy,
        Approval::Never => Rule::Never,
        Approval::Always => Rule::Asked(format!("the {origin} says `approval = \"always\"`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_beats_ask_beats_allow_beats_the_tool() {
        let name = |name: &&str| Name { text: (*name).to_owned(), span: 0..0 };
        let list = |names: &[&str]| names.iter().map(name).collect();
        let policy =
            Policy { allow: list(&["fs_*", "rm"]), ask: list(&["fs_write"]), deny: list(&["rm", "*_root"]) };
        let word = |tool: &str, said| match rule(&policy, tool, said, Some(Approval::Always)) {
            Rule::Denied(reason) | Rule::Asked(reason) => reason,
            Rule::Always => "always".to_owned(),
            Rule::Never => "never".to_owned(),
            Rule::Policy => "policy".to_owned(),
            Rule::Predicate(_) => "predicate".to_owned(),
        };
        assert_eq!(word("rm", Some(Approval::Never)), "the policy denies `rm`");
        assert_eq!(word("fs_root", None), "the policy denies `*_root`");
        assert_eq!(word("fs_write", Some(Approval::Never)), "the policy asks about `fs_write`");
        assert_eq!(word("fs_read", Some(Approval::Always)), "never");
        assert_eq!(word("other", Some(Approval::Never)), "never");
        assert_eq!(word("other", Some(Approval::Always)), "the tool says `approval = \"always\"`");
        assert_eq!(word("other", None), "the agent says `approval = \"always\"`");
    }
}
