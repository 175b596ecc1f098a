//! `[[guardrails]]`.

use regex::Regex;

use super::catalogue::GUARDRAIL;
use super::node::Node;
use super::read::Reader;
use super::types::{Guardrail, Name};
use super::values::{names, text, texts, time, whole};

impl Reader {
    pub(super) fn guardrail(&mut self, node: &Node) -> Option<Guardrail> {
        let table = self.table(node, GUARDRAIL, "[[guardrails]]");
        let name = self.name_of(&table)?;
        let at = format!("guardrail `{}`", name.text);
        let asks = self.asks(node, &table, &at)?;
        let deny = names(table.get("deny").copied());
        deny.iter().for_each(|pattern| self.try_pattern(pattern));
        let max_characters = whole(&table, "max_characters");
        let looks = !deny.is_empty() || max_characters.is_some();
        if !looks && asks.is_none() {
            let what = format!("{at} refuses nothing: give `deny`, `max_characters`, `command` or `url`");
            self.complain(&node.span, what);
        }
        if !looks {
            self.foreign(&table, &["reason"], &at, "`deny` or `max_characters`");
        }
        if asks.is_none() {
            let keys = ["timeout", "output_bytes", "headers", "allow_hosts"];
            self.foreign(&table, &keys, &at, "`command` or `url`");
        }
        let checks = texts(table.get("checks").copied());
        if !checks.iter().any(|check| check.starts_with("tool_")) {
            self.foreign(&table, &["tools"], &at, "the checks `tool_call` and `tool_result`");
        }
        Some(Guardrail {
            name,
            checks,
            agents: names(table.get("agents").copied()),
            tools: names(table.get("tools").copied()),
            deny: deny.into_iter().map(|pattern| pattern.text).collect(),
            max_characters,
            reason: text(&table, "reason"),
            asks,
            timeout: time(&table, "timeout"),
            output_bytes: whole(&table, "output_bytes"),
        })
    }

    fn try_pattern(&mut self, pattern: &Name) {
        let Err(error) = Regex::new(&pattern.text) else { return };
        // The last line says what is wrong; those before it draw it.
        let said = error.to_string();
        let said = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
        self.complain(&pattern.span, format!("deny: `{}` is no regular expression: {said}", pattern.text));
    }
}
