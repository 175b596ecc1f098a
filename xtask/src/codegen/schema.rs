//! JSON Schema: one file per event type, and one for all.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_event::{ENVELOPE_MEMBERS, MemberForm};
use serde_json::{Map, Value, json};

use super::model::{EventCatalogue, Row};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

pub fn files(catalogue: &EventCatalogue) -> BTreeMap<String, String> {
    let event =
        |row: &Row| (format!("spec/schema/events/{}.json", row.kind), print(event_schema(catalogue, row)));
    let mut files: BTreeMap<String, String> = catalogue.rows.iter().map(event).collect();
    files.insert("spec/schema/event.json".into(), print(all_schema(catalogue)));
    files
}

fn event_schema(catalogue: &EventCatalogue, row: &Row) -> Value {
    let payload = payload_reference(row);
    let mut reached = BTreeSet::new();
    reach(catalogue, &payload, &mut reached);
    let definitions: Map<String, Value> = catalogue
        .schema
        .definitions
        .iter()
        .filter(|(name, _)| reached.contains(*name))
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    let (mut properties, mut required) = envelope();
    properties.insert("type".into(), json!({ "const": row.kind.as_str() }));
    properties.insert("payload".into(), payload);
    if row.payload_needed {
        required.push("payload".into());
    }
    json!({
        "$schema": DRAFT,
        "$id": format!("https://riverrun.dev/schema/events/{}.json", row.kind),
        "title": row.kind.as_str(),
        "description": row.kind.description(),
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": definitions,
    })
}

/// An event of any type. One that is not known here needs the envelope only.
fn all_schema(catalogue: &EventCatalogue) -> Value {
    let (mut properties, required) = envelope();
    properties.insert("type".into(), json!({ "type": "string", "minLength": 1 }));
    properties.insert("payload".into(), json!(true));
    let rule = |row: &Row| {
        let mut then = json!({ "properties": { "payload": payload_reference(row) } });
        if row.payload_needed {
            then["required"] = json!(["payload"]);
        }
        json!({ "if": { "properties": { "type": { "const": row.kind.as_str() } } }, "then": then })
    };
    json!({
        "$schema": DRAFT,
        "$id": "https://riverrun.dev/schema/event.json",
        "title": "Riverrun event",
        "description": "A fact in a session's log, of any type. Types that are not known here are allowed.",
        "type": "object",
        "properties": properties,
        "required": required,
        "allOf": catalogue.rows.iter().map(rule).collect::<Vec<_>>(),
        "$defs": catalogue.schema.definitions,
    })
}

fn payload_reference(row: &Row) -> Value {
    json!({ "$ref": format!("#/$defs/{}", row.payload) })
}

fn envelope() -> (Map<String, Value>, Vec<String>) {
    let property = |form: MemberForm, description: &str| match form {
        MemberForm::Id => json!({ "type": "string", "minLength": 1, "description": description }),
        MemberForm::Text => json!({ "type": "string", "description": description }),
        MemberForm::Time => json!({ "type": "string", "format": "date-time", "description": description }),
        MemberForm::Integer => json!({ "type": "integer", "minimum": 0, "description": description }),
        MemberForm::Object => json!({ "type": "object", "description": description }),
    };
    let properties =
        ENVELOPE_MEMBERS.iter().map(|it| (it.name.to_owned(), property(it.form, it.description))).collect();
    let required = ENVELOPE_MEMBERS.iter().filter(|it| it.always).map(|it| it.name.to_owned());
    (properties, std::iter::once("type".to_owned()).chain(required).collect())
}

/// Collects the definitions that a schema refers to, and those that they refer to.
fn reach(catalogue: &EventCatalogue, schema: &Value, reached: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            let name = members.get("$ref").and_then(Value::as_str).and_then(|it| it.rsplit('/').next());
            if let Some(name) = name
                && reached.insert(name.to_owned())
            {
                reach(catalogue, &catalogue.schema.definitions[name], reached);
            }
            members.values().for_each(|inner| reach(catalogue, inner, reached));
        }
        Value::Array(values) => values.iter().for_each(|inner| reach(catalogue, inner, reached)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn print(schema: Value) -> String {
    let mut text = serde_json::to_string_pretty(&sorted(schema)).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Members by name, whether or not the JSON library keeps the order of insertion.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<String, Value> =
                members.into_iter().map(|(name, inner)| (name, sorted(inner))).collect();
            members.into_iter().collect::<Map<_, _>>().into()
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use riverrun_event::{EventType, sample};

    use super::*;

    fn event(kind: &EventType) -> Value {
        let payload: Value = sample(kind).to().expect("a sample is JSON");
        json!({
            "type": kind.as_str(), "eventId": "evt_1", "schemaVersion": "riverrun/1",
            "timestamp": "2026-01-01T00:00:00.000Z", "sequence": 1, "sessionId": "ses_1", "payload": payload,
        })
    }

    #[test]
    fn samples_fit_their_own_schema_and_the_one_for_all() {
        let catalogue = EventCatalogue::new();
        let all = jsonschema::validator_for(&all_schema(&catalogue)).expect("a schema");
        for row in &catalogue.rows {
            let own = jsonschema::validator_for(&event_schema(&catalogue, row)).expect("a schema");
            let event = event(&row.kind);
            own.validate(&event).unwrap_or_else(|error| panic!("{}: {error}", row.kind));
            all.validate(&event).unwrap_or_else(|error| panic!("{}: {error}", row.kind));
        }
    }

    #[test]
    fn a_wrong_payload_fits_no_schema_and_an_unknown_type_fits_the_one_for_all() {
        let all = jsonschema::validator_for(&all_schema(&EventCatalogue::new())).expect("a schema");
        let mut wrong = event(&EventType::ModelDelta);
        wrong["payload"]["delta"] = json!(5);
        assert!(!all.is_valid(&wrong));
        wrong["type"] = json!("x.acme.delta");
        assert!(all.is_valid(&wrong));
    }
}
