//! The API document and the list of routes that it must describe.

/// The document that `GET /openapi.json` answers.
pub const DOCUMENT: &str = include_str!("openapi.json");

/// Every route, as (method, path template); a test reads the routers' sources, so that none is left out.
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
    ("GET", "/v1/sessions/{session}/rules"),
    ("DELETE", "/v1/sessions/{session}/rules/{rule}"),
    ("GET", "/v1/sessions/{session}/shares"),
    ("POST", "/v1/sessions/{session}/shares"),
    ("GET", "/v1/sessions/{session}/shares/{share}"),
    ("DELETE", "/v1/sessions/{session}/shares/{share}"),
    ("GET", "/v1/sessions/{session}/subagents"),
    ("POST", "/v1/sessions/{session}/subagents"),
    ("POST", "/v1/sessions/{session}/subagents/{task}/input"),
    ("POST", "/v1/sessions/{session}/subagents/{task}/close"),
    ("GET", "/v1/sessions/{session}/processes"),
    ("GET", "/v1/sessions/{session}/processes/{process}"),
    ("POST", "/v1/sessions/{session}/processes/{process}/stdin"),
    ("POST", "/v1/sessions/{session}/processes/{process}/terminate"),
    ("GET", "/v1/sessions/{session}/environment"),
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
    ("POST", "/v1/sessions/{session}/tasks/{task}/archive"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/link"),
    ("POST", "/v1/sessions/{session}/tasks/{task}/unlink"),
    ("GET", "/v1/sessions/{session}/evidence"),
    ("POST", "/v1/sessions/{session}/evidence"),
    ("POST", "/v1/sessions/{session}/jobs"),
    ("GET", "/v1/sessions/{session}/jobs"),
    ("GET", "/v1/sessions/{session}/jobs/{job}"),
    ("POST", "/v1/sessions/{session}/jobs/{job}/cancel"),
    ("POST", "/v1/sessions/{session}/jobs/{job}/items/{item}/retry"),
    ("GET", "/v1/sessions/{session}/benchmark"),
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
    ("POST", "/v1/keys/{key}/rotate"),
    ("GET", "/v1/tenants"),
    ("POST", "/v1/browser-credentials"),
    ("GET", "/v1/browser-credentials"),
    ("DELETE", "/v1/browser-credentials/{credential}"),
    ("POST", "/v1/browser-credentials/{credential}/renew"),
    ("GET", "/livez"),
    ("GET", "/readyz"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("POST", "/v1/responses"),
    ("GET", "/v1/responses"),
    ("POST", "/v1/responses/input_tokens"),
    ("POST", "/v1/responses/compact"),
    ("GET", "/v1/responses/{response}"),
    ("DELETE", "/v1/responses/{response}"),
    ("POST", "/v1/responses/{response}/cancel"),
    ("GET", "/v1/responses/{response}/input_items"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/messages/count_tokens"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{model}"),
    ("POST", "/v1/models/{model}"),
    ("POST", "/v1beta/models/{model}"),
    ("GET", "/v1/ws/blocks"),
    ("GET", "/v2/sessions/{session}/history"),
    ("GET", "/v2/sessions/{session}/results/{call}"),
    ("POST", "/v2/sessions/{session}/share"),
    ("GET", "/share/{share}"),
    ("GET", "/.well-known/agent-card.json"),
    ("POST", "/a2a"),
    ("POST", "/threads"),
    ("GET", "/threads/{thread}"),
    ("POST", "/runs/stream"),
    ("POST", "/threads/{thread}/runs/stream"),
    ("GET", "/threads/{thread}/runs/{run}"),
    ("GET", "/threads/{thread}/runs/{run}/stream"),
    ("POST", "/threads/{thread}/runs/{run}/cancel"),
    ("POST", "/assistants/search"),
    ("GET", "/assistants/{assistant}"),
    ("GET", "/threads/{thread}/state"),
    ("POST", "/runs"),
    ("POST", "/runs/wait"),
    ("POST", "/threads/{thread}/runs"),
    ("GET", "/threads/{thread}/runs"),
    ("POST", "/threads/{thread}/runs/wait"),
    ("GET", "/threads/{thread}/runs/{run}/join"),
    ("GET", "/v1beta/models"),
    ("GET", "/v1beta/models/{model}"),
    ("POST", "/v1/conversations"),
    ("GET", "/v1/conversations/{conversation}"),
    ("POST", "/v1/conversations/{conversation}"),
    ("DELETE", "/v1/conversations/{conversation}"),
    ("GET", "/v1/conversations/{conversation}/items"),
    ("POST", "/v1/conversations/{conversation}/items"),
    ("GET", "/v1/conversations/{conversation}/items/{item}"),
    ("DELETE", "/v1/conversations/{conversation}/items/{item}"),
    ("POST", "/assistants/count"),
    ("POST", "/assistants/{assistant}"),
    ("PATCH", "/assistants/{assistant}"),
    ("DELETE", "/assistants/{assistant}"),
    ("POST", "/threads/search"),
    ("POST", "/threads/count"),
    ("PATCH", "/threads/{thread}"),
    ("DELETE", "/threads/{thread}"),
    ("POST", "/threads/{thread}/copy"),
    ("POST", "/threads/{thread}/state"),
    ("POST", "/threads/{thread}/state/checkpoint"),
    ("GET", "/threads/{thread}/state/{id}"),
    ("POST", "/threads/{thread}/history"),
    ("POST", "/runs/cancel"),
    ("DELETE", "/threads/{thread}/runs/{run}"),
    ("POST", "/ag-ui"),
    ("POST", "/api/chat"),
    ("GET", "/api/chat/{chat}/stream"),
    ("POST", "/api/chat/{chat}/stop"),
    ("GET", "/v1/usage"),
    ("GET", "/v1/retention"),
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

    /// A router cannot be asked for its paths, so its source is.
    #[test]
    fn every_path_of_a_router_is_listed() {
        let mut open = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut paths = BTreeSet::new();
        while let Some(place) = open.pop() {
            if place.is_dir() {
                let entries = std::fs::read_dir(&place).expect("a folder of sources");
                open.extend(entries.map(|entry| entry.expect("an entry").path()));
                continue;
            }
            if place.components().any(|part| part.as_os_str() == "tests") {
                continue;
            }
            let source = std::fs::read_to_string(&place).expect("a source");
            // Written so that this line is none of them.
            let calls = source.split(concat!(".rou", "te(")).skip(1);
            let path = |call: &str| call.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned);
            paths.extend(calls.filter_map(path).map(|path| path.replace("{*", "{")));
        }
        let listed: BTreeSet<String> = ROUTES.iter().map(|(_, path)| (*path).to_owned()).collect();
        // Paths that are put together in a loop are not seen here; that what is listed answers is shown elsewhere.
        let missing: Vec<&String> = paths.difference(&listed).collect();
        assert_eq!(missing, Vec::<&String>::new());
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
