//! `[tools.NAME]`.

use super::catalogue::TOOL;
use super::node::Member;
use super::read::Reader;
use super::types::{Name, ToolKind, ToolTable};
use super::values::{Table, approval, flag, json_schema, name, process_limits, text, text_map, texts, time};

/// The key that says what a tool is, with those that only make sense beside it.
const KINDS: [(&str, &[&str]); 4] = [
    ("command", &["env", "cwd", "interactive", "limits"]),
    ("url", &["method", "headers", "allow_hosts"]),
    ("function", &[]),
    ("client", &[]),
];

impl Reader {
    pub(super) fn tool(&mut self, member: &Member) -> Option<ToolTable> {
        let at = format!("[tools.{}]", member.key);
        let table = self.table(&member.node, TOOL, &at);
        let kind = self.tool_kind(member, &table, &at)?;
        if matches!(&kind, ToolKind::Command { argv, .. } if argv.is_empty()) {
            self.complain(&member.node.span, format!("command: the list is empty in {at}"));
        }
        self.reach(&table);
        Some(ToolTable {
            name: name(member),
            description: text(&table, "description").unwrap_or_default(),
            label: table.get("label").map(|node| self.label(node)).unwrap_or_default(),
            kind,
            parameters: json_schema(&table, "parameters"),
            timeout: time(&table, "timeout"),
            approval: approval(&table),
            read_only: flag(&table, "read_only"),
            destructive: flag(&table, "destructive"),
            idempotent: flag(&table, "idempotent"),
            open_world: flag(&table, "open_world"),
            references: text(&table, "references"),
        })
    }

    fn tool_kind(&mut self, member: &Member, table: &Table<'_>, at: &str) -> Option<ToolKind> {
        let is_said = |kind: &&str| match *kind {
            "client" => flag(table, "client") == Some(true),
            kind => table.contains_key(kind),
        };
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).filter(is_said).collect();
        let kind = match kinds.as_slice() {
            [kind] => *kind,
            [] => {
                let what =
                    format!("{at} says not what it is: give `command`, `url`, `function` or `client = true`");
                self.complain(&member.span, what);
                return None;
            }
            several => {
                self.complain(&member.span, format!("{at} has {}: give one of them", several.join(" and ")));
                return None;
            }
        };
        for (other, keys) in KINDS.iter().filter(|(other, _)| *other != kind) {
            self.foreign(table, keys, at, &format!("`{other}`"));
        }
        match kind {
            "function" => self.foreign(table, &["parameters"], at, "`command`, `url` or `client`"),
            "client" => self.foreign(table, &["timeout"], at, "`command`, `url` or `function`"),
            _ => {}
        }
        tool_kind(kind, table)
    }

    /// A key of another kind does nothing, so it is not what was meant.
    pub(super) fn foreign(&mut self, table: &Table<'_>, keys: &[&str], at: &str, whose: &str) {
        for key in keys {
            if let Some(node) = table.get(key) {
                self.complain(
                    &node.span,
                    format!("`{key}` goes with {whose}, which {at} has not; remove it"),
                );
            }
        }
    }
}

fn tool_kind(kind: &str, table: &Table<'_>) -> Option<ToolKind> {
    Some(match kind {
        "command" => ToolKind::Command {
            argv: texts(table.get("command").copied()),
            env: text_map(table, "env"),
            cwd: text(table, "cwd"),
            interactive: flag(table, "interactive").unwrap_or(false),
            limits: process_limits(table),
        },
        "url" => ToolKind::Http {
            url: text(table, "url").unwrap_or_default(),
            method: text(table, "method").unwrap_or_else(|| "POST".to_owned()),
            headers: text_map(table, "headers"),
            allow_hosts: texts(table.get("allow_hosts").copied()),
        },
        "function" => {
            let node = table.get("function").copied()?;
            ToolKind::Function(Name { text: node.text()?.to_owned(), span: node.span.clone() })
        }
        _ => ToolKind::Client,
    })
}
