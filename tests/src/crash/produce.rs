//! Producers: one event, a batch, or lines; with a stamp and retries, or without.

use std::io::Result;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::checker::Acked;
use super::events::{Key, TURN, event, note};
use super::http::{Connection, Header};
use super::load::{Load, Produced};
use super::random::Random;

const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries while the server is away.
const PAUSE: Duration = Duration::from_millis(3);
/// Lines in one request, and lines that are sent before their answers are awaited.
const LINES_PER_REQUEST: u32 = 40;
const BURST: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Single,
    Batch,
    Lines,
}

/// Whether a producer numbers its requests and repeats those that were not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    Numbered,
    None,
}

pub struct Producer<'a> {
    pub load: &'a Load,
    pub number: u32,
    pub session: String,
    pub shape: Shape,
    pub stamp: Stamp,
}

/// What an answer said.
enum Told {
    Acked(u64, u64),
    /// It was stored before; where is no longer known.
    Stored,
    Refused(String),
}

impl Producer<'_> {
    pub fn run(&self) -> Produced {
        let mut produced = Produced { session: self.session.clone(), acked: Vec::new() };
        let mut random = Random::new(self.load.seed ^ u64::from(self.number));
        let mut connection = None;
        let (mut request, mut sent_until) = (0, 0);
        while self.load.is_producing() {
            let sent = match self.shape {
                Shape::Lines => self.lines(&mut request, &mut sent_until, &mut produced),
                Shape::Single | Shape::Batch => {
                    self.once(&mut connection, &mut request, &mut random, &mut produced)
                }
            };
            if sent.is_err() {
                connection = None;
                // Without a stamp nobody knows whether it was stored; repeating it might store it twice.
                if self.stamp == Stamp::None {
                    request = sent_until.max(request + 1);
                }
                std::thread::sleep(PAUSE);
            }
        }
        produced
    }

    fn path(&self) -> String {
        format!("/v1/sessions/{}/events", self.session)
    }

    fn headers(&self, kind: &str, request: u32) -> Vec<Header<'static>> {
        let mut headers = vec![("content-type", kind.to_owned())];
        if self.stamp == Stamp::Numbered {
            headers.push(("producer-id", format!("p{}", self.number)));
            headers.push(("producer-epoch", "1".to_owned()));
            headers.push(("producer-seq", request.to_string()));
        }
        headers
    }

    fn keys(&self, request: u32) -> Vec<Key> {
        let count = if self.shape == Shape::Batch { TURN } else { 1 };
        (0..count).map(|place| Key { producer: self.number, request, place }).collect()
    }

    fn body(&self, request: u32) -> Vec<u8> {
        let keys = self.keys(request);
        let body = match self.shape {
            Shape::Batch => Value::from(keys.into_iter().map(event).collect::<Vec<_>>()),
            Shape::Single | Shape::Lines => note(keys[0]),
        };
        body.to_string().into_bytes()
    }

    /// One request. Now and then its body arrives in two parts, cut inside a letter if it has a long one.
    fn once(
        &self,
        kept: &mut Option<Connection>,
        request: &mut u32,
        random: &mut Random,
        produced: &mut Produced,
    ) -> Result<()> {
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => Connection::open(self.load.address, &self.load.key, PATIENCE)?,
        };
        let (body, headers) = (self.body(*request), self.headers("application/json", *request));
        let inside = body.iter().position(|byte| *byte >= 0xc0).map(|at| at + 1);
        let head = match inside.filter(|_| random.below(16) == 0) {
            Some(at) => connection.send_cut(&self.path(), &headers, &body, at)?,
            None => connection.send("POST", &self.path(), &headers, &body)?,
        };
        let answer = connection.read_body(&head)?;
        if self.note(told(head.status, &answer), *request..*request + 1, produced) {
            *request += 1;
        }
        *kept = Some(connection);
        Ok(())
    }

    /// Many lines in one request, a few on the way at a time. A number names a line, whatever the server takes
    /// together.
    fn lines(&self, request: &mut u32, sent_until: &mut u32, produced: &mut Produced) -> Result<()> {
        let mut connection = Connection::open(self.load.address, &self.load.key, PATIENCE)?;
        connection.begin(&self.path(), &self.headers("application/x-ndjson", *request))?;
        let mut is_open = false;
        for _ in 0..LINES_PER_REQUEST / BURST {
            let until = *request + BURST;
            *sent_until = until;
            self.burst(&mut connection, *request..until)?;
            if !is_open {
                let head = connection.read_head()?;
                if head.status != 200 {
                    let answer = connection.read_body(&head)?;
                    self.note(told(head.status, &answer), *request..until, produced);
                    return Ok(());
                }
                is_open = true;
            }
            while *request < until {
                let mut answers = Vec::new();
                connection.read_part(&mut answers)?;
                for answer in answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    let told = told(200, answer);
                    let lines = *request..*request + told.count();
                    *request = lines.end;
                    if !self.note(told, lines, produced) {
                        return Ok(());
                    }
                }
            }
            if !self.load.is_producing() {
                break;
            }
        }
        connection.end()
    }

    /// Sends lines in two parts, cut anywhere.
    fn burst(&self, connection: &mut Connection, requests: Range<u32>) -> Result<()> {
        let mut lines = Vec::new();
        for request in requests {
            lines.extend(self.body(request));
            lines.push(b'\n');
        }
        let (front, back) = lines.split_at(lines.len() / 2);
        connection.send_part(front)?;
        connection.send_part(back)
    }

    /// Writes an answer down. True if the request is done.
    fn note(&self, told: Told, requests: Range<u32>, produced: &mut Produced) -> bool {
        let keys: Vec<Key> = requests.clone().flat_map(|request| self.keys(request)).collect();
        match told {
            Told::Stored if self.stamp == Stamp::Numbered => {
                self.load.acked.fetch_add(keys.len() as u64, Ordering::Relaxed);
                produced.acked.extend(keys.into_iter().map(|key| Acked { sequence: 0, key }));
                true
            }
            Told::Acked(first, last) if last + 1 - first == keys.len() as u64 => {
                self.load.acked.fetch_add(keys.len() as u64, Ordering::Relaxed);
                produced.acked.extend((first..).zip(keys).map(|(sequence, key)| Acked { sequence, key }));
                true
            }
            Told::Acked(first, last) => {
                let count = keys.len();
                self.load.problem(format!(
                    "requests {requests:?} of {count} events were acknowledged as {first}..={last}"
                ));
                true
            }
            Told::Stored => {
                self.load.problem(format!("requests {requests:?} without a number are told to be a repeat"));
                true
            }
            Told::Refused(answer) if self.load.is_later(&answer) => {
                std::thread::sleep(PAUSE);
                false
            }
            Told::Refused(answer) => {
                self.load.problem(format!(
                    "requests {requests:?} of producer {} were refused: {answer}",
                    self.number
                ));
                std::thread::sleep(PAUSE);
                false
            }
        }
    }
}

impl Told {
    /// The events that it is about.
    fn count(&self) -> u32 {
        match self {
            Told::Acked(first, last) => u32::try_from(last + 1 - first).unwrap_or(u32::MAX),
            // A numbered line is acknowledged by itself.
            Told::Stored => 1,
            Told::Refused(_) => 0,
        }
    }
}

fn told(status: u16, answer: &[u8]) -> Told {
    let json: Value = serde_json::from_slice(answer).unwrap_or_default();
    if let (Some(first), Some(last)) = (json["first"].as_u64(), json["last"].as_u64()) {
        return Told::Acked(first, last);
    }
    if json["duplicate"] == true && json["cursor"].is_string() {
        return Told::Stored;
    }
    Told::Refused(format!("{status} {}", String::from_utf8_lossy(answer)))
}
