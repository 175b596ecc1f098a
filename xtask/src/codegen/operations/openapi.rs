//! The OpenAPI document: the operations, merged into what is written by hand about streams and vendors' routes.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::model::{OperationRow, OperationTable};

pub const PATH: &str = "crates/server/src/openapi/openapi.json";
/// Routes that answer with streams, bytes or a vendor's form, and the schemas they use.
pub const BY_HAND: &str = "crates/server/src/openapi/by_hand.json";

pub fn document(table: &OperationTable, by_hand: &str) -> Result<String> {
    let mut document: Value = serde_json::from_str(by_hand).with_context(|| format!("reading {BY_HAND}"))?;
    let paths = document["paths"].as_object_mut().context("a document has paths")?;
    for row in table.routed() {
        let item = paths.entry(row.path.clone()).or_insert_with(|| json!({}));
        let method = row.method.to_lowercase();
        if item[&method]["x-operation"] == row.name {
            // Its route has further forms of the answer, which are described by hand.
            continue;
        }
        ensure!(
            item.get(&method).is_none(),
            "{BY_HAND} describes {} {} too; remove it",
            row.method,
            row.path
        );
        item[method] = operation(row);
    }
    let schemas =
        document["components"]["schemas"].as_object_mut().context("a document has component schemas")?;
    for (name, schema) in &table.schemas {
        ensure!(!schemas.contains_key(name), "{BY_HAND} has the schema `{name}` too; remove it");
        schemas.insert(name.clone(), schema.clone());
    }
    sort(&mut document);
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

/// Paths in alphabetical order, so that a new operation moves nothing.
fn sort(document: &mut Value) {
    if let Some(paths) = document["paths"].as_object_mut() {
        let sorted: std::collections::BTreeMap<String, Value> = std::mem::take(paths).into_iter().collect();
        paths.extend(sorted);
    }
}

fn operation(row: &OperationRow) -> Value {
    let mut operation = json!({ "operationId": row.id, "tags": [row.group], "summary": row.summary });
    if !row.description.is_empty() {
        operation["description"] = row.description.clone().into();
    }
    operation["parameters"] = parameters(row).into();
    if let Some(body) = body(row) {
        operation["requestBody"] = body;
    }
    operation["responses"] = responses(row);
    operation["x-scope"] = row.scope.clone().into();
    operation["x-errors"] = row.errors.clone().into();
    operation
}

fn parameters(row: &OperationRow) -> Vec<Value> {
    let members = row.members();
    let find = |member: &str| members.iter().find(|known| known.name == member).map(|known| known.schema);
    let mut all: Vec<Value> = row
        .path_parameters()
        .into_iter()
        .filter_map(|(name, member)| Some(parameter(name, "path", true, find(member)?)))
        .collect();
    if !row.has_body() {
        let in_query = members.iter().filter(|member| !row.is_in_path(member.name));
        all.extend(in_query.map(|member| {
            let name = row.query_names.get(member.name).map_or(member.name, String::as_str);
            parameter(name, "query", member.required, member.schema)
        }));
    }
    if row.idempotency_key {
        all.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    }
    all
}

fn parameter(name: &str, place: &str, required: bool, schema: &Value) -> Value {
    let mut schema = without_null(schema);
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({ "name": name, "in": place });
    if required {
        parameter["required"] = true.into();
    }
    if let Some(description) = description {
        parameter["description"] = description;
    }
    if schema["type"] == "array" {
        parameter["style"] = "form".into();
        parameter["explode"] = false.into();
    }
    parameter["schema"] = schema;
    parameter
}

/// A path or a query cannot say `null`.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(types) = schema["type"].as_array() {
        let others: Vec<Value> = types.iter().filter(|one| *one != "null").cloned().collect();
        schema["type"] = if let [only] = others.as_slice() { only.clone() } else { others.into() };
    }
    if let Some(arms) = schema["anyOf"].as_array() {
        let others: Vec<Value> = arms.iter().filter(|arm| arm["type"] != "null").cloned().collect();
        if let ([only], Some(members)) = (others.as_slice(), schema.as_object()) {
            let mut merged: Map<String, Value> = members
                .iter()
                .filter(|(name, _)| *name != "anyOf")
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect();
            merged.extend(only.as_object().cloned().unwrap_or_default());
            return merged.into();
        }
    }
    schema
}

fn body(row: &OperationRow) -> Option<Value> {
    if !row.has_body() {
        return None;
    }
    let members: Vec<_> = row.members().into_iter().filter(|member| !row.is_in_path(member.name)).collect();
    let required: Vec<&str> =
        members.iter().filter(|member| member.required).map(|member| member.name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|member| (member.name.to_owned(), member.schema.clone())).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.clone().into();
    }
    Some(json!({ "required": !required.is_empty(), "content": { "application/json": { "schema": schema } } }))
}

fn responses(row: &OperationRow) -> Value {
    let mut responses = Map::new();
    for status in &row.statuses {
        let mut response = json!({ "description": status.meaning });
        if status.status != 204 {
            response["content"] = json!({ "application/json": { "schema": row.response } });
        }
        responses.insert(status.status.to_string(), response);
    }
    responses.insert("default".to_owned(), json!({ "$ref": "#/components/responses/Problem" }));
    responses.into()
}
