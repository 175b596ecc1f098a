//! The table of operations as data: `spec/operations.json`, from which OpenAPI, the JSON-RPC page and the clients are
//! generated.

use std::collections::BTreeMap;

use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::member::{request_generator, response_generator};
use crate::operation::OperationEntry;
use crate::operations::OPERATIONS;

/// Everything that a document or a client needs to know. `schemas` are shared by requests and answers.
///
/// # Panics
///
/// If two types of different form share a name.
pub fn description() -> Value {
    let (mut requests, mut responses) = (request_generator(), response_generator());
    let operations: Vec<Value> = OPERATIONS
        .iter()
        .map(|entry| {
            let request = entry.request_schema(&mut requests);
            let mut response = entry.response_schema(&mut responses).to_value();
            leave_out_null(&mut response);
            describe(entry, request, response)
        })
        .collect();
    let mut schemas: BTreeMap<String, Value> = requests.take_definitions(true).into_iter().collect();
    for (name, mut schema) in responses.take_definitions(true) {
        // What requests share with answers has the form that requests take.
        if !schemas.contains_key(&name) {
            leave_out_null(&mut schema);
        }
        let known = schemas.entry(name.clone()).or_insert_with(|| schema.clone());
        assert_eq!(*known, schema, "`{name}` has one form in requests and another in answers");
    }
    json!({ "operations": operations, "schemas": schemas })
}

fn describe(entry: &OperationEntry, request: Schema, response: Value) -> Value {
    let about = &entry.about;
    let mut request = request.to_value();
    let doc = request.as_object_mut().and_then(|schema| schema.remove("description"));
    let doc = doc.as_ref().and_then(Value::as_str).unwrap_or_default();
    let (summary, description) = doc.split_once("\n\n").unwrap_or((doc, ""));
    let path: Map<String, Value> =
        entry.path_parameters().map(|name| (name.to_owned(), entry.path_member(name).into())).collect();
    let statuses: Vec<Value> = about
        .statuses
        .iter()
        .map(|(status, meaning)| json!({ "status": status, "meaning": meaning }))
        .collect();
    let errors: Vec<&str> = about.errors.iter().map(|code| code.as_str()).collect();
    json!({
        "name": about.name,
        "aliases": about.aliases,
        "id": about.id,
        "group": about.group.as_str(),
        "summary": summary.trim_end_matches('.').replace('\n', " "),
        "description": description.replace('\n', " "),
        "method": about.method.as_str(),
        "path": about.path,
        "pathMembers": path,
        "queryNames": about.http_names.iter().map(|(member, name)| ((*member).to_owned(), Value::from(*name))).collect::<Map<_, _>>(),
        "scope": about.scope.as_str(),
        "pages": about.pages,
        "idempotencyKey": about.repeats.takes_key(),
        "statuses": statuses,
        "errors": errors,
        "request": request,
        "response": response,
    })
}

/// An answer leaves a member out instead of writing `null`.
fn leave_out_null(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in properties.into_iter().flatten() {
        if required.contains(&name.as_str().into()) {
            continue;
        }
        if let Some(types) = member["type"].as_array() {
            let others: Vec<Value> = types.iter().filter(|one| *one != "null").cloned().collect();
            if let [only] = others.as_slice() {
                member["type"] = only.clone();
            }
        }
        let arms: Vec<Value> = member["anyOf"].as_array().cloned().unwrap_or_default();
        let others: Vec<Value> = arms.iter().filter(|arm| arm["type"] != "null").cloned().collect();
        if let ([only], Some(members)) = (others.as_slice(), member.as_object_mut()) {
            members.remove("anyOf");
            members.extend(only.as_object().cloned().unwrap_or_default());
        }
    }
}
