//! The API document against what the server answers.

use riverrun_server::openapi::{DOCUMENT, ROUTES};
use serde_json::{Value, json};

use crate::generate::session;
use crate::harness::{JSON, NDJSON, Server};
use crate::wire::Answer;

fn document() -> Value {
    serde_json::from_str(DOCUMENT).expect("the document is JSON")
}

/// The schema of an answer, with everything that it refers to.
fn schema(document: &Value, method: &str, path: &str, answer: &Answer) -> Value {
    let operation = &document["paths"][path][method.to_lowercase()];
    let described = &operation["responses"][answer.status.to_string()];
    let response = if described.is_null() { &operation["responses"]["default"] } else { described };
    let response = match response["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).expect("it leads somewhere"),
        None => response,
    };
    let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    let mut schema = response["content"][kind]["schema"].clone();
    assert!(schema.is_object(), "{method} {path} does not say that it answers {} as {kind}", answer.status);
    schema["components"] = document["components"].clone();
    schema
}

/// Asks, and holds the answer against the document.
async fn check(
    server: &Server,
    route: (&str, &str),
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
    status: u16,
) {
    let (method, template) = route;
    let answer = server.call(line, headers, body).await;
    assert_eq!(answer.status, status, "{line}: {}", answer.text());
    let schema = schema(&document(), method, template, &answer);
    let validator = jsonschema::options().build(&schema).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(&answer.json())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new(), "{line}: {}", answer.text());
}

#[tokio::test]
async fn every_route_that_answers_is_described_and_every_described_one_answers() {
    let server = Server::start().await;
    for (method, path) in ROUTES {
        let path = path.replace(['{', '}'], "");
        let allowed = server.call(&format!("TRACE {path}"), &[], "").await;
        assert_eq!(allowed.status, 405, "{path} is a route");
        assert!(allowed.header("allow").is_some_and(|allow| allow.contains(method)), "{method} {path}");
    }
    // What a path takes is what is described of it.
    for (_, path) in ROUTES {
        let concrete = path.replace(['{', '}'], "");
        let allowed = server.call(&format!("TRACE {concrete}"), &[], "").await;
        let mut taken: Vec<&str> = allowed
            .header("allow")
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|method| *method != "HEAD")
            .collect();
        let mut described: Vec<&str> =
            ROUTES.iter().filter(|(_, other)| other == path).map(|(method, _)| *method).collect();
        taken.sort_unstable();
        described.sort_unstable();
        assert_eq!(taken, described, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn answers_have_the_form_that_is_described() {
    let server = Server::on_disk().await;
    let all = json!({"sessionId": "s1", "title": "t", "agent": "a", "tags": ["x"], "metadata": {"k": 1}})
        .to_string();
    check(&server, ("POST", "/v1/sessions"), "POST /v1/sessions", &[JSON], &all, 201).await;
    check(&server, ("POST", "/v1/sessions"), "POST /v1/sessions", &[JSON], &all, 200).await;
    let mut events = session(11, 4);
    events.push(json!({"type": "action.required", "turnId": "t9", "taskId": "k9", "actionId": "a9",
        "payload": {"actionType": "approval", "timeoutSeconds": 60}}));
    server.tell("s1", &events).await;
    let blob =
        server.call("PUT /v1/blobs", &[], "bytes").await.json()["ref"].as_str().expect("a ref").to_owned();
    let of = |rest: &str| (format!("/v1/sessions/{{session}}{rest}"), format!("/v1/sessions/s1{rest}"));
    for (rest, query) in [
        ("", ""),
        ("/events", "?limit=3"),
        ("/events", "?catchup=snapshot"),
        ("/events", "?dialect=task&catchup=snapshot"),
        ("/events", "?dialect=native-strict"),
        ("/state", ""),
        ("/state", "?at=2"),
        ("/state", "?view=snapshot"),
        ("/state", "?view=lime_snapshot"),
        ("/state", "?view=read_models"),
        ("/actions", "?status=pending"),
    ] {
        let (template, path) = of(rest);
        check(
            &server,
            ("GET", &template),
            &format!("GET {path}{query}"),
            &[("accept", "application/json")],
            "",
            200,
        )
        .await;
    }
    let event = r#"{"type":"x.a"}"#;
    let stamp = [JSON, ("producer-id", "p"), ("producer-seq", "0")];
    let (ingest, fork) = (of("/events"), of("/fork"));
    check(&server, ("POST", &ingest.0), &format!("POST {}", ingest.1), &stamp, event, 201).await;
    check(&server, ("POST", &ingest.0), &format!("POST {}", ingest.1), &stamp, event, 200).await;
    check(&server, ("POST", &fork.0), &format!("POST {}", fork.1), &[JSON], r#"{"at":2}"#, 201).await;
    for (method, path, line, headers, body, status) in [
        (
            "GET",
            "/v1/sessions",
            "GET /v1/sessions?limit=1&tag=x&since=2020-01-01T00:00:00Z",
            &[JSON][..],
            "",
            200,
        ),
        ("POST", "/v1/import", "POST /v1/import", &[NDJSON], r#"{"type":"x.a","sessionId":"i1"}"#, 201),
        ("GET", "/v1/tasks/{task}", "GET /v1/tasks/task_0?session=s1&index_unit=utf16", &[JSON], "", 200),
        ("GET", "/v1/actions", "GET /v1/actions", &[JSON], "", 200),
        ("PUT", "/v1/blobs", "PUT /v1/blobs", &[JSON], "bytes", 201),
        ("POST", "/v1/tickets", "POST /v1/tickets", &[JSON], "{}", 201),
        (
            "POST",
            "/v1/keys",
            "POST /v1/keys",
            &[JSON],
            r#"{"scopes":["read"],"label":"l","expiresInSeconds":60}"#,
            201,
        ),
        ("GET", "/v1/keys", "GET /v1/keys", &[JSON], "", 200),
        ("GET", "/v1/keys", "GET /v1/keys?tenant=*", &[JSON], "", 200),
        ("GET", "/v1/tenants", "GET /v1/tenants", &[JSON], "", 200),
        (
            "POST",
            "/v1/browser-credentials",
            "POST /v1/browser-credentials",
            &[JSON],
            r#"{"session":"s1","origins":["https://a.example"],"scopes":["read"],"agents":["a"],"label":"l"}"#,
            201,
        ),
        ("GET", "/v1/browser-credentials", "GET /v1/browser-credentials?session=s1", &[JSON], "", 200),
        (
            "POST",
            "/v1/browser-credentials",
            "POST /v1/browser-credentials",
            &[JSON],
            r#"{"origins":[]}"#,
            400,
        ),
        ("POST", "/v1/backups", "POST /v1/backups", &[JSON], "", 201),
        ("GET", "/v1/usage", "GET /v1/usage", &[JSON], "", 200),
        ("GET", "/v1/usage", "GET /v1/usage?tenant=*", &[JSON], "", 200),
        ("GET", "/v1/retention", "GET /v1/retention", &[JSON], "", 200),
        ("GET", "/livez", "GET /livez", &[JSON], "", 200),
        ("GET", "/readyz", "GET /readyz", &[JSON], "", 200),
        // Refusals have the one form of a problem.
        ("GET", "/v1/sessions/{session}", "GET /v1/sessions/absent", &[JSON], "", 404),
        ("POST", "/v1/sessions", "POST /v1/sessions", &[JSON], "{", 400),
        ("POST", "/v1/keys", "POST /v1/keys", &[JSON], r#"{"scopes":[]}"#, 400),
        ("GET", "/v1/ws", "GET /v1/ws", &[JSON], "", 400),
    ] {
        check(&server, (method, path), line, headers, body, status).await;
    }
    assert_eq!(server.call(&format!("GET /v1/blobs/{blob}"), &[], "").await.status, 200);
    server.stop().await;
}
