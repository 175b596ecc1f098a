//! `[mcp.NAME]` and `[providers.NAME]`: what the server calls.

use riverrun_provider::Price;

use super::catalogue::{MCP, PRICE, PROVIDER};
use super::node::Member;
use super::read::Reader;
use super::types::{Mcp, Name, Patience, ProviderTable};
use super::values::{
    approval, flag, name, number, peek, process_limits, secret, text, text_map, texts, time,
};

impl Reader {
    pub(super) fn mcp(&mut self, member: &Member) -> Option<Mcp> {
        let at = format!("[mcp.{}]", member.key);
        // `a` with the tool `b__c` and `a__b` with the tool `c` would both be `a__b__c`.
        if member.key.contains("__") || member.key.ends_with('_') {
            let what = format!(
                "`{}` is no name for an MCP server: `__` stands between it and its tools; write one `_`, and none at \
                 its end",
                member.key
            );
            self.complain(&member.span, what);
        }
        let table = self.table(&member.node, MCP, &at);
        let (command, url) = (texts(table.get("command").copied()), text(&table, "url"));
        match (command.is_empty(), &url) {
            (false, None) => self.foreign(&table, &["headers", "allow_hosts"], &at, "`url`"),
            (true, Some(_)) => self.foreign(&table, &["env", "cwd", "limits"], &at, "`command`"),
            (false, Some(_)) | (true, None) => {
                self.complain(&member.span, format!("{at} needs `command` or `url`, and not both"));
            }
        }
        self.reach(&table);
        Some(Mcp {
            name: name(member),
            command,
            url,
            env: text_map(&table, "env"),
            cwd: text(&table, "cwd"),
            limits: process_limits(&table),
            headers: text_map(&table, "headers"),
            timeout: time(&table, "timeout"),
            approval: approval(&table),
            allow_hosts: texts(table.get("allow_hosts").copied()),
            trust_hints: flag(&table, "trust_hints").unwrap_or_default(),
            labels: table.get("tools").map(|node| self.tool_labels(node)).unwrap_or_default(),
            references: text(&table, "references"),
        })
    }

    pub(super) fn provider(&mut self, member: &Member) -> Option<ProviderTable> {
        if self.is_scripted(member) {
            return None;
        }
        let table = self.table(&member.node, PROVIDER, &format!("[providers.{}]", member.key));
        let mut prices = Vec::new();
        for price in table.get("prices").map_or(&[][..], |node| node.members()) {
            let found = peek(&price.node, PRICE);
            let told = Price {
                input: number(&found, "input").unwrap_or_default(),
                cached_input: number(&found, "cached_input"),
                cache_write: number(&found, "cache_write"),
                output: number(&found, "output").unwrap_or_default(),
            };
            prices.push((price.key.clone(), told));
        }
        let kind = text(&table, "kind").unwrap_or_default();
        Some(ProviderTable {
            name: name(member),
            kind,
            base_url: text(&table, "base_url"),
            key: table.get("key").map(|node| secret(node)),
            key_place: table.get("key").map(|node| Name { text: "key".to_owned(), span: node.span.clone() }),
            headers: text_map(&table, "headers"),
            prices,
            patience: Patience {
                connect: time(&table, "connect_timeout"),
                first_byte: time(&table, "first_byte_timeout"),
                idle: time(&table, "idle_timeout"),
                total: time(&table, "total_timeout"),
            },
            ca_file: text(&table, "ca_file"),
            threads: flag(&table, "threads"),
        })
    }

    /// Scripts are there without a declaration, under one name. True if this one declares them, rightly or not.
    fn is_scripted(&mut self, member: &Member) -> bool {
        let name = &member.key;
        let kind = member.node.members().iter().find(|member| member.key == "kind");
        let is_scripted = kind.is_some_and(|kind| kind.node.text() == Some("scripted"));
        let what = match (name.as_str(), is_scripted) {
            // It says what is so anyway.
            ("scripted", true) => return true,
            ("scripted", false) => {
                "`scripted` is the provider of scripts; give yours another name".to_owned()
            }
            (_, true) => format!(
                "scripts need no provider; remove [providers.{name}] and write `scripted/SCENARIO` for `{name}/SCENARIO`"
            ),
            (_, false) => return false,
        };
        self.complain(&member.span, what);
        true
    }
}
