//! What a tenant may store and run, what retention deletes, and what a restore changes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Case;
use crate::crash::http::Connection;
use crate::crash::runner::world::{STUCK, World, kind, terminals};
use crate::crash::{Place, Program, Server};

pub const CASES: &[Case] = &[
    Case { name: "storage/quota-of-sessions-holds-on-every-way-in", run: quota_of_sessions },
    Case { name: "storage/quota-of-bytes-holds-on-every-way-in", run: quota_of_bytes },
    Case { name: "storage/quota-of-bytes-ends-a-turn-and-keeps-its-text", run: quota_ends_a_turn },
    Case { name: "storage/quota-of-running-turns-holds", run: quota_of_turns },
    Case { name: "storage/quota-of-streams-and-events-holds", run: quota_of_rates },
    Case { name: "storage/retention-spares-open-turns", run: retention_spares_open_turns },
    Case { name: "storage/retention-does-not-believe-a-jumping-clock", run: retention_and_the_clock },
    Case { name: "storage/a-session-cut-in-the-middle-of-a-turn-is-repaired", run: repair },
    Case { name: "storage/a-small-disk-frees-space-and-starts-again", run: small_disk },
    Case { name: "storage/ids-stay-after-a-restore", run: ids_after_restore },
];

const JSON: (&str, &str) = ("content-type", "application/json");

fn post(world: &World, path: &str, body: &Value) -> Result<(u16, String)> {
    let headers = [(JSON.0, JSON.1.to_owned())];
    let (status, answer) = world.place.ask("POST", path, &headers, body.to_string().as_bytes())?;
    Ok((status, String::from_utf8_lossy(&answer).into_owned()))
}

fn import(world: &World, session: &str, text: &str) -> Result<(u16, String)> {
    let event = json!({"type": "x.note", "sessionId": session, "payload": {"text": text}});
    let headers = [("content-type", "application/x-ndjson".to_owned())];
    let (status, answer) = world.place.ask("POST", "/v1/import", &headers, event.to_string().as_bytes())?;
    Ok((status, String::from_utf8_lossy(&answer).into_owned()))
}

fn append(world: &World, session: &str, text: &str) -> Result<(u16, String)> {
    let event = json!({"type": "x.note", "payload": {"text": text}});
    post(world, &format!("/v1/sessions/{session}/events"), &event)
}

fn used(world: &World, figure: &str) -> Result<u64> {
    world.get("/v1/usage")?[figure]["used"].as_u64().context("a figure is a number")
}

/// Every way to ask for an answer without naming a session, each of which makes one.
fn implicit() -> Vec<(&'static str, Value)> {
    let messages = json!([{"role": "user", "content": "go"}]);
    vec![
        ("/v1/responses", json!({"model": "writer", "input": "go"})),
        ("/v1/chat/completions", json!({"model": "writer", "messages": messages, "store": true})),
        ("/v1/messages", json!({"model": "writer", "max_tokens": 9, "messages": messages})),
        ("/v1beta/models/writer:generateContent", json!({"contents": [{"parts": [{"text": "go"}]}]})),
        ("/v1/conversations", json!({})),
        ("/threads", json!({})),
        ("/runs/wait", json!({"assistant_id": "writer", "input": {"messages": messages}})),
    ]
}

fn quota_of_sessions(program: &Program) -> Result<()> {
    let world = World::with(program, "attack-quota", "[limits]\nsessions_per_tenant = 3", &[])?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    for name in ["a", "b", "c"] {
        world.place.create_session(name)?;
    }
    append(&world, "a", "hello")?;
    let (status, answer) = world.post("/v1/sessions", &json!({"sessionId": "d"}))?;
    ensure!(status == 429 && answer["code"] == "quota_exceeded", "making a fourth: {status} {answer}");
    ensure!(
        (&answer["quota"], &answer["limit"], &answer["used"]) == (&json!("sessions"), &json!(3), &json!(3)),
        "the answer names the quota: {answer}"
    );
    let (status, answer) = import(&world, "e", "x")?;
    ensure!(status == 429 && answer.contains("quota_exceeded"), "importing: {status} {answer}");
    let (status, answer) = post(&world, "/v1/sessions/a/fork", &json!({"at": 1}))?;
    ensure!(status == 429 && answer.contains("quota_exceeded"), "forking: {status} {answer}");
    for (path, body) in implicit() {
        let (status, answer) = post(&world, path, &body)?;
        ensure!(status == 429 && answer.contains("quota"), "POST {path}: {status} {answer}");
    }
    ensure!(used(&world, "sessions")? == 3, "{} sessions", used(&world, "sessions")?);
    server.kill()?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    ensure!(used(&world, "sessions")? == 3, "after a kill the count is another");
    let (status, _) = world.place.ask("DELETE", "/v1/sessions/b", &[], b"")?;
    ensure!(status == 204, "deleting: {status}");
    world.place.create_session("d")
}

fn quota_of_bytes(program: &Program) -> Result<()> {
    let world = World::with(program, "attack-bytes", "[tenants.default]\nstored_bytes = \"64KiB\"", &[])?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    let large = "x".repeat(20_000);
    for name in ["a", "b"] {
        world.place.create_session(name)?;
        let (status, answer) = append(&world, name, &large)?;
        ensure!(status == 201, "the first event: {status} {answer}");
    }
    let (status, _) = world.place.ask("PUT", "/v1/blobs", &[], &[7; 15_000])?;
    ensure!(status == 201, "the first blob: {status}");
    let before = used(&world, "storedBytes")?;
    let blob = world.place.ask("PUT", "/v1/blobs", &[], &[8; 15_000])?;
    let ways = [
        ("a blob", blob.0, String::from_utf8_lossy(&blob.1).into_owned()),
        with("an event", append(&world, "a", &large)?),
        with("an import", import(&world, "i", &large)?),
        with("a fork", post(&world, "/v1/sessions/a/fork", &json!({"at": 1}))?),
        with(
            "a turn",
            post(&world, "/v1/sessions/a/turns", &json!({"agent": "writer", "input": large.as_str()}))?,
        ),
        with(
            "a response",
            post(&world, "/v1/responses", &json!({"model": "writer", "input": large.as_str()}))?,
        ),
    ];
    for (way, status, answer) in ways {
        ensure!(status == 429 && answer.contains("quota"), "{way} beyond the quota: {status} {answer}");
    }
    let after = used(&world, "storedBytes")?;
    ensure!(after < 64 << 10 && after >= before, "{before} bytes before, {after} after what was refused");
    // Packing, and a kill: the figure stays what is stored.
    std::thread::sleep(Duration::from_millis(2_500));
    let rested = used(&world, "storedBytes")?;
    server.kill()?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let restarted = used(&world, "storedBytes")?;
    ensure!(rested == restarted, "{rested} bytes before a kill, {restarted} after it");
    let (status, _) = world.place.ask("DELETE", "/v1/sessions/b", &[], b"")?;
    ensure!(status == 204, "deleting: {status}");
    let (status, answer) = append(&world, "a", &large)?;
    ensure!(status == 201, "after a delete there is room: {status} {answer}");
    Ok(())
}

fn with(way: &'static str, (status, answer): (u16, String)) -> (&'static str, u16, String) {
    (way, status, answer)
}

fn quota_ends_a_turn(program: &Program) -> Result<()> {
    let more = "[tenants.default]\nstored_bytes = \"24KiB\"\n\
                [agents.wordy]\nmodel = \"scripted/long?deltas=2000&pace_ms=1\"\n";
    let world = World::with(program, "attack-turn", more, &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    world.submit("s", "t", "wordy")?;
    let events = world.finish("s", &["t"])?;
    let end = events.iter().find(|event| kind(event) == "turn.failed").context("the turn fails")?;
    ensure!(end["payload"]["error"]["code"] == "quota_exceeded", "it says why: {end}");
    let shown = events.iter().filter(|event| kind(event) == "model.delta").count();
    ensure!(shown > 0, "what was shown stays");
    let (status, _) = world.place.ask("DELETE", "/v1/sessions/s", &[], b"")?;
    ensure!(status == 204 && used(&world, "storedBytes")? == 0, "deleting gives all of it back");
    world.place.create_session("s2")?;
    world.submit("s2", "t", "writer")?;
    let events = world.finish("s2", &["t"])?;
    ensure!(events.iter().any(|event| kind(event) == "turn.completed"), "there is room again");
    Ok(())
}

fn quota_of_turns(program: &Program) -> Result<()> {
    let world = World::with(program, "attack-turns", "[limits]\nrunning_turns_per_tenant = 1", &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("a")?;
    world.place.create_session("b")?;
    world.submit("a", "t", "slow")?;
    let turn = json!({"turnId": "u", "agent": "writer", "input": "go"});
    let (status, answer) = world.post("/v1/sessions/b/turns", &turn)?;
    ensure!(status == 429 && answer["quota"] == "running_turns", "a second turn: {status} {answer}");
    ensure!(answer["retryable"] == true, "waiting helps: {answer}");
    for (path, body) in
        implicit().into_iter().filter(|(path, _)| !["/threads", "/v1/conversations"].contains(path))
    {
        let (status, answer) = post(&world, path, &body)?;
        ensure!(status == 429 && answer.contains("running_turns"), "POST {path}: {status} {answer}");
    }
    ensure!(used(&world, "runningTurns")? == 1, "one turn is at work");
    let (status, answer) = world.post("/v1/sessions/a/turns/t/cancel", &json!({}))?;
    ensure!(status < 300, "cancelling: {status} {answer}");
    let began = Instant::now();
    while world.post("/v1/sessions/b/turns", &turn)?.0 != 202 {
        ensure!(began.elapsed() < STUCK, "the place was never given back");
        std::thread::sleep(Duration::from_millis(20));
    }
    world.finish("b", &["u"]).map(drop)
}

fn quota_of_rates(program: &Program) -> Result<()> {
    let more = "[tenants.default]\nstreams = 1\nevents_per_second = 5";
    let world = World::with(program, "attack-rates", more, &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    let mut open = Connection::open(world.place.address, &world.place.key()?, STUCK)?;
    let stream = [("accept", "text/event-stream".to_owned())];
    ensure!(open.send("GET", "/v1/sessions/s/events", &stream, b"")?.status == 200, "the first stream");
    let (status, answer) = world.place.ask("GET", "/v1/sessions/s/events", &stream, b"")?;
    let answer: Value = serde_json::from_slice(&answer)?;
    ensure!(
        status == 429 && answer["code"] == "too_many_streams" && answer["used"] == 1,
        "a second stream: {status} {answer}"
    );
    let lines: Vec<String> =
        (0..30).map(|n| json!({"type": "x.a", "sessionId": "i", "payload": n}).to_string()).collect();
    let ndjson = [("content-type", "application/x-ndjson".to_owned())];
    let (status, answer) = world.place.ask("POST", "/v1/import", &ndjson, lines.join("\n").as_bytes())?;
    ensure!(status == 201, "an import passes whole: {status} {}", String::from_utf8_lossy(&answer));
    for (way, (status, answer)) in [
        ("an event", append(&world, "s", "x")?),
        ("an import", import(&world, "j", "x")?),
        ("a fork", post(&world, "/v1/sessions/i/fork", &json!({"at": 1}))?),
    ] {
        ensure!(status == 429 && answer.contains("rate_limited"), "{way} waits for it: {status} {answer}");
    }
    Ok(())
}

fn retention_spares_open_turns(program: &Program) -> Result<()> {
    let world = World::with(program, "attack-retention", "[log]\nretention = \"2s\"", &[])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    for name in ["open", "done"] {
        world.place.create_session(name)?;
    }
    world.submit("open", "t", "asker")?;
    world.wait_actions("open", 1)?;
    world.submit("done", "t", "writer")?;
    let began = Instant::now();
    let mut planned = Value::Null;
    while terminals(&world.events("done").unwrap_or_default(), "t") == 0 {
        ensure!(began.elapsed() < STUCK, "the turn did not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut left = usize::MAX;
    while left > 0 {
        ensure!(began.elapsed() < STUCK, "nothing was deleted; the plan was {planned}");
        let plan = world.get("/v1/retention")?;
        if !named_for_deletion(&plan).is_empty() {
            planned = plan;
        }
        left = world
            .get("/v1/sessions/done/events?limit=100")
            .map_or(0, |page| page["events"].as_array().map_or(0, Vec::len));
        std::thread::sleep(Duration::from_millis(100));
    }
    ensure!(named_for_deletion(&planned) == ["done"], "the plan names what goes: {planned}");
    // Longer than the retention: the open turn is old by now, too.
    std::thread::sleep(Duration::from_secs(3));
    let events = world.events("open")?;
    let is_whole = events.first().is_some_and(|event| event["sequence"] == 1);
    ensure!(is_whole, "the events of the open turn are there from the first on");
    let events = world.finish("open", &["t"])?;
    ensure!(events.iter().any(|event| kind(event) == "turn.completed"), "the open turn goes on");
    Ok(())
}

/// The sessions in a plan of retention, without the server's own record of its jobs, which ages like the others.
fn named_for_deletion(plan: &Value) -> Vec<&str> {
    let sessions = plan["sessions"].as_array().map_or(&[][..], Vec::as_slice);
    let names = sessions.iter().filter_map(|session| session["sessionId"].as_str());
    names.filter(|name| *name != "riverrun-jobs").collect()
}

const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) {
        FILE *file = fopen("OFFSET_FILE", "r");
        long seconds = 0;
        if (file) { if (fscanf(file, "%ld", &seconds) == 1) now->tv_sec += seconds; fclose(file); }
    }
    return (int)result;
}
"#;

/// A program whose wall clock is as far ahead as a file says. None where there is no compiler.
fn with_clock(program: &Program, folder: &Path) -> Result<Option<Program>> {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    // The server hides its environment from itself, so the path is part of the library.
    fs::write(&source, CLOCK.replace("OFFSET_FILE", &folder.join("offset").to_string_lossy()))?;
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("    clock jump: SKIPPED, there is no C compiler");
        return Ok(None);
    }
    let mut program = program.clone();
    program.under = vec!["env".to_owned(), format!("LD_PRELOAD={}", library.display())];
    Ok(Some(program))
}

fn retention_and_the_clock(program: &Program) -> Result<()> {
    const AHEAD: u64 = 40 * 24 * 60 * 60;
    let world = World::with(program, "attack-clock", "[log]\nretention = \"30d\"", &[])?;
    let folder = tempfile::tempdir()?;
    let Some(jumpy) = with_clock(&world.program, folder.path())? else { return Ok(()) };
    let (server, _) = Server::start(&jumpy, &world.place)?;
    world.place.create_session("s")?;
    world.submit("s", "t", "writer")?;
    world.finish("s", &["t"])?;
    fs::write(folder.path().join("offset"), AHEAD.to_string())?;
    // An append has the session looked after once it rests.
    append(&world, "s", "after the jump")?;
    std::thread::sleep(Duration::from_secs(4));
    let plan = world.get("/v1/retention")?;
    let ahead = plan["clockAheadSeconds"].as_u64().unwrap_or(0);
    ensure!(ahead.abs_diff(AHEAD) < 120, "the plan reports the jump: {plan}");
    ensure!(world.events("s")?[0]["sequence"] == 1, "a jump of the clock deleted events");
    server.kill()?;
    let (_server, _) = Server::start(&jumpy, &world.place)?;
    std::thread::sleep(Duration::from_secs(2));
    ensure!(world.events("s")?[0]["sequence"] == 1, "a start after a jump of the clock deleted events");
    Ok(())
}

/// Does to a store what retention of an older version did to a session with an open turn.
const CUT: &str = "
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
number, = store.execute('SELECT number FROM sessions WHERE session = ?', [sys.argv[2]]).fetchone()
last, packed = store.execute('SELECT last, packed_last FROM heads WHERE session = ?', [number]).fetchone()
assert last == packed, (last, packed)
store.execute('UPDATE heads SET first_available = packed_last + 1, base_link = packed_link, packed_bytes = 0 WHERE session = ?', [number])
store.execute('DELETE FROM segments WHERE session = ?', [number])
if len(sys.argv) > 3: store.execute('DELETE FROM snapshots WHERE session = ?', [number])
store.commit()
store.execute('PRAGMA wal_checkpoint(TRUNCATE)')
store.close()
";

fn repair(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-repair")?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    for session in CUT_SESSIONS {
        world.place.create_session(session)?;
        world.submit(session, "t", "asker")?;
        world.wait_actions(session, 1)?;
        world.submit(session, "queued", "writer")?;
    }
    // A session that rests is packed to its end.
    std::thread::sleep(Duration::from_secs(4));
    server.terminate()?;
    let store = world.place.data.join("log.db");
    for session in CUT_SESSIONS {
        // An older version deleted events without taking a snapshot first.
        let without_snapshot = (session == "forgotten").then_some("without_snapshot");
        let cut = Command::new("python3")
            .args(["-c", CUT])
            .arg(&store)
            .arg(session)
            .args(without_snapshot)
            .output();
        let Ok(cut) = cut else {
            println!("    repair: SKIPPED, there is no python3");
            return Ok(());
        };
        ensure!(cut.status.success(), "cutting the store: {}", String::from_utf8_lossy(&cut.stderr));
    }
    let (_server, _) = Server::start(&world.program, &world.place)?;
    CUT_SESSIONS.iter().try_for_each(|session| repaired(&world, session).context(*session))
}

/// Several, because a start repairs all of them.
const CUT_SESSIONS: [&str; 3] = ["s", "second", "forgotten"];

fn repaired(world: &World, session: &str) -> Result<()> {
    let events = world.finish(session, &["t", "queued"])?;
    let failed: Vec<&Value> = events.iter().filter(|event| kind(event) == "turn.failed").collect();
    ensure!(
        failed.len() == 2 && failed.iter().all(|event| event["payload"]["error"]["code"] == "events_retired"),
        "both turns end with the reason: {failed:?}"
    );
    ensure!(world.actions(session)?.is_empty(), "nobody is asked about a turn that ended");
    world.submit(session, "next", "writer")?;
    let events = world.finish(session, &["next"])?;
    ensure!(events.iter().any(|event| kind(event) == "turn.completed"), "the session works again");
    Ok(())
}

struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

fn small_disk(program: &Program) -> Result<()> {
    let mut world = World::new(program, "attack-disk")?;
    let folder = tempfile::tempdir()?;
    let disk = folder.path().join("disk");
    fs::create_dir(&disk)?;
    // Smaller than what a large disk has kept back.
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=40m", "tmpfs"]).arg(&disk).output()?;
    if !mounted.status.success() {
        println!("    small disk: SKIPPED, mounting is not permitted here");
        return Ok(());
    }
    let _mounted = Mounted(&disk);
    world.place.data = disk.join("data");
    let (server, _) = Server::start(&world.program, &world.place)?;
    for name in ["keep", "large"] {
        world.place.create_session(name)?;
    }
    ensure!(append(&world, "keep", "kept")?.0 == 201, "the first event");
    let stored = fill(&world)?;
    // Somebody else takes what is left, as far as the disk gives it.
    let ballast = disk.join("ballast");
    let _ = fs::write(&ballast, vec![1; 40 << 20]);
    server.kill()?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    ensure!(world.place.export("large")?.len() == stored, "everything that was acknowledged is there");
    // What the first start gave back is taken too.
    let again = disk.join("again");
    let _ = fs::write(&again, vec![1; 40 << 20]);
    server.kill()?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    let (status, answer) = world.place.ask("DELETE", "/v1/sessions/large", &[], b"")?;
    ensure!(status == 204, "deleting on a full disk: {status} {}", String::from_utf8_lossy(&answer));
    let began = Instant::now();
    while append(&world, "keep", "after the delete")?.0 != 201 {
        ensure!(began.elapsed() < STUCK, "no append was taken after space was freed");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The same once more, with the disk at its last byte again.
    let more = disk.join("more");
    let _ = fs::write(&more, vec![1; 40 << 20]);
    server.kill()?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    ensure!(world.place.export("keep")?.len() == 2, "what was stored before the second kill is there");
    [more, again, ballast].iter().try_for_each(fs::remove_file)?;
    server.kill()?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    ensure!(world.place.export("keep")?.len() == 2, "what was stored afterwards stays");
    Ok(())
}

/// Appends until the disk is full; how many were acknowledged.
fn fill(world: &World) -> Result<usize> {
    for count in 0..2_000_usize {
        let mut random = crate::crash::random::Random::new(count as u64);
        let text: String = (0..12_500).map(|_| format!("{:016x}", random.next())).collect();
        match append(world, "large", &text)? {
            (201, _) => {}
            (507, _) => return Ok(count),
            (status, answer) => bail!("filling the disk: {status} {answer}"),
        }
    }
    bail!("the disk was never full")
}

fn ids_after_restore(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-restore")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    for text in ["one", "two", "three"] {
        append(&world, "s", text)?;
    }
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy.db");
    let data = world.place.data.to_string_lossy().into_owned();
    let url = format!("http://{}", world.place.address);
    let made = world
        .program
        .command(&["backup", &copy.to_string_lossy(), "--data-dir", &data, "--url", &url])
        .output()?;
    ensure!(made.status.success(), "the backup: {}", String::from_utf8_lossy(&made.stderr));
    let restored = Place::new(folder.path())?;
    fs::create_dir(&restored.data)?;
    fs::copy(&copy, restored.data.join("log.db"))?;
    fs::copy(world.place.data.join("admin.key"), restored.data.join("admin.key"))?;
    let (_restored, _) = Server::start(&world.program, &restored)?;
    let event = json!({"type": "x.note", "payload": {"text": "four"}}).to_string();
    for place in [&world.place, &restored] {
        let (status, _) =
            place.ask("POST", "/v1/sessions/s/events", &[(JSON.0, JSON.1.to_owned())], event.as_bytes())?;
        ensure!(status == 201, "another event: {status}");
    }
    let (original, copied) = (ids(&world.place)?, ids(&restored)?);
    ensure!(original.len() == 4 && copied.len() == 4, "{original:?} {copied:?}");
    ensure!(original[..3] == copied[..3], "two copies of one event share its id: {original:?} {copied:?}");
    ensure!(original[3] != copied[3], "two events have two ids: {original:?} {copied:?}");
    Ok(())
}

fn ids(place: &Place) -> Result<Vec<String>> {
    let lines = place.export("s")?;
    let id = |line: &String| {
        Ok(serde_json::from_str::<Value>(line)?["eventId"].as_str().unwrap_or_default().to_owned())
    };
    lines.iter().map(id).collect()
}
