//! Faults with one right answer each: a failing sync, a full disk, a directory in use, a format of the future.

mod edge;
mod full;
mod start;
mod sync;

pub use edge::edge;
pub use full::full;
pub use start::{locked, missing, newer};
pub use sync::{discipline, failing_sync};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::checker::{Acked, Exported, Verdict};
use super::events::{Key, note};
use super::http::Connection;
use super::server::Place;

const SESSION: &str = "s";

/// A producer that sends one event at a time and waits for its answer.
struct Sequential {
    connection: Connection,
    next: u32,
    acked: Vec<Acked>,
    /// When each acknowledged request was sent.
    sent: Vec<f64>,
}

impl Sequential {
    fn new(place: &Place) -> Result<Self> {
        let connection = Connection::open(place.address, &place.key()?, Duration::from_secs(10))?;
        Ok(Self { connection, next: 0, acked: Vec::new(), sent: Vec::new() })
    }

    /// True if the event was acknowledged.
    fn append(&mut self) -> Result<bool> {
        let key = Key { producer: 0, request: self.next, place: 0 };
        self.next += 1;
        let sent = now();
        let headers = [("content-type", "application/json".to_owned())];
        let path = format!("/v1/sessions/{SESSION}/events");
        let head = self.connection.send("POST", &path, &headers, note(key).to_string().as_bytes())?;
        let answer: Value = serde_json::from_slice(&self.connection.read_body(&head)?)?;
        let Some(sequence) = answer["first"].as_u64() else { return Ok(false) };
        self.acked.push(Acked { sequence, key });
        self.sent.push(sent);
        Ok(true)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Everything acknowledged is in the log.
fn check(place: &Place, acked: &[Acked]) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let exported = Exported::read(SESSION, &place.export(SESSION)?, &mut verdict);
    exported.check_acked(acked, &mut verdict);
    ensure!(verdict.is_good(), "{}", verdict.problems.join("\n"));
    Ok(verdict)
}
