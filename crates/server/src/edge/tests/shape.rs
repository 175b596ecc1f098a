//! What every answer looks like.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_problem_has_one_shape() {
    let answer = fixture().await.send("GET /v1/list?limit=0", &[("x-request-id", "req-7")], "").await;
    let expected = json!({
        "type": "https://riverrun.dev/errors#invalid_field",
        "title": "a field has the wrong type or value",
        "status": 400,
        "code": "invalid_field",
        "detail": "`limit`: it must be 1 to 100",
        "field": "limit",
        "limit": 100,
        "requestId": "req-7",
        "retryable": false,
        "error": {
            "message": "`limit`: it must be 1 to 100",
            "type": "invalid_request_error",
            "code": "invalid_field",
            "field": "limit",
            "limit": 100,
            "requestId": "req-7",
        },
    });
    assert_eq!(answer.body, expected);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    assert_eq!(answer.headers["x-request-id"], "req-7");
}

#[tokio::test]
async fn a_request_id_outside_the_alphabet_is_replaced() {
    let fixture = fixture().await;
    for given in ["a b", "x\u{1b}[2J", "", &"x".repeat(200)] {
        let Ok(value) = http::HeaderValue::from_str(given) else { continue };
        let answer = fixture.send("GET /livez", &[("x-request-id", value.to_str().unwrap_or(""))], "").await;
        assert!(answer.headers["x-request-id"].to_str().is_ok_and(|id| id.starts_with("req_")));
    }
}

#[tokio::test]
async fn absent_routes_and_methods_are_problems_too() {
    let fixture = fixture().await;
    assert_eq!(fixture.send("GET /v1/nothing", &[], "").await.refusal(), (404, "not_found"));
    let method = fixture.send("DELETE /v1/list", &[], "").await;
    assert_eq!(method.refusal(), (405, "method_not_allowed"));
    assert_eq!(method.headers["allow"], "GET,HEAD");
    let form = fixture.send("GET /v1/form", &[("accept", "application/xml")], "").await;
    assert_eq!(form.refusal(), (406, "not_acceptable"));
}

#[tokio::test]
async fn a_panic_is_contained_and_counted() {
    let fixture = fixture().await;
    let answer = fixture.send("GET /v1/panic", &[], "").await;
    assert_eq!(answer.refusal(), (500, "internal"));
    assert!(!answer.body.to_string().contains("on purpose"));
    assert_eq!(fixture.edge.metrics().panics.get(), 1);
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let fixture = fixture().await;
    for line in
        ["GET /livez", "GET /v1/nothing", "POST /v1/echo", "GET /v1/sessions/whole/events", "GET /v1/panic"]
    {
        let headers = fixture.send(line, &[], "").await.headers;
        assert_eq!(headers["x-content-type-options"], "nosniff", "{line}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{line}");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin", "{line}");
        assert_eq!(headers["cache-control"], "no-store", "{line}");
        assert!(!headers.contains_key("access-control-allow-origin"), "{line}");
    }
    let stream = fixture.send("GET /v1/sessions/whole/events", &[], "").await;
    assert_eq!(stream.headers["x-accel-buffering"], "no");
}

#[tokio::test]
async fn hosts_and_origins_are_checked_before_routes() {
    let fixture = fixture().await;
    let check = async |line, headers: &[(&str, &str)]| {
        let answer = fixture.send(line, headers, "").await;
        (answer.status.as_u16(), answer.body["code"].as_str().map(str::to_owned))
    };
    let code = |status, code: &str| (status, Some(code.to_owned()));
    assert_eq!(check("GET /livez", &[("host", "evil.example")]).await, code(421, "host_unknown"));
    assert_eq!(check("GET /livez", &[("host", "")]).await, code(400, "invalid_request"));
    let evil = ("origin", "https://evil.example");
    assert_eq!(check("POST /v1/write", &[evil]).await, code(403, "origin_forbidden"));
    assert_eq!(check("GET /v1/ws", &[evil, ("upgrade", "websocket")]).await, code(403, "origin_forbidden"));
    assert_eq!(check("OPTIONS /v1/write", &[evil, ("access-control-request-method", "POST")]).await.0, 403);
}

#[tokio::test]
async fn a_configured_origin_may_read_answers() {
    let fixture = fixture().await;
    let origin = ("origin", "https://app.example.com");
    let preflight =
        fixture.send("OPTIONS /v1/write", &[origin, ("access-control-request-method", "POST")], "").await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.headers["access-control-allow-origin"], "https://app.example.com");
    let answer = fixture.send("POST /v1/write", &[origin], "").await;
    assert_eq!((answer.status.as_u16(), &answer.headers["vary"]), (200, &"Origin".parse().expect("a value")));
    assert_eq!(answer.headers["access-control-allow-origin"], "https://app.example.com");
    assert!(!answer.headers.contains_key("access-control-allow-credentials"));
}

#[tokio::test]
async fn health_needs_no_key_and_tells_no_detail() {
    let fixture = fixture().await;
    let ready = async || {
        let answer = fixture.send("GET /readyz", &[("authorization", "")], "").await;
        (answer.status.as_u16(), answer.body)
    };
    assert_eq!(ready().await, (503, json!({"status": "not_ready", "reason": "starting"})));
    fixture.edge.readiness().set(None);
    assert_eq!(ready().await, (200, json!({"status": "ready"})));
    fixture.edge.drain().start();
    assert_eq!(ready().await, (503, json!({"status": "not_ready", "reason": "draining"})));
    assert_eq!(fixture.send("GET /livez", &[("authorization", "")], "").await.status, 200);
    let metrics = fixture.send("GET /metrics", &[("authorization", "")], "").await;
    assert!(
        metrics
            .body
            .as_str()
            .is_some_and(|text| text.contains("riverrun_http_requests_total{method=\"GET\""))
    );
}
