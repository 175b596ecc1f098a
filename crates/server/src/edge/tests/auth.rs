//! Who gets in, for what, and how they are put out.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[tokio::test]
async fn absent_and_wrong_keys_get_the_same_bytes() {
    let fixture = fixture().await;
    let id = [("x-request-id", "r")];
    let absent = fixture.send("GET /v1/list", &[id[0], ("authorization", "")], "").await;
    assert_eq!(absent.refusal(), (401, "unauthenticated"));
    assert!(absent.headers.contains_key("www-authenticate"));
    let mut last_digit_off = fixture.admin.clone();
    let digit = if last_digit_off.pop() == Some('0') { '1' } else { '0' };
    last_digit_off.push(digit);
    for wrong in
        ["Bearer nonsense", "Basic YTpi", "Bearer", "Bearer rr_x_y", &format!("Bearer {last_digit_off}")]
    {
        let answer = fixture.send("GET /v1/list", &[id[0], ("authorization", wrong)], "").await;
        assert_eq!(answer, absent, "{wrong}");
    }
}

#[tokio::test]
async fn a_key_may_come_in_either_header() {
    let fixture = fixture().await;
    let key = fixture.admin.clone();
    let answer = fixture.send("GET /v1/list", &[("authorization", ""), ("x-api-key", &key)], "").await;
    assert_eq!(answer.status, 200);
    let answer = fixture.send("GET /v1/list", &[("authorization", &format!("bearer  {key}"))], "").await;
    assert_eq!(answer.status, 200);
}

#[tokio::test(start_paused = true)]
async fn wrong_keys_are_counted_and_good_ones_always_pass() {
    let fixture = fixture().await;
    let wrong = [("authorization", "Bearer rr_wrong")];
    for _ in 0..10 {
        assert_eq!(fixture.send("GET /v1/list", &wrong, "").await.refusal(), (401, "unauthenticated"));
    }
    let limited = fixture.send("GET /v1/list", &wrong, "").await;
    assert_eq!(limited.refusal(), (429, "rate_limited"));
    assert_eq!(
        (&limited.headers["retry-after"], &limited.body["quota"]),
        (&"60".parse().expect("a value"), &"failed_auth".into())
    );
    assert_eq!(fixture.send("GET /v1/list", &[], "").await.status, 200);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(fixture.send("GET /v1/list", &wrong, "").await.refusal(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_scope_opens_only_its_own_doors() {
    let fixture = fixture().await;
    let doors = ["POST /v1/write", "POST /v1/approve", "GET /v1/keys"];
    for (scope, expected) in [
        (Scope::Read, [403, 403, 403]),
        (Scope::Write, [200, 403, 403]),
        (Scope::Approve, [403, 200, 403]),
        (Scope::Admin, [200, 200, 200]),
    ] {
        let key = fixture.key("default", &[scope], None).await.text;
        for (door, status) in doors.into_iter().zip(expected) {
            let answer = fixture.send(door, &[("authorization", &format!("Bearer {key}"))], "").await;
            assert_eq!(answer.status, status, "{} at {door}", scope.as_str());
        }
    }
}

#[tokio::test]
async fn a_revoked_key_ends_at_once_and_so_does_who_is_inside() {
    let fixture = fixture().await;
    let key = fixture.key("default", &[Scope::Read], None).await;
    let caller = fixture.edge.authenticate_key(&key.text, None).expect("a good key");
    assert!(caller.is_live());
    let ended = tokio::spawn({
        let caller = caller.clone();
        async move { caller.ended().await }
    });
    let path = format!("DELETE /v1/keys/{}", key.stored.id);
    assert_eq!(fixture.send(&path, &[], "").await.status, 204);
    ended.await.expect("the stream hears of it");
    assert!(!caller.is_live());
    assert!(fixture.edge.authenticate_key(&key.text, None).is_err());
    assert_eq!(fixture.send(&path, &[], "").await.status, 204);
}

#[tokio::test]
async fn a_key_revoked_elsewhere_ends_with_the_next_look_at_the_store() {
    let fixture = fixture().await;
    let key = fixture.key("default", &[Scope::Read], None).await;
    let caller = fixture.edge.authenticate_key(&key.text, None).expect("a good key");
    assert_eq!(fixture.log.revoke_key(&key.stored.id, fixture.clock.now()).await, Ok(true));
    assert!(caller.is_live());
    fixture.edge.keys().refresh().await.expect("the store answers");
    assert!(!caller.is_live());
}

#[tokio::test(start_paused = true)]
async fn a_key_expires_by_the_clock() {
    let fixture = fixture().await;
    let key = fixture.key("default", &[Scope::Read], Some(Duration::from_secs(60))).await.text;
    let caller = fixture.edge.authenticate_key(&key, None).expect("a good key");
    fixture.clock.advance(Duration::from_secs(60));
    caller.ended().await;
    assert!(fixture.edge.authenticate_key(&key, None).is_err());
}

#[tokio::test]
async fn keys_are_made_listed_and_kept_apart_by_tenant() {
    let fixture = fixture().await;
    let json = ("content-type", "application/json");
    let body = r#"{"scopes":["write","read","read"],"label":"ci","expiresInSeconds":60}"#;
    let made = fixture.send("POST /v1/keys", &[json], body).await;
    assert_eq!(made.status, 201);
    assert!(made.body["key"].as_str().is_some_and(|key| key.starts_with("rr_")));
    assert_eq!(made.body["scopes"], serde_json::json!(["read", "write"]));

    let foreign = fixture.key("other", &[Scope::Admin], None).await;
    let bearer = format!("Bearer {}", foreign.text);
    let as_foreign = [("authorization", bearer.as_str()), json];
    let listed = fixture.send("GET /v1/keys", &as_foreign, "").await;
    assert_eq!(listed.body["keys"].as_array().map(Vec::len), Some(1));
    assert!(!listed.body.to_string().contains("\"key\""), "the text of a key is shown once");
    let path = format!("DELETE /v1/keys/{}", made.body["keyId"].as_str().unwrap_or(""));
    assert_eq!(fixture.send(&path, &as_foreign, "").await.refusal(), (404, "not_found"));
    let grab = r#"{"scopes":["read"],"tenant":"default"}"#;
    assert_eq!(fixture.send("POST /v1/keys", &as_foreign, grab).await.refusal(), (403, "forbidden"));
    let unknown = r#"{"scopes":["raed"]}"#;
    assert_eq!(fixture.send("POST /v1/keys", &[json], unknown).await.refusal(), (400, "invalid_field"));
    assert_eq!(
        fixture.send("POST /v1/keys", &[json], r#"{"scopes":[]}"#).await.refusal(),
        (400, "invalid_field")
    );
}

#[tokio::test(start_paused = true)]
async fn a_ticket_works_once_for_its_session_and_its_time() {
    let fixture = fixture().await;
    let json = ("content-type", "application/json");
    let make = async || {
        let made = fixture.send("POST /v1/tickets", &[json], r#"{"session":"whole"}"#).await;
        assert_eq!((made.status.as_u16(), &made.body["expiresInSeconds"]), (201, &30.into()));
        made.body["ticket"].as_str().unwrap_or_default().to_owned()
    };
    let open = async |session: &str, ticket: &str| {
        let path = format!("GET /v1/sessions/{session}/events?ticket={ticket}");
        fixture.send(&path, &[("authorization", "")], "").await
    };
    let ticket = make().await;
    assert_eq!(open("whole", &ticket).await.status, 200);
    let used = open("whole", &ticket).await;
    assert_eq!(used.refusal(), (401, "unauthenticated"));
    assert_eq!(open("cut", &make().await).await.refusal(), (404, "not_found"));
    let late = make().await;
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(open("whole", &late).await.refusal(), (401, "unauthenticated"));
    let elsewhere = format!("GET /v1/list?ticket={}", make().await);
    assert_eq!(
        fixture.send(&elsewhere, &[("authorization", "")], "").await.refusal(),
        (401, "unauthenticated")
    );
}

#[tokio::test]
async fn a_ticket_gives_no_more_than_its_key_has() {
    let fixture = fixture().await;
    let key = fixture.key("default", &[Scope::Read], None).await;
    let bearer = format!("Bearer {}", key.text);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let more = fixture.send("POST /v1/tickets", &headers, r#"{"scope":"approve"}"#).await;
    assert_eq!(more.refusal(), (403, "forbidden"));
    let ticket = fixture.send("POST /v1/tickets", &headers[..1], "").await;
    let ticket = ticket.body["ticket"].as_str().unwrap_or_default().to_owned();
    fixture.edge.keys().revoke(&key.stored.id).await.expect("the store answers");
    assert!(fixture.edge.redeem(&ticket, None).is_err(), "a ticket dies with its key");
}

#[tokio::test]
async fn the_first_start_writes_one_admin_key() {
    let clock = Arc::new(ManualClock::at(UnixMillis::from_millis(1)));
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new(clock.clone()));
    let keys = Keys::load(log.clone(), clock.clone()).await.expect("an empty log opens");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("admin.key");
    assert_eq!(keys.ensure_admin(&path).await, Ok(true));
    let text = std::fs::read_to_string(&path).expect("the key file");
    let mode = std::fs::metadata(&path).expect("the key file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(keys.check(text.trim()).is_some());

    let again = Keys::load(log, clock).await.expect("the log opens");
    assert_eq!(again.ensure_admin(&path).await, Ok(false));
    assert!(again.check(text.trim()).is_some());
}
