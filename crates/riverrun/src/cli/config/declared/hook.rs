//! `[[hooks]]`.

use super::catalogue::HOOK;
use super::node::{Node, NodeValue};
use super::read::{Reader, is_name};
use super::types::{Hook, Name, ToolKind};
use super::values::{Table, names, text, text_map, texts, time, whole};

impl Reader {
    pub(super) fn hooks(&mut self, node: &Node) -> Vec<Hook> {
        let NodeValue::List(items) = &node.value else {
            self.complain(&node.span, "`hooks` is a list: write [[hooks]]");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.hook(item)).collect()
    }

    fn hook(&mut self, node: &Node) -> Option<Hook> {
        if !matches!(node.value, NodeValue::Table(_)) {
            self.complain(&node.span, "a hook is a table: write [[hooks]]");
            return None;
        }
        let table = self.table(node, HOOK, "[[hooks]]");
        let named = *table.get("name")?;
        let name = Name { text: named.text()?.to_owned(), span: named.span.clone() };
        if !is_name(&name.text) {
            let what = format!("`{}` is no name: use letters, digits, `-` and `_`", name.text);
            self.complain(&name.span, what);
        }
        let kind = self.hook_kind(node, &table, &name.text)?;
        Some(Hook {
            name,
            points: texts(table.get("points").copied()),
            agents: names(table.get("agents").copied()),
            tools: names(table.get("tools").copied()),
            kind,
            timeout: time(&table, "timeout"),
            output_bytes: whole(&table, "output_bytes"),
            on_failure: text(&table, "on_failure"),
        })
    }

    fn hook_kind(&mut self, node: &Node, table: &Table<'_>, name: &str) -> Option<ToolKind> {
        let argv = texts(table.get("command").copied());
        if table.contains_key("command") && argv.is_empty() {
            self.complain(&node.span, format!("command: the list is empty in hook `{name}`"));
            return None;
        }
        let at = format!("hook `{name}`");
        if !argv.is_empty() && !table.contains_key("url") {
            self.foreign(table, &["headers", "allow_hosts"], &at, "`url`");
        } else if argv.is_empty() {
            self.foreign(table, &["env", "cwd"], &at, "`command`");
        }
        match (argv.is_empty(), text(table, "url")) {
            (false, None) => Some(ToolKind::Command {
                argv,
                env: text_map(table, "env"),
                cwd: text(table, "cwd"),
                interactive: false,
                limits: Default::default(),
            }),
            (true, Some(url)) => Some(ToolKind::Http {
                url,
                method: "POST".to_owned(),
                headers: text_map(table, "headers"),
                allow_hosts: texts(table.get("allow_hosts").copied()),
            }),
            (false, Some(_)) | (true, None) => {
                self.complain(&node.span, format!("hook `{name}` needs `command` or `url`, and not both"));
                None
            }
        }
    }
}
