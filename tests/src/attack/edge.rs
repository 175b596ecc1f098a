//! Requests that are not what they seem: repeated headers, framing that two readers understand differently, addresses in
//! disguise, floods of frames, and words that only the server may say.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use super::Case;
use crate::crash::runner::world::World;
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[
    Case { name: "edge/repeated-security-headers-are-refused", run: repeated_headers },
    Case { name: "edge/ambiguous-framing-is-refused", run: framing },
    Case { name: "edge/ambiguous-framing-is-refused-behind-another-request", run: pipelined_framing },
    Case { name: "edge/addresses-in-disguise-are-refused", run: addresses },
    Case { name: "edge/frame-floods-are-closed", run: frame_floods },
    Case { name: "edge/a-socket-with-usual-traffic-stays-open", run: usual_frames },
    Case { name: "edge/stream-types-are-never-stored", run: stream_types },
    Case { name: "edge/a-message-thread-ends", run: message_thread },
    Case { name: "edge/requests-that-violate-the-document-are-refused", run: document },
];

const PATIENCE: Duration = Duration::from_secs(10);

struct Edge {
    world: World,
    _server: Server,
    key: String,
}

impl Edge {
    fn start(program: &Program, name: &str, more: &str) -> Result<Self> {
        let world = World::with(program, name, more, &[])?;
        let (_server, _) = Server::start(&world.program, &world.place)?;
        let key = world.place.key()?;
        Ok(Self { world, _server, key })
    }

    fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.world.place.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Sends the bytes and reads the statuses of the answers until the server closes or so many came.
    fn statuses(&self, bytes: &[u8], most: usize) -> Result<Vec<u16>> {
        let mut stream = self.connect()?;
        stream.write_all(bytes)?;
        let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let found = statuses(&read);
            if found.len() >= most {
                return Ok(found);
            }
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(found),
                Ok(count) => read.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(found),
                Err(error) => bail!("{found:?}, then {error}"),
            }
        }
    }

    /// A POST that makes a session, with these header lines beside the usual ones.
    fn create(&self, lines: &[&str]) -> Vec<u8> {
        let mut text = format!(
            "POST /v1/sessions HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n",
            self.world.place.address, self.key
        );
        for line in lines {
            text.push_str(line);
            text.push_str("\r\n");
        }
        text.push_str("content-length: 2\r\n\r\n{}");
        text.into_bytes()
    }

    fn sessions(&self) -> Result<usize> {
        let found = self.world.get("/v1/sessions?limit=1000")?;
        Ok(found["sessions"].as_array().map_or(0, Vec::len))
    }
}

fn statuses(bytes: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(bytes);
    text.match_indices("HTTP/1.1 ").filter_map(|(at, _)| text.get(at + 9..at + 12)?.parse().ok()).collect()
}

fn repeated_headers(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-headers", "")?;
    let own = format!("origin: http://{}", edge.world.place.address);
    let host = format!("host: {}", edge.world.place.address);
    let key = format!("authorization: Bearer {}", edge.key);
    ensure!(edge.statuses(&edge.create(&[&own]), 1)? == [201], "one `Origin` of our own is taken");
    let before = edge.sessions()?;
    let repeated: [&[&str]; 9] = [
        &[&own, "origin: https://evil.example"],
        &["origin: https://evil.example", &own],
        &[&own, &own],
        &[&host],
        &[&key],
        &["content-type: text/plain"],
        &["content-length: 2"],
        &["idempotency-key: a", "idempotency-key: b"],
        &["x-api-key: a", "x-api-key: b"],
    ];
    for lines in repeated {
        let answered = edge.statuses(&edge.create(lines), 1)?;
        ensure!(answered == [400], "{lines:?}: {answered:?}");
    }
    ensure!(edge.sessions()? == before, "a refused request did something");
    Ok(())
}

/// Heads that hyper takes and others read differently.
fn ambiguous(edge: &Edge) -> Vec<(&'static str, Vec<u8>)> {
    let address = edge.world.place.address;
    let head = |first: &str, lines: &str| {
        format!(
            "{first}POST /v1/sessions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n{lines}\r\n",
            edge.key
        )
    };
    let chunks = "2\r\n{}\r\n0\r\n\r\n";
    let plain = head("", "content-length: 2\r\n") + "{}";
    vec![
        ("gzip, chunked", (head("", "transfer-encoding: gzip, chunked\r\n") + chunks).into_bytes()),
        ("two encodings", {
            (head("", "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n") + chunks).into_bytes()
        }),
        ("identity", (head("", "transfer-encoding: identity\r\ncontent-length: 2\r\n") + "{}").into_bytes()),
        ("both lengths", {
            (head("", "content-length: 12\r\ntransfer-encoding: chunked\r\n") + chunks).into_bytes()
        }),
        ("both lengths behind an empty line", {
            (head("\r\n", "content-length: 12\r\ntransfer-encoding: chunked\r\n") + chunks).into_bytes()
        }),
        ("line feeds only", plain.replace("\r\n", "\n").into_bytes()),
        ("one line feed", plain.replacen("\r\n", "\n", 1).into_bytes()),
        ("a line feed before the body", plain.replace("\r\n\r\n", "\r\n\n").into_bytes()),
    ]
}

fn framing(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-framing", "")?;
    let before = edge.sessions()?;
    for (name, bytes) in ambiguous(&edge) {
        let answered = edge.statuses(&bytes, 2)?;
        ensure!(answered == [400] || answered == [501], "{name}: {answered:?}");
    }
    ensure!(edge.sessions()? == before, "a refused request did something");
    let chunked = edge.create(&[]);
    let text = String::from_utf8(chunked)?
        .replace("content-length: 2\r\n\r\n{}", "transfer-encoding: chunked\r\n\r\n");
    let answered = edge.statuses(format!("{text}2\r\n{{}}\r\n0\r\n\r\n").as_bytes(), 1)?;
    ensure!(answered == [201], "a chunked body is taken: {answered:?}");
    Ok(())
}

/// A head is looked at wherever it stands in what was read.
fn pipelined_framing(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-pipelined", "")?;
    let before = edge.sessions()?;
    let all = ambiguous(&edge);
    for (name, bytes) in &all {
        let answered = edge.statuses(&[edge.create(&[]), bytes.clone()].concat(), 3)?;
        ensure!(answered == [201, 400] || answered == [201, 501], "{name}: {answered:?}");
    }
    let after = edge.sessions()?;
    ensure!(after == before + all.len(), "{} sessions of {} requests", after - before, all.len());
    let three = [edge.create(&[]), edge.create(&[]), edge.create(&[])].concat();
    ensure!(edge.statuses(&three, 3)? == [201, 201, 201], "three requests at once are taken");
    Ok(())
}

fn addresses(program: &Program) -> Result<()> {
    let more = "[agents.reader]\nmodel = \"scripted/text\"\n";
    let edge = Edge::start(program, "attack-addresses", more)?;
    let disguised = [
        "//127.0.0.1/x",
        "///127.0.0.1/x",
        "\\\\127.0.0.1\\x",
        "/\\127.0.0.1/x",
        "127.0.0.1/x",
        "localhost/x",
        "2130706433/x",
        "http:\\\\127.0.0.1/x",
        "http:/127.0.0.1/x",
        "http:127.0.0.1/x",
        "http://user@127.0.0.1/x",
        "http://example.com\\@127.0.0.1/x",
        "http://0x7f000001/x",
        "http://017700000001/x",
        "http://127.1/x",
        "http://0/x",
        "http://[::1]/x",
        "http://[::ffff:127.0.0.1]/x",
        "http://[::ffff:7f00:1]/x",
        "http://[64:ff9b::7f00:1]/x",
        "http://localhost./x",
        "http://a.localhost/x",
        "HTTP://LOCALHOST/x",
        " //127.0.0.1/x",
        "http://１２７.0.0.1/x",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "../../etc/passwd",
    ];
    for url in disguised {
        let image = |kind: &str| match kind {
            "chat" => json!({"type": "image_url", "image_url": {"url": url}}),
            "responses" => json!({"type": "input_image", "image_url": url}),
            _ => json!({"type": "image", "source": {"type": "url", "url": url}}),
        };
        let message = |kind: &str| json!([{"role": "user", "content": [image(kind)]}]);
        let requests = [
            ("/v1/chat/completions", json!({"model": "agent/reader", "messages": message("chat")})),
            ("/v1/responses", json!({"model": "agent/reader", "input": message("responses")})),
            (
                "/v1/messages",
                json!({"model": "agent/reader", "max_tokens": 9, "messages": message("anthropic")}),
            ),
        ];
        for (path, body) in requests {
            let (status, answer) = edge.world.post(path, &body)?;
            ensure!(status == 422, "{path} {url:?}: {status} {answer}");
        }
    }
    let file = json!([{"role": "user", "content": [{"type": "input_file", "file_id": "file-abc_1"}]}]);
    let (status, answer) =
        edge.world.post("/v1/responses", &json!({"model": "agent/reader", "input": file}))?;
    ensure!(status == 200, "the name of a file is taken: {status} {answer}");
    Ok(())
}

/// A masked frame; the mask is of zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first, 0x80 | u8::try_from(payload.len()).unwrap_or(0), 0, 0, 0, 0];
    out.extend_from_slice(payload);
    out
}

impl Edge {
    fn socket(&self) -> Result<TcpStream> {
        let mut stream = self.connect()?;
        let head = format!(
            "GET /v1/ws HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.world.place.address, self.key
        );
        stream.write_all(head.as_bytes())?;
        let (mut read, mut byte) = (Vec::new(), [0]);
        while !read.ends_with(b"\r\n\r\n") {
            ensure!(stream.read(&mut byte)? == 1, "the server closed: {}", String::from_utf8_lossy(&read));
            read.push(byte[0]);
        }
        ensure!(read.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&read));
        Ok(stream)
    }
}

/// The code of the close frame, if the server closes within the time.
fn close_code(stream: &mut TcpStream, time: Duration) -> Result<Option<u16>> {
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (began, mut read, mut buffer) = (Instant::now(), Vec::new(), [0; 4096]);
    while began.elapsed() < time {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
        if let Some(code) = closed(&read) {
            return Ok(Some(code));
        }
    }
    Ok(closed(&read))
}

/// Walks the server's frames to a close frame.
fn closed(mut bytes: &[u8]) -> Option<u16> {
    while let [first, length, rest @ ..] = bytes {
        let (size, rest) = match length {
            126 => (usize::from(u16::from_be_bytes([*rest.first()?, *rest.get(1)?])), rest.get(2..)?),
            127 => return None,
            length => (usize::from(*length), rest),
        };
        let payload = rest.get(..size)?;
        if first & 0x0f == 8 {
            return Some(u16::from_be_bytes([*payload.first()?, *payload.get(1)?]));
        }
        bytes = rest.get(size..)?;
    }
    None
}

fn frame_floods(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-frames", "")?;
    let in_two = |first: &[u8], last: &[u8]| [frame(0x01, first), frame(0x80, last)].concat().repeat(3_000);
    let floods = [
        ("pings", frame(0x89, b"x").repeat(200)),
        ("pongs", frame(0x8a, b"").repeat(200)),
        ("pongs with a payload", frame(0x8a, b"xyz").repeat(200)),
        ("empty messages", frame(0x81, b"").repeat(4_000)),
        ("empty fragments", in_two(b"", b"")),
        ("tiny fragments", in_two(b"{", b"}")),
    ];
    for (name, bytes) in floods {
        let mut stream = edge.socket()?;
        // The server may have closed before it read everything.
        let _ = stream.write_all(&bytes);
        let code = close_code(&mut stream, Duration::from_secs(5))?;
        ensure!(code == Some(1008), "{name}: {code:?}");
    }
    Ok(())
}

fn usual_frames(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-usual-frames", "")?;
    let mut stream = edge.socket()?;
    for _ in 0..3 {
        stream.write_all(&frame(0x89, b"x").repeat(3))?;
        stream.write_all(&frame(0x8a, b"").repeat(3))?;
        std::thread::sleep(Duration::from_millis(400));
    }
    let code = close_code(&mut stream, Duration::from_millis(300))?;
    ensure!(code.is_none(), "closed with {code:?}");
    Ok(())
}

fn stream_types(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-stream-types", "")?;
    edge.world.place.create_session("s")?;
    for kind in ["stream.opened", "stream.error", "stream.closed", "stream.x", "stream.caught_up"] {
        let event = json!({"type": kind, "payload": {}});
        for body in [event.clone(), json!([{"type": "x.own", "payload": {}}, event])] {
            let (status, answer) = edge.world.post("/v1/sessions/s/events", &body)?;
            ensure!(status == 400 || status == 422, "{kind}: {status} {answer}");
        }
    }
    let stored = edge.world.events("s")?;
    let found =
        stored.iter().find(|event| event["type"].as_str().is_some_and(|kind| kind.starts_with("stream.")));
    ensure!(found.is_none(), "{found:?}");
    ensure!(stored.iter().all(|event| event["type"] != "x.own"), "half of a refused request is stored");
    Ok(())
}

/// Requests that were taken though `/openapi.json` does not allow them, and some that were refused though it does.
fn document(program: &Program) -> Result<()> {
    let edge = Edge::start(program, "attack-document", "")?;
    let place = &edge.world.place;
    for (number, (path, body, is_allowed)) in [
        ("/threads/search", "[null,null]", false),
        ("/threads/search", "null", false),
        ("/threads/search", "{\"limit\":\"1\"}", false),
        ("/threads", "", true),
        ("/threads", "[]", false),
        ("/v1/sessions", "[]", false),
        ("/v1/sessions", "[null]", false),
        ("/v1/sessions", "{\"sessionId\":1}", false),
        ("/v1/sessions", "{\"sessionId\":null,\"title\":null}", true),
        ("/v1/keys", "{\"scopes\":[\"read\"],\"label\":null}", true),
        ("/threads/search", "{}", true),
        ("/threads", "{}", true),
    ]
    .into_iter()
    .enumerate()
    {
        let json = ("content-type", "application/json".to_owned());
        let (status, answer) = place.ask("POST", path, &[json], body.as_bytes())?;
        let wanted = if is_allowed { 200..300 } else { 400..500 };
        let answer = String::from_utf8_lossy(&answer);
        ensure!(wanted.contains(&status), "{number}: POST {path} {body}: {status} {answer}");
    }
    Ok(())
}

/// What a client that trusts `thread` sends: the model must see the call, its result and the tools.
fn message_thread(program: &Program) -> Result<()> {
    const MOST: usize = 4;
    let more = "[agents.threader]\nmodel = \"scripted/tool\"\n";
    let edge = Edge::start(program, "attack-thread", more)?;
    let tool = json!({"name": "get_weather", "input_schema": {"type": "object"}});
    let mut body = json!({
        "model": "agent/threader", "max_tokens": 99, "tools": [tool], "thread": {"type": "create"},
        "messages": [{"role": "user", "content": "weather?"}],
    });
    let unknown = json!({
        "model": "agent/threader", "max_tokens": 99, "messages": body["messages"],
        "thread": {"type": "continue", "previous_message_id": "msg_of_nobody"},
    });
    let (status, answer) = edge.world.post("/v1/messages", &unknown)?;
    ensure!(status == 404 && answer["type"] == "error", "a thread that is not there: {status} {answer}");
    for asked in 0..MOST {
        let (status, message) = edge.world.post("/v1/messages", &body)?;
        ensure!(status == 200, "{status} {message}");
        if message["stop_reason"] == "end_turn" {
            ensure!(asked == 1, "the tool was asked for {asked} times");
            return Ok(());
        }
        let content = message["content"].as_array().context("a message has content")?;
        let call =
            content.iter().find(|block| block["type"] == "tool_use").context("the message calls the tool")?;
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "15C"});
        body = json!({
            "model": "agent/threader", "max_tokens": 99,
            "thread": {"type": "continue", "previous_message_id": message["id"]},
            "messages": [{"role": "user", "content": [result]}],
        });
    }
    bail!("the tool was asked for {MOST} times: {}", body)
}
