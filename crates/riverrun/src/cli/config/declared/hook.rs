//! `[[hooks]]`, and who is asked: a program or an address.

use super::catalogue::HOOK;
use super::node::Node;
use super::read::{Reader, is_name};
use super::types::{Hook, Name, ToolKind};
use super::values::{Table, names, text, text_map, texts, time, whole};

impl Reader {
    pub(super) fn hook(&mut self, node: &Node) -> Option<Hook> {
        let table = self.table(node, HOOK, "[[hooks]]");
        let name = self.name_of(&table)?;
        let at = format!("hook `{}`", name.text);
        let kind = self.asks(node, &table, &at)?;
        if kind.is_none() {
            self.complain(&node.span, format!("{at} needs `command` or `url`, and not both"));
        }
        Some(Hook {
            name,
            points: texts(table.get("points").copied()),
            agents: names(table.get("agents").copied()),
            tools: names(table.get("tools").copied()),
            kind: kind?,
            timeout: time(&table, "timeout"),
            output_bytes: whole(&table, "output_bytes"),
            on_failure: text(&table, "on_failure"),
        })
    }

    /// The name of an entry of a list.
    pub(super) fn name_of(&mut self, table: &Table<'_>) -> Option<Name> {
        let named = *table.get("name")?;
        let name = Name { text: named.text()?.to_owned(), span: named.span.clone() };
        if !is_name(&name.text) {
            let what = format!("`{}` is no name: use letters, digits, `-` and `_`", name.text);
            self.complain(&name.span, what);
        }
        Some(name)
    }

    /// Who is asked, if anybody is. None if what is said makes no sense; that was complained about.
    pub(super) fn asks(&mut self, node: &Node, table: &Table<'_>, at: &str) -> Option<Option<ToolKind>> {
        let argv = texts(table.get("command").copied());
        if table.contains_key("command") && argv.is_empty() {
            self.complain(&node.span, format!("command: the list is empty in {at}"));
            return None;
        }
        if !argv.is_empty() && !table.contains_key("url") {
            self.foreign(table, &["headers", "allow_hosts"], at, "`url`");
        } else if argv.is_empty() {
            self.foreign(table, &["env", "cwd"], at, "`command`");
        }
        self.reach(table);
        match (argv.is_empty(), text(table, "url")) {
            (false, None) => Some(Some(ToolKind::Command {
                argv,
                env: text_map(table, "env"),
                cwd: text(table, "cwd"),
                interactive: false,
                limits: Default::default(),
            })),
            (true, Some(url)) => Some(Some(ToolKind::Http {
                url,
                method: "POST".to_owned(),
                headers: text_map(table, "headers"),
                allow_hosts: texts(table.get("allow_hosts").copied()),
            })),
            (true, None) => Some(None),
            (false, Some(_)) => {
                self.complain(&node.span, format!("{at} needs `command` or `url`, and not both"));
                None
            }
        }
    }
}
