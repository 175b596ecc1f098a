//! What must hold of a session's log and of its tools' effects, whatever happened in between.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::counter::Counter;
use super::world::{is_terminal, kind};

/// How a call may end.
const ENDS: [&str; 4] = ["tool.result", "tool.failed", "tool.cancelled", "tool.outcome_unknown"];

pub struct Judge<'a> {
    pub session: &'a str,
    pub events: &'a [Value],
    pub counter: &'a Counter,
    pub problems: Vec<String>,
    pub unknown: usize,
}

impl<'a> Judge<'a> {
    pub fn new(session: &'a str, events: &'a [Value], counter: &'a Counter) -> Self {
        Self { session, events, counter, problems: Vec::new(), unknown: 0 }
    }

    fn wrong(&mut self, what: String) {
        self.problems.push(format!("session `{}`: {what}", self.session));
    }

    /// What holds of every session.
    pub fn log(&mut self) {
        for (at, event) in self.events.iter().enumerate() {
            if event["sequence"] != at as u64 + 1 {
                return self.wrong(format!("event {} has sequence {}", at + 1, event["sequence"]));
            }
        }
        let mut ended = BTreeSet::new();
        for event in self.events {
            let Some(turn) = event["turnId"].as_str() else { continue };
            if ended.contains(turn) {
                self.wrong(format!("after its end turn `{turn}` has {event}"));
            }
            if is_terminal(event) {
                ended.insert(turn);
            }
        }
        self.calls();
        self.actions();
    }

    /// Every call that began has one end, and one that must not be repeated began once.
    fn calls(&mut self) {
        let (mut began, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for event in self.events {
            let Some(call) = event["toolCallId"].as_str() else { continue };
            match kind(event) {
                "tool.started" => {
                    let name = event["payload"]["toolName"].as_str().unwrap_or_default();
                    began.entry(call).or_insert((name, 0)).1 += 1;
                }
                end if ENDS.contains(&end) => {
                    *ends.entry(call).or_insert(0) += 1;
                    self.unknown += usize::from(end == "tool.outcome_unknown");
                }
                _ => {}
            }
        }
        for (call, (name, times)) in began {
            if ends.get(call) != Some(&1) {
                self.wrong(format!("call `{call}` of {name} began and has {:?} ends", ends.get(call)));
            }
            if times > 1 && matches!(name, "charge" | "wipe") {
                self.wrong(format!("call `{call}` of {name} began {times} times"));
            }
        }
    }

    /// Every action has one resolution, or fell with its turn.
    fn actions(&mut self) {
        let of = |wanted: &str| -> Vec<&Value> {
            self.events.iter().filter(|event| kind(event) == wanted).map(|event| &event["actionId"]).collect()
        };
        let (asked, resolved) = (of("action.required"), of("action.resolved"));
        let mut problems = Vec::new();
        for action in &asked {
            let times = resolved.iter().filter(|known| known == &action).count();
            if times > 1 {
                problems.push(format!("action {action} was resolved {times} times"));
            }
        }
        problems.into_iter().for_each(|problem| self.wrong(problem));
    }

    pub fn completed(&mut self, turn: &str) {
        let ends: Vec<&str> = self
            .events
            .iter()
            .filter(|event| event["turnId"] == turn && is_terminal(event))
            .map(kind)
            .collect();
        if ends != ["turn.completed"] {
            self.wrong(format!("turn `{turn}` ended with {ends:?}"));
        }
    }

    /// The effects of one turn of `worker` that was approved.
    pub fn effects(&mut self) {
        for tool in ["look", "note"] {
            let effects = self.counter.effects(self.session, tool);
            let keys: BTreeSet<String> = effects.iter().map(|effect| effect.key.clone()).collect();
            if keys.len() != 1 {
                self.wrong(format!("{} effects of {tool} have the keys {keys:?}", effects.len()));
            }
        }
        for tool in ["charge", "wipe"] {
            let count = self.counter.effects(self.session, tool).len();
            let results = self.ends_of(tool, "tool.result");
            if count > 1 || results > count {
                self.wrong(format!("{count} effects of {tool}, {results} results"));
            }
            if results == 0 && self.ends_of(tool, "tool.outcome_unknown") == 0 {
                self.wrong(format!("{tool} has neither a result nor an unknown outcome"));
            }
        }
    }

    fn ends_of(&self, tool: &str, end: &str) -> usize {
        self.events.iter().filter(|event| kind(event) == end && event["payload"]["toolName"] == tool).count()
    }

    /// What a client saw is what is there.
    pub fn kept(&mut self, seen: &[Value]) {
        for event in seen {
            let at = event["sequence"].as_u64().unwrap_or(0) as usize;
            if at.checked_sub(1).and_then(|at| self.events.get(at)) != Some(event) {
                self.wrong(format!("a client saw {event}, which is not in the log"));
            }
        }
    }
}
