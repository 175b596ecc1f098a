//! Bad input, each with its exact code.

use std::convert::Infallible;
use std::time::Duration;

use super::*;

const JSON: (&str, &str) = ("content-type", "application/json");

async fn check_body(body: impl Into<Body>, headers: &[(&str, &str)], status: u16, code: &str) -> Answer {
    let answer = fixture().await.send("POST /v1/echo", headers, body).await;
    assert_eq!(answer.refusal(), (status, code), "{}", answer.body);
    answer
}

#[tokio::test]
async fn bodies_that_are_not_json_are_refused_by_name() {
    check_body("", &[JSON], 400, "body_empty").await;
    let syntax = check_body("{\"a\":", &[JSON], 400, "json_syntax").await;
    assert_eq!((&syntax.body["line"], &syntax.body["column"]), (&1.into(), &6.into()));
    let deep = check_body("[".repeat(100_000), &[JSON], 400, "json_too_deep").await;
    assert_eq!(deep.body["limit"], 64);
    check_body(r#"{"model":1e999999}"#, &[JSON], 400, "number_out_of_range").await;
    check_body(format!(r#"{{"model":{}}}"#, "9".repeat(1_000_000)), &[JSON], 400, "number_out_of_range")
        .await;
    check_body(r#"{"model":"a","model":"b"}"#, &[JSON], 400, "json_duplicate_key").await;
    check_body(r#"{"model":"\ud800"}"#, &[JSON], 400, "json_invalid_unicode").await;
    let utf8 = check_body(&b"{\"model\":\"\xff\xfe\"}"[..], &[JSON], 400, "invalid_utf8").await;
    assert_eq!(utf8.body["offset"], 10);
}

#[tokio::test]
async fn fields_that_are_wrong_are_named() {
    let unknown = check_body(r#"{"modle":"x"}"#, &[JSON], 400, "unknown_field").await;
    assert_eq!(unknown.body["detail"], "unknown field `modle`; did you mean `model`?");
    assert_eq!(unknown.body["field"], "modle");
    check_body(r#"{"model":"x","sessionId":"a\u0000"}"#, &[JSON], 400, "invalid_id").await;
    check_body(r#"{"model":7}"#, &[JSON], 400, "invalid_field").await;
    check_body(r#"{"__proto__":{}}"#, &[JSON], 400, "unknown_field").await;
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused() {
    for headers in [
        &[("content-type", "text/plain")][..],
        &[("content-type", "application/x-ndjson")],
        &[("content-type", "application/json; charset=latin1")],
        &[JSON, ("content-encoding", "gzip")],
        &[],
    ] {
        check_body(r#"{"model":"x"}"#, headers, 415, "unsupported_media_type").await;
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_announced_or_not() {
    let limit = Limits::default().body_bytes;
    let large = format!(r#"{{"model":"{}"}}"#, "x".repeat(limit));
    let answer = check_body(large.clone(), &[JSON], 413, "body_too_large").await;
    assert_eq!(answer.body["limit"], limit);
    let announced = (limit + 1).to_string();
    check_body("{}", &[JSON, ("content-length", &announced)], 413, "body_too_large").await;
    let chunks = futures_util::stream::iter([Ok::<_, Infallible>(Bytes::from(large))]);
    check_body(Body::from_stream(chunks), &[JSON], 413, "body_too_large").await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_runs_into_its_deadline() {
    let endless = futures_util::stream::unfold((), async |()| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok::<_, Infallible>(" "), ()))
    });
    check_body(Body::from_stream(endless), &[JSON], 408, "body_timeout").await;
}

#[tokio::test]
async fn good_bodies_pass() {
    let fixture = fixture().await;
    for (kind, body) in [
        ("application/json", r#"{"model":"x"}"#),
        ("Application/JSON; charset=UTF-8", r#"{"model":"x"}"#),
        ("application/json", "\u{feff}{\"model\":\"x\"}"),
    ] {
        let answer = fixture.send("POST /v1/echo", &[("content-type", kind)], body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

#[tokio::test]
async fn queries_are_strict() {
    let fixture = fixture().await;
    for (query, status, code) in [
        ("after=1&limit=5", 200, "none"),
        ("aftr=1", 400, "unknown_field"),
        ("limit=1&limit=2", 400, "invalid_field"),
        ("limit=0", 400, "invalid_field"),
        ("after=%zz", 400, "invalid_request"),
        ("token=SECRET", 400, "token_in_url"),
        ("api_key=SECRET", 400, "token_in_url"),
        ("access_token=SECRET", 400, "token_in_url"),
        ("KEY=SECRET", 400, "token_in_url"),
    ] {
        let answer = fixture.send(&format!("GET /v1/list?{query}"), &[], "").await;
        assert_eq!(answer.refusal(), (status, code), "{query}");
        assert!(!answer.body.to_string().contains("SECRET"), "{}", answer.body);
    }
    let elsewhere = fixture.send("GET /v1/no/such/route?token=SECRET", &[], "").await;
    assert_eq!(elsewhere.refusal(), (400, "token_in_url"));
}

#[tokio::test]
async fn ndjson_is_read_line_by_line() {
    let read = async |limits: Limits, parts: &'static [&'static str]| {
        let edge = fixture_with(limits).await.edge;
        let body =
            Body::from_stream(futures_util::stream::iter(parts.iter().copied().map(Ok::<_, Infallible>)));
        let mut lines = Lines::new(body, &edge, None);
        let mut found = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(line)) => found.push(line),
                Ok(None) => return (found, None),
                Err(problem) => return (found, Some((problem.code().as_str(), lines.number()))),
            }
        }
    };
    let lines = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let small = Limits { body_bytes: 16, ..Limits::default() };
    assert_eq!(
        read(Limits::default(), &["{\"a\" : 1}\r\n\n", "{\"b\"", ":2}"]).await,
        (lines(&["{\"a\":1}", "{\"b\":2}"]), None)
    );
    assert_eq!(read(Limits::default(), &["{}\n{\"a\n{}"]).await, (lines(&["{}"]), Some(("json_syntax", 2))));
    assert_eq!(
        read(small.clone(), &["{}\n", "\"0123456789", "0123456789"]).await,
        (lines(&["{}"]), Some(("event_too_large", 2)))
    );
    assert_eq!(
        read(small, &["\"01234567890123456789\"\n"]).await,
        (lines(&[]), Some(("event_too_large", 1)))
    );
}
