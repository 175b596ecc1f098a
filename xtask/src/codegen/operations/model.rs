//! The table of operations in the form that the writers need.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub struct OperationTable {
    pub operations: Vec<OperationRow>,
    /// Shared by requests and answers.
    pub schemas: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationRow {
    pub name: String,
    pub aliases: Vec<String>,
    /// `cancelTurn`.
    pub id: String,
    pub group: String,
    pub summary: String,
    pub description: String,
    pub method: String,
    pub path: String,
    /// The member that each parameter of the path fills.
    pub path_members: BTreeMap<String, String>,
    /// Members with another name in the query.
    pub query_names: BTreeMap<String, String>,
    pub scope: String,
    pub pages: bool,
    pub idempotency_key: bool,
    pub statuses: Vec<StatusRow>,
    pub errors: Vec<String>,
    pub request: Value,
    pub response: Value,
}

#[derive(Deserialize)]
pub struct StatusRow {
    pub status: u16,
    pub meaning: String,
}

/// One member of a request or of a schema.
pub struct SchemaMember<'a> {
    pub name: &'a str,
    pub schema: &'a Value,
    pub required: bool,
}

impl OperationTable {
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("reading the table of operations")
    }

    /// The operations that HTTP has; the others exist over JSON-RPC only.
    pub fn routed(&self) -> impl Iterator<Item = &OperationRow> {
        self.operations.iter().filter(|row| !row.path.is_empty())
    }
}

impl OperationRow {
    /// `CancelTurn`.
    pub fn type_name(&self) -> String {
        let mut letters = self.id.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    }

    /// `cancel_turn`.
    pub fn snake_name(&self) -> String {
        snake(&self.id)
    }

    /// The members of the request. What the path names must be there, whatever other transports say.
    pub fn members(&self) -> Vec<SchemaMember<'_>> {
        let mut members = members(&self.request);
        for member in &mut members {
            member.required |= self.is_in_path(member.name);
        }
        members.sort_by(|a, b| b.required.cmp(&a.required).then_with(|| a.name.cmp(b.name)));
        members
    }

    pub fn is_in_path(&self, member: &str) -> bool {
        self.path_members.values().any(|known| known == member)
    }

    /// Whether members that are not in the path travel in a body.
    pub fn has_body(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT")
    }

    /// The parameters of the path in their order, with the members that fill them.
    pub fn path_parameters(&self) -> Vec<(&str, &str)> {
        let parameters = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        parameters.map(|name| (name, self.path_members[name].as_str())).collect()
    }

    /// Whether an answer has a body.
    pub fn answers(&self) -> bool {
        self.statuses.iter().all(|row| row.status != 204)
    }
}

/// The members that must be there come first, then all by name.
pub fn members(schema: &Value) -> Vec<SchemaMember<'_>> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut members: Vec<SchemaMember<'_>> = properties
        .map(|(name, schema)| SchemaMember { name, schema, required: required.contains(&name.as_str()) })
        .collect();
    members.sort_by(|a, b| b.required.cmp(&a.required).then_with(|| a.name.cmp(b.name)));
    members
}

/// `sessionId` as `session_id`.
pub fn snake(camel: &str) -> String {
    let mut out = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
