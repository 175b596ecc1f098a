//! Streams that end: no stream ends as if it were complete when it is not, and none is empty when there is something
//! to show. Everything here reads the raw socket, because clients differ in what they make of it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Case;
use crate::crash::runner::world::{STUCK, World};
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[
    Case { name: "streams/no-stream-announces-a-close", run: no_close_header },
    Case { name: "streams/a-connection-serves-requests-after-a-stream", run: kept_alive },
    Case { name: "streams/a-pipelined-request-never-hangs", run: pipelined },
    Case { name: "streams/a-drained-stream-has-no-last-chunk", run: drained },
    Case { name: "streams/a-killed-stream-has-no-last-chunk", run: killed },
    Case { name: "streams/every-dialect-replays-without-a-turn", run: without_turn },
    Case { name: "streams/a-cursor-delivers-exactly-the-rest", run: resumed },
    Case { name: "streams/a-reader-without-a-turn-gets-the-next-one", run: next_turn },
];

/// Dialects that follow the session, and those that show one turn.
const OF_SESSION: [&str; 5] = ["native", "native-strict", "native-lime", "task", "blocks"];
const OF_TURN: [&str; 10] = [
    "responses",
    "chat",
    "anthropic",
    "gemini",
    "ag-ui",
    "ai-sdk",
    "agents-sdk",
    "simple-run",
    "langgraph",
    "a2a",
];
const SSE: &str = "text/event-stream";
const NDJSON: &str = "application/x-ndjson";

fn dialects() -> impl Iterator<Item = &'static str> {
    OF_SESSION.into_iter().chain(OF_TURN)
}

/// A turn that somebody else runs, event by event; without the last one it is open.
fn turn_events(turn: &str, words: &[&str]) -> Vec<Value> {
    let task = format!("task_{turn}");
    let event = |kind: &str, payload: Value| json!({"type": kind, "threadId": "main", "turnId": turn, "taskId": task, "payload": payload});
    let mut all = vec![
        json!({"type": "turn.submitted", "threadId": "main", "turnId": turn, "payload": {"input": "go"}}),
        json!({"type": "turn.started", "threadId": "main", "turnId": turn, "payload": {}}),
        event("task.created", json!({"title": "x", "kind": "turn"})),
        event(
            "item.started",
            json!({"item": {"type": "message", "id": format!("m_{turn}"), "role": "assistant",
            "blockList": [{"type": "text", "text": ""}], "status": "in_progress"}, "outputIndex": 0}),
        ),
    ];
    for word in words {
        all.push(event(
            "model.delta",
            json!({"delta": word, "itemId": format!("m_{turn}"), "outputIndex": 0, "blockIndex": 0}),
        ));
    }
    all.push(event(
        "item.completed",
        json!({"item": {"type": "message", "id": format!("m_{turn}"), "status": "completed"}, "outputIndex": 0}),
    ));
    all.push(event("task.completed", json!({"status": "completed"})));
    all.push(json!({"type": "turn.completed", "threadId": "main", "turnId": turn, "payload": {}}));
    all
}

fn append(world: &World, session: &str, events: &[Value]) -> Result<()> {
    let (status, answer) =
        world.post(&format!("/v1/sessions/{session}/events"), &Value::Array(events.to_vec()))?;
    ensure!(status == 201, "appending to `{session}`: {status} {answer}");
    Ok(())
}

/// A session with these turns, each with its own words; the last one is open if `open`.
fn prepared(world: &World, session: &str, turns: &[(&str, &str)], open: bool) -> Result<()> {
    world.place.create_session(session)?;
    for (at, (turn, word)) in turns.iter().enumerate() {
        let mut events = turn_events(turn, &[word, " and ", "more"]);
        if open && at + 1 == turns.len() {
            events.truncate(6);
        }
        append(world, session, &events)?;
    }
    Ok(())
}

/// One answer on a raw socket.
struct Raw {
    stream: TcpStream,
    seen: Vec<u8>,
}

impl Raw {
    fn send(world: &World, requests: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(world.place.address)?;
        stream.set_read_timeout(Some(STUCK))?;
        stream.write_all(requests.as_bytes())?;
        Ok(Self { stream, seen: Vec::new() })
    }

    fn read_more(&mut self) -> std::io::Result<usize> {
        let mut space = [0; 4096];
        let count = self.stream.read(&mut space)?;
        self.seen.extend_from_slice(&space[..count]);
        Ok(count)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Reads until this text is there; an error if the connection ends before.
    fn until(&mut self, text: &str) -> Result<String> {
        while !self.text().contains(text) {
            let count = self.read_more().with_context(|| format!("no {text:?} in {:?}", self.text()))?;
            ensure!(count > 0, "closed before {text:?}: {:?}", self.text());
        }
        Ok(self.text())
    }

    /// Reads until the peer closes; true if it reset the connection.
    fn reads_to_close(&mut self) -> Result<bool> {
        loop {
            match self.read_more() {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(true),
                Err(error) => bail!("neither data nor an end ({error}): {:?}", self.text()),
            }
        }
    }
}

fn get(world: &World, path: &str, accept: &str, more: &str) -> Result<String> {
    let (address, key) = (world.place.address, world.place.key()?);
    Ok(format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\naccept: {accept}\r\n{more}\r\n"
    ))
}

fn post(world: &World, path: &str, body: &Value, more: &str) -> Result<String> {
    let (address, key, body) = (world.place.address, world.place.key()?, body.to_string());
    Ok(format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         {more}content-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// Every way to get a stream from this server, as raw requests.
fn all_streams(world: &World, session: &str) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for dialect in dialects() {
        let path = format!("/v1/sessions/{session}/events?follow=false&dialect={dialect}");
        for accept in [SSE, NDJSON] {
            // A client that announces its own close gets none announced either.
            for more in ["", "connection: close\r\n"] {
                all.push((format!("{dialect} as {accept}"), get(world, &path, accept, more)?));
            }
        }
    }
    let words = json!([{"role": "user", "content": "go"}]);
    let model = "agent/writer";
    let ai_sdk = json!([{"id": "m", "role": "user", "parts": [{"type": "text", "text": "go"}]}]);
    let ag_ui = json!({"threadId": format!("{session}-agui"), "runId": "r", "forwardedProps": {"agent": "writer"},
        "messages": [{"id": "m", "role": "user", "content": "go"}]});
    let parts = json!([{"role": "user", "parts": [{"text": "go"}]}]);
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}], "metadata": {"agent": "writer"}});
    let a2a =
        json!({"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": {"message": message}});
    for (path, body) in [
        (format!("/v1/sessions/{session}/turns").as_str(), json!({"agent": "writer", "input": "go"})),
        ("/v1/responses", json!({"model": model, "input": "go", "stream": true})),
        ("/v1/chat/completions", json!({"model": model, "messages": words, "stream": true})),
        ("/v1/messages", json!({"model": model, "messages": words, "stream": true, "max_tokens": 99})),
        ("/v1/models/agent%2Fwriter:streamGenerateContent?alt=sse", json!({"contents": parts})),
        ("/ag-ui", ag_ui),
        ("/api/chat", json!({"id": format!("{session}-ai"), "messages": ai_sdk, "agent": "writer"})),
        ("/runs/stream", json!({"assistant_id": "writer", "input": {"messages": words}})),
        ("/a2a", a2a),
    ] {
        for more in ["", "connection: close\r\n"] {
            let more = format!("accept: {SSE}\r\na2a-version: 1.0\r\n{more}");
            all.push((path.to_owned(), post(world, path, &body, &more)?));
        }
    }
    let path = format!("/v1/sessions/{session}/export");
    all.push(("export".to_owned(), get(world, &path, NDJSON, "connection: close\r\n")?));
    Ok(all)
}

fn no_close_header(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    prepared(&world, "s", &[("one", "alpha"), ("two", "beta")], false)?;
    for (what, request) in all_streams(&world, "s")? {
        let mut raw = Raw::send(&world, &request)?;
        let head = raw.until("\r\n\r\n")?.to_ascii_lowercase();
        let head = head.split("\r\n\r\n").next().unwrap_or_default();
        ensure!(head.starts_with("http/1.1 200"), "{what}: {head}");
        ensure!(head.contains("\r\ntransfer-encoding: chunked"), "{what} is not chunked: {head}");
        ensure!(!head.contains("\r\nconnection:"), "{what} announces a close: {head}");
        raw.until("\r\n0\r\n\r\n").with_context(|| what.clone())?;
    }
    Ok(())
}

fn kept_alive(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    prepared(&world, "s", &[("one", "alpha")], false)?;
    let path = "/v1/sessions/s/events?follow=false&dialect=chat";
    let mut raw = Raw::send(&world, &get(&world, path, SSE, "")?)?;
    for _ in 0..3 {
        raw.until("\r\n0\r\n\r\n")?;
        raw.seen.clear();
        let body =
            json!({"model": "agent/writer", "stream": true, "messages": [{"role": "user", "content": "go"}]});
        raw.stream.write_all(post(&world, "/v1/chat/completions", &body, "")?.as_bytes())?;
        raw.until("[DONE]")?;
        raw.until("\r\n0\r\n\r\n")?;
        raw.seen.clear();
        raw.stream.write_all(get(&world, path, SSE, "")?.as_bytes())?;
    }
    // Without another request it is closed like any idle connection, and one that announced its close is closed at once.
    raw.until("\r\n0\r\n\r\n")?;
    raw.seen.clear();
    raw.stream.write_all(get(&world, path, SSE, "connection: close\r\n")?.as_bytes())?;
    ensure!(!raw.reads_to_close()?, "the last stream was reset");
    ensure!(raw.text().ends_with("\r\n0\r\n\r\n"), "the last stream was cut");
    Ok(())
}

fn pipelined(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    prepared(&world, "done", &[("one", "alpha")], false)?;
    prepared(&world, "open", &[("two", "beta")], true)?;
    let stream = |session: &str| get(&world, &format!("/v1/sessions/{session}/events?dialect=chat"), SSE, "");
    let health = get(&world, "/livez", "*/*", "")?;
    let is_whole = |raw: &mut Raw, what: &str| -> Result<()> {
        raw.until("\r\n0\r\n\r\n")?;
        // Then either the answer or the end: a client that waits for ever has no way to know.
        let _ = raw.reads_to_close().with_context(|| format!("{what}: no answer and no end"))?;
        Ok(())
    };
    // Both requests in one write, and the second while the stream runs.
    let mut together = Raw::send(&world, &(stream("done")? + &health))?;
    is_whole(&mut together, "together")?;
    let mut between = Raw::send(&world, &stream("open")?)?;
    between.until("beta")?;
    between.stream.write_all(health.as_bytes())?;
    std::thread::sleep(Duration::from_millis(50));
    append(&world, "open", &turn_events("two", &[" and ", "more"])[5..])?;
    is_whole(&mut between, "between")?;
    Ok(())
}

/// Opens a stream in every dialect and waits until it shows the open turn.
fn open_streams(world: &World) -> Result<Vec<(String, Raw)>> {
    prepared(world, "s", &[("one", "alpha"), ("two", "beta")], true)?;
    let mut all = Vec::new();
    for dialect in dialects() {
        let path = format!("/v1/sessions/s/events?dialect={dialect}");
        for accept in [SSE, NDJSON] {
            let mut raw = Raw::send(world, &get(world, &path, accept, "")?)?;
            let shown = if dialect == "a2a" { "two" } else { "beta" };
            raw.until(shown).with_context(|| format!("{dialect} as {accept}"))?;
            all.push((format!("{dialect} as {accept}"), raw));
        }
        let old = get(world, &path, SSE, "")?.replace("HTTP/1.1", "HTTP/1.0");
        let mut raw = Raw::send(world, &old)?;
        raw.until(if dialect == "a2a" { "two" } else { "beta" })?;
        all.push((format!("{dialect} in HTTP/1.0"), raw));
    }
    Ok(all)
}

fn are_cut(all: Vec<(String, Raw)>) -> Result<()> {
    for (what, mut raw) in all {
        let is_reset = raw.reads_to_close().with_context(|| what.clone())?;
        let text = raw.text();
        ensure!(!text.contains("\r\n0\r\n\r\n"), "{what} has a last chunk: {text:?}");
        ensure!(!text.contains("turn_ended"), "{what} says that the turn ended: {text:?}");
        if what.ends_with("HTTP/1.0") {
            ensure!(is_reset, "{what}: without chunks only a reset says that the body was cut");
        }
    }
    Ok(())
}

fn drained(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    let all = open_streams(&world)?;
    server.ask_to_go()?;
    are_cut(all)
}

fn killed(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    let all = open_streams(&world)?;
    server.kill()?;
    are_cut(all)
}

fn body_of(world: &World, path: &str, accept: &str) -> Result<String> {
    let (status, body) = world.place.ask("GET", path, &[("accept", accept.to_owned())], b"")?;
    let body = String::from_utf8(body)?;
    ensure!(status == 200, "GET {path}: {status} {body}");
    Ok(body)
}

/// What a stream says about itself: the header of each SSE dialect, and `stream.opened` where there is one.
fn without_turn(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    prepared(&world, "finished", &[("one", "alpha"), ("two", "beta")], false)?;
    prepared(&world, "running", &[("three", "gamma"), ("four", "delta")], true)?;
    for (session, older, newer, turn) in
        [("finished", "alpha", "beta", "two"), ("running", "gamma", "delta", "four")]
    {
        for dialect in dialects() {
            let is_one = OF_TURN.contains(&dialect);
            let path = format!("/v1/sessions/{session}/events?follow=false&dialect={dialect}");
            for accept in [SSE, NDJSON, "application/json"] {
                let what = format!("{dialect} as {accept} of the {session} session");
                let body = body_of(&world, &path, accept)?;
                ensure!(body.contains(newer), "{what} does not show the newest turn: {body}");
                // LangGraph's `values` are the whole thread, whichever turn is shown.
                let is_right = dialect == "langgraph" || body.contains(older) != is_one;
                ensure!(is_right, "{what} shows the wrong turns: {body}");
                let named = body_of(&world, &format!("{path}&turn={turn}"), accept)?;
                let is_same = without_retry(&body) == without_retry(&named);
                ensure!(is_same || !is_one, "{what} differs from turn={turn}:\n{body}\n{named}");
                if accept == SSE {
                    continue;
                }
                let scope = if is_one { "\"scope\":\"turn\"" } else { "\"scope\":\"session\"" };
                ensure!(body.contains(scope), "{what} does not say what it shows: {body}");
                let names = body.contains(&format!("\"turn\":\"{turn}\""));
                ensure!(names || !is_one, "{what} does not name the turn: {body}");
            }
            // Following a finished session ends with its turn; a running one is cut off here.
            if session == "finished" && is_one {
                let mut raw =
                    Raw::send(&world, &get(&world, &path.replace("follow=false", "follow=true"), SSE, "")?)?;
                let text = raw.until("\r\n0\r\n\r\n").with_context(|| format!("following {dialect}"))?;
                ensure!(
                    text.contains("riverrun-scope: turn") && text.contains("riverrun-turn: two"),
                    "{text}"
                );
                ensure!(text.contains("riverrun-resume: cursor"), "{text}");
            }
        }
    }
    Ok(())
}

fn without_retry(body: &str) -> String {
    body.lines().filter(|line| !line.starts_with("retry:")).collect::<Vec<_>>().join("\n")
}

/// The frames of a body, each with the cursor behind it.
fn frames(dialect: &str, body: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for frame in body.split_terminator("\n\n") {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        if field("event: ") == Some("riverrun") {
            continue;
        }
        let data = field("data: ").unwrap_or_default();
        let token = || {
            let value: Value = serde_json::from_str(data).ok()?;
            Some(value["candidates"][0]["continuationToken"].as_str()?.to_owned())
        };
        let cursor = if dialect == "gemini" { token() } else { field("id: ").map(str::to_owned) };
        all.push((cursor.unwrap_or_default(), data.to_owned()));
    }
    all
}

fn resumed(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    prepared(&world, "s", &[("one", "alpha"), ("two", "beta"), ("three", "gamma")], false)?;
    for dialect in dialects() {
        // Of the turn in the middle: neither the newest nor what is open decides where a cursor leads.
        let path = format!("/v1/sessions/s/events?follow=false&dialect={dialect}");
        let first = if OF_TURN.contains(&dialect) { format!("{path}&turn=two") } else { path.clone() };
        let whole = frames(dialect, &body_of(&world, &first, SSE)?);
        ensure!(whole.len() > 3, "{dialect} has {} frames", whole.len());
        let mut tried = 0;
        for (at, (cursor, _)) in whole.iter().enumerate().take(whole.len() - 1) {
            ensure!(!cursor.is_empty() || dialect == "gemini", "{dialect}: frame {at} has no cursor");
            if cursor.is_empty() {
                continue;
            }
            let cursor = cursor.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
            let rest = frames(dialect, &body_of(&world, &format!("{path}&after={cursor}"), SSE)?);
            ensure!(
                rest == whole[at + 1..],
                "{dialect} behind frame {at} ({cursor}):\n{rest:#?}\nis not\n{:#?}",
                &whole[at + 1..]
            );
            tried += 1;
        }
        ensure!(tried > 2, "{dialect}: {tried} cursors");
    }
    Ok(())
}

/// A reader that has everything waits for the next turn, and its stream ends with it.
fn next_turn(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-streams")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    for dialect in OF_TURN {
        let (before, after) = (format!("before-{dialect}"), format!("after-{dialect}"));
        prepared(&world, &before, &[], false)?;
        prepared(&world, &after, &[("one", "alpha")], false)?;
        let page = world.get(&format!("/v1/sessions/{after}/events?limit=5000"))?;
        let cursor = page["cursor"].as_str().context("a page has a cursor")?;
        for path in [
            format!("/v1/sessions/{before}/events?dialect={dialect}"),
            format!("/v1/sessions/{after}/events?dialect={dialect}&after={cursor}"),
        ] {
            let mut raw = Raw::send(&world, &get(&world, &path, SSE, "")?)?;
            let head = raw.until("\r\n\r\n")?;
            ensure!(head.contains("riverrun-scope: turn"), "{path}: {head}");
            ensure!(!head.contains("riverrun-turn:"), "{path} names a turn that has not begun: {head}");
            let session = path.split('/').nth(3).context("a session")?;
            append(&world, session, &turn_events(&format!("n-{session}"), &["beta"]))?;
            append(&world, session, &turn_events(&format!("m-{session}"), &["gamma"]))?;
            let text = raw.until("\r\n0\r\n\r\n").with_context(|| path.clone())?;
            ensure!(text.contains("beta") && !text.contains("gamma"), "{path}: {text}");
            let tells_past = dialect == "langgraph";
            ensure!(tells_past || !text.contains("alpha"), "{path} shows what was seen: {text}");
        }
    }
    Ok(())
}
