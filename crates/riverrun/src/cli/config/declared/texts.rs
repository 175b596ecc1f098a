//! Texts for people, by language.

use std::collections::BTreeMap;

use riverrun_dialect::Language;

use super::catalogue::{MCP_TOOL, TEXTS};
use super::node::{Member, Node};
use super::read::Reader;
use super::values::{peek, text};

/// The language of a text that is for every reader.
const DEFAULT: &str = "default";
/// The longest text, in bytes: every turn of the agent has it in its log.
const LONGEST: usize = 500;

impl Reader {
    /// `[agents.NAME.texts.LANGUAGE]`.
    pub(super) fn texts(&mut self, node: &Node) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut texts = BTreeMap::new();
        for member in node.members() {
            let Some(language) = self.language(member) else { continue };
            let table = peek(&member.node, TEXTS);
            let mut named = BTreeMap::new();
            for (name, node) in &table {
                self.check_length(node);
                named.extend(text(&table, name).map(|text| ((*name).to_owned(), text)));
            }
            texts.insert(language, named);
        }
        texts
    }

    /// One text for all languages, or one for each.
    pub(super) fn label(&mut self, node: &Node) -> BTreeMap<String, String> {
        if let Some(text) = node.text() {
            self.check_length(node);
            return BTreeMap::from([(DEFAULT.to_owned(), text.to_owned())]);
        }
        let mut label = BTreeMap::new();
        for member in node.members() {
            self.check_length(&member.node);
            let language = self.language(member);
            label.extend(language.zip(member.node.text().map(str::to_owned)));
        }
        label
    }

    /// `[mcp.NAME.tools.TOOL]`: labels by tool.
    pub(super) fn tool_labels(&mut self, node: &Node) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut labels = BTreeMap::new();
        for member in node.members() {
            if let Some(label) = peek(&member.node, MCP_TOOL).get("label") {
                labels.insert(member.key.clone(), self.label(label));
            }
        }
        labels
    }

    fn language(&mut self, member: &Member) -> Option<String> {
        let language = Language::parse(&member.key).map(|language| language.as_str().to_owned());
        if language.is_none() {
            let what =
                format!("`{}` is no language: write a tag such as `en`, `vi`, or `default`", member.key);
            self.complain(&member.span, what);
        }
        language
    }

    fn check_length(&mut self, node: &Node) {
        let length = node.text().map_or(0, str::len);
        if length > LONGEST {
            self.complain(&node.span, format!("a text may have {LONGEST} bytes; this one has {length}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::file;

    fn complaints(text: &str) -> Vec<String> {
        file::read(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_text_that_can_be_shown_can_be_replaced() {
        let known: Vec<&str> = TEXTS.iter().map(|field| field.key).collect();
        let shown: Vec<&str> = riverrun_dialect::blocks::TEXTS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(known, shown);
    }

    #[test]
    fn texts_and_labels_are_by_language() {
        let check = |text: &str, expected: &[&str]| {
            let whole = format!("[agents.a]\nmodel = \"scripted/text\"\n{text}\n");
            assert_eq!(complaints(&whole), expected, "{text}");
        };
        let tool = |label: &str| format!("[tools.t]\ncommand = [\"true\"]\nlabel = {label}");
        check("[agents.a.texts.vi]\nstopped = \"x\"\n[agents.a.texts.default]\nerror = \"y\"", &[]);
        check(&tool("\"Searching {query}\""), &[]);
        check(&tool("{ en = \"Searching\", vi = \"Tìm\" }"), &[]);
        check(
            "[agents.a.texts.\"no tag\"]\nstopped = \"x\"",
            &["3:17: `no tag` is no language: write a tag such as `en`, `vi`, or `default`"],
        );
        check(
            "[agents.a.texts.vi]\nstoped = \"x\"",
            &["4:1: unknown key `stoped` in [agents.a] texts.vi; did you mean `stopped`?"],
        );
        check(&tool("3"), &["5:9: label: wants a text or a table of texts by language, not a number"]);
        let server = |tools: &str| format!("[mcp.m]\ncommand = [\"true\"]\n{tools}");
        check(&server("[mcp.m.tools.read]\nlabel = { default = \"Reading {path}\", vi = \"Đọc\" }"), &[]);
        check(
            &server("[mcp.m.tools.read]\nlabl = \"x\""),
            &["6:1: unknown key `labl` in [mcp.m] tools.read; did you mean `label`?"],
        );
        check(
            &server("[mcp.m.tools.read]\nlabel = { \"no tag\" = \"x\" }"),
            &["6:11: `no tag` is no language: write a tag such as `en`, `vi`, or `default`"],
        );
        let long = format!("\"{}\"", "x".repeat(501));
        check(&tool(&long), &["5:9: a text may have 500 bytes; this one has 501"]);
    }
}
