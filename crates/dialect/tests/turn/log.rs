//! A log with one turn, and what its readers get.

use std::path::{Path, PathBuf};

use riverrun_dialect::registry::ProjectedSession;
use riverrun_dialect::{Dialect, Frames, Projector, ReaderOptions, WholeAnswer, before_turn, write_frame};
use riverrun_event::{Event, Record, Sequence, SessionId, Timestamp, decode, json, write_record};
use riverrun_fold::{ApplyOutcome, State};
use serde_json::Value;

pub struct Log {
    session: SessionId,
    records: Vec<Vec<u8>>,
    events: Vec<Event>,
    states: Vec<State>,
}

/// A frame as a client gets it: the name of its event line, and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Got {
    pub name: String,
    pub data: String,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {}", self.data))
    }
}

pub const DIALECTS: [Dialect; 4] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic, Dialect::Gemini];

impl Log {
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let record = |line: &str| {
            let text = json::compact(line.as_bytes(), &json::JsonLimits::default()).expect("a line is JSON");
            let decoded = decode(&text).unwrap_or_else(|error| panic!("{error}: {line}"));
            let timestamp = decoded.draft.timestamp.unwrap_or(Timestamp::from_millis(1_772_442_000_000));
            let mut record = Vec::new();
            write_record(&decoded.draft, timestamp, &mut record);
            record
        };
        let records: Vec<Vec<u8>> = lines.into_iter().map(record).collect();
        let read = |(bytes, place): (&Vec<u8>, u64)| {
            let sequence = Sequence::new(place).expect("a test is shorter");
            Record::read(bytes).and_then(|record| record.to_event(sequence)).expect("it was written above")
        };
        let events: Vec<Event> = records.iter().zip(1..).map(read).collect();
        let session = SessionId::new("s_vector").expect("an id");
        let mut states = vec![State::new(session.clone())];
        for event in &events {
            let mut next = states[states.len() - 1].clone();
            assert_eq!(next.apply(event, &mut Vec::new()), ApplyOutcome::Applied);
            states.push(next);
        }
        Self { session, records, events, states }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn state(&self, events: usize) -> &State {
        &self.states[events]
    }

    pub fn begun(&self, dialect: Dialect) -> Box<dyn Projector> {
        let session = ProjectedSession { id: &self.session, incarnation: 1, origins: &[] };
        dialect.projector(&session, self.states[0].clone(), options())
    }

    /// A projector of the turn that begins with event `first`.
    pub fn projector(&self, dialect: Dialect, state: State, first: usize) -> Box<dyn Projector> {
        let session = ProjectedSession { id: &self.session, incarnation: 1, origins: &[] };
        let turn = Sequence::new(first as u64);
        dialect.projector(&session, state, ReaderOptions { turn, ..ReaderOptions::default() })
    }

    /// Nothing but the place after the first `events`.
    pub fn before(&self, events: usize) -> State {
        before_turn(&self.session, Sequence::new(events as u64 + 1).expect("a test is shorter"))
    }

    /// A projector that knows the state after the first `events`.
    pub fn of_state(&self, dialect: Dialect, events: usize) -> Box<dyn Projector> {
        self.projector(dialect, self.states[events].clone(), 1)
    }

    /// Takes the events `from..to`, and gives what a client gets of them.
    pub fn feed(&self, projector: &mut dyn Projector, from: usize, to: usize) -> Vec<Got> {
        let (mut got, mut frames) = (Vec::new(), Frames::default());
        for at in from..to {
            frames.clear();
            let record = Record::read(&self.records[at]).expect("it was written above");
            projector.event(&record, &self.events[at], &mut frames);
            got.extend(delivered(&frames));
        }
        got
    }

    /// The body of the whole turn, as bytes.
    pub fn body(&self, dialect: Dialect) -> String {
        let (mut projector, mut frames, mut out) = (self.begun(dialect), Frames::default(), String::new());
        let origin = ProjectedSession { id: &self.session, incarnation: 1, origins: &[] }.origin();
        for at in 0..self.len() {
            frames.clear();
            let record = Record::read(&self.records[at]).expect("it was written above");
            projector.event(&record, &self.events[at], &mut frames);
            frames.iter().for_each(|frame| write_frame(dialect.rules().framing, origin, &frame, &mut out));
        }
        assert!(projector.is_over(), "the turn of every vector ends");
        out
    }

    pub fn answer(&self, dialect: Dialect, events: usize) -> WholeAnswer {
        let mut projector = self.begun(dialect);
        self.feed(projector.as_mut(), 0, events);
        projector.answer()
    }
}

pub fn options() -> ReaderOptions {
    ReaderOptions { turn: Some(Sequence::new(1).expect("a place")), ..ReaderOptions::default() }
}

pub fn opening(projector: &dyn Projector) -> Vec<Got> {
    let mut frames = Frames::default();
    projector.opening(&mut frames);
    delivered(&frames)
}

fn delivered(frames: &Frames) -> Vec<Got> {
    let got =
        |frame: riverrun_dialect::Frame<'_>| Got { name: frame.name.to_owned(), data: frame.json.to_owned() };
    frames.iter().map(got).collect()
}

/// Reads an SSE body as strictly as the pickiest client.
pub fn parse_sse(body: &str) -> Vec<Got> {
    let frame = |text: &str| {
        let (mut name, mut data) = (String::new(), None);
        for line in text.lines() {
            match line.split_once(": ").expect("a line is a field and a value") {
                ("event", value) => name = value.to_owned(),
                ("data", value) if data.is_none() => data = Some(value.to_owned()),
                (field, _) => panic!("a client fails on the field `{field}`"),
            }
        }
        Got { name, data: data.expect("a frame has data") }
    };
    body.split_terminator("\n\n").map(frame).collect()
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The turns of the vectors, by name.
pub fn turns() -> Vec<(String, Log)> {
    let folder = root().join("spec/vectors/dialect/turns");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder is readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "ndjson"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a vector is readable");
        (path.file_stem().expect("it is a file").to_string_lossy().into_owned(), Log::of(text.lines()))
    };
    paths.into_iter().map(read).collect()
}

pub fn turn(name: &str) -> Log {
    turns().into_iter().find(|(known, _)| known == name).expect("the vector is there").1
}
