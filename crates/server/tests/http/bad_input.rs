//! Bad input, each with its exact status and code, on every route that takes a body. Never 500, never a panic.

use serde_json::json;

use crate::harness::{Api, JSON, NDJSON, Server};
use crate::wire::Answer;

/// Routes that take one JSON body, with a good one.
const BODIES: [(&str, &str); 5] = [
    ("POST /v1/sessions", r#"{"title":"t"}"#),
    ("POST /v1/sessions/s1/events", r#"{"type":"x.note","payload":{}}"#),
    ("POST /v1/sessions/s1/fork", r#"{"at":1}"#),
    ("POST /v1/keys", r#"{"scopes":["read"]}"#),
    ("POST /v1/tickets", r#"{"scope":"read"}"#),
];

async fn check(
    api: &Api,
    line: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
    status: u16,
    code: &str,
) -> Answer {
    let answer = api.call(line, headers, body).await;
    assert_eq!(answer.refusal(), (status, code.to_owned()), "{line} {headers:?}: {}", answer.text());
    check_problem(&answer);
    answer
}

/// The one shape of every refusal.
fn check_problem(answer: &Answer) {
    let body = answer.json();
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(body["status"], answer.status);
    assert_eq!(
        body["type"],
        format!("https://riverrun.dev/errors#{}", body["code"].as_str().unwrap_or_default())
    );
    assert_eq!(body["requestId"].as_str(), answer.header("x-request-id"));
    for (inner, outer) in [("message", "detail"), ("code", "code"), ("requestId", "requestId")] {
        assert_eq!(body["error"][inner], body[outer], "{body}");
    }
    for member in ["title", "detail"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    }
    assert!(body["error"]["type"].is_string() && body["retryable"].is_boolean(), "{body}");
}

async fn with_session() -> Server {
    let server = Server::start().await;
    server.make("s1").await;
    server.tell("s1", &[json!({"type": "x.note"})]).await;
    server
}

#[tokio::test]
async fn bodies_that_are_not_json_are_refused_by_name() {
    let server = with_session().await;
    let digits = format!(r#"{{"at":{}}}"#, "9".repeat(1_000_000));
    let (deep, utf8) = ("[".repeat(100_000), b"{\"a\":\"\xff\xfe\"}");
    for (line, _) in BODIES {
        let api = &server.api;
        check(api, line, &[JSON], r#"{"a":"#, 400, "json_syntax").await;
        let deep = check(api, line, &[JSON], &deep, 400, "json_too_deep").await;
        assert_eq!(deep.json()["limit"], 64);
        check(api, line, &[JSON], r#"{"at":1e999999}"#, 400, "number_out_of_range").await;
        check(api, line, &[JSON], &digits, 400, "number_out_of_range").await;
        check(api, line, &[JSON], r#"{"a":1,"a":2}"#, 400, "json_duplicate_key").await;
        check(api, line, &[JSON], r#"{"a":"\ud800"}"#, 400, "json_invalid_unicode").await;
        let utf8 = check(api, line, &[JSON], utf8, 400, "invalid_utf8").await;
        assert_eq!(utf8.json()["offset"], 6);
        check(api, line, &[JSON], vec![b' '; (1 << 20) + 1], 413, "body_too_large").await;
        check(api, line, &[("content-type", "text/plain")], "{}", 415, "unsupported_media_type").await;
        check(api, line, &[JSON, ("content-encoding", "gzip")], "{}", 415, "unsupported_media_type").await;
        check(api, line, &[JSON, ("accept", "application/xml")], "{}", 406, "not_acceptable").await;
    }
    let syntax = check(&server, "POST /v1/keys", &[JSON], "{\n\"a\":", 400, "json_syntax").await.json();
    assert_eq!((&syntax["line"], &syntax["column"]), (&2.into(), &5.into()));
    server.stop().await;
}

#[tokio::test]
async fn an_absent_body_is_refused_where_one_is_needed() {
    let server = with_session().await;
    for line in ["POST /v1/sessions/s1/events", "POST /v1/sessions/s1/fork", "POST /v1/keys"] {
        check(&server, line, &[JSON], "", 400, "body_empty").await;
        check(&server, line, &[JSON], " \n", 400, "body_empty").await;
    }
    check(&server, "POST /v1/sessions/s1/events", &[NDJSON], "", 400, "body_empty").await;
    check(&server, "POST /v1/sessions/s1/events", &[JSON], "[]", 400, "body_empty").await;
    check(&server, "POST /v1/import", &[NDJSON], "", 400, "body_empty").await;
    check(&server, "PUT /v1/blobs", &[], "", 400, "body_empty").await;
    server.stop().await;
}

#[tokio::test]
async fn a_byte_order_mark_and_a_prototype_are_plain_data() {
    let server = with_session().await;
    for (line, body) in BODIES {
        let answer = server.call(line, &[JSON], format!("\u{feff}{body}")).await;
        assert!(answer.status < 300, "{line}: {}", answer.text());
    }
    let metadata = json!({"sessionId": "proto", "metadata": {"__proto__": {"admin": true}}});
    assert_eq!(server.call("POST /v1/sessions", &[JSON], metadata.to_string()).await.status, 201);
    assert_eq!(server.get("/v1/sessions/proto").await["metadata"], metadata["metadata"]);
    server.stop().await;
}

#[tokio::test]
async fn fields_that_are_wrong_are_named() {
    let server = with_session().await;
    for (line, body, code, field, words) in [
        ("POST /v1/sessions", r#"{"titel":"x"}"#, "unknown_field", "titel", "did you mean `title`"),
        ("POST /v1/sessions", r#"{"title":7}"#, "invalid_field", "title", "string"),
        ("POST /v1/sessions", r#"{"sessionId":"a\u0000"}"#, "invalid_id", "sessionId", "an id may hold"),
        (
            "POST /v1/sessions",
            r#"{"sessionId":"../../etc/passwd"}"#,
            "invalid_id",
            "sessionId",
            "an id may hold",
        ),
        (
            "POST /v1/sessions/s1/events",
            r#"{"type":"x","turnId":"a\u0000"}"#,
            "invalid_id",
            "turnId",
            "an id may hold",
        ),
        (
            "POST /v1/sessions/s1/events",
            r#"{"type":"model.delta","payload":{"delta":7}}"#,
            "invalid_event",
            "payload.delta",
            "",
        ),
        ("POST /v1/sessions/s1/events", r#"{"payload":{}}"#, "invalid_event", "type", "missing"),
        (
            "POST /v1/sessions/s1/events",
            r#"{"type":"x","sessionId":"s2"}"#,
            "invalid_event",
            "sessionId",
            "s2",
        ),
        ("POST /v1/sessions/s1/fork", r#"{"att":1}"#, "unknown_field", "att", "did you mean `at`"),
        ("POST /v1/sessions/s1/fork", r#"{"at":0}"#, "invalid_field", "at", "1 to 1"),
        ("POST /v1/keys", r#"{"scopes":["all"]}"#, "invalid_field", "scopes[0]", "`read`"),
        ("POST /v1/tickets", r#"{"scope":"admin"}"#, "invalid_field", "scope", "admin"),
    ] {
        let answer = check(&server, line, &[JSON], body, 400, code).await.json();
        assert_eq!(answer["field"], field, "{line} {body}: {answer}");
        assert!(answer["detail"].as_str().is_some_and(|text| text.contains(words)), "{answer}");
    }
    let ahead =
        check(&server, "POST /v1/sessions/s1/fork", &[JSON], r#"{"at":2}"#, 409, "cursor_ahead").await;
    assert_eq!(ahead.json()["head"], 1);
    server.stop().await;
}

#[tokio::test]
async fn queries_are_strict_on_every_route() {
    let server = with_session().await;
    for (line, body) in BODIES {
        check(&server, &format!("{line}?verbose=1"), &[JSON], body, 400, "unknown_field").await;
    }
    for path in ["", "/s1", "/s1/events", "/s1/state", "/s1/actions", "/s1/export"] {
        let line = format!("GET /v1/sessions{path}");
        check(&server, &format!("{line}?verbose=1"), &[], "", 400, "unknown_field").await;
        let token = check(&server, &format!("{line}?api_key=CANARY"), &[], "", 400, "token_in_url").await;
        assert!(!token.text().contains("CANARY"));
    }
    check(&server, "DELETE /v1/sessions/s1?force=1", &[], "", 400, "unknown_field").await;
    check(&server, "GET /v1/sessions?limit=0", &[], "", 400, "invalid_field").await;
    check(&server, "GET /v1/sessions?cursor=nonsense", &[], "", 400, "invalid_request").await;
    check(&server, "GET /v1/sessions?since=yesterday", &[], "", 400, "invalid_field").await;
    check(&server, "GET /v1/actions?status=all", &[], "", 400, "invalid_field").await;
    server.stop().await;
}

#[tokio::test]
async fn heads_that_are_wrong_are_refused() {
    let server = with_session().await;
    let head = |headers: &str, body: &str| {
        let key = &server.key;
        format!(
            "POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{headers}\r\n\r\n{body}"
        )
    };
    let two = server.raw(head("content-length: 2\r\ntransfer-encoding: chunked", "{}").as_bytes()).await;
    assert_eq!(two.status, 400);
    assert_eq!(two.header("connection"), Some("close"));
    for headers in
        ["content-length: 1\r\ncontent-length: 2", "content-length: -1", "transfer-encoding: chunked, gzip"]
    {
        assert_eq!(server.raw(head(headers, "{}").as_bytes()).await.status, 400, "{headers}");
    }
    let large = head(&format!("x-large: {}", "x".repeat(20 * 1024)), "");
    assert_eq!(server.raw(large.as_bytes()).await.status, 431);
    server.stop().await;
}

#[tokio::test]
async fn a_method_that_a_path_does_not_take_names_those_it_does() {
    let server = with_session().await;
    for (line, allowed) in [
        ("DELETE /v1/sessions", &["GET", "POST"][..]),
        ("PUT /v1/sessions/s1", &["GET", "DELETE"]),
        ("PATCH /v1/sessions/s1/events", &["GET", "POST"]),
        ("POST /v1/sessions/s1/state", &["GET"]),
        ("GET /v1/import", &["POST"]),
        ("POST /v1/blobs", &["PUT"]),
    ] {
        let answer = check(&server, line, &[], "", 405, "method_not_allowed").await;
        let allow = answer.header("allow").expect("Allow is there");
        assert!(allowed.iter().all(|method| allow.contains(method)), "{line}: {allow}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_malformed_id_answers_as_an_absent_one() {
    let server = with_session().await;
    let masked = |answer: &Answer| {
        let mut body = answer.json();
        (body["requestId"], body["error"]["requestId"]) = (json!(0), json!(0));
        (answer.status, body)
    };
    for rest in ["", "/events", "/state", "/actions", "/export"] {
        let absent = masked(&server.call(&format!("GET /v1/sessions/absent{rest}"), &[], "").await);
        assert_eq!(absent.0, 404);
        for id in ["..%2f..%2fetc%2fpasswd", "%2e%2e%2f", "%00", "%ff%fe", "a%20b", &"x".repeat(500)] {
            let answer = server.call(&format!("GET /v1/sessions/{id}{rest}"), &[], "").await;
            assert_eq!(masked(&answer), absent, "{id}{rest}");
        }
    }
    let plain = server.call("GET /v1/sessions/../../etc/passwd", &[], "").await;
    assert_eq!(plain.refusal(), (404, "not_found".to_owned()));
    assert!(plain.json()["detail"].as_str().is_some_and(|detail| detail.contains("no such path")));
    for reference in ["..%2fadmin.key", "blob_1", "%ff", "/etc/passwd"] {
        assert!(
            server.call(&format!("GET /v1/blobs/{reference}"), &[], "").await.status < 405,
            "{reference}"
        );
    }
    check(&server, "GET /v1/blobs/blob_1", &[], "", 400, "bad_ref").await;
    server.stop().await;
}
