//! From the file's values to declarations. Everything that is wrong is collected, not only the first.

use std::collections::BTreeMap;
use std::ops::Range;

use riverrun_event::{TenantId, nearest};
use riverrun_server::edge::TenantQuotas;

use super::catalogue::{AGENT, LIMITS, POLICY, REFERENCES, SCRIPTS, TENANT};
use super::fits::fits;
use super::node::{Member, Node, NodeValue};
use super::references;
use super::shape::{Field, Shape};
use super::types::{Agent, Declared, LimitsDeclared, Name, Policy, ReferencesDeclared};
use super::values::{
    Table, approval, flag, json_schema, name, names, number, peek, size, source, text, time, whole,
};

/// What is wrong at a place: the text, and what was meant perhaps.
pub type Wrong = (Range<usize>, String, Option<String>);

/// Reads the sections that declare something. The names in `members` are those of [`super::DECLARED`].
pub fn read(sections: &[(String, Node)]) -> (Declared, Vec<Wrong>) {
    let mut reader = Reader::default();
    let mut declared = Declared::default();
    for (section, node) in sections {
        match section.as_str() {
            "agents" => declared.agents = reader.named(section, node, Reader::agent),
            "tools" => declared.tools = reader.named(section, node, Reader::tool),
            "hooks" => declared.hooks = reader.listed(section, node, Reader::hook),
            "guardrails" => declared.guardrails = reader.listed(section, node, Reader::guardrail),
            "mcp" => declared.mcp = reader.named(section, node, Reader::mcp),
            "providers" => declared.providers = reader.named(section, node, Reader::provider),
            "routes" => {
                declared.routes = reader.routes(node);
                declared.route_names = node.members().iter().map(name).collect();
            }
            "policy" => declared.policy = reader.policy(node),
            "scripts" => {
                let table = reader.table(node, SCRIPTS, "[scripts]");
                declared.scripts = names(table.get("files").copied());
            }
            "tenants" => {
                declared.tenants = reader.named(section, node, Reader::tenant).into_iter().collect();
            }
            _ => {}
        }
    }
    references::check(&declared, &mut reader.wrong);
    (declared, reader.wrong)
}

#[derive(Default)]
pub(super) struct Reader {
    wrong: Vec<Wrong>,
}

impl Reader {
    pub(super) fn complain(&mut self, span: &Range<usize>, what: impl Into<String>) {
        self.wrong.push((span.clone(), what.into(), None));
    }

    fn named<T>(&mut self, section: &str, node: &Node, one: fn(&mut Self, &Member) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        for member in node.members() {
            // An agent may have the name of the model that it stands in for.
            let is_named = is_name(&member.key) || section == "agents" && is_agent_name(&member.key);
            if !is_named {
                let dots = if section == "agents" { ", and dots between them" } else { "" };
                self.complain(
                    &member.span,
                    format!("`{}` is no name: use letters, digits, `-` and `_`{dots}", member.key),
                );
            } else if !matches!(member.node.value, NodeValue::Table(_)) {
                let what = format!("`{}` is a table: write [{section}.{}]", member.key, member.key);
                self.complain(&member.span, what);
            } else {
                found.extend(one(self, member));
            }
        }
        found
    }

    /// The entries of a section that is a list of tables, in their order.
    fn listed<T>(&mut self, section: &str, node: &Node, one: fn(&mut Self, &Node) -> Option<T>) -> Vec<T> {
        let NodeValue::List(items) = &node.value else {
            self.complain(&node.span, format!("`{section}` is a list: write [[{section}]]"));
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            match item.value {
                NodeValue::Table(_) => found.extend(one(self, item)),
                _ => self.complain(&item.span, format!("an entry is a table: write [[{section}]]")),
            }
        }
        found
    }

    /// The known members with the right shape. The others are complained about.
    pub(super) fn table<'a>(&mut self, node: &'a Node, fields: &'static [Field], at: &str) -> Table<'a> {
        let mut table = Table::new();
        for member in node.members() {
            let Some(field) = fields.iter().find(|field| field.key == member.key) else {
                let near = nearest(&member.key, fields.iter().map(|field| field.key));
                let what = format!("unknown key `{}` in {at}", member.key);
                self.wrong.push((member.span.clone(), what, near.map(str::to_owned)));
                continue;
            };
            match self.shaped(&member.node, field.shape, &format!("{at} {}", field.key)) {
                Ok(()) => drop(table.insert(field.key, &member.node)),
                Err(what) => self.complain(&member.node.span, format!("{}: {what}", field.key)),
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if !node.members().iter().any(|member| member.key == field.key) {
                self.complain(&node.span, format!("`{}` is missing in {at}", field.key));
            }
        }
        table
    }

    /// The members of tables in it are complained about one by one.
    fn shaped(&mut self, node: &Node, shape: Shape, at: &str) -> Result<(), String> {
        fits(node, shape)?;
        match shape {
            Shape::Table(fields) => drop(self.table(node, fields, at)),
            Shape::WordOrTable(_, fields) if node.text().is_none() => drop(self.table(node, fields, at)),
            Shape::NumberTables(fields) => {
                for member in node.members() {
                    self.table(&member.node, fields, &format!("{at}.{}", member.key));
                }
            }
            Shape::Text
            | Shape::Texts
            | Shape::TextOrTexts
            | Shape::TextOrFile
            | Shape::Secret
            | Shape::TextMap
            | Shape::TextByLanguage
            | Shape::Duration
            | Shape::Whole
            | Shape::Size
            | Shape::Quota
            | Shape::Count
            | Shape::Money
            | Shape::Temperature
            | Shape::Url
            | Shape::Flag
            | Shape::Word(_)
            | Shape::WordOrTable(..)
            | Shape::Words(_)
            | Shape::Routes
            | Shape::JsonSchema => {}
        }
        Ok(())
    }

    fn tenant(&mut self, member: &Member) -> Option<(TenantId, TenantQuotas)> {
        let table = self.table(&member.node, TENANT, &format!("[tenants.{}]", member.key));
        let Ok(tenant) = TenantId::new(&member.key) else {
            self.complain(&member.span, format!("`{}` is no tenant", member.key));
            return None;
        };
        let quotas = TenantQuotas {
            sessions: whole(&table, "sessions"),
            stored_bytes: size(&table, "stored_bytes"),
            running_turns: whole(&table, "running_turns"),
            streams: whole(&table, "streams"),
            events_per_second: whole(&table, "events_per_second"),
            new_sessions_per_second: whole(&table, "new_sessions_per_second"),
            upload_bytes_per_second: size(&table, "upload_bytes_per_second"),
        };
        Some((tenant, quotas))
    }

    fn agent(&mut self, member: &Member) -> Option<Agent> {
        let at = format!("[agents.{}]", member.key);
        let table = self.table(&member.node, AGENT, &at);
        let limits = table.get("limits").copied().map(|node| peek(node, LIMITS)).unwrap_or_default();
        let references =
            table.get("references").copied().map(|node| peek(node, REFERENCES)).unwrap_or_default();
        let models = names(table.get("model").copied());
        if models.is_empty() && table.contains_key("model") {
            self.complain(&member.node.span, format!("model: the list is empty in {at}"));
        }
        Some(Agent {
            name: name(member),
            models,
            description: text(&table, "description").unwrap_or_default(),
            label: table.get("label").map(|node| self.label(node)).unwrap_or_default(),
            instructions: table
                .get("instructions")
                .map(|node| source(node, |node| node.text().unwrap_or_default().to_owned())),
            tools: names(table.get("tools").copied()),
            subagents: names(table.get("subagents").copied()),
            handoffs: names(table.get("handoffs").copied()),
            approval: approval(&table),
            limits: LimitsDeclared {
                steps: whole(&limits, "steps"),
                tokens: whole(&limits, "tokens"),
                cost: number(&limits, "cost"),
                time: time(&limits, "time"),
                depth: whole(&limits, "depth"),
                children: whole(&limits, "children"),
                calls: whole(&limits, "calls"),
                action_timeout: time(&limits, "action_timeout"),
                on_action_timeout: text(&limits, "on_action_timeout"),
            },
            references: ReferencesDeclared {
                mode: text(&table, "references").or_else(|| text(&references, "mode")),
                marker: text(&references, "marker"),
                subagents: text(&references, "subagents"),
                explain: flag(&references, "explain").unwrap_or_default(),
            },
            texts: table.get("texts").map(|node| self.texts(node)).unwrap_or_default(),
            output_schema: json_schema(&table, "output_schema"),
            reasoning_effort: text(&table, "reasoning_effort"),
            deltas: text(&table, "deltas"),
            temperature: number(&table, "temperature"),
            max_output_tokens: whole(&table, "max_output_tokens"),
            compact_at_tokens: whole(&table, "compact_at_tokens"),
            keep_raw: flag(&table, "keep_raw").unwrap_or_default(),
            unknown_tool: text(&table, "unknown_tool"),
            is_default: flag(&table, "default").unwrap_or_default(),
        })
    }

    fn routes(&mut self, node: &Node) -> BTreeMap<String, Vec<Name>> {
        let mut routes = BTreeMap::new();
        for member in node.members() {
            match self.shaped(&member.node, Shape::TextOrTexts, "[routes]") {
                Ok(()) if names(Some(&member.node)).is_empty() => {
                    let what = format!("{}: the list is empty; name a model: PROVIDER/MODEL", member.key);
                    self.complain(&member.node.span, what);
                    // The name stays known, so that those who use it are not told that it is not there.
                    drop(routes.insert(member.key.clone(), Vec::new()));
                }
                Ok(()) => drop(routes.insert(member.key.clone(), names(Some(&member.node)))),
                Err(what) => self.complain(&member.node.span, format!("{}: {what}", member.key)),
            }
        }
        routes
    }

    fn policy(&mut self, node: &Node) -> Policy {
        let table = self.table(node, POLICY, "[policy]");
        let rules = |key| names(table.get(key).copied());
        Policy { allow: rules("allow"), ask: rules("ask"), deny: rules("deny") }
    }
}

/// A name with dots inside, as models have them: `gpt-4.1`.
pub(super) fn is_agent_name(text: &str) -> bool {
    text.split('.').all(is_name)
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}
