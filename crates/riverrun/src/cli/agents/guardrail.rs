//! Guardrails as the configuration declares them: patterns, lengths, and programs or addresses that are asked.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use riverrun_runner::Registry;
use riverrun_runner::agent::{Checked, Guardrail, GuardrailFuture};
use riverrun_runner::hook::{HookDecision, HookOutput, ToolHook, fits};
use serde_json::{Value, json};

use super::hook::{TIMEOUT, tool};
use crate::cli::config::{Declared, FileRead, Guardrail as Declaration};
use crate::cli::exit::{Exit, Failure, Outcome};

/// Gives every agent its guardrails, also those that nobody declared.
pub fn give(declared: &Declared, read: &FileRead, registry: &mut Registry) -> Outcome {
    let built = all(declared, read)?;
    for (name, agent) in registry.agents.iter_mut().filter(|_| !built.is_empty()) {
        let is_of = |guard: &&Guard| guard.agents.is_empty() || guard.agents.iter().any(|own| own == name);
        let of_agent = built
            .iter()
            .filter(is_of)
            .map(|guard| Arc::new(Guard { agent: name.clone(), ..guard.clone() }) as Arc<dyn Guardrail>);
        Arc::make_mut(agent).guardrails = of_agent.collect();
    }
    Ok(())
}

pub fn all(declared: &Declared, read: &FileRead) -> Outcome<Vec<Guard>> {
    let one = |guard| build(guard, read.directory()).map_err(|failure| read.at(&guard.name, failure));
    declared.guardrails.iter().map(one).collect()
}

/// One guardrail in the hands of one agent.
#[derive(Clone)]
pub struct Guard {
    name: String,
    agent: String,
    agents: Vec<String>,
    checks: Vec<String>,
    tools: Vec<String>,
    deny: Vec<Regex>,
    max_characters: Option<u64>,
    reason: Option<String>,
    asks: Option<Arc<ToolHook>>,
    timeout: Duration,
}

fn build(declared: &Declaration, directory: &Path) -> Outcome<Guard> {
    let name = declared.name.text.clone();
    let pattern = |text: &String| {
        Regex::new(text).map_err(|error| Failure::new(Exit::Config, format_args!("`{name}`: {error}")))
    };
    let asks = declared.asks.as_ref().map(|kind| tool(&name, kind, declared.output_bytes, directory));
    Ok(Guard {
        agent: String::new(),
        agents: declared.agents.iter().map(|agent| agent.text.clone()).collect(),
        checks: declared.checks.clone(),
        tools: declared.tools.iter().map(|tool| tool.text.clone()).collect(),
        deny: declared.deny.iter().map(pattern).collect::<Outcome<_>>()?,
        max_characters: declared.max_characters,
        reason: declared.reason.clone(),
        asks: asks.transpose()?.map(|tool| Arc::new(ToolHook::new(tool))),
        timeout: declared.timeout.unwrap_or(TIMEOUT),
        name,
    })
}

impl Guardrail for Guard {
    fn name(&self) -> &str {
        &self.name
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        Box::pin(async move {
            if !self.is_for(&checked) {
                return Ok(());
            }
            self.look(&checked)?;
            match &self.asks {
                Some(asked) => self.ask(asked, &checked).await,
                None => Ok(()),
            }
        })
    }
}

impl Guard {
    fn is_for(&self, checked: &Checked<'_>) -> bool {
        let (check, tool) = match checked {
            Checked::Input(_) => ("input", None),
            Checked::Output(_) => ("output", None),
            Checked::ToolCall { name, .. } => ("tool_call", Some(*name)),
            Checked::ToolResult { name, .. } => ("tool_result", Some(*name)),
        };
        let fits_tool = |tool| self.tools.is_empty() || self.tools.iter().any(|known| fits(known, tool));
        self.checks.iter().any(|own| own == check) && tool.is_none_or(fits_tool)
    }

    /// What can be seen without asking anybody.
    fn look(&self, checked: &Checked<'_>) -> Result<(), String> {
        let (whole, inside) = match checked {
            Checked::Input(text) | Checked::Output(text) | Checked::ToolResult { text, .. } => {
                ((*text).to_owned(), Vec::new())
            }
            // As JSON has them, quotes and line ends look different from what the tool gets.
            Checked::ToolCall { arguments, .. } => (arguments.to_string(), strings(arguments)),
        };
        let said = |default: String| Err(self.reason.clone().unwrap_or(default));
        let count = whole.chars().count() as u64;
        if let Some(most) = self.max_characters.filter(|most| count > *most) {
            return said(format!("it has {count} characters; {most} are allowed"));
        }
        let texts: Vec<&str> = std::iter::once(whole.as_str()).chain(inside).collect();
        let found = self.deny.iter().find(|pattern| texts.iter().any(|text| pattern.is_match(text)));
        match found {
            Some(pattern) => said(format!("it has what `{pattern}` finds")),
            None => Ok(()),
        }
    }

    /// No usable answer is a no.
    async fn ask(&self, asked: &ToolHook, checked: &Checked<'_>) -> Result<(), String> {
        let answer = asked.question(&self.agent, self.question(checked));
        let answer = tokio::time::timeout(self.timeout, answer).await;
        let answer =
            answer.map_err(|_| format!("it gave no answer within {} ms", self.timeout.as_millis()))?;
        judged(answer?)
    }

    fn question(&self, checked: &Checked<'_>) -> Value {
        let mut question = match checked {
            Checked::Input(text) => json!({"check": "input", "text": text}),
            Checked::Output(text) => json!({"check": "output", "text": text}),
            Checked::ToolCall { name, arguments } => {
                json!({"check": "tool_call", "toolName": name, "arguments": arguments})
            }
            Checked::ToolResult { name, text } => {
                json!({"check": "tool_result", "toolName": name, "text": text})
            }
        };
        question["guardrail"] = self.name.as_str().into();
        question["agent"] = self.agent.as_str().into();
        question
    }
}

/// A guardrail says yes or no; whoever wants to change something is a hook.
fn judged(answer: HookOutput) -> Result<(), String> {
    let HookOutput { decision, reason, .. } = answer.clone();
    let plain = HookOutput { decision, reason: reason.clone(), ..HookOutput::default() };
    if answer != plain {
        return Err(
            "its answer may have `decision` and `reason` alone; to change something, use a hook".to_owned()
        );
    }
    match decision {
        HookDecision::Continue | HookDecision::Allow => Ok(()),
        HookDecision::Block | HookDecision::Deny => {
            Err(reason.unwrap_or_else(|| "it gave no reason".to_owned()))
        }
        HookDecision::Ask => Err("its answer is `ask`, which means nothing for a guardrail".to_owned()),
    }
}

/// Every text in a value, names of members too.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(entries) => entries.iter().flat_map(strings).collect(),
        Value::Object(members) => {
            let names = members.keys().map(String::as_str);
            names.chain(members.values().flat_map(strings)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(deny: &[&str], max_characters: Option<u64>, reason: Option<&str>) -> Guard {
        Guard {
            name: "g".to_owned(),
            agent: "a".to_owned(),
            agents: Vec::new(),
            checks: ["input", "tool_call"].map(str::to_owned).to_vec(),
            tools: vec!["fs_*".to_owned()],
            deny: deny.iter().map(|text| Regex::new(text).expect("a pattern")).collect(),
            max_characters,
            reason: reason.map(str::to_owned),
            asks: None,
            timeout: TIMEOUT,
        }
    }

    async fn check(guard: &Guard, checked: Checked<'_>) -> Result<(), String> {
        guard.check(checked).await
    }

    #[tokio::test]
    async fn patterns_and_lengths_refuse_what_they_find() {
        let keys = guard(&["sk-[a-z]{4}"], None, None);
        assert_eq!(check(&keys, Checked::Input("fine")).await, Ok(()));
        let said = Err("it has what `sk-[a-z]{4}` finds".to_owned());
        assert_eq!(check(&keys, Checked::Input("my sk-abcd")).await, said);
        assert_eq!(check(&keys, Checked::Output("my sk-abcd")).await, Ok(()), "it does not look at outputs");
        let short = guard(&[], Some(3), None);
        let said = Err("it has 4 characters; 3 are allowed".to_owned());
        assert_eq!(check(&short, Checked::Input("äöüß")).await, said);
        let own = guard(&[], Some(3), Some("be brief"));
        assert_eq!(check(&own, Checked::Input("much too long")).await, Err("be brief".to_owned()));
    }

    #[tokio::test]
    async fn arguments_are_looked_at_as_the_tool_gets_them() {
        let quoted = guard(&["^rm \"", "^secret$"], None, None);
        let call = |name, arguments| Checked::ToolCall { name, arguments };
        let arguments = json!({"lines": [{"line": "rm \"x\""}]});
        assert!(check(&quoted, call("fs_run", &arguments)).await.is_err());
        let named = json!({"secret": 1});
        assert!(check(&quoted, call("fs_run", &named)).await.is_err(), "names count too");
        assert_eq!(check(&quoted, call("web", &arguments)).await, Ok(()), "another tool");
    }

    #[test]
    fn an_answer_is_yes_or_no_and_nothing_else() {
        assert_eq!(judged(HookOutput::proceed()), Ok(()));
        assert_eq!(judged(HookOutput::block("no")), Err("no".to_owned()));
        assert!(judged(HookOutput::ask("?")).is_err_and(|said| said.contains("`ask`")));
        assert!(judged(HookOutput::update(1)).is_err_and(|said| said.contains("use a hook")));
    }
}
