//! Who may see what: a key of another tenant, and a browser's cookie.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::SESSION;
use crate::crash::http::Connection;
use crate::crash::server::{Place, Program, Server};

const PATIENCE: Duration = Duration::from_secs(5);
/// A request of a message protocol, short enough for the smallest frame.
const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session.list","params":{}}"#;

/// A foreign session is absent, and a cookie opens nothing.
pub fn edge(program: &Program) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = Place::new(folder.path())?;
    let (_server, _) = Server::start(program, &place)?;
    place.create_session(SESSION)?;
    foreign(&place)?;
    cookie(&place)?;
    println!("edge: another tenant's session answers 404, a cookie on a WebSocket opens nothing");
    Ok(())
}

fn foreign(place: &Place) -> Result<()> {
    let json = ("content-type", "application/json".to_owned());
    let (status, answer) =
        place.ask("POST", "/v1/keys", &[json], br#"{"tenant":"theirs","scopes":["read"]}"#)?;
    ensure!(status == 201, "making a key: {status} {}", String::from_utf8_lossy(&answer));
    let made: serde_json::Value = serde_json::from_slice(&answer)?;
    let path = format!("/v1/sessions/{SESSION}/export");
    for (key, expected) in [(place.key()?, 200), (made["key"].as_str().context("a new key")?.to_owned(), 404)]
    {
        let mut connection = Connection::open(place.address, &key, PATIENCE)?;
        let status = connection.send("GET", &path, &[], b"")?.status;
        ensure!(status == expected, "the session answered {status}, not {expected}");
    }
    Ok(())
}

fn cookie(place: &Place) -> Result<()> {
    let key = place.key()?;
    let with_key = ask(place, &format!("authorization: Bearer {key}\r\n"))?;
    ensure!(with_key.contains("\"result\""), "a WebSocket with a key was not answered: {with_key}");
    let with_cookie = ask(place, &format!("cookie: riverrun_key={key}; key={key}; session={key}\r\n"))?;
    ensure!(!with_cookie.contains("\"result\""), "a cookie opened a WebSocket: {with_cookie}");
    Ok(())
}

/// Opens a WebSocket with a header, sends one message, and reads until an answer or the end.
fn ask(place: &Place, header: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&place.address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let upgrade = format!(
        "GET /v1/ws HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{header}\r\n",
        place.address
    );
    stream.write_all(upgrade.as_bytes())?;
    // A text frame whose mask is zero.
    let mut frame = vec![0x81, 0x80 | u8::try_from(ASK.len())?, 0, 0, 0, 0];
    frame.extend_from_slice(ASK.as_bytes());
    stream.write_all(&frame)?;
    let (mut heard, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&heard).into_owned();
        if text.contains("\"result\"") || text.contains("\"error\"") {
            return Ok(text);
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return Ok(text),
            Ok(count) => heard.extend_from_slice(&part[..count]),
        }
    }
}
