//! What it costs to encode one event, per dialect, over a recorded turn of the demo agent.
//!
//! `encode_cost` prints nanoseconds of all dialects; `encode_cost DIALECT PASSES` only runs, for `callgrind`:
//! the instructions of 11 passes less those of 1, by 10 times the events, are those of one event.

use std::hint::black_box;
use std::time::Instant;

use riverrun_dialect::registry::ProjectedSession;
use riverrun_dialect::{Dialect, Frames, ReaderOptions, write_frame};
use riverrun_event::{Event, Record, Sequence, SessionId, Timestamp, decode, json, write_record};
use riverrun_fold::State;

struct Turn {
    session: SessionId,
    records: Vec<Vec<u8>>,
    events: Vec<Event>,
}

impl Turn {
    fn recorded() -> Self {
        let lines = include_str!("encode_cost.ndjson").lines();
        let records: Vec<Vec<u8>> = lines.map(record).collect();
        let read = |(bytes, place): (&Vec<u8>, u64)| {
            let sequence = Sequence::new(place).expect("a turn is short");
            Record::read(bytes).and_then(|record| record.to_event(sequence)).expect("it was just written")
        };
        let events = records.iter().zip(1..).map(read).collect();
        Self { session: SessionId::new("s_cost").expect("an id"), records, events }
    }

    /// Projects the turn once, as a reader's bytes.
    fn pass(&self, dialect: Dialect, out: &mut String) {
        let session = ProjectedSession { id: &self.session, incarnation: 1, origins: &[] };
        let options = ReaderOptions { turn: Sequence::new(1), ..ReaderOptions::default() };
        let mut projector = dialect.projector(&session, State::new(self.session.clone()), options);
        // A server makes it once for a session.
        let origin = session.origin();
        let mut frames = Frames::default();
        for (bytes, event) in self.records.iter().zip(&self.events) {
            let record = Record::read(bytes).expect("it was read before");
            frames.clear();
            projector.event(&record, event, &mut frames);
            for frame in frames.iter() {
                write_frame(dialect.rules().framing, origin, &frame, out);
            }
        }
    }

    fn passes(&self, dialect: Dialect, count: usize) {
        let mut out = String::new();
        for _ in 0..count {
            out.clear();
            self.pass(dialect, &mut out);
            black_box(&out);
        }
    }
}

fn record(line: &str) -> Vec<u8> {
    let text = json::compact(line.as_bytes(), &json::JsonLimits::default()).expect("a line is JSON");
    let decoded = decode(&text).expect("a line is an event");
    let timestamp = decoded.draft.timestamp.unwrap_or(Timestamp::from_millis(0));
    let mut bytes = Vec::new();
    write_record(&decoded.draft, timestamp, &mut bytes);
    bytes
}

fn main() {
    let turn = Turn::recorded();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [dialect, passes] = &arguments[..] {
        let dialect = Dialect::parse(dialect).unwrap_or_else(|error| panic!("{error}"));
        return turn.passes(dialect, passes.parse().expect("the passes are a number"));
    }
    const PASSES: usize = 200;
    println!("events {}", turn.events.len());
    for dialect in Dialect::ALL {
        turn.passes(*dialect, 10);
        let began = Instant::now();
        turn.passes(*dialect, PASSES);
        let each = began.elapsed().as_nanos() as usize / (PASSES * turn.events.len());
        println!("{:14} {each:6} ns/event", dialect.name());
    }
}
