//! Cut anywhere, come back with what was seen: nothing is lost, nothing is doubled.
//!
//! 20,000 cuts in an optimised build, fewer in a slow one; `RIVERRUN_CUTS` asks for any number.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use riverrun_dialect::{OffsetUnit, task};
use riverrun_event::{Cursor, Sequence};
use riverrun_fold::State;
use serde_json::Value;

use crate::client::{Client, Dialect, shown};
use crate::generate::{Dice, session};
use crate::harness::{Api, Server};
use crate::stream::{End, Stream};

fn cuts() -> usize {
    std::env::var("RIVERRUN_CUTS")
        .ok()
        .and_then(|cuts| cuts.parse().ok())
        .unwrap_or(if cfg!(debug_assertions) { 1_000 } else { 20_000 })
}

/// One reader of one session, cut again and again at any byte until a stream comes to its end.
struct Reader<'a> {
    api: &'a Api,
    session: &'a str,
    dialect: Dialect,
    client: Client,
    dice: Dice,
    cuts: usize,
}

impl<'a> Reader<'a> {
    fn new(api: &'a Api, session: &'a str, dialect: Dialect, seed: u64) -> Self {
        Self { api, session, dialect, client: Client::new(dialect, session), dice: Dice::new(seed), cuts: 0 }
    }

    /// Reads to the end of a stream that is not cut. `extra` is the rest of its query.
    async fn read(&mut self, extra: &str, mut cuts_left: usize) -> End {
        loop {
            let path = self.path(extra);
            let reach = self.reach();
            let budget = if cuts_left == 0 { usize::MAX } else { 1 + self.dice.roll(reach) };
            let mut stream = Stream::with_budget(self.api, &path, &[], budget).await;
            self.client.connect();
            let end = loop {
                match stream.next().await {
                    Ok(frame) => self.client.take(self.session, &frame),
                    Err(end) => break end,
                }
            };
            if end == End::Clean || cuts_left == 0 {
                assert!(stream.status == 200, "{path}: {}", stream.status);
                return end;
            }
            self.cuts += 1;
            cuts_left -= 1;
        }
    }

    /// Most cuts come early, in the head or among the first frames.
    fn reach(&mut self) -> usize {
        self.dice.pick(&[600, 1500, 3000, 8000, 40_000])
    }

    /// From the newest place as a rule, sometimes from an older one.
    fn path(&mut self, extra: &str) -> String {
        let places = &self.client.places;
        let older = !places.is_empty() && self.dice.once_in(5);
        let place = match places.len() {
            0 => None,
            count if older => Some(places[self.dice.roll(count)].clone()),
            // A replay from an older place that was cut ends before the place that the reader came to.
            _ => places.iter().max_by_key(|place| sequence(place)).cloned(),
        };
        // Joined deltas cannot be taken in half, so a reader that asks for them says truly where it stands.
        let modes: &[&str] =
            if older { &["replay", "snapshot"] } else { &["replay", "replay", "coalesce", "snapshot"] };
        let mode = self.dice.pick(modes);
        let after = place.map(|place| format!("&after={}", place.replace('+', "%2B"))).unwrap_or_default();
        format!(
            "/v1/sessions/{}/events?dialect={}&catchup={mode}{after}{extra}",
            self.session,
            self.dialect.name()
        )
    }

    /// What the client holds is what the log folds to.
    async fn check(&self) {
        let state = self.api.get(&format!("/v1/sessions/{}/state", self.session)).await;
        let place = format!("{} in {}", self.session, self.dialect.name());
        match self.client.state() {
            Some(mine) => {
                assert_eq!(serde_json::from_str::<Value>(&mine.to_json()).expect("JSON"), state, "{place}")
            }
            None => {
                // `GET /v1/tasks` answers this very object; the tests of pages ask for it.
                let state = State::from_json(&state.to_string()).expect("a state");
                for task in &state.tasks {
                    let object =
                        task::object(&state, &task.task_id, OffsetUnit::CodePoint).expect("it is there");
                    let expected = shown(serde_json::from_str(&object).expect("JSON"));
                    let id = task.task_id.as_str();
                    assert_eq!(self.client.object(id), Some(expected), "{place}: {id}");
                }
            }
        }
    }
}

/// Makes a session of random events in random chunks; answers its id.
async fn fill(api: &Api, seed: u64) -> String {
    let id = format!("s{seed}");
    let mut dice = Dice::new(seed ^ 77);
    api.make(&id).await;
    let events = session(seed, 1 + seed as usize % 4);
    let mut rest = events.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at((1 + dice.roll(9)).min(rest.len()));
        api.tell(&id, now).await;
        rest = later;
    }
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_cut_at_any_byte_ends_with_the_fold() {
    let server = Arc::new(Server::start().await);
    let (done, wanted, seeds) = (Arc::new(AtomicUsize::new(0)), cuts(), Arc::new(AtomicUsize::new(1)));
    let work = |_| {
        let (server, done, seeds) = (server.clone(), done.clone(), seeds.clone());
        tokio::spawn(async move {
            while done.load(Ordering::Relaxed) < wanted {
                let seed = seeds.fetch_add(1, Ordering::Relaxed) as u64;
                let id = fill(&server, seed).await;
                for (at, dialect) in [Dialect::Native, Dialect::Task].into_iter().cycle().take(8).enumerate()
                {
                    let mut reader = Reader::new(&server, &id, dialect, seed * 8 + at as u64);
                    reader.read("&follow=false", 24).await;
                    reader.check().await;
                    done.fetch_add(reader.cuts, Ordering::Relaxed);
                }
            }
        })
    };
    for worker in (0..4).map(work).collect::<Vec<_>>() {
        worker.await.expect("every reader ends with the fold");
    }
    eprintln!("{} cuts over {} sessions", done.load(Ordering::Relaxed), seeds.load(Ordering::Relaxed) - 1);
    server.assert_no_panic().await;
}

/// The log grows while its readers are cut: the live tail and the replay are one reader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_a_log_that_grows_end_with_the_fold() {
    let server = Arc::new(Server::start().await);
    for seed in 1..=6_u64 {
        let id = format!("live{seed}");
        server.make(&id).await;
        let mut events = session(seed, 8);
        events
            .push(serde_json::json!({"type": "turn.submitted", "turnId": "end", "payload": {"input": "?"}}));
        events.push(serde_json::json!({"type": "turn.completed", "turnId": "end", "payload": {}}));
        let readers: Vec<_> = (0..12_u64)
            .map(|at| {
                let (server, id) = (server.clone(), id.clone());
                let dialect = if at % 2 == 0 { Dialect::Native } else { Dialect::Task };
                tokio::spawn(async move {
                    let mut reader = Reader::new(&server, &id, dialect, seed * 100 + at);
                    let head = events_of(seed) as u64 + 2;
                    // A stream that follows does not end, so every connection of it is cut.
                    while reader
                        .client
                        .places
                        .last()
                        .is_none_or(|place| !place.starts_with(&format!("{head}.")))
                    {
                        reader.follow_a_while().await;
                    }
                    reader.check().await;
                })
            })
            .collect();
        let mut dice = Dice::new(seed);
        let mut rest = events.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at((1 + dice.roll(4)).min(rest.len()));
            server.tell(&id, now).await;
            rest = later;
        }
        for reader in readers {
            reader.await.expect("every reader ends with the fold");
        }
    }
    server.assert_no_panic().await;
}

/// The event that a place is behind, and its part.
fn sequence(place: &str) -> (Sequence, u32) {
    let cursor: Cursor = place.parse().expect("a place is a cursor");
    (cursor.sequence, cursor.part)
}

fn events_of(seed: u64) -> usize {
    session(seed, 8).len()
}

impl Reader<'_> {
    /// Follows the live end and is cut after some bytes, or after the stream said that it has everything. The more
    /// often it was cut, the later: a reader that lags behind on a busy machine comes to the end too.
    async fn follow_a_while(&mut self) {
        self.cuts += 1;
        let path = self.path("");
        let budget = 1 + self.dice.roll(20_000 + 500 * self.cuts);
        let mut stream = Stream::with_budget(self.api, &path, &[], budget).await;
        self.client.connect();
        let patience = std::time::Duration::from_millis((20 + self.dice.roll(60) + self.cuts) as u64);
        while let Ok(Ok(frame)) = tokio::time::timeout(patience, stream.next()).await {
            self.client.take(self.session, &frame);
        }
    }
}
