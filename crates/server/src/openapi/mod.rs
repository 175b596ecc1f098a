//! The API document and the list of routes that it must describe.

/// The document that `GET /openapi.json` answers.
pub const DOCUMENT: &str = include_str!("openapi.json");

/// Every route, as (method, path template). The router's own test compares itself with this list.
#[rustfmt::skip]
pub const ROUTES: &[(&str, &str)] = &[
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions"),
    ("GET", "/v1/sessions/{session}"),
    ("DELETE", "/v1/sessions/{session}"),
    ("GET", "/v1/sessions/{session}/events"),
    ("POST", "/v1/sessions/{session}/events"),
    ("GET", "/v1/sessions/{session}/state"),
    ("POST", "/v1/sessions/{session}/turns"),
    ("POST", "/v1/sessions/{session}/turns/{turn}/cancel"),
    ("POST", "/v1/sessions/{session}/turns/{turn}/retry"),
    ("POST", "/v1/sessions/{session}/turns/{turn}/steer"),
    ("GET", "/v1/sessions/{session}/queue"),
    ("DELETE", "/v1/sessions/{session}/queue/{turn}"),
    ("POST", "/v1/sessions/{session}/queue/{turn}/promote"),
    ("GET", "/v1/sessions/{session}/actions"),
    ("POST", "/v1/sessions/{session}/actions/{action}"),
    ("GET", "/v1/sessions/{session}/subagents"),
    ("POST", "/v1/sessions/{session}/subagents/{task}/input"),
    ("POST", "/v1/sessions/{session}/subagents/{task}/close"),
    ("POST", "/v1/sessions/{session}/tasks"),
    ("GET", "/v1/sessions/{session}/tasks"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/update"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/start"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/progress"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/pause"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/resume"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/complete"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/fail"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/cancel"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/retry"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/link"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/unlink"),
    ("GET", "/v1/sessions/{session}/evidence"),
    ("GET", "/v1/agents"),
    ("GET", "/schemas/config.json"),
    ("GET", "/v1/sessions/{session}/export"),
    ("POST", "/v1/sessions/{session}/fork"),
    ("POST", "/v1/import"),
    ("GET", "/v1/tasks/{task}"),
    ("GET", "/v1/actions"),
    ("PUT", "/v1/blobs"),
    ("GET", "/v1/blobs/{ref}"),
    ("POST", "/v1/backups"),
    ("GET", "/v1/ws"),
    ("POST", "/v1/tickets"),
    ("POST", "/v1/keys"),
    ("GET", "/v1/keys"),
    ("DELETE", "/v1/keys/{key}"),
    ("GET", "/livez"),
    ("GET", "/readyz"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(DOCUMENT).expect("the document is JSON")
    }

    fn operations(document: &Value) -> impl Iterator<Item = (String, String, &Value)> {
        let paths = document["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, operations)| {
            let operations = operations.as_object().into_iter().flatten();
            operations.map(|(method, operation)| (method.to_uppercase(), path.clone(), operation))
        })
    }

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let document = document();
        let described: BTreeSet<_> = operations(&document).map(|(method, path, _)| (method, path)).collect();
        let routes: BTreeSet<_> =
            ROUTES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(described, routes);
        assert_eq!(routes.len(), ROUTES.len());
    }

    #[test]
    fn operations_have_a_name_of_their_own_and_say_how_they_fail() {
        let document = document();
        let mut names = BTreeSet::new();
        for (method, path, operation) in operations(&document) {
            let name = operation["operationId"].as_str().unwrap_or_default();
            assert!(names.insert(name.to_owned()) && !name.is_empty(), "{method} {path}");
            assert!(operation["responses"]["default"].is_object(), "{method} {path}");
        }
    }

    #[test]
    fn path_parameters_are_declared() {
        let document = document();
        for (method, path, operation) in operations(&document) {
            let wanted: BTreeSet<&str> =
                path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let declared: BTreeSet<&str> = parameters
                .map(|parameter| resolve(&document, parameter))
                .filter(|parameter| parameter["in"] == "path")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            assert_eq!(declared, wanted, "{method} {path}");
        }
    }

    #[test]
    fn references_lead_somewhere() {
        let document = document();
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(members) => open.extend(members.values()),
                Value::Array(entries) => open.extend(entries),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
            if value.get("$ref").is_some() {
                assert!(!resolve(&document, value).is_null(), "{value}");
            }
        }
    }

    fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
            None => value,
        }
    }
}
