//! What one caller, or one model, may take of the server.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::Case;
use super::approvals::Socket;
use crate::crash::fairness::flood::{QUICK, config, scenario};
use crate::crash::fairness::idle;
use crate::crash::http::Connection;
use crate::crash::runner::world::{World, kind};
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[
    Case { name: "bounds/an-answer-runs-no-more-calls-than-its-agent-allows", run: call_cap },
    Case { name: "bounds/calls-beyond-the-room-of-a-session-wait-without-events", run: waiting_calls },
    Case { name: "bounds/held-uploads-cost-no-memory", run: held_uploads },
    Case { name: "bounds/uploads-in-flight-are-bounded", run: upload_budget },
    Case { name: "bounds/incomplete-bodies-are-bounded", run: body_budget },
    Case { name: "bounds/incomplete-messages-of-sockets-are-bounded", run: message_budget },
    Case { name: "bounds/a-burst-of-sessions-and-blobs-is-bounded-by-default", run: default_burst },
    Case { name: "bounds/idle-sessions-leave-memory", run: idle_sessions },
];

const PATIENCE: Duration = Duration::from_secs(30);
const MIB: usize = 1024 * 1024;

fn flooded(program: &Program, name: &str, calls: usize, limit: usize) -> Result<(Vec<Value>, World)> {
    let (config, scenario) = (config(limit), scenario(calls));
    let world =
        World::with(program, name, &config, &[("flood.json", scenario.as_str()), ("quick.toml", QUICK)])?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    world.submit("s", "t", "flood")?;
    let events = world.finish("s", &["t"])?;
    server.kill()?;
    Ok((events, world))
}

fn count(events: &[Value], wanted: &str) -> usize {
    events.iter().filter(|event| kind(event) == wanted).count()
}

/// 3,000 calls in one answer: the agent's limit of them run, one more is refused for all the others, and the log has
/// nothing of the rest.
fn call_cap(program: &Program) -> Result<()> {
    const LIMIT: usize = 32;
    let (events, world) = flooded(program, "attack-calls", 3_000, LIMIT)?;
    let effects = world.counter.all().len();
    ensure!(effects == LIMIT, "{effects} calls ran, {LIMIT} may");
    let started = count(&events, "tool.started");
    ensure!(started == LIMIT, "{started} calls were begun, {LIMIT} may");
    ensure!(events.len() < LIMIT * 10 + 40, "{} events for {LIMIT} calls", events.len());
    let refused: Vec<&Value> = events
        .iter()
        .filter(|event| kind(event) == "item.completed" && event["payload"]["item"]["isError"] == true)
        .collect();
    ensure!(refused.len() == 1, "{} results are errors, one stands for all", refused.len());
    let text = refused[0]["payload"]["item"]["content"].to_string();
    ensure!(text.contains("3000 tool calls") && text.contains("at most 32"), "the model reads: {text}");
    ensure!(count(&events, "turn.completed") == 1, "the turn did not go on");
    Ok(())
}

/// An agent that allows many calls: no more run at the same time than the session has room for, and a call that waits
/// has not begun.
fn waiting_calls(program: &Program) -> Result<()> {
    const CALLS: usize = 300;
    const ROOM: usize = 64;
    let (events, world) = flooded(program, "attack-room", CALLS, 1_000)?;
    let (mut open, mut most) = (0_usize, 0);
    for event in &events {
        match kind(event) {
            "tool.started" => open += 1,
            "tool.result" | "tool.failed" => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    let effects = world.counter.all().len();
    ensure!(effects == CALLS, "{effects} of {CALLS} calls ran");
    ensure!(most <= ROOM, "{most} calls were open at once, the session has room for {ROOM}");
    Ok(())
}

/// Begins an upload and holds it one byte before its end.
fn hold(world: &World, length: usize) -> Result<Connection> {
    let mut connection = Connection::open(world.place.address, &world.place.key()?, PATIENCE)?;
    let text = ("content-type", "application/octet-stream".to_owned());
    connection.begin_of_length("PUT", "/v1/blobs", &[text], length)?;
    let piece = vec![b'x'; MIB];
    let mut left = length - 1;
    while left > 0 {
        let now = left.min(piece.len());
        connection.send_raw(&piece[..now])?;
        left -= now;
    }
    Ok(connection)
}

fn held_uploads(program: &Program) -> Result<()> {
    const UPLOADS: usize = 24;
    const LENGTH: usize = 19 * MIB;
    const MOST_KIB: u64 = 100 * 1024;
    let world = World::with(program, "attack-uploads", "[limits]\nupload_bytes_in_flight = \"2GiB\"\n", &[])?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    let before = server.memory()?;
    let mut held = (0..UPLOADS).map(|_| hold(&world, LENGTH)).collect::<Result<Vec<Connection>>>()?;
    // What was sent is read by now, or soon.
    std::thread::sleep(Duration::from_millis(500));
    let grown = server.memory()?.saturating_sub(before);
    ensure!(grown < MOST_KIB, "{UPLOADS} held uploads take {grown} KiB of memory");
    let mut last = held.pop().expect("several are held");
    last.send_raw(b"x")?;
    let head = last.read_head()?;
    ensure!(head.status == 201, "an upload that is finished: {}", head.status);
    let names = std::fs::read_dir(world.place.data.join("uploads"))?.count();
    server.kill()?;
    let left = std::fs::read_dir(world.place.data.join("uploads"))?.count();
    ensure!(names == 0 && left == 0, "{left} files of uploads are left after a kill");
    Ok(())
}

fn upload_budget(program: &Program) -> Result<()> {
    // A tenant may use half of it.
    let world = World::with(program, "attack-budget", "[limits]\nupload_bytes_in_flight = \"8MiB\"\n", &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let held = (0..3).map(|_| hold(&world, MIB)).collect::<Result<Vec<Connection>>>()?;
    std::thread::sleep(Duration::from_millis(200));
    let upload = |length: usize| world.place.ask("PUT", "/v1/blobs", &[], &vec![b'y'; length]);
    let mut refused = hold(&world, 2 * MIB)?;
    let head = refused.read_head()?;
    ensure!(head.status == 429, "an upload over the tenant's share: {}", head.status);
    ensure!(head.header("retry-after").is_some(), "the refusal does not say when to try again");
    drop(held);
    let began = Instant::now();
    while upload(2 * MIB)?.0 != 201 {
        ensure!(began.elapsed() < PATIENCE, "the room of uploads that were given up does not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// JSON bodies are read whole: how many bytes of them wait for their end is bounded too.
fn body_budget(program: &Program) -> Result<()> {
    let world = World::with(program, "attack-bodies", "[limits]\nbody_bytes_in_flight = \"2MiB\"\n", &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let key = world.place.key()?;
    let hold = |length: usize| -> Result<Connection> {
        let mut connection = Connection::open(world.place.address, &key, PATIENCE)?;
        let json = ("content-type", "application/json".to_owned());
        connection.begin_of_length("POST", "/v1/sessions", &[json], length)?;
        connection.send_raw(&vec![b' '; length - 1])?;
        Ok(connection)
    };
    let held = hold(900 * 1024)?;
    std::thread::sleep(Duration::from_millis(200));
    let head = hold(900 * 1024)?.read_head()?;
    ensure!(head.status == 429, "a body over the tenant's share: {}", head.status);
    // Small bodies are taken whatever waits.
    world.place.create_session("small")?;
    drop(held);
    Ok(())
}

/// Messages of WebSockets are read whole too, and count as bodies do.
fn message_budget(program: &Program) -> Result<()> {
    let world = World::with(program, "attack-messages", "[limits]\nbody_bytes_in_flight = \"2MiB\"\n", &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let key = world.place.key()?;
    // The last path once more: it finds the room that the one before it gave back.
    for path in ["/v1/ws", "/v1/ws/blocks", "/v1/responses", "/v1/ws"] {
        // The room of the path before comes back once the server has seen its socket close.
        let began = Instant::now();
        let first = loop {
            let mut socket = Socket::open(world.place.address, &key, path)?;
            if socket.is_message_held(900 * 1024).unwrap_or(false) {
                break socket;
            }
            ensure!(began.elapsed() < PATIENCE, "{path}: the room of a message that was given up is lost");
        };
        let mut second = Socket::open(world.place.address, &key, path)?;
        let code = second.begin_message(900 * 1024).and_then(|()| second.close_code())?;
        ensure!(code == 1013, "{path}: a message over the tenant's share is closed with {code}");
        // Small messages are taken whatever waits.
        Socket::open(world.place.address, &key, path)?.say(&[json!({"type": "ping", "ts": 1})])?;
        drop(first);
    }
    Ok(())
}

/// What one key did within seconds before there were rates: 3,000 sessions, and 1.2 GB of blobs.
fn default_burst(program: &Program) -> Result<()> {
    const SESSIONS: u64 = 3_000;
    const BLOBS: u64 = 1_200;
    const BLOB: usize = MIB;
    let program = program.with_default_limits();
    let world = World::new(&program, "attack-burst")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let asked = json!({"tenant": "other", "scopes": ["read", "write"]});
    let (_, other) = world.post("/v1/keys", &asked)?;
    let other = other["key"].as_str().unwrap_or_default().to_owned();
    let json = [("content-type", "application/json".to_owned())];

    let mut connection = Connection::open(world.place.address, &world.place.key()?, PATIENCE)?;
    let mut burst = |most: u64, method: &str, path: &str, body: &dyn Fn(u64) -> Vec<u8>| -> Result<u64> {
        for number in 0..most {
            let head = connection.send(method, path, &json, &body(number))?;
            let answer: Value = serde_json::from_slice(&connection.read_body(&head)?)?;
            if head.status == 429 {
                ensure!(answer["code"] == "rate_limited" && answer["quota"].is_string(), "{answer}");
                ensure!(head.header("retry-after").is_some(), "the refusal does not say when to try again");
                return Ok(number);
            }
            ensure!(head.status == 201, "{method} {path}: {} {answer}", head.status);
        }
        Ok(most)
    };
    let began = Instant::now();
    let made = burst(SESSIONS, "POST", "/v1/sessions", &|_| b"{}".to_vec())?;
    let may = 1_000 + began.elapsed().as_secs() * 100 + 100;
    ensure!((900..=may).contains(&made), "{made} sessions were made at once, {may} may be");
    let began = Instant::now();
    let blob = |number: u64| {
        let mut bytes = vec![b'x'; BLOB];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    let stored = burst(BLOBS, "PUT", "/v1/blobs", &blob)?;
    let may = 320 + 20 + (began.elapsed().as_secs() + 1) * 32;
    ensure!((300..=may).contains(&stored), "{stored} MiB of blobs were stored at once, {may} may be");
    // Another tenant does not notice.
    let mut connection = Connection::open(world.place.address, &other, PATIENCE)?;
    let head = connection.send("POST", "/v1/sessions", &json, b"{}")?;
    ensure!(head.status == 201, "a session of another tenant: {}", head.status);
    Ok(())
}

fn idle_sessions(program: &Program) -> Result<()> {
    const SESSIONS: usize = 3_000;
    // So many may stay for a while, whoever comes back to them.
    const FEW: u64 = 1_000;
    let world = World::new(program, "attack-idle")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    idle::make(&world, "s", SESSIONS)?;
    let began = Instant::now();
    loop {
        let resident = idle::resident(&world)?;
        if resident <= FEW && began.elapsed() > Duration::from_secs(2) {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("{resident} of {SESSIONS} idle sessions are still in memory");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
