//! A session's log in memory, and what its readers get.

use std::path::{Path, PathBuf};

use riverrun_dialect::registry::ProjectedSession;
use riverrun_dialect::task::reference_client::ReferenceClient;
use riverrun_dialect::{Coalescer, Dialect, Frames, OffsetUnit, Projector, ReaderOptions, task};
use riverrun_event::{Event, Record, Sequence, SessionId, TaskId, Timestamp, decode, json, write_record};
use riverrun_fold::{ApplyOutcome, State};
use serde_json::Value;

pub struct Log {
    pub session: SessionId,
    records: Vec<Vec<u8>>,
    events: Vec<Event>,
    /// The state after each number of events.
    states: Vec<State>,
}

/// A frame as it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    pub json: String,
    pub sequence: u64,
    pub part: u32,
    pub is_last: bool,
}

impl Log {
    /// One event per line, in sequence from 1.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let record = |line: &str| {
            let text = json::compact(line.as_bytes(), &json::JsonLimits::default()).expect("a line is JSON");
            // What ingest refuses is never in a log; the fold's vectors hold some of it.
            let decoded = decode(&text).ok()?;
            let mut record = Vec::new();
            write_record(&decoded.draft, Timestamp::from_millis(1_772_442_000_000), &mut record);
            Some(record)
        };
        let records: Vec<Vec<u8>> = lines.into_iter().filter_map(record).collect();
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

    pub fn read(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::of(text.lines())
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn record(&self, sequence: usize) -> Record<'_> {
        Record::read(&self.records[sequence - 1]).expect("it was written above")
    }

    pub fn event(&self, sequence: usize) -> &Event {
        &self.events[sequence - 1]
    }

    /// The state after the first `events`.
    pub fn state(&self, events: usize) -> &State {
        &self.states[events]
    }

    pub fn projector(&self, state: State, unit: OffsetUnit) -> Box<dyn Projector> {
        let session = ProjectedSession { id: &self.session, incarnation: 1, origins: &[] };
        Dialect::Task.projector(
            &session,
            state,
            ReaderOptions { index_unit: unit, ..ReaderOptions::default() },
        )
    }

    /// What a projector that stands after event `after` tells of the rest.
    pub fn tail(&self, projector: &mut dyn Projector, after: usize) -> Vec<Delivered> {
        let mut out = Vec::new();
        let mut frames = Frames::default();
        for sequence in after + 1..=self.len() {
            frames.clear();
            projector.event(&self.record(sequence), self.event(sequence), &mut frames);
            out.extend(delivered(&frames));
        }
        out
    }

    /// The same, with adjacent deltas of one block joined.
    pub fn coalesced_tail(&self, projector: &mut dyn Projector, after: usize) -> Vec<Delivered> {
        let (mut coalescer, mut joined) = (Coalescer::default(), Vec::new());
        for (bytes, place) in self.records.iter().zip(1..).skip(after) {
            coalescer.push(Sequence::new(place).expect("a test is shorter"), bytes, &mut joined);
        }
        coalescer.flush(&mut joined);
        let mut out = Vec::new();
        for joined in &joined {
            let mut frames = Frames::default();
            let (record, event) = joined.parts().expect("it was joined above");
            projector.event(&record, &event, &mut frames);
            out.extend(delivered(&frames));
        }
        out
    }

    pub fn frames(&self, unit: OffsetUnit) -> Vec<Delivered> {
        let mut projector = self.projector(self.state(0).clone(), unit);
        self.tail(projector.as_mut(), 0)
    }

    pub fn opening(&self, events: usize, unit: OffsetUnit) -> Vec<Delivered> {
        let mut frames = Frames::default();
        self.projector(self.state(events).clone(), unit).opening(&mut frames);
        delivered(&frames)
    }
}

fn delivered(frames: &Frames) -> Vec<Delivered> {
    let owned = |frame: riverrun_dialect::Frame<'_>| Delivered {
        json: frame.json.to_owned(),
        sequence: frame.sequence.get(),
        part: frame.part,
        is_last: frame.is_last,
    };
    frames.iter().map(owned).collect()
}

pub fn take_all(client: &mut ReferenceClient, frames: &[Delivered]) {
    for frame in frames {
        client.take(&frame.json).unwrap_or_else(|error| panic!("{error}: {}", frame.json));
    }
}

/// What the user sees of each task in the window: `content` is for the model, and no frame has it.
pub fn objects(state: &State, unit: OffsetUnit) -> Vec<(TaskId, Value)> {
    let object = |id: &TaskId| {
        let text = task::object(state, id, unit).expect("the task is in the window");
        let mut object: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        for item in object["output"].as_array_mut().into_iter().flatten() {
            let is_ours = ["message", "reasoning", "tool_result"].iter().any(|kind| item["type"] == *kind);
            if let Some(members) = item.as_object_mut().filter(|_| is_ours) {
                members.remove("content");
            }
        }
        object
    };
    state.tasks.iter().map(|task| (task.task_id.clone(), object(&task.task_id))).collect()
}

/// Checks that the client holds what the state holds.
pub fn assert_same(client: &ReferenceClient, state: &State, unit: OffsetUnit, place: &str) {
    for (id, object) in objects(state, unit) {
        let seen = client.object(id.as_str()).unwrap_or_default();
        assert_eq!(seen, object, "{place}: task {id} as the client sees it, and as it is");
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The recorded example sessions.
pub fn recordings() -> Vec<(String, Log)> {
    let names = ["weather", "approval", "research-subagents"];
    let read =
        |name: &str| (name.to_owned(), Log::read(&root().join(format!("examples/recordings/{name}.ndjson"))));
    names.into_iter().map(read).collect()
}
