//! Another tenant, and how long its requests take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::crash::frames::{Format, take};
use crate::crash::http::{Connection, Part};
use crate::crash::runner::world::World;

/// Longer than any flood here.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two questions whether the server lives.
const PACE: Duration = Duration::from_millis(10);

pub struct Neighbour<'a> {
    world: &'a World,
    key: String,
}

/// How long requests took, in milliseconds, in order.
#[derive(Debug, Clone)]
pub struct Times(Vec<f64>);

impl Times {
    /// The time that this share of the requests did not exceed.
    pub fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let place = (self.0.len() as f64 * share) as usize;
        self.0.get(place.min(last)).copied().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut times: Vec<f64> = times.into_iter().map(|time| time.as_secs_f64() * 1000.0).collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }
}

impl<'a> Neighbour<'a> {
    /// A tenant of its own, with a session `quiet`.
    pub fn new(world: &'a World, tenant: &str) -> Result<Self> {
        let asked = json!({"tenant": tenant, "scopes": ["read", "write", "approve"]});
        let (status, answer) = world.post("/v1/keys", &asked)?;
        ensure!(status == 201, "making a key for tenant `{tenant}`: {status} {answer}");
        let key = answer["key"].as_str().context("a new key is told once")?.to_owned();
        let neighbour = Self { world, key };
        let status = neighbour.post("/v1/sessions", &json!({"sessionId": "quiet"}))?;
        ensure!(status == 201, "making the session of tenant `{tenant}`: {status}");
        Ok(neighbour)
    }

    fn post(&self, path: &str, body: &Value) -> Result<u16> {
        let mut connection = Connection::open(self.world.place.address, &self.key, PATIENCE)?;
        let json = ("content-type", "application/json".to_owned());
        let head = connection.send("POST", path, &[json], body.to_string().as_bytes())?;
        connection.read_body(&head)?;
        Ok(head.status)
    }

    /// Runs one turn after the other until `stop`, each from its request to its terminal event.
    pub fn turns(&self, agent: &str, stop: &AtomicBool) -> Result<Times> {
        let mut times = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            self.turn(agent)?;
            times.push(began.elapsed());
        }
        Ok(times.into_iter().collect())
    }

    fn turn(&self, agent: &str) -> Result<()> {
        let mut connection = Connection::open(self.world.place.address, &self.key, PATIENCE)?;
        let headers =
            [("content-type", "application/json".to_owned()), ("accept", "application/x-ndjson".to_owned())];
        let body = json!({"agent": agent, "input": "go", "busy": "queue"}).to_string();
        let head = connection.send("POST", "/v1/sessions/quiet/turns", &headers, body.as_bytes())?;
        ensure!(head.status < 300, "a turn of the other tenant: {}", head.status);
        let mut buffer = Vec::new();
        loop {
            let part = connection.read_part(&mut buffer)?;
            let frames = take(Format::Lines, &mut buffer);
            if frames.iter().any(|frame| frame.data.contains("\"turn.completed\"")) {
                return Ok(());
            }
            ensure!(part == Part::Data, "the stream of the other tenant's turn ended before its turn");
        }
    }

    /// Asks `/livez` at a steady pace until `stop`.
    pub fn lives(&self, stop: &AtomicBool) -> Result<Times> {
        let mut times = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let mut connection = Connection::open(self.world.place.address, "", PATIENCE)?;
            let head = connection.send("GET", "/livez", &[], b"")?;
            ensure!(head.status == 200, "/livez answered {}", head.status);
            times.push(began.elapsed());
            std::thread::sleep(PACE);
        }
        Ok(times.into_iter().collect())
    }
}
