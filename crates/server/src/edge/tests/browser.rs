//! Browser credentials: what they open, from where, for how long; and the keys behind them.

use serde_json::json;

use super::*;

const PAGE: (&str, &str) = ("origin", "https://shop.example");
const JSON: (&str, &str) = ("content-type", "application/json");

struct Minted {
    id: String,
    text: String,
    bearer: String,
}

async fn mint(fixture: &Fixture, key: &str, extra: Value) -> Minted {
    let mut body = json!({"session": "whole", "origins": ["https://shop.example"]});
    for (name, value) in extra.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let key = format!("Bearer {key}");
    let made = fixture
        .send("POST /v1/browser-credentials", &[JSON, ("authorization", &key)], body.to_string())
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    let text = made.body["credential"].as_str().expect("the text").to_owned();
    assert!(text.starts_with("rb_"), "{text}");
    let id = made.body["credentialId"].as_str().expect("the id").to_owned();
    Minted { id, bearer: format!("Bearer {text}"), text }
}

async fn read(fixture: &Fixture, session: &str, credential: &str, origin: (&str, &str)) -> Answer {
    let path = format!("GET /v1/sessions/{session}/events?credential={credential}");
    fixture.send(&path, &[("authorization", ""), origin], "").await
}

#[tokio::test]
async fn a_credential_works_for_every_reconnect_on_its_session_and_origin() {
    let fixture = fixture().await;
    let minted = mint(&fixture, &fixture.admin, json!({})).await;
    for _ in 0..3 {
        let answer = read(&fixture, "whole", &minted.text, PAGE).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["access-control-allow-origin"], PAGE.1);
        assert!(answer.headers.get_all("vary").iter().any(|vary| vary == "Origin"));
    }
    assert_eq!(read(&fixture, "cut", &minted.text, PAGE).await.refusal(), (404, "not_found"));
    let evil = ("origin", "https://evil.example");
    let wrong = read(&fixture, "whole", &minted.text, evil).await;
    assert_eq!(wrong.refusal(), (403, "origin_forbidden"));
    assert!(!wrong.headers.contains_key("access-control-allow-origin"));
    assert!(!wrong.body.to_string().contains(&minted.text));
    let nowhere = read(&fixture, "whole", &minted.text, ("accept", "*/*")).await;
    assert_eq!(nowhere.refusal(), (403, "origin_forbidden"), "no origin is not any origin");
    let two = [("authorization", ""), PAGE, evil];
    let path = format!("GET /v1/sessions/whole/events?credential={}", minted.text);
    assert_eq!(fixture.send(&path, &two, "").await.refusal(), (400, "invalid_request"), "two origins");
}

#[tokio::test]
async fn a_page_of_the_servers_own_origin_needs_no_origin_header() {
    let fixture = fixture().await;
    let own = json!({"origins": ["http://localhost:7777"]});
    let minted = mint(&fixture, &fixture.admin, own).await;
    let same = ("sec-fetch-site", "same-origin");
    assert_eq!(read(&fixture, "whole", &minted.text, same).await.status, 200);
    let cross = ("sec-fetch-site", "cross-site");
    assert_eq!(read(&fixture, "whole", &minted.text, cross).await.refusal(), (403, "origin_forbidden"));
}

#[tokio::test]
async fn preflights_are_answered_for_origins_that_a_credential_names() {
    let fixture = fixture().await;
    let ask = [
        ("authorization", ""),
        PAGE,
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    let before = fixture.send("OPTIONS /v1/sessions/whole/turns", &ask, "").await;
    assert_eq!(before.refusal(), (403, "origin_forbidden"));
    mint(&fixture, &fixture.admin, json!({})).await;
    let after = fixture.send("OPTIONS /v1/sessions/whole/turns", &ask, "").await;
    assert_eq!(
        (after.status.as_u16(), &after.headers["access-control-allow-origin"]),
        (204, &PAGE.1.parse().expect("a value"))
    );
}

#[tokio::test]
async fn a_credential_has_no_more_scopes_than_its_key_and_opens_only_page_routes() {
    let fixture = fixture().await;
    let reader = fixture.key("default", &[KeyScope::Read], None).await;
    let key = format!("Bearer {}", reader.text);
    let headers = [JSON, ("authorization", key.as_str())];
    for (body, code) in [
        (json!({"session": "s", "origins": ["https://a.example"], "scopes": ["write"]}), 403),
        (json!({"session": "s", "origins": ["https://a.example"], "scopes": ["admin"]}), 400),
        (json!({"session": "s", "origins": ["https://a.example"], "scopes": []}), 400),
        (json!({"session": "s", "origins": []}), 400),
        (json!({"session": "s", "origins": ["*"]}), 400),
        (json!({"session": "s", "origins": ["null"]}), 400),
        (json!({"origins": ["https://a.example"]}), 400),
        (json!({"session": "s", "sessionPrefix": "s", "origins": ["https://a.example"]}), 400),
        (json!({"session": "s", "origins": ["https://a.example"], "expiresInSeconds": 0}), 400),
        (json!({"session": "s", "origins": ["https://a.example"], "maxLifetimeSeconds": 99999999}), 400),
    ] {
        let answer = fixture.send("POST /v1/browser-credentials", &headers, body.to_string()).await;
        assert_eq!(answer.status.as_u16(), code, "{body}: {}", answer.body);
    }
    let all = json!({"scopes": ["read", "write", "approve"]});
    let minted = mint(&fixture, &fixture.admin, all).await;
    let page = [("authorization", minted.bearer.as_str()), PAGE, JSON];
    for closed in ["GET /v1/list", "GET /v1/keys", "GET /v1/tenants", "GET /v1/browser-credentials"] {
        assert_eq!(fixture.send(closed, &page, "").await.refusal(), (403, "forbidden"), "{closed}");
    }
    for closed in ["POST /v1/tickets", "POST /v1/keys", "POST /v1/browser-credentials", "POST /v1/write"] {
        assert_eq!(fixture.send(closed, &page, "{}").await.refusal(), (403, "forbidden"), "{closed}");
    }
    let elsewhere = format!("GET /v1/list?credential={}", minted.text);
    assert_eq!(fixture.send(&elsewhere, &[("authorization", ""), PAGE], "").await.status, 401);
}

#[tokio::test]
async fn it_expires_is_renewed_up_to_its_maximum_and_revoked_at_once() {
    let fixture = fixture().await;
    let brief = json!({"expiresInSeconds": 60, "maxLifetimeSeconds": 100});
    let minted = mint(&fixture, &fixture.admin, brief.clone()).await;
    let page = [("authorization", minted.bearer.as_str()), PAGE];
    let path = format!("POST /v1/browser-credentials/{}/renew", minted.id);
    fixture.clock.advance(Duration::from_secs(50));
    let renewed = fixture.send(&path, &page, "").await;
    assert_eq!((renewed.status.as_u16(), &renewed.body["expiresAt"]), (200, &renewed.body["notAfter"]));
    fixture.clock.advance(Duration::from_secs(49));
    assert_eq!(read(&fixture, "whole", &minted.text, PAGE).await.status, 200);
    let again = fixture.send(&path, &page, "").await;
    assert_eq!(again.body["expiresAt"], renewed.body["notAfter"], "no renewal goes beyond the maximum");
    fixture.clock.advance(Duration::from_secs(2));
    let expired = read(&fixture, "whole", &minted.text, PAGE).await;
    assert_eq!(expired.refusal(), (401, "unauthenticated"));
    assert_eq!(expired.headers["access-control-allow-origin"], PAGE.1, "the page can read why");
    assert_eq!(fixture.send(&path, &page, "").await.refusal(), (401, "unauthenticated"));

    let other = mint(&fixture, &fixture.admin, brief).await;
    let theirs = [("authorization", other.bearer.as_str()), PAGE];
    let first = mint(&fixture, &fixture.admin, json!({})).await;
    let foreign = format!("POST /v1/browser-credentials/{}/renew", first.id);
    assert_eq!(fixture.send(&foreign, &theirs, "").await.refusal(), (404, "not_found"));
    let caller =
        fixture.edge.authenticate_text(&other.text, None, &origin(&fixture)).expect("a good credential");
    let path = format!("DELETE /v1/browser-credentials/{}", other.id);
    assert_eq!(fixture.send(&path, &[], "").await.status, 204);
    caller.ended().await;
    assert_eq!(read(&fixture, "whole", &other.text, PAGE).await.refusal(), (401, "unauthenticated"));
}

fn origin(fixture: &Fixture) -> PageOrigin {
    let mut headers = HeaderMap::new();
    headers.insert("origin", PAGE.1.parse().expect("a value"));
    fixture.edge.page_origin(&headers)
}

#[tokio::test]
async fn it_ends_with_its_key_and_survives_a_restart_and_a_rotation() {
    let fixture = fixture().await;
    let key = fixture.key("default", &[KeyScope::Read], None).await;
    let minted = mint(&fixture, &key.text, json!({})).await;
    let again = Keys::load(fixture.log.clone(), fixture.clock.clone()).await.expect("the log opens");
    let known = again.credentials().find_text(&minted.text).expect("it is stored");
    assert!(again.key_of(&known).is_some() && known.is_live(fixture.clock.now()));
    let path = format!("POST /v1/keys/{}/rotate", key.stored.id);
    let rotated = fixture.send(&path, &[JSON], r#"{"overlapSeconds":10}"#).await;
    assert_eq!(rotated.status, 200, "{}", rotated.body);
    assert_eq!(read(&fixture, "whole", &minted.text, PAGE).await.status, 200);
    fixture.edge.keys().revoke(&key.stored.id).await.expect("the store answers");
    assert_eq!(read(&fixture, "whole", &minted.text, PAGE).await.refusal(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_rotated_key_has_two_secrets_until_the_overlap_ends() {
    let fixture = fixture().await;
    let key = fixture.key("default", &[KeyScope::Read], None).await;
    let path = format!("POST /v1/keys/{}/rotate", key.stored.id);
    let rotated = fixture.send(&path, &[JSON], r#"{"overlapSeconds":10}"#).await;
    let new = rotated.body["key"].as_str().expect("the new secret").to_owned();
    let works = |text: &str| fixture.edge.authenticate_key(text, None).is_ok();
    assert!(new != key.text && works(&new) && works(&key.text));
    fixture.edge.keys().refresh().await.expect("the store answers");
    assert!(works(&new) && works(&key.text));
    fixture.clock.advance(Duration::from_secs(11));
    assert!(works(&new) && !works(&key.text));
    let at_once = fixture.send(&path, &[JSON], r#"{"overlapSeconds":0}"#).await;
    assert!(!works(&new) && works(at_once.body["key"].as_str().unwrap_or_default()));
    fixture.edge.keys().revoke(&key.stored.id).await.expect("the store answers");
    assert_eq!(fixture.send(&path, &[JSON], "{}").await.refusal(), (400, "invalid_request"));
}

#[tokio::test]
async fn an_admin_of_the_default_tenant_sees_to_all_keys_and_no_other_admin_does() {
    let fixture = fixture().await;
    let acme = fixture.key("acme", &[KeyScope::Admin], None).await;
    let user = fixture.key("acme", &[KeyScope::Read], None).await;
    let other = fixture.key("other", &[KeyScope::Read], None).await;
    let count = |answer: &Answer| answer.body["keys"].as_array().map(Vec::len);
    let listed = fixture.send("GET /v1/keys?tenant=acme", &[], "").await;
    assert_eq!(count(&listed), Some(2), "{}", listed.body);
    assert_eq!(count(&fixture.send("GET /v1/keys?tenant=*", &[], "").await), Some(4));
    let tenants = fixture.send("GET /v1/tenants", &[], "").await;
    assert_eq!(tenants.body["tenants"][0], json!({"tenant": "acme", "liveKeys": 2, "keys": 2}));
    let bearer = format!("Bearer {}", acme.text);
    let admin = [("authorization", bearer.as_str())];
    for path in ["GET /v1/keys?tenant=other", "GET /v1/keys?tenant=*", "GET /v1/tenants"] {
        assert_eq!(fixture.send(path, &admin, "").await.refusal(), (403, "forbidden"), "{path}");
    }
    for path in
        [format!("DELETE /v1/keys/{}", other.stored.id), format!("POST /v1/keys/{}/rotate", other.stored.id)]
    {
        assert_eq!(fixture.send(&path, &admin, "").await.refusal(), (404, "not_found"), "{path}");
    }
    let path = format!("DELETE /v1/keys/{}", user.stored.id);
    assert_eq!(fixture.send(&path, &admin, "").await.status, 204);
    let path = format!("DELETE /v1/keys/{}", acme.stored.id);
    assert_eq!(fixture.send(&path, &[], "").await.status, 204);
}

#[tokio::test]
async fn one_key_holds_a_quarter_of_the_tickets_and_credentials() {
    let limits = Limits { tickets_per_tenant: 8, browser_credentials_per_tenant: 8, ..Limits::default() };
    let fixture = fixture_with(limits).await;
    let greedy = fixture.key("default", &[KeyScope::Read], None).await;
    let bearer = format!("Bearer {}", greedy.text);
    let headers = [("authorization", bearer.as_str()), JSON];
    let body = json!({"session": "s", "origins": ["https://a.example"]}).to_string();
    for (path, body, quota) in [
        ("POST /v1/tickets", "{}", "tickets_per_key"),
        ("POST /v1/browser-credentials", body.as_str(), "browser_credentials_per_key"),
    ] {
        for _ in 0..2 {
            assert_eq!(fixture.send(path, &headers, body.to_owned()).await.status, 201);
        }
        let full = fixture.send(path, &headers, body.to_owned()).await;
        assert_eq!((full.refusal(), &full.body["quota"]), ((429, "rate_limited"), &quota.into()));
        assert_eq!(
            fixture.send(path, &[JSON], body.to_owned()).await.status,
            201,
            "another key has its share"
        );
    }
}
