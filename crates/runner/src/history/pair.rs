//! Every call has exactly one result, right behind the step that asked for it.

use riverrun_event::{Part, RawJson};
use riverrun_provider::HistoryEntry;

/// What the model reads of a call whose result never came.
const NO_RESULT: &str = "The call was not run: no result was given.";

/// Puts a conversation into the order that every provider takes.
///
/// ```text
/// call a, call b, result b, user, result a   ▶   call a, call b, result a, result b, user
/// reasoning, message                         ▶   message            (a thought goes back only with what it led to: calls, or what the service did itself)
/// ```
pub(crate) fn pair(history: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    let mut entries: Vec<Option<HistoryEntry>> = history.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(entries.len());
    let mut at = 0;
    while at < entries.len() {
        match &entries[at] {
            Some(
                HistoryEntry::Assistant { .. }
                | HistoryEntry::Reasoning { .. }
                | HistoryEntry::Hosted { .. }
                | HistoryEntry::ToolCall { .. },
            ) => {
                at = step(&mut entries, at, &mut out);
            }
            // Nobody asked for this result, or it was taken to its call before.
            Some(HistoryEntry::ToolResult { .. }) | None => at += 1,
            Some(HistoryEntry::System { .. } | HistoryEntry::User { .. } | HistoryEntry::Given { .. }) => {
                out.extend(entries[at].take());
                at += 1;
            }
        }
    }
    out
}

/// One step: thoughts and words first, then its calls, then their results. Answers where the rest begins.
fn step(entries: &mut [Option<HistoryEntry>], from: usize, out: &mut Vec<HistoryEntry>) -> usize {
    let mut end = from;
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    while let Some(entry) = entries.get_mut(end) {
        match entry {
            Some(HistoryEntry::ToolCall { .. }) => calls.extend(entry.take()),
            Some(
                HistoryEntry::Assistant { .. } | HistoryEntry::Reasoning { .. } | HistoryEntry::Hosted { .. },
            ) => {
                messages.extend(entry.take());
            }
            Some(HistoryEntry::System { .. } | HistoryEntry::User { .. } | HistoryEntry::Given { .. }) => {
                break;
            }
            Some(HistoryEntry::ToolResult { .. }) => break,
            None => {}
        }
        end += 1;
    }
    let mut known = Vec::new();
    calls.retain(|call| match call {
        HistoryEntry::ToolCall { call_id, .. } if !known.contains(call_id) => {
            known.push(call_id.clone());
            true
        }
        _ => false,
    });
    let did_something = |entry: &HistoryEntry| matches!(entry, HistoryEntry::Hosted { .. });
    if calls.is_empty() && !messages.iter().any(did_something) {
        messages.retain(|entry| !matches!(entry, HistoryEntry::Reasoning { .. }));
    }
    out.append(&mut messages);
    out.extend(calls.iter().cloned());
    for call in calls {
        let HistoryEntry::ToolCall { call_id, name, .. } = call else { continue };
        out.extend(result(entries, end, call_id, name));
    }
    end
}

/// Finds the result of a call, before the next call with the same id. None if the caller gave it in words that stay
/// where they are.
fn result(
    entries: &mut [Option<HistoryEntry>],
    from: usize,
    id: String,
    tool: String,
) -> Option<HistoryEntry> {
    for entry in entries.iter_mut().skip(from) {
        match entry {
            Some(HistoryEntry::ToolResult { call_id, .. }) if *call_id == id => {
                if let Some(HistoryEntry::ToolResult { parts, is_error, .. }) = entry.take() {
                    return Some(HistoryEntry::ToolResult { call_id: id, name: tool, parts, is_error });
                }
            }
            Some(HistoryEntry::Given { object }) if answers(object, &id) => return None,
            Some(HistoryEntry::ToolCall { call_id, .. }) if *call_id == id => break,
            Some(_) | None => {}
        }
    }
    let parts = vec![Part::plain(NO_RESULT)];
    Some(HistoryEntry::ToolResult { call_id: id, name: tool, parts, is_error: true })
}

/// True if this is the result of the call, in OpenAI's words.
fn answers(object: &RawJson, call: &str) -> bool {
    let object: serde_json::Value = object.to().unwrap_or_default();
    object["call_id"] == call && object["type"] == "function_call_output"
}
