//! The conversation as a model reads it: pure, and valid for every provider after a stop at any event.

mod items;
mod merge;
mod pair;
#[cfg(test)]
mod tests;

use riverrun_event::{Input, Part, RawJson};
use riverrun_fold::{TaskState, TurnState};
use riverrun_provider::HistoryEntry;
use serde_json::{Value, json};

use crate::{Registry, Settings};

use items::says_nothing;
pub(crate) use items::{Making, items};
pub(crate) use merge::merged;
pub(crate) use pair::pair;

/// A service that reads the conversation in its own words.
pub(crate) struct Reader<'a> {
    pub provider: &'a str,
    pub dialect: &'a str,
    /// Who answered the turns before.
    pub registry: &'a Registry,
}

/// A turn that has ended: what was asked and said. What the model thought is left out, citations are taken out. A reader
/// gets back in its own words what it made, and what it was asked.
pub(crate) fn past_turn(
    turn: &TurnState,
    root: Option<&TaskState>,
    reader: Option<&Reader<'_>>,
    out: &mut Vec<HistoryEntry>,
) {
    match reader.and_then(|reader| given(turn, reader)) {
        Some(given) => out.extend(given),
        None => asked(turn, &Making::Past, out),
    }
    let is_maker = |reader: &&Reader<'_>| {
        let maker = turn.agent.as_deref().and_then(|agent| reader.registry.only_provider(agent));
        maker.is_some_and(|maker| maker.name() == reader.provider)
    };
    let making = match reader.filter(is_maker) {
        Some(reader) => Making::Given { provider: reader.provider },
        None => Making::Past,
    };
    if let Some(root) = root {
        items(&root.output, |position| root.retracted.contains(&position), &making, out);
    }
}

/// What the caller asked in the words of the reader; None if that was said in others.
pub(crate) fn given(turn: &TurnState, reader: &Reader<'_>) -> Option<Vec<HistoryEntry>> {
    let settings: Settings = turn.settings.as_ref()?.to().ok()?;
    let mut asked = settings.verbatim.filter(|_| settings.dialect.as_deref() == Some(reader.dialect))?;
    let entry = |item: &Value| RawJson::of(item).ok().map(|object| HistoryEntry::Given { object });
    Some(match asked.remove("input")? {
        Value::Array(items) => items.iter().filter_map(entry).collect(),
        text => entry(&json!({"role": "user", "content": text})).into_iter().collect(),
    })
}

/// What the caller brought along, then the input.
pub(crate) fn asked(turn: &TurnState, making: &Making<'_>, out: &mut Vec<HistoryEntry>) {
    items(&turn.history, |_| false, making, out);
    if let Some(input) = &turn.input {
        user(input, out);
    }
}

pub(crate) fn user(input: &Input, out: &mut Vec<HistoryEntry>) {
    let parts = match input {
        Input::Text(text) => vec![Part::plain(text.clone())],
        // Some services refuse a text that says nothing.
        Input::Parts(parts) if !parts.iter().all(says_nothing) => {
            parts.iter().filter(|part| !says_nothing(part)).cloned().collect()
        }
        Input::Parts(parts) => parts.clone(),
    };
    if !parts.is_empty() {
        out.push(HistoryEntry::User { parts });
    }
}

/// The text of the newest input, for guardrails.
pub(crate) fn last_user_text(history: &[HistoryEntry]) -> String {
    let newest = history.iter().rev().find_map(|entry| match entry {
        HistoryEntry::User { parts } => Some(parts.iter().filter_map(Part::text).collect()),
        _ => None,
    });
    newest.unwrap_or_default()
}

/// Tokens of a conversation, by the rule of thumb of four characters each.
pub(crate) fn tokens(history: &[HistoryEntry]) -> u64 {
    let parts = |parts: &[Part]| parts.iter().filter_map(Part::text).map(str::len).sum::<usize>();
    let size: usize = history
        .iter()
        .map(|entry| match entry {
            HistoryEntry::System { text } => text.len(),
            HistoryEntry::User { parts: all } | HistoryEntry::Assistant { parts: all, .. } => parts(all),
            HistoryEntry::ToolResult { parts: all, .. } => parts(all),
            HistoryEntry::Reasoning { summary, text, .. } => {
                summary.iter().map(String::len).sum::<usize>() + text.as_ref().map_or(0, String::len)
            }
            HistoryEntry::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
            HistoryEntry::Hosted { object, .. } | HistoryEntry::Given { object } => object.get().len(),
        })
        .sum();
    (size as u64).div_ceil(4)
}

/// Cuts long texts in their middle until the conversation has about so many tokens. What was said stays in its order.
pub(crate) fn cut(history: &mut [HistoryEntry], tokens: u64) {
    const SHORTEST: usize = 200;
    let room = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let most = (room / history.len().max(1)).max(SHORTEST);
    for entry in history {
        match entry {
            HistoryEntry::System { text } => cut_text(text, most),
            HistoryEntry::User { parts }
            | HistoryEntry::Assistant { parts, .. }
            | HistoryEntry::ToolResult { parts, .. } => {
                for part in parts {
                    if let riverrun_event::Block::Text(block) = part {
                        cut_text(&mut block.text, most);
                        block.annotations = None;
                    }
                }
            }
            HistoryEntry::Reasoning { .. } | HistoryEntry::ToolCall { .. } => {}
            HistoryEntry::Hosted { .. } | HistoryEntry::Given { .. } => {}
        }
    }
}

/// Cuts the texts of results until they have about so many tokens together: the older a result, the more it gives
/// way. Every call keeps its result. False if nothing gave way.
pub(crate) fn cut_results(history: &mut [HistoryEntry], tokens: u64) -> bool {
    const SHORTEST: usize = 200;
    let mut room = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let mut is_cut = false;
    for entry in history.iter_mut().rev() {
        let HistoryEntry::ToolResult { parts, .. } = entry else { continue };
        for text in parts.iter_mut().filter_map(Part::text_mut) {
            let before = text.len();
            cut_text(text, (room / 2).max(SHORTEST));
            is_cut |= text.len() < before;
            room = room.saturating_sub(text.len());
        }
    }
    is_cut
}

/// Tokens of the results of a conversation.
pub(crate) fn result_tokens(history: &[HistoryEntry]) -> u64 {
    let results = history.iter().filter(|entry| matches!(entry, HistoryEntry::ToolResult { .. }));
    results.map(|entry| tokens(std::slice::from_ref(entry))).sum()
}

fn cut_text(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    *text = format!("{} […] {}", &text[..head], &text[tail..]);
}
