//! `riverrun rules`: the decisions that were given for always, and taking one back.

use clap::{Args, Subcommand};
use riverrun_client::operations::{ListRulesRequest, RevokeRuleRequest, Rule};
use serde_json::json;

use super::Context;
use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use super::terminal::{Lines, Mark, Tone, escape, shorten};

#[derive(Debug, Args)]
pub struct RulesArgs {
    #[command(subcommand)]
    command: Option<RulesCommand>,
    /// An id, the beginning of one, or `-` for the session that changed last.
    #[arg(long, value_name = "ID", default_value = "-", global = true)]
    session: String,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// Take a decision back: the tool is asked about anew.
    Revoke {
        /// The rule: an id, the beginning of one, or `-` for the only one.
        rule: String,
    },
}

pub async fn run(args: RulesArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let rules = client.list_rules(&ListRulesRequest::new(session.as_str())).await?.rules;
    let Some(RulesCommand::Revoke { rule }) = args.command else { return list(&rules, context) };
    let rule = choose(&rule, &rules)?;
    client.revoke_rule(&RevokeRuleRequest::new(&rule.rule_id, session.as_str())).await?;
    if context.output.json {
        return context.output.document(&json!({ "sessionId": session, "revoked": rule }));
    }
    context.output.line(&format!("{}  {}", context.output.style().mark(Mark::Done, "revoked"), told(rule)))
}

fn list(rules: &[Rule], context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(&json!({ "rules": rules }));
    }
    if rules.is_empty() {
        context.output.note("nobody decided anything for always in this session");
    }
    let style = context.output.style();
    for rule in rules {
        let mark = if rule.decision == "approve" { Mark::Done } else { Mark::Stopped };
        let by = rule.decided_by.as_deref().unwrap_or("unknown");
        let at = rule.decided_at.as_deref().unwrap_or("unknown");
        context.output.line(&format!(
            "{}  {}  {}  {}",
            style.mark(mark, &rule.decision),
            style.paint(Tone::Id, &escape(&rule.rule_id, Lines::One)),
            told(rule),
            style.paint(Tone::Dim, &format!("by {} at {}", escape(by, Lines::One), escape(at, Lines::One)))
        ))?;
    }
    if let Some(rule) = rules.first() {
        context.output.note(&format!("take it back: riverrun rules revoke {}", rule.rule_id));
    }
    Ok(())
}

fn told(rule: &Rule) -> String {
    format!("{} for agent {}", shorten(&rule.tool_name, 60), shorten(&rule.agent, 40))
}

fn choose<'a>(typed: &str, rules: &'a [Rule]) -> Outcome<&'a Rule> {
    let mut fits = rules.iter().filter(|rule| typed == "-" || rule.rule_id.starts_with(typed));
    match (fits.next(), fits.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            Err(Failure::new(Exit::Usage, format_args!("`{typed}` could be more than one rule"))
                .hint("`riverrun rules` lists them"))
        }
        (None, _) => {
            let typed = escape(typed, Lines::One);
            Err(Failure::new(Exit::NotFound, format_args!("no rule `{typed}` holds in this session"))
                .hint("`riverrun rules` lists those that do; `--session` names another session"))
        }
    }
}
