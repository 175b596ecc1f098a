//! Keys and tickets: who may see and change them, how a lost one is replaced, and what a hangup changes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Case;
use super::access::{PATIENCE, ask, begin, holds, make_key, mint, open_stream, text};
use crate::crash::http::{Connection, Part};
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[
    Case { name: "access/one-key-cannot-take-all-tickets", run: ticket_flood },
    Case { name: "access/only-the-operator-sees-keys-of-other-tenants", run: cross_tenant },
    Case { name: "access/a-rotated-secret-ends-with-its-overlap", run: rotation },
    Case { name: "access/a-lost-admin-key-is-recovered-offline", run: recovery },
    Case { name: "access/a-hangup-reloads-and-a-broken-file-changes-nothing", run: hangup },
];

fn ticket_flood(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-tickets")?;
    let place = &world.place;
    let (_, greedy) = make_key(place, &json!({"scopes": ["read"]}))?;
    let (_, other) = make_key(place, &json!({"scopes": ["read"]}))?;
    let mut connection = Connection::open(place.address, &greedy, PATIENCE)?;
    let mut made = 0;
    let refused = loop {
        let head = connection.send("POST", "/v1/tickets", &[], b"")?;
        let body = connection.read_body(&head)?;
        match head.status {
            201 if made < 1024 => made += 1,
            201 => bail!("one key took all {made} tickets of the tenant"),
            _ => break (head.status, serde_json::from_slice::<Value>(&body)?),
        }
    };
    ensure!(refused.0 == 429 && refused.1["quota"] == "tickets_per_key", "after {made}: {refused:?}");
    let (status, answer) = ask(place, &other, None, "POST", "/v1/tickets", "{}")?;
    ensure!(status == 201, "another key of the tenant gets none: {status} {answer}");
    Ok(())
}

fn cross_tenant(program: &Program) -> Result<()> {
    let (world, _server) = begin(program, "attack-tenants")?;
    let (place, operator) = (&world.place, world.place.key()?);
    let (_, acme) = make_key(place, &json!({"tenant": "acme", "scopes": ["admin"]}))?;
    let (_, user) = make_key(place, &json!({"tenant": "acme", "scopes": ["read", "write", "approve"]}))?;
    let (victim, secret) = make_key(place, &json!({"tenant": "victim", "scopes": ["read"]}))?;
    let attempts = [
        ("GET", "/v1/keys?tenant=victim".to_owned(), 403),
        ("GET", "/v1/keys?tenant=*".to_owned(), 403),
        ("GET", "/v1/tenants".to_owned(), 403),
        ("DELETE", format!("/v1/keys/{victim}"), 404),
        ("POST", format!("/v1/keys/{victim}/rotate"), 404),
    ];
    for (method, path, expected) in &attempts {
        let (status, answer) = ask(place, &acme, None, method, path, "")?;
        ensure!(status == *expected, "an admin of another tenant: {method} {path}: {status} {answer}");
        ensure!(!answer.to_string().contains("victim"), "the answer names the other tenant: {answer}");
        let (status, answer) = ask(place, &user, None, method, path, "")?;
        ensure!(status == 403, "a key without admin: {method} {path}: {status} {answer}");
    }
    let (status, answer) = ask(place, &user, None, "GET", "/v1/keys", "")?;
    ensure!(status == 403, "a key without admin lists keys: {status} {answer}");
    let (status, _) = ask(place, &secret, None, "GET", "/v1/sessions", "")?;
    ensure!(status == 200, "the victim's key still works: {status}");
    let (_, listed) = ask(place, &operator, None, "GET", "/v1/keys?tenant=victim", "")?;
    ensure!(listed["keys"][0]["keyId"] == victim.as_str(), "the operator sees it: {listed}");
    let (status, _) = ask(place, &operator, None, "DELETE", &format!("/v1/keys/{victim}"), "")?;
    ensure!(status == 204, "the operator revokes it: {status}");
    let (status, _) = ask(place, &secret, None, "GET", "/v1/sessions", "")?;
    ensure!(status == 401, "a revoked key works on: {status}");
    Ok(())
}

fn rotation(program: &Program) -> Result<()> {
    let (world, server) = begin(program, "attack-rotation")?;
    let (place, admin) = (&world.place, world.place.key()?);
    let (id, old) = make_key(place, &json!({"scopes": ["read"]}))?;
    let rotate = |overlap: u32| -> Result<String> {
        let body = json!({"overlapSeconds": overlap}).to_string();
        let (status, answer) = ask(place, &admin, None, "POST", &format!("/v1/keys/{id}/rotate"), &body)?;
        ensure!(status == 200, "rotating: {status} {answer}");
        text(&answer, "key")
    };
    let new = rotate(4)?;
    let works =
        |key: &str| -> Result<bool> { Ok(ask(place, key, None, "GET", "/v1/sessions", "")?.0 == 200) };
    let began = Instant::now();
    ensure!(works(&new)? && works(&old)?, "both secrets work in the overlap");
    server.kill()?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    ensure!(works(&new)?, "the new secret is lost by a kill");
    while began.elapsed() < Duration::from_millis(4200) {
        std::thread::sleep(Duration::from_millis(50));
    }
    ensure!(works(&new)? && !works(&old)?, "the old secret outlives its overlap");
    let newest = rotate(0)?;
    ensure!(works(&newest)? && !works(&new)?, "without overlap the old secret ends at once");
    Ok(())
}

fn recovery(program: &Program) -> Result<()> {
    let (world, server) = begin(program, "attack-recovery")?;
    let place = &world.place;
    let lost = place.key()?;
    let data = place.data.to_string_lossy().into_owned();
    let recover = |more: &[&str]| -> Result<i32> {
        let mut words = vec!["keys", "recover-admin", "--data-dir", &data];
        words.extend(more);
        let output = program.command(&words).output()?;
        ensure!(!String::from_utf8_lossy(&output.stdout).contains("rr_"), "it prints the key");
        output.status.code().context("it was killed")
    };
    ensure!(recover(&[])? == 75, "it runs beside a server that holds the directory");
    ensure!(place.key()? == lost, "a refused recovery changed admin.key");
    server.terminate()?;
    std::fs::remove_file(place.data.join("admin.key"))?;
    let (server, _) = Server::start(&world.program, place)?;
    ensure!(place.said().contains("keys recover-admin"), "the banner says nothing: {}", place.said());
    server.terminate()?;
    ensure!(recover(&["--revoke-others"])? == 0, "recovering failed");
    let (_server, _) = Server::start(&world.program, place)?;
    let (status, _) = ask(place, &place.key()?, None, "GET", "/v1/keys?tenant=*", "")?;
    ensure!(status == 200, "the recovered key is no admin: {status}");
    let (status, _) = ask(place, &lost, None, "GET", "/v1/keys", "")?;
    ensure!(status == 401, "the lost key works on: {status}");
    Ok(())
}

fn hangup(program: &Program) -> Result<()> {
    let (world, server) = begin(program, "attack-hangup")?;
    let place = &world.place;
    let config = std::path::PathBuf::from(world.program.words.last().context("the configuration")?);
    let original = std::fs::read_to_string(&config)?;
    world.submit("s", "t", "asker")?;
    let actions = world.wait_actions("s", 1)?;
    let (_, credential) = mint(place, &place.key()?, json!({}))?;
    let mut stream = open_stream(place, &credential)?;
    let knows = |agent: &str| -> Result<bool> { Ok(world.get("/v1/agents")?.to_string().contains(agent)) };
    let soon = |what: &str, look: &dyn Fn() -> Result<bool>| -> Result<()> {
        let began = Instant::now();
        while !look()? {
            ensure!(began.elapsed() < PATIENCE, "{what} did not happen:\n{}", place.said());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    };
    std::fs::write(&config, format!("{original}\n[agents.fresh]\nmodel = \"scripted/text\"\n"))?;
    server.hang_up()?;
    soon("the reload", &|| knows("fresh"))?;
    std::fs::write(&config, "[agents.fresh]\nmodel = \n")?;
    server.hang_up()?;
    soon("the complaint", &|| Ok(place.said().contains("configuration not reloaded")))?;
    ensure!(knows("fresh")? && knows("asker")?, "a broken file changed what runs");
    // What ran goes on: the stream is open, the turn that waited is decided and ends.
    let told = world.decide("s", &actions[0], "approve")?;
    ensure!(told.status == 200, "deciding after a reload: {told:?}");
    world.finish("s", &["t"])?;
    let (mut buffer, began) = (Vec::new(), Instant::now());
    while !holds(&buffer, b"turn.completed") {
        ensure!(
            stream.read_part(&mut buffer)? == Part::Data && began.elapsed() < PATIENCE,
            "the stream ended"
        );
    }
    world.place.create_session("s2")?;
    world.submit("s2", "t2", "fresh")?;
    world.finish("s2", &["t2"])?;
    Ok(())
}
