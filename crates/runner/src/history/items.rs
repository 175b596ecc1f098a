//! Items as entries of a conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use riverrun_event::{
    Annotation, Block, HostedItem, Item, MessageItem, Part, ReasoningItem, TextBlock, ToolCallItem,
};
use riverrun_provider::HistoryEntry;

/// Whose items they are, which decides what goes back verbatim.
pub(crate) enum Making<'a> {
    /// Of an earlier turn: nothing goes back verbatim.
    Past,
    /// Of the present turn: only what this provider made.
    Present { makers: &'a BTreeMap<String, Arc<str>>, provider: &'a str },
    /// Brought by the caller, who speaks to this provider.
    Given { provider: &'a str },
}

impl Making<'_> {
    fn provider(&self, item: &str) -> Option<&str> {
        match self {
            Making::Past => None,
            Making::Present { makers, provider } => makers
                .get(item)
                .map(|_| *provider)
                .filter(|_| makers.get(item).is_some_and(|maker| maker.as_ref() == *provider)),
            Making::Given { provider } => Some(provider),
        }
    }
}

pub(crate) fn items(
    items: &[Item],
    is_retracted: impl Fn(usize) -> bool,
    making: &Making<'_>,
    out: &mut Vec<HistoryEntry>,
) {
    for (position, item) in items.iter().enumerate() {
        if is_retracted(position) {
            continue;
        }
        match item {
            Item::Message(message) => out.extend(message_entry(message, making)),
            Item::Reasoning(reasoning) => out.extend(reasoning_entry(reasoning, making)),
            Item::ToolCall(call) => out.extend(call_entry(call, making)),
            Item::ToolResult(result) => {
                let content =
                    result.content.clone().or_else(|| result.block_list.clone()).unwrap_or_default();
                let parts = content.into_iter().filter(|part| !matches!(part, Block::Item(_))).collect();
                let (call_id, is_error) = (result.call_id.clone(), result.is_error.unwrap_or(false));
                if result.status.as_deref() != Some("in_progress") {
                    out.push(HistoryEntry::ToolResult { call_id, name: String::new(), parts, is_error });
                }
            }
            Item::Hosted(hosted) => out.extend(hosted_entry(hosted, making)),
            Item::Handoff(_) | Item::Error(_) | Item::Other(_) => {}
        }
    }
}

/// A message that was cut keeps what the user saw of it.
fn message_entry(message: &MessageItem, making: &Making<'_>) -> Option<HistoryEntry> {
    let shown =
        message.content.clone().filter(|content| !content.is_empty()).or_else(|| message.block_list.clone());
    let parts: Vec<Part> = shown.unwrap_or_default().into_iter().filter(|part| !is_blank(part)).collect();
    if parts.is_empty() {
        return None;
    }
    match message.role.as_deref() {
        Some("user") => {
            let parts: Vec<Part> = parts.into_iter().filter(|part| !says_nothing(part)).collect();
            (!parts.is_empty()).then_some(HistoryEntry::User { parts })
        }
        Some("system" | "developer") => {
            Some(HistoryEntry::System { text: parts.iter().filter_map(Part::text).collect() })
        }
        Some(_) | None => {
            let is_whole = message.status.as_deref() != Some("incomplete");
            // What a model drew or spoke is read by its maker with its proof; others are not sent that.
            let is_drawn = parts.iter().any(|part| matches!(part, Block::Image(_) | Block::Audio(_)));
            let is_maker = making.provider(&message.id).is_some() || is_drawn;
            let opaque = message.opaque.clone().filter(|_| is_maker && is_whole);
            let parts = match making {
                Making::Past => parts.into_iter().map(without_citations).collect(),
                Making::Present { .. } | Making::Given { .. } => parts,
            };
            Some(HistoryEntry::Assistant { parts, opaque })
        }
    }
}

fn is_blank(part: &Part) -> bool {
    matches!(part, Block::Item(_)) || matches!(part, Block::Text(text) if text.text.is_empty())
}

/// True for a text without a word.
pub(super) fn says_nothing(part: &Part) -> bool {
    matches!(part, Block::Text(text) if text.text.trim().is_empty())
}

/// Numbers of an earlier turn's results mean nothing any more.
fn without_citations(part: Part) -> Part {
    let Block::Text(block) = part else { return part };
    let mut text: Vec<char> = block.text.chars().collect();
    let mut cited: Vec<(usize, usize)> = block.annotations.iter().flatten().filter_map(stretch).collect();
    cited.sort_unstable();
    for (start, end) in cited.into_iter().rev().filter(|(start, end)| start < end) {
        if end <= text.len() {
            text.drain(start..end);
        }
    }
    Block::Text(TextBlock { text: text.into_iter().collect(), ..TextBlock::default() })
}

fn stretch(annotation: &Annotation) -> Option<(usize, usize)> {
    match annotation {
        Annotation::ReferenceToBlock(cited) => {
            Some((usize::try_from(cited.start_index).ok()?, usize::try_from(cited.end_index).ok()?))
        }
        Annotation::Other(_) => None,
    }
}

fn reasoning_entry(reasoning: &ReasoningItem, making: &Making<'_>) -> Option<HistoryEntry> {
    let provider = making.provider(&reasoning.id)?.to_owned();
    if matches!(reasoning.status.as_deref(), Some("incomplete" | "in_progress" | "failed")) {
        return None;
    }
    let text = |parts: &Option<Vec<Part>>| -> Vec<String> {
        parts.iter().flatten().filter_map(Part::text).map(ToOwned::to_owned).collect()
    };
    let content = text(&reasoning.content).concat();
    Some(HistoryEntry::Reasoning {
        summary: text(&reasoning.summary),
        text: (!content.is_empty()).then_some(content),
        provider,
        opaque: reasoning.opaque.clone(),
    })
}

/// What a service did itself and did not finish is left out: it would refuse it.
fn hosted_entry(hosted: &HostedItem, making: &Making<'_>) -> Option<HistoryEntry> {
    let provider = making.provider(&hosted.id)?.to_owned();
    let object = hosted.object().filter(|_| hosted.status.as_deref() == Some("completed"))?;
    Some(HistoryEntry::Hosted { provider, object })
}

/// A call that was not written to its end was never run and is left out.
fn call_entry(call: &ToolCallItem, making: &Making<'_>) -> Option<HistoryEntry> {
    if matches!(call.status.as_deref(), Some("incomplete" | "in_progress" | "failed")) {
        return None;
    }
    // Providers take an object or nothing; what the model wrote instead stands in the result's error.
    let is_object = call.arguments.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
    Some(HistoryEntry::ToolCall {
        call_id: call.call_id.clone(),
        name: call.name.clone(),
        arguments: if is_object { call.arguments.clone() } else { "{}".to_owned() },
        opaque: making.provider(&call.id).and(call.opaque.clone()),
    })
}
