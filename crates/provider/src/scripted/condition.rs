//! What a request looks like to a scenario, and which step fits it.

use serde::Deserialize;

use super::attempt::name_of;
use super::parameter::{Amount, Values};
use crate::{HistoryEntry, ModelRequest};

/// Every member that is there must hold. "This turn" is what follows the last input of the user.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The number of this model call in the turn, from 1.
    pub step: Option<u64>,
    /// At least so many tool results in this turn.
    pub results: Option<u64>,
    /// A result of this tool, or of the call with this id, in this turn.
    pub result_of: Option<String>,
    /// The newest tool result of this turn is an error, or is not.
    pub result_is_error: Option<bool>,
    /// This tool was not called in this turn.
    pub not_called: Option<String>,
    /// The request offers this tool.
    pub offers: Option<String>,
    /// The last input of the user has this text in it.
    pub input_contains: Option<String>,
    /// The same request came at most so often, this time included.
    pub attempt_at_most: Option<Amount>,
}

/// The request, read once.
#[derive(Debug, Default)]
pub struct Situation {
    /// Tells this request from others.
    pub name: u64,
    pub step: u64,
    pub attempt: u64,
    /// The last input of the user.
    pub input: String,
    /// Tool, text and error mark of each result of this turn.
    pub results: Vec<Answered>,
    pub called: Vec<String>,
    pub offered: Vec<String>,
    /// Every call id of the whole history.
    pub call_ids: Vec<String>,
}

#[derive(Debug)]
pub struct Answered {
    pub tool: String,
    pub call_id: String,
    pub text: String,
    pub references: Vec<u64>,
    pub is_error: bool,
}

impl Situation {
    pub fn of(request: &ModelRequest, attempt: u64) -> Self {
        let history = &request.history;
        let is_input = |entry: &HistoryEntry| matches!(entry, HistoryEntry::User { .. });
        let start = history.iter().rposition(is_input).map_or(0, |at| at + 1);
        let input = match start.checked_sub(1).map(|at| &history[at]) {
            Some(HistoryEntry::User { parts }) => text_of(parts),
            _ => String::new(),
        };
        let mut situation = Self { name: name_of(request), attempt, input, step: 1, ..Self::default() };
        situation.offered = request.tools.iter().map(|tool| tool.name.clone()).collect();
        situation.call_ids = history.iter().filter_map(call_id).map(str::to_owned).collect();
        situation.read_turn(&history[start..]);
        situation
    }

    fn read_turn(&mut self, turn: &[HistoryEntry]) {
        let mut by_model = false;
        for entry in turn {
            let is_answer = matches!(entry, HistoryEntry::ToolResult { .. });
            self.step += u64::from(by_model && is_answer);
            by_model = !is_answer;
            match entry {
                HistoryEntry::ToolCall { name, .. } => self.called.push(name.clone()),
                HistoryEntry::ToolResult { call_id, name, parts, is_error } => self.results.push(Answered {
                    tool: tool_of(turn, call_id).unwrap_or(name).to_owned(),
                    call_id: call_id.clone(),
                    text: text_of(parts),
                    references: parts.iter().filter_map(riverrun_event::Block::ref_id).collect(),
                    is_error: *is_error,
                }),
                HistoryEntry::System { .. } | HistoryEntry::User { .. } => {}
                HistoryEntry::Assistant { .. } | HistoryEntry::Reasoning { .. } => {}
                HistoryEntry::Hosted { .. } | HistoryEntry::Given { .. } => {}
            }
        }
    }
}

impl When {
    pub fn fits(&self, situation: &Situation, values: &Values) -> bool {
        let newest_is_error = situation.results.last().is_some_and(|result| result.is_error);
        let has = |list: &[String], name: &String| list.contains(name);
        let answered = |name: &String| {
            situation.results.iter().any(|result| result.tool == *name || result.call_id == *name)
        };
        let input = situation.input.to_lowercase();
        self.step.is_none_or(|step| step == situation.step)
            && self.results.is_none_or(|count| situation.results.len() as u64 >= count)
            && self.result_of.as_ref().is_none_or(answered)
            && self.result_is_error.is_none_or(|is_error| is_error == newest_is_error)
            && self.not_called.as_ref().is_none_or(|name| !has(&situation.called, name))
            && self.offers.as_ref().is_none_or(|name| has(&situation.offered, name))
            && self.input_contains.as_ref().is_none_or(|text| input.contains(&text.to_lowercase()))
            && self.attempt_at_most.as_ref().is_none_or(|most| situation.attempt <= most.of(values))
    }
}

fn call_id(entry: &HistoryEntry) -> Option<&str> {
    match entry {
        HistoryEntry::ToolCall { call_id, .. } | HistoryEntry::ToolResult { call_id, .. } => Some(call_id),
        HistoryEntry::System { .. } | HistoryEntry::User { .. } => None,
        HistoryEntry::Assistant { .. } | HistoryEntry::Reasoning { .. } => None,
        HistoryEntry::Hosted { .. } | HistoryEntry::Given { .. } => None,
    }
}

fn tool_of<'a>(turn: &'a [HistoryEntry], wanted: &str) -> Option<&'a str> {
    turn.iter().find_map(|entry| match entry {
        HistoryEntry::ToolCall { call_id, name, .. } if call_id == wanted => Some(name.as_str()),
        _ => None,
    })
}

fn text_of(parts: &[riverrun_event::Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(riverrun_event::Block::text).collect();
    texts.join("\n")
}
