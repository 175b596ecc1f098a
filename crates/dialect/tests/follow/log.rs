//! A log in memory, its prefixes' states, and what a dialect makes of one of its turns.

use std::path::{Path, PathBuf};

use riverrun_dialect::registry::ProjectedSession;
use riverrun_dialect::{Dialect, Frames, Projector, ReaderOptions};
use riverrun_event::{Event, Record, Sequence, SessionId, Timestamp, decode, json, write_record};
use riverrun_fold::{ApplyOutcome, State};

pub struct Log {
    session: SessionId,
    records: Vec<Vec<u8>>,
    events: Vec<Event>,
    states: Vec<State>,
}

/// A frame as a reader gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    pub text: String,
    pub name: String,
    pub is_marker: bool,
    pub sequence: u64,
}

impl Log {
    pub fn read(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::of(text.lines())
    }

    pub fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let session = SessionId::new("t1").expect("a short id is good");
        let mut state = State::new(session.clone());
        let mut log = Self { session, records: Vec::new(), events: Vec::new(), states: vec![state.clone()] };
        for (line, place) in lines.into_iter().filter(|line| !line.trim().is_empty()).zip(1..) {
            let line = json::compact(line.as_bytes(), &json::JsonLimits::default()).expect("a line is JSON");
            let decoded = decode(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let timestamp = Timestamp::from_millis(1_772_442_000_000 + place as i64 * 10);
            let mut record = Vec::new();
            write_record(&decoded.draft, timestamp, &mut record);
            let sequence = Sequence::new(place).expect("a test is shorter");
            let event = Record::read(&record).expect("it was just written").to_event(sequence);
            let event = event.unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(state.apply(&event, &mut Vec::new()), ApplyOutcome::Applied);
            log.records.push(record);
            log.events.push(event);
            log.states.push(state.clone());
        }
        log
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// The state after the first `events`.
    pub fn state(&self, events: usize) -> &State {
        &self.states[events]
    }

    /// The first events of all turns.
    pub fn turns(&self) -> Vec<Sequence> {
        let mut turns: Vec<Sequence> =
            self.states.iter().flat_map(|state| &state.turns).map(|turn| turn.first_sequence).collect();
        turns.sort();
        turns.dedup();
        turns
    }

    pub fn projector(&self, dialect: Dialect, after: usize, turn: Option<Sequence>) -> Box<dyn Projector> {
        self.projector_with(dialect, after, ReaderOptions { turn, ..ReaderOptions::default() })
    }

    fn projector_with(&self, dialect: Dialect, after: usize, options: ReaderOptions) -> Box<dyn Projector> {
        let session = ProjectedSession { id: &self.session, incarnation: 1, origins: &[] };
        dialect.projector(&session, self.state(after).clone(), options)
    }

    pub fn opening(&self, dialect: Dialect, after: usize, turn: Option<Sequence>) -> Vec<Delivered> {
        let mut frames = Frames::default();
        self.projector(dialect, after, turn).opening(&mut frames);
        delivered(&frames)
    }

    /// What a projector that is made after event `after` tells of the rest.
    pub fn tail(&self, dialect: Dialect, after: usize, turn: Option<Sequence>) -> Vec<Delivered> {
        self.tail_with(dialect, after, ReaderOptions { turn, ..ReaderOptions::default() })
    }

    pub fn tail_with(&self, dialect: Dialect, after: usize, options: ReaderOptions) -> Vec<Delivered> {
        let mut projector = self.projector_with(dialect, after, options);
        let mut out = Vec::new();
        for sequence in after..self.len() {
            let mut frames = Frames::default();
            let record = Record::read(&self.records[sequence]).expect("it was written above");
            projector.event(&record, &self.events[sequence], &mut frames);
            out.extend(delivered(&frames));
        }
        out
    }
}

fn delivered(frames: &Frames) -> Vec<Delivered> {
    let owned = |frame: riverrun_dialect::Frame<'_>| Delivered {
        text: frame.json.to_owned(),
        name: frame.name.to_owned(),
        is_marker: frame.is_marker,
        sequence: frame.sequence.get(),
    };
    frames.iter().map(owned).collect()
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder beside the repository with transcripts that official clients accepted; None where it is not.
pub fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("RIVERRUN_SHARED").map(PathBuf::from);
    let found = named.unwrap_or_else(|| root().join("../shared"));
    if found.is_dir() {
        return Some(found);
    }
    println!("skipped: no folder `{}` (RIVERRUN_SHARED names it)", found.display());
    None
}

/// The recorded example sessions and the inputs of this suite's vectors.
pub fn logs() -> Vec<(String, Log)> {
    let mut logs = Vec::new();
    for name in ["weather", "approval", "research-subagents"] {
        let path = root().join(format!("examples/recordings/{name}.ndjson"));
        logs.push((name.to_owned(), Log::read(&path)));
    }
    for name in scenarios() {
        logs.push((name.clone(), scenario(&name)));
    }
    logs
}

/// The scenarios that every dialect of a turn is projected from.
pub fn scenarios() -> Vec<String> {
    let folder = root().join("spec/vectors/dialect/scenarios");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a folder is readable").path())
        .map(|path| path.file_stem().expect("it is a file").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn scenario(name: &str) -> Log {
    Log::read(&root().join(format!("spec/vectors/dialect/scenarios/{name}.ndjson")))
}
