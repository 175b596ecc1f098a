//! Clients as the protocol describes them: they hold what they were told, and say where they stand.

use riverrun_dialect::task::reference_client::ReferenceClient as Tasks;
use riverrun_event::decode_wire;
use riverrun_fold::{ApplyOutcome, State};
use serde_json::Value;

use crate::wire::Frame;

/// What a client makes of frames.
#[derive(Clone)]
enum Held {
    Native(Box<State>),
    Task(Tasks),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Native,
    Task,
}

impl Dialect {
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::Task => "task",
        }
    }
}

/// A task as its user sees it: `content` is for the model, and no frame has it.
pub fn shown(mut task: Value) -> Value {
    for item in task["output"].as_array_mut().into_iter().flatten() {
        let is_ours = ["message", "reasoning", "tool_result"].iter().any(|kind| item["type"] == *kind);
        if let Some(members) = item.as_object_mut().filter(|_| is_ours) {
            members.remove("content");
        }
    }
    task
}

pub struct Client {
    dialect: Dialect,
    held: Held,
    /// A snapshot that is still being told. What came of it is thrown away if it is cut.
    coming: Option<Held>,
    /// Every place where it stood, in order.
    pub places: Vec<String>,
    /// The words about the stream since it was opened.
    pub words: Vec<Value>,
}

fn nothing(dialect: Dialect, session: &str) -> Held {
    match dialect {
        Dialect::Native => Held::Native(Box::new(State::new(session.parse().expect("an id")))),
        Dialect::Task => Held::Task(Tasks::default()),
    }
}

impl Client {
    pub fn new(dialect: Dialect, session: &str) -> Self {
        let held = nothing(dialect, session);
        Self { dialect, held, coming: None, places: Vec::new(), words: Vec::new() }
    }

    /// The connection is new: a snapshot that had not come to its end is gone.
    pub fn connect(&mut self) {
        self.coming = None;
        self.words.clear();
    }

    pub fn take(&mut self, session: &str, frame: &Frame) {
        match frame.event {
            Some(_) => self.word(session, frame.json()),
            None => self.tell(&frame.data),
        }
        let Some(id) = &frame.id else { return };
        // The first place that is said behind a snapshot is its end.
        if let Some(held) = self.coming.take() {
            self.held = held;
        }
        self.places.push(id.clone());
    }

    fn word(&mut self, session: &str, word: Value) {
        match word["type"].as_str().expect("a word has a type") {
            "stream.opened" if word["outcome"] == "snapshot" => {
                self.coming = Some(nothing(self.dialect, session));
            }
            "stream.snapshot" => {
                let state = State::from_json(&word["state"].to_string()).expect("a state");
                self.coming = Some(Held::Native(Box::new(state)));
            }
            _ => {}
        }
        self.words.push(word);
    }

    fn tell(&mut self, json: &str) {
        let held = self.coming.as_mut().unwrap_or(&mut self.held);
        match held {
            Held::Native(state) => {
                let event = decode_wire(json).expect("an event");
                let outcome = state.apply(&event, &mut Vec::new());
                assert!(!matches!(outcome, ApplyOutcome::Gap { .. }), "{outcome:?} at {json}");
            }
            Held::Task(tasks) => tasks.take(json).expect("a frame is JSON"),
        }
    }

    pub fn state(&self) -> Option<&State> {
        match &self.held {
            Held::Native(state) => Some(state),
            Held::Task(_) => None,
        }
    }

    pub fn object(&self, task: &str) -> Option<Value> {
        match &self.held {
            Held::Native(_) => None,
            Held::Task(tasks) => tasks.object(task),
        }
    }
}
