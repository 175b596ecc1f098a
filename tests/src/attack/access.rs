//! Browser credentials: none opens more than it was made for, and each ends when it must.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Case;
use crate::crash::http::{Connection, Part};
use crate::crash::runner::world::World;
use crate::crash::{Place, Program, Server};

pub const CASES: &[Case] = &[
    Case { name: "access/a-credential-opens-only-its-scopes", run: scopes },
    Case { name: "access/a-credential-opens-nothing-that-takes-a-key", run: keys_only },
    Case { name: "access/a-credential-works-on-its-origins-alone", run: origins },
    Case { name: "access/a-credential-reaches-its-sessions-alone", run: sessions },
    Case { name: "access/a-credential-expires-and-no-renewal-passes-its-maximum", run: expiry },
    Case { name: "access/a-revoked-credential-is-cut-at-once-and-after-a-kill", run: revoked },
    Case { name: "access/a-credential-ends-with-its-key", run: key_revoked },
    Case { name: "access/a-credential-works-after-a-kill", run: after_kill },
];

const ORIGIN: &str = "https://app.example";
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) type Answer = (u16, Value);

/// One request with this key or credential, from a page of this origin.
pub(super) fn ask(
    place: &Place,
    key: &str,
    origin: Option<&str>,
    method: &str,
    path: &str,
    body: &str,
) -> Result<Answer> {
    let mut connection = Connection::open(place.address, key, PATIENCE)?;
    let mut headers = vec![("accept", "application/json".to_owned())];
    if !body.is_empty() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    headers.extend(origin.map(|origin| ("origin", origin.to_owned())));
    let head = connection.send(method, path, &headers, body.as_bytes())?;
    let body = connection.read_body(&head)?;
    Ok((head.status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

pub(super) fn make_key(place: &Place, body: &Value) -> Result<(String, String)> {
    let (status, made) = ask(place, &place.key()?, None, "POST", "/v1/keys", &body.to_string())?;
    ensure!(status == 201, "making a key: {status} {made}");
    Ok((text(&made, "keyId")?, text(&made, "key")?))
}

/// A credential for session `s`, with what `more` says.
pub(super) fn mint(place: &Place, key: &str, more: Value) -> Result<(String, String)> {
    let mut body = json!({"session": "s", "origins": [ORIGIN]});
    for (name, value) in more.as_object().context("an object")? {
        body[name] = value.clone();
        if name == "sessionPrefix" {
            body.as_object_mut().context("an object")?.remove("session");
        }
    }
    let (status, made) = ask(place, key, None, "POST", "/v1/browser-credentials", &body.to_string())?;
    ensure!(status == 201, "making a credential: {status} {made}");
    Ok((text(&made, "credentialId")?, text(&made, "credential")?))
}

pub(super) fn text(value: &Value, name: &str) -> Result<String> {
    Ok(value[name].as_str().with_context(|| format!("`{name}` in {value}"))?.to_owned())
}

pub(super) fn begin(program: &Program, name: &str) -> Result<(World, Server)> {
    let world = World::new(program, name)?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    Ok((world, server))
}

/// What a page may do, with the scope it takes.
const PAGE: &[(&str, &str, &str, &str)] = &[
    ("read", "GET", "/v1/sessions/s", ""),
    ("read", "GET", "/v1/sessions/s/state", ""),
    ("read", "GET", "/v1/sessions/s/events?follow=false", ""),
    ("read", "GET", "/v1/sessions/s/actions", ""),
    ("read", "GET", "/v1/sessions/s/queue", ""),
    ("read", "GET", "/v1/sessions/s/rules", ""),
    ("write", "POST", "/v1/sessions/s/turns", r#"{"input":"hello"}"#),
    ("write", "POST", "/v1/sessions/s/turns/none/cancel", "{}"),
    ("write", "POST", "/v1/sessions/s/turns/none/retry", "{}"),
    ("write", "POST", "/v1/sessions/s/turns/none/steer", r#"{"input":"more"}"#),
    ("write", "DELETE", "/v1/sessions/s/queue/none", ""),
    ("approve", "POST", "/v1/sessions/s/actions/none", r#"{"decision":"approve","digest":"x"}"#),
    ("approve", "DELETE", "/v1/sessions/s/rules/none", ""),
];

fn scopes(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-scopes")?;
    let (place, admin) = (&world.place, world.place.key()?);
    for scope in ["read", "write", "approve"] {
        let (_, credential) = mint(place, &admin, json!({"scopes": [scope]}))?;
        for (needed, method, path, body) in PAGE {
            let (status, answer) = ask(place, &credential, Some(ORIGIN), method, path, body)?;
            let is_refused = status == 403 && answer["code"] == "forbidden";
            ensure!(is_refused == (scope != *needed), "{scope}: {method} {path}: {status} {answer}");
            ensure!(status != 401, "{scope}: {method} {path}: {answer}");
        }
        // A key never hands out what it does not have, and nobody hands out `admin`.
        let (_, key) = make_key(place, &json!({"scopes": [scope]}))?;
        for wanted in ["read", "write", "approve", "admin"] {
            let body = json!({"session": "s", "origins": [ORIGIN], "scopes": [wanted]}).to_string();
            let (status, answer) = ask(place, &key, None, "POST", "/v1/browser-credentials", &body)?;
            let expected = if wanted == scope {
                201
            } else if wanted == "admin" {
                400
            } else {
                403
            };
            ensure!(status == expected, "{scope} makes {wanted}: {status} {answer}");
        }
    }
    // A page names no agent that its credential does not list.
    let (_, writer) = mint(place, &admin, json!({"scopes": ["write"], "agents": ["writer"]}))?;
    for (agent, expected) in [("writer", 202), ("asker", 403), ("scripted/text", 403)] {
        let body = json!({"input": "x", "agent": agent}).to_string();
        let (status, answer) = ask(place, &writer, Some(ORIGIN), "POST", "/v1/sessions/s/turns", &body)?;
        ensure!(status == expected, "agent `{agent}`: {status} {answer}");
    }
    Ok(())
}

/// What takes a key, whatever the credential's scopes.
const KEYS_ONLY: &[(&str, &str, &str)] = &[
    ("GET", "/v1/keys", ""),
    ("POST", "/v1/keys", r#"{"scopes":["read"]}"#),
    ("DELETE", "/v1/keys/key_x", ""),
    ("POST", "/v1/keys/key_x/rotate", "{}"),
    ("GET", "/v1/tenants", ""),
    ("POST", "/v1/tickets", "{}"),
    ("GET", "/v1/browser-credentials", ""),
    ("POST", "/v1/browser-credentials", r#"{"session":"s","origins":["https://app.example"]}"#),
    ("GET", "/v1/sessions", ""),
    ("DELETE", "/v1/sessions/s", ""),
    ("POST", "/v1/sessions/s/events", r#"[{"type":"x.forged"}]"#),
    ("GET", "/v1/sessions/s/export", ""),
    ("POST", "/v1/sessions/s/fork", r#"{"at":1}"#),
    ("GET", "/v1/sessions/s/processes", ""),
    ("POST", "/v1/sessions/s/processes/p/stdin", r#"{"text":"x"}"#),
    ("POST", "/v1/sessions/s/tasks", r#"{"objective":"x"}"#),
    ("POST", "/v1/sessions/s/subagents", r#"{"taskId":"t","agent":"writer","input":"x"}"#),
    ("POST", "/v1/import", "{}"),
    ("PUT", "/v1/blobs", "x"),
    ("POST", "/v1/backups", "{}"),
    ("GET", "/v1/agents", ""),
    ("GET", "/v1/actions", ""),
    ("GET", "/v1/models", ""),
    ("POST", "/v1/responses", r#"{"model":"agent/writer","input":"x"}"#),
    ("POST", "/v1/chat/completions", r#"{"model":"agent/writer","messages":[]}"#),
    ("POST", "/v1/messages", r#"{"model":"agent/writer","max_tokens":1,"messages":[]}"#),
    ("POST", "/ag-ui", "{}"),
    ("POST", "/api/chat", "{}"),
    ("POST", "/a2a", "{}"),
    ("POST", "/threads", "{}"),
];

fn keys_only(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-pages")?;
    let place = &world.place;
    let all = json!({"scopes": ["read", "write", "approve"], "agents": ["writer"]});
    let (_, credential) = mint(place, &place.key()?, all)?;
    for (method, path, body) in KEYS_ONLY {
        let (status, answer) = ask(place, &credential, Some(ORIGIN), method, path, body)?;
        ensure!(status == 403, "{method} {path}: {status} {answer}");
        let (status, _) = ask(place, &format!("{credential}0"), Some(ORIGIN), method, path, body)?;
        ensure!(matches!(status, 401 | 429), "{method} {path} with a wrong credential: {status}");
    }
    ensure!(world.get("/v1/sessions/s")?["sessionId"] == "s", "the session is still there");
    // In a URL it is taken by streams alone.
    let path = format!("/v1/sessions/s/state?credential={credential}");
    let (status, _) = ask(place, "", Some(ORIGIN), "GET", &path, "")?;
    ensure!(matches!(status, 400 | 401 | 429), "a credential in the URL of an ordinary route: {status}");
    Ok(())
}

fn origins(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-origins")?;
    let place = &world.place;
    let (_, credential) =
        mint(place, &place.key()?, json!({"scopes": ["read", "write"], "agents": ["writer"]}))?;
    let streamed = format!("/v1/sessions/s/events?follow=false&credential={credential}");
    let turn = r#"{"input":"hello","agent":"writer"}"#;
    for (origin, is_good) in [
        (Some(ORIGIN), true),
        (Some("https://APP.example"), true),
        (Some("https://evil.example"), false),
        (Some("http://app.example"), false),
        (Some("https://app.example:8443"), false),
        (Some("https://app.example.evil.example"), false),
        (Some("null"), false),
        (None, false),
    ] {
        for (key, method, path, body) in [
            (credential.as_str(), "GET", "/v1/sessions/s/state", ""),
            ("", "GET", streamed.as_str(), ""),
            (credential.as_str(), "POST", "/v1/sessions/s/turns", turn),
        ] {
            let (status, answer) = ask(place, key, origin, method, path, body)?;
            let fits =
                if is_good { status < 300 } else { status == 403 && answer["code"] == "origin_forbidden" };
            ensure!(fits, "{origin:?}: {method} {path}: {status} {answer}");
            ensure!(!answer.to_string().contains(&credential), "the answer repeats the credential: {answer}");
        }
    }
    let mut connection = Connection::open(place.address, &credential, PATIENCE)?;
    let two = [("origin", ORIGIN.to_owned()), ("origin", "https://evil.example".to_owned())];
    let head = connection.send("GET", "/v1/sessions/s/state", &two, b"")?;
    ensure!(matches!(head.status, 400 | 403), "two origins: {}", head.status);
    ensure!(!place.said().contains(&credential), "the credential is in the server's log");
    Ok(())
}

fn sessions(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-sessions")?;
    let (place, admin) = (&world.place, world.place.key()?);
    for other in ["other", "user-1-a", "user-10-a"] {
        place.create_session(other)?;
    }
    let all = json!({"scopes": ["read", "write", "approve"]});
    let (_, one) = mint(place, &admin, all.clone())?;
    for (_, method, path, body) in PAGE {
        let path = path.replace("/sessions/s", "/sessions/other");
        let (status, answer) = ask(place, &one, Some(ORIGIN), method, &path, body)?;
        let absent = path.replace("/sessions/other", "/sessions/absent");
        let (status_absent, answer_absent) = ask(place, &one, Some(ORIGIN), method, &absent, body)?;
        ensure!(status == 404 && status_absent == 404, "{method} {path}: {status} {answer}");
        ensure!(answer["detail"] == answer_absent["detail"], "{answer} and {answer_absent} differ");
    }
    let mut prefixed = all;
    prefixed["sessionPrefix"] = json!("user-1-");
    let (_, mine) = mint(place, &admin, prefixed)?;
    for (session, expected) in [("user-1-a", 200), ("user-10-a", 404), ("s", 404)] {
        let path = format!("/v1/sessions/{session}/state");
        let (status, answer) = ask(place, &mine, Some(ORIGIN), "GET", &path, "")?;
        ensure!(status == expected, "{session}: {status} {answer}");
    }
    for (body, expected) in [
        (json!({"sessionId": "user-1-new"}), 201),
        (json!({"sessionId": "user-2-new"}), 404),
        (json!({}), 404),
        (json!({"sessionId": "user-1-newer", "agent": "asker"}), 403),
    ] {
        let (status, answer) = ask(place, &mine, Some(ORIGIN), "POST", "/v1/sessions", &body.to_string())?;
        ensure!(status == expected, "{body}: {status} {answer}");
    }
    Ok(())
}

fn expiry(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-expiry")?;
    let place = &world.place;
    let brief = json!({"expiresInSeconds": 2, "maxLifetimeSeconds": 4});
    let (id, credential) = mint(place, &place.key()?, brief.clone())?;
    let (_, unrenewed) = mint(place, &place.key()?, brief)?;
    let began = Instant::now();
    let state = |credential: &str| ask(place, credential, Some(ORIGIN), "GET", "/v1/sessions/s/state", "");
    let renew = format!("/v1/browser-credentials/{id}/renew");
    ensure!(state(&credential)?.0 == 200, "it works while it lives");
    let mut refused_at = None;
    while began.elapsed() < Duration::from_secs(7) {
        // It asks for as much as it can, all the time.
        ask(place, &credential, Some(ORIGIN), "POST", &renew, r#"{"expiresInSeconds":86400}"#)?;
        let (status, answer) = state(&credential)?;
        match status {
            200 if refused_at.is_none() => {}
            401 | 429 => drop(refused_at.get_or_insert(began.elapsed())),
            _ => bail!("after {:?}: {status} {answer}", began.elapsed()),
        }
        if began.elapsed() > Duration::from_secs(3) {
            ensure!(state(&unrenewed)?.0 != 200, "one that nobody renewed lives on");
        }
        std::thread::sleep(Duration::from_millis(700));
    }
    let at = refused_at.context("it never expired")?;
    ensure!(at > Duration::from_secs(3), "a renewal had no effect: refused after {at:?}");
    Ok(())
}

/// A stream that is open with a credential; true once the server cut it.
fn is_cut(connection: &mut Connection) -> Result<bool> {
    let (mut buffer, began) = (Vec::new(), Instant::now());
    while began.elapsed() < PATIENCE {
        match connection.read_part(&mut buffer) {
            Ok(Part::Data) => {}
            Ok(Part::CleanEnd) => bail!("the stream ended as if that were all"),
            Err(_) => return Ok(true),
        }
    }
    Ok(false)
}

pub(super) fn open_stream(place: &Place, credential: &str) -> Result<Connection> {
    let mut connection = Connection::open(place.address, "", PATIENCE)?;
    let headers = [("origin", ORIGIN.to_owned()), ("accept", "text/event-stream".to_owned())];
    let path = format!("/v1/sessions/s/events?credential={credential}");
    let head = connection.send("GET", &path, &headers, b"")?;
    ensure!(head.status == 200, "opening a stream: {}", head.status);
    Ok(connection)
}

fn revoked(program: &Program) -> Result<()> {
    let (world, server) = begin(program, "attack-revoked")?;
    let (place, admin) = (&world.place, world.place.key()?);
    let (id, credential) = mint(place, &admin, json!({}))?;
    let mut stream = open_stream(place, &credential)?;
    let path = format!("/v1/browser-credentials/{id}");
    let (status, answer) = ask(place, &admin, None, "DELETE", &path, "")?;
    ensure!(status == 204, "revoking: {status} {answer}");
    ensure!(is_cut(&mut stream)?, "the stream goes on");
    let state = |place: &Place| ask(place, &credential, Some(ORIGIN), "GET", "/v1/sessions/s/state", "");
    ensure!(state(place)?.0 == 401, "it still opens");
    server.kill()?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    ensure!(state(place)?.0 == 401, "it opens again after a kill");
    let (status, _) = ask(place, &credential, Some(ORIGIN), "POST", &format!("{path}/renew"), "")?;
    ensure!(matches!(status, 401 | 404), "it can be renewed: {status}");
    Ok(())
}

fn key_revoked(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-key-revoked")?;
    let (place, admin) = (&world.place, world.place.key()?);
    let (key_id, key) = make_key(place, &json!({"scopes": ["read"]}))?;
    let (_, credential) = mint(place, &key, json!({}))?;
    let mut stream = open_stream(place, &credential)?;
    let (status, _) = ask(place, &admin, None, "DELETE", &format!("/v1/keys/{key_id}"), "")?;
    ensure!(status == 204, "revoking the key: {status}");
    let (status, answer) = ask(place, &credential, Some(ORIGIN), "GET", "/v1/sessions/s/state", "")?;
    ensure!(status == 401, "the credential outlives its key: {status} {answer}");
    ensure!(is_cut(&mut stream)?, "the stream goes on");
    Ok(())
}

fn after_kill(program: &Program) -> Result<()> {
    let (world, server) = begin(program, "attack-after-kill")?;
    let place = &world.place;
    let (id, credential) = mint(place, &place.key()?, json!({"expiresInSeconds": 600}))?;
    server.kill()?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let (status, answer) = ask(place, &credential, Some(ORIGIN), "GET", "/v1/sessions/s/state", "")?;
    ensure!(status == 200, "after a kill: {status} {answer}");
    let renew = format!("/v1/browser-credentials/{id}/renew");
    let (status, answer) = ask(place, &credential, Some(ORIGIN), "POST", &renew, "")?;
    ensure!(status == 200, "renewing after a kill: {status} {answer}");
    let stored = std::fs::read_dir(&place.data)?;
    for entry in stored {
        let path = entry?.path();
        // The reserve is 64 MiB of nothing.
        let is_read = path.is_file() && !path.ends_with("reserve");
        let holds = is_read && holds(&std::fs::read(&path)?, credential.as_bytes());
        ensure!(!holds, "{} holds the credential itself", path.display());
    }
    Ok(())
}

pub(super) fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
