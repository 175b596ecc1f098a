//! A scenario as data: what each model call answers.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;

use super::condition::When;
use super::parameter::{Amount, Values};

/// The first step whose `when` fits answers the call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One sentence for lists.
    #[serde(default)]
    pub about: String,
    /// The parameters of the model name, with their defaults.
    #[serde(default)]
    pub(super) parameters: Values,
    pub(super) step: Vec<ScriptedStep>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedStep {
    #[serde(default)]
    pub when: When,
    pub play: Vec<Play>,
    #[serde(default)]
    pub usage: Tokens,
    /// Why the model stops; found from the play if absent.
    pub stop: Option<String>,
}

/// One thing that the model does. Text in a row is one item, reasoning in a row too; each call is its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Play {
    Reasoning(Pieces),
    Text(Pieces),
    Call(ScriptedCall),
    WaitMs(Amount),
    /// What the agent shares with its readers from now on.
    State(Json),
    Vendor {
        name: String,
        data: Json,
    },
    RateLimit {
        kind: String,
        limit: Option<u64>,
        remaining: Option<u64>,
        resets_in_ms: Option<u64>,
    },
    Fail(Fail),
    /// The stream ends without its terminal event.
    Cut(bool),
    /// Nothing more comes until the call is cancelled.
    Hang(bool),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pieces {
    pub pieces: Vec<String>,
    /// Played so often.
    pub times: Option<Amount>,
    /// The wait after each delta.
    #[serde(default)]
    pub pace_ms: Amount,
    /// Each word is a delta of its own.
    #[serde(default)]
    pub by_word: bool,
    /// The part of a reasoning summary.
    #[serde(default)]
    pub part: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub name: String,
    /// Made of the request if it is absent or already in the history.
    pub id: Option<String>,
    pub arguments: Vec<String>,
    #[serde(default)]
    pub pace_ms: Amount,
    /// False leaves the arguments unfinished: the item never gets done.
    #[serde(default = "yes")]
    pub finish: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    pub category: String,
    pub message: String,
    pub code: Option<String>,
    pub status: Option<u16>,
    pub retry_after_ms: Option<Amount>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    pub input: Option<Amount>,
    pub cached: Option<Amount>,
    pub output: Option<Amount>,
    pub reasoning: Option<Amount>,
}

fn yes() -> bool {
    true
}

/// Where a scenario is wrong, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ScenarioError {
    pub file: String,
    pub line: usize,
    pub message: String,
}

const MOST_BYTES: u64 = 1 << 20;

impl Scenario {
    /// The scenario in a file, and its name.
    pub fn read(path: &Path) -> Result<(String, Self), ScenarioError> {
        let file = path.display().to_string();
        let wrong = |message: String| ScenarioError { file: file.clone(), line: 1, message };
        let size = std::fs::metadata(path).map_err(|error| wrong(format!("cannot be read: {error}")))?.len();
        if size > MOST_BYTES {
            return Err(wrong(format!("is {size} bytes; a scenario has at most {MOST_BYTES}")));
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let name =
            name.ok_or_else(|| wrong("has a name that is not UTF-8; rename it".to_owned()))?.to_owned();
        Ok((name, Self::parse(&file, &text)?))
    }

    /// `file` ends in `.json` for JSON; everything else is TOML.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let wrong = |line, message| ScenarioError { file: file.to_owned(), line, message };
        let scenario: Self = if file.ends_with(".json") {
            serde_json::from_str(text).map_err(|error| wrong(error.line().max(1), error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                wrong(line_of(text, at), error.message().to_owned())
            })?
        };
        scenario
            .check()
            .map_err(|(needle, message)| wrong(line_of(text, text.find(&needle).unwrap_or(0)), message))?;
        Ok(scenario)
    }

    /// What serde cannot see: parameters and words that are not known. The first half finds the line.
    fn check(&self) -> Result<(), (String, String)> {
        if self.step.is_empty() {
            return Err((String::new(), "has no `step`; add one".to_owned()));
        }
        self.step.iter().try_for_each(|step| step.check(&self.parameters))
    }
}

impl ScriptedStep {
    fn check(&self, values: &Values) -> Result<(), (String, String)> {
        let amounts = [&self.usage.input, &self.usage.cached, &self.usage.output, &self.usage.reasoning];
        for amount in amounts.into_iter().chain([&self.when.attempt_at_most]).flatten() {
            known(amount, values)?;
        }
        self.play.iter().try_for_each(|play| check_play(play, values))
    }
}

fn check_play(play: &Play, values: &Values) -> Result<(), (String, String)> {
    match play {
        Play::Reasoning(pieces) | Play::Text(pieces) => {
            known(&pieces.pace_ms, values)?;
            pieces.times.as_ref().map_or(Ok(()), |times| known(times, values))
        }
        Play::Call(call) if call.name.is_empty() => {
            Err(("name = \"\"".to_owned(), "a call has an empty `name`; give the tool's name".to_owned()))
        }
        Play::Call(call) => known(&call.pace_ms, values),
        Play::WaitMs(time) => known(time, values),
        Play::Fail(fail) => {
            fail.retry_after_ms.as_ref().map_or(Ok(()), |time| known(time, values))?;
            let category = super::parameter::word(&fail.category, values);
            match super::perform::category_of(&category) {
                Ok(_) => Ok(()),
                Err(message) => Err((fail.category.clone(), message)),
            }
        }
        Play::State(_) | Play::Vendor { .. } | Play::RateLimit { .. } | Play::Cut(_) | Play::Hang(_) => {
            Ok(())
        }
    }
}

fn known(amount: &Amount, values: &Values) -> Result<(), (String, String)> {
    match amount {
        Amount::Fixed(_) => Ok(()),
        Amount::Parameter(name) if values.contains_key(name) => Ok(()),
        Amount::Parameter(name) => Err((
            format!("${name}"),
            format!("`${name}` is not a parameter; declare it under `[parameters]` with its default"),
        )),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
