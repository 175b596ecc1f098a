//! What a turn asks of the model beside its agent.

use riverrun_event::Item;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a turn asks of the model beside its agent. Stored with the turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Tools of the caller: `{name, description, parameters, strict}`. A call of one ends the turn, or waits for the
    /// result, as `clientTools` says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// `end` (default) or `wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_tools: Option<String>,
    /// `auto`, `none`, `required`, or `{"name": …}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// How pieces of text become deltas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deltas: Option<Deltas>,
    /// Members that are not known here; they go to the provider as they are.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// The dialect whose words `extra` and `verbatim` are; a provider that speaks another gets neither. Without it
    /// `extra` goes to any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// What the model reads in place of the turns before this one and of the turn's own input. Only a program that
    /// embeds the runner gives it: the server takes no such member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Vec<Item>>,
    /// The caller's whole request, for a bare model whose provider speaks its dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<Map<String, Value>>,
}

/// How the pieces of text that a service sends become deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deltas {
    /// Each piece is one, unless the log is slower than the model: then those that wait are joined.
    #[default]
    Joined,
    /// Each piece is one.
    AsSent,
}

impl Deltas {
    pub const ALL: [(&'static str, Deltas); 2] = [("joined", Deltas::Joined), ("as_sent", Deltas::AsSent)];

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, deltas)| deltas)
    }
}
