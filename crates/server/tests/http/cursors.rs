//! Places in a log that a reader may name, and those it may not.

use serde_json::json;

use crate::harness::Server;

async fn check(
    server: &Server,
    query: &str,
    headers: &[(&str, &str)],
    status: u16,
    code: &str,
) -> serde_json::Value {
    let mut answers = Vec::new();
    for accept in ["text/event-stream", "application/x-ndjson", "application/json"] {
        let mut all = vec![("accept", accept)];
        all.extend_from_slice(headers);
        let answer = server.call(&format!("GET /v1/sessions/s1/events?{query}"), &all, "").await;
        assert_eq!(
            answer.refusal(),
            (status, code.to_owned()),
            "{accept} {query} {headers:?}: {}",
            answer.text()
        );
        answers.push(answer.json());
    }
    answers.remove(0)
}

#[tokio::test]
async fn a_cursor_that_is_none_of_ours_is_refused() {
    let server = Server::start().await;
    server.make("s1").await;
    server.make("s2").await;
    server.tell("s1", &[json!({"type": "x.a"}), json!({"type": "x.b"})]).await;
    server.tell("s2", &[json!({"type": "x.a"})]).await;
    for bad in ["abc", "-1", "1.5", "18446744073709551616", "9007199254740992", "01", "1.2.3.4", "1+"] {
        check(&server, "", &[("last-event-id", bad)], 400, "bad_cursor").await;
        let query = format!("after={}", bad.replace('+', "%2B"));
        check(&server, &query, &[], 400, "bad_cursor").await;
    }
    let ahead = check(&server, "after=3", &[], 409, "cursor_ahead").await;
    assert_eq!(ahead["head"], 2);
    let other = server.get("/v1/sessions/s2").await["cursor"].as_str().expect("a cursor").to_owned();
    check(&server, &format!("after={other}"), &[], 400, "cursor_wrong_run").await;
    check(&server, "", &[("last-event-id", &other)], 400, "cursor_wrong_run").await;
    check(&server, "after=2", &[("last-event-id", "1")], 400, "cursor_conflict").await;
    let dialect = check(&server, "dialect=tasks", &[], 400, "unknown_dialect").await;
    assert!(
        dialect["detail"].as_str().is_some_and(|text| text.contains("`native`, ") && text.contains("`task`")),
        "{dialect}"
    );
    for bad in [
        "catchup=all",
        "follow=yes",
        "types=",
        "types=a,,b",
        "types=a%20b",
        "turn=a%2Fb",
        "index_unit=byte",
        "limit=0",
        "limit=5001",
    ] {
        let answer = server.call(&format!("GET /v1/sessions/s1/events?{bad}"), &[], "").await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text());
    }
    let xml = server.call("GET /v1/sessions/s1/events", &[("accept", "application/xml")], "").await;
    assert_eq!(xml.refusal(), (406, "not_acceptable".to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn a_state_is_asked_for_by_a_place_of_its_own_log() {
    let server = Server::start().await;
    server.make("s1").await;
    server.make("s2").await;
    server.tell("s1", &[json!({"type": "x.a"}), json!({"type": "x.b"})]).await;
    let cursor = |session: &str| format!("/v1/sessions/{session}");
    let other = server.get(&cursor("s2")).await["cursor"].as_str().expect("a cursor").to_owned();
    let mine = server.get(&cursor("s1")).await["cursor"].as_str().expect("a cursor").to_owned();
    assert_eq!(server.get(&format!("/v1/sessions/s1/state?at={mine}")).await["sequence"], 2);
    assert_eq!(server.get("/v1/sessions/s1/state?at=1").await["sequence"], 1);
    assert_eq!(server.get("/v1/sessions/s1/state?at=0").await["sequence"], 0);
    for (at, status, code) in
        [(other.as_str(), 400, "cursor_wrong_run"), ("3", 409, "cursor_ahead"), ("x", 400, "bad_cursor")]
    {
        let answer = server.call(&format!("GET /v1/sessions/s1/state?at={at}"), &[], "").await;
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{at}");
    }
    server.stop().await;
}
