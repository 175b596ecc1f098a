//! A provider that needs no key: it plays scenarios, the same way each time.
//!
//! A model name is `SCENARIO` or `SCENARIO?parameter=value&…`. What a step says depends only on the request and on how
//! often the same request came before.
//!
//! A scenario is a TOML or JSON file; `docs/reference/scripts.md` tells all of it.

mod attempt;
mod condition;
mod fill;
#[cfg(test)]
mod guide;
mod parameter;
mod perform;
mod scenario;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, stream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Category, ModelError, ModelEvent, ModelRequest, ModelStream, Provider};
use attempt::Attempts;
use condition::Situation;
use fill::DUE;
use perform::{Beat, Performance};

pub use scenario::{Scenario, ScenarioError};

const BUILT_IN: &[(&str, &str)] = &[
    ("approval", include_str!("builtin/approval.toml")),
    ("echo", include_str!("builtin/echo.toml")),
    ("error", include_str!("builtin/error.toml")),
    ("fail-then-ok", include_str!("builtin/fail-then-ok.toml")),
    ("long", include_str!("builtin/long.toml")),
    ("parallel", include_str!("builtin/parallel.toml")),
    ("research", include_str!("builtin/research.toml")),
    ("slow", include_str!("builtin/slow.toml")),
    ("subagent", include_str!("builtin/subagent.toml")),
    ("text", include_str!("builtin/text.toml")),
    ("tool", include_str!("builtin/tool.toml")),
];

pub struct Scripted {
    scenarios: BTreeMap<String, Arc<Scenario>>,
    attempts: Attempts,
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripted {
    /// The built-in scenarios alone.
    pub fn new() -> Self {
        let read = |(name, text): &(&str, &str)| {
            let file = format!("{name}.toml");
            let scenario = Scenario::parse(&file, text).expect("a test reads every built-in scenario");
            ((*name).to_owned(), Arc::new(scenario))
        };
        Self { scenarios: BUILT_IN.iter().map(read).collect(), attempts: Attempts::default() }
    }

    /// Adds a scenario, or replaces the one of this name.
    pub fn with(mut self, name: &str, scenario: Scenario) -> Self {
        self.scenarios.insert(name.to_owned(), Arc::new(scenario));
        self
    }

    /// Adds the scenario in a `.toml` or `.json` file under the file's name without its ending.
    pub fn with_file(self, path: &Path) -> Result<Self, ScenarioError> {
        let (name, scenario) = Scenario::read(path)?;
        Ok(self.with(&name, scenario))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scenarios.keys().map(String::as_str)
    }

    fn prepare(&self, request: &ModelRequest) -> Result<Performance, ModelError> {
        let (name, query) = request.model.split_once('?').unwrap_or((&request.model, ""));
        let scenario = self.scenarios.get(name).ok_or_else(|| self.unknown(name))?;
        let values = parameter::resolve(name, &scenario.parameters, query).map_err(refused)?;
        let situation = Situation::of(request, self.attempts.next(request));
        let fits = |step: &&scenario::ScriptedStep| step.when.fits(&situation, &values);
        let Some(step) = scenario.step.iter().find(fits) else {
            return Err(refused(format!(
                "scenario `{name}` has no step for this history; add one without `when`"
            )));
        };
        Performance::new(step, &situation, &values, &request.model).map_err(refused)
    }

    fn unknown(&self, name: &str) -> ModelError {
        let known: Vec<&str> = self.names().collect();
        let message = format!("there is no scenario `{name}`; there are: {}", known.join(", "));
        ModelError::new(Category::ModelNotFound, message)
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn models(&self) -> Vec<String> {
        self.scenarios.keys().cloned().collect()
    }

    fn call(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        match self.prepare(&request) {
            Ok(performance) => play(performance, cancel),
            Err(error) => stream::iter([ModelEvent::Failed(error)]).boxed(),
        }
    }
}

/// Speaks at the pace of the scenario, whether or not somebody listens meanwhile, as a model does. Waits in tokio's
/// time, so that a test can pause it.
fn play(performance: Performance, cancel: CancellationToken) -> ModelStream {
    let speech = Speech { beats: performance, cancel, pace: Pace::begin() };
    let next = |mut speech: Speech| async move { speech.next().await.map(|event| (event, speech)) };
    stream::unfold(speech, next).boxed()
}

struct Speech {
    beats: Performance,
    cancel: CancellationToken,
    pace: Pace,
}

impl Speech {
    async fn next(&mut self) -> Option<ModelEvent> {
        loop {
            if self.beats.is_over() {
                return None;
            }
            if self.cancel.is_cancelled() {
                return Some(self.beats.stop(cancelled()));
            }
            match self.beats.next()? {
                Beat::Emit(event) => return Some(self.pace.stamp(event)),
                Beat::Wait(time) => {
                    self.pace.due += time;
                    tokio::select! {
                        () = self.cancel.cancelled() => {}
                        () = tokio::time::sleep_until(self.pace.rings_at()) => {}
                    }
                }
                Beat::Hang => self.cancel.cancelled().await,
            }
        }
    }
}

/// When the next piece is due.
struct Pace {
    began: Instant,
    due: Instant,
    began_at: SystemTime,
}

impl Pace {
    fn begin() -> Self {
        let began = Instant::now();
        Self { began, due: began, began_at: SystemTime::now() }
    }

    /// What the timer is set to. It counts whole milliseconds and rounds up: every piece would be half a millisecond
    /// late on the whole. So it is as often early as late.
    fn rings_at(&self) -> Instant {
        const HALF_TICK: Duration = Duration::from_micros(500);
        self.due.checked_sub(HALF_TICK).unwrap_or(self.due)
    }

    /// `{due}` in text is the time at which it was due, in microseconds since 1970.
    fn stamp(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Text { index, delta } if delta.contains('{') && delta.contains(DUE) => {
                let due = self.began_at + (self.due - self.began);
                let micros = due.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
                ModelEvent::Text { index, delta: delta.replace(DUE, &micros.to_string()) }
            }
            event => event,
        }
    }
}

fn cancelled() -> ModelError {
    ModelError::new(Category::Cancelled, "the model call was cancelled")
}

fn refused(message: String) -> ModelError {
    ModelError::new(Category::InvalidRequest, message)
}
