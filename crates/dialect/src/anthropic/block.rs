//! The JSON of content blocks.

use riverrun_event::{Block, Item, RawJson, json};

use crate::members::Members;
use crate::turn::{Citation, Shown, View, citations, redacted, signature};

pub(super) fn write_start(out: &mut String, shown: Shown, item: &Item) {
    if let Item::Hosted(hosted) = item {
        return out.push_str(&hosted.word(0).map_or_else(|| "null".into(), |(_, begun, _)| begun));
    }
    let mut members = Members::open(out);
    match (shown, item) {
        (Shown::Call, Item::ToolCall(call)) => {
            members.text("type", "tool_use");
            members.text("id", &call.call_id);
            members.text("name", &call.name);
            members.raw("input", "{}");
        }
        (Shown::Thinking, item) => match redacted(item).filter(|_| !has_text(item)) {
            Some(data) => {
                members.text("type", "redacted_thinking");
                members.text("data", &data);
            }
            None => {
                members.text("type", "thinking");
                members.text("thinking", "");
                members.text("signature", "");
            }
        },
        (Shown::Text | Shown::Refusal | Shown::Call | Shown::Hosted, _) => {
            members.text("type", "text");
            members.text("text", "");
        }
    }
    members.close();
}

/// True if there is reasoning that can be read.
fn has_text(item: &Item) -> bool {
    let Item::Reasoning(reasoning) = item else { return false };
    let parts = reasoning.summary.iter().flatten().chain(reasoning.content.iter().flatten());
    parts.filter_map(|part| part.text()).any(|text| !text.is_empty())
}

pub(super) fn write_delta(out: &mut String, shown: Shown, news: &str) {
    let (name, member) = match shown {
        Shown::Thinking => ("thinking_delta", "thinking"),
        Shown::Text | Shown::Refusal | Shown::Hosted => ("text_delta", "text"),
        Shown::Call => ("input_json_delta", "partial_json"),
    };
    let mut members = Members::open(out);
    members.text("type", name);
    members.text(member, news);
    members.close();
}

/// The end of a block: the signature of its reasoning, the citations of its text.
pub(super) fn last_deltas(view: &View<'_>, shown: Shown, item: &Item, block: Option<&Block>) -> Vec<String> {
    match shown {
        Shown::Thinking if is_redacted(item) => Vec::new(),
        Shown::Thinking => {
            let mut delta = String::from("{\"type\":\"signature_delta\",\"signature\":");
            json::write_string(&mut delta, &proof(view, item));
            delta.push('}');
            vec![delta]
        }
        Shown::Text | Shown::Refusal => {
            let wrap = |citation: String| format!("{{\"type\":\"citations_delta\",\"citation\":{citation}}}");
            cited(view, block).into_iter().map(wrap).collect()
        }
        Shown::Call | Shown::Hosted => Vec::new(),
    }
}

fn is_redacted(item: &Item) -> bool {
    !has_text(item) && redacted(item).is_some()
}

/// Clients send thinking back only with a signature. Where the provider gave none, it names our item.
fn proof(view: &View<'_>, item: &Item) -> String {
    let ours = || format!("riverrun:{}:{}", view.turn.turn_id, item.id().unwrap_or_default());
    signature(item).unwrap_or_else(ours)
}

/// Appends a block with a comma where one is needed.
pub(super) fn write_whole(
    list: &mut String,
    view: &View<'_>,
    shown: Shown,
    item: &Item,
    block: Option<&Block>,
    text: &str,
) {
    if !list.ends_with('[') {
        list.push(',');
    }
    match (shown, item) {
        (_, Item::Hosted(hosted)) => {
            list.push_str(hosted.object().as_ref().map_or("null", RawJson::get));
        }
        (Shown::Thinking, item) if !is_redacted(item) => {
            let mut members = Members::open(list);
            members.text("type", "thinking");
            members.text("thinking", text);
            members.text("signature", &proof(view, item));
            members.close();
        }
        (Shown::Thinking, item) => write_start(list, Shown::Thinking, item),
        (Shown::Call, Item::ToolCall(call)) => {
            let mut members = Members::open(list);
            members.text("type", "tool_use");
            members.text("id", &call.call_id);
            members.text("name", &call.name);
            members.raw("input", &input(&call.arguments));
            members.close();
        }
        (Shown::Text | Shown::Refusal | Shown::Call | Shown::Hosted, _) => {
            let mut members = Members::open(list);
            members.text("type", "text");
            members.text("text", text);
            let cited = cited(view, block);
            if !cited.is_empty() {
                members.raw("citations", &format!("[{}]", cited.join(",")));
            }
            members.close();
        }
    }
}

/// Arguments as an object; what is not one (a call that was cut) is no input at all.
fn input(arguments: &str) -> String {
    let is_object = arguments.trim_start().starts_with('{');
    let compact = json::compact(arguments.as_bytes(), &json::JsonLimits::default());
    compact.ok().filter(|_| is_object).unwrap_or_else(|| "{}".to_owned())
}

/// Our references point to results, which are search results here; a provider's own are kept if they are this
/// protocol's.
fn cited(view: &View<'_>, block: Option<&Block>) -> Vec<String> {
    let Some(Block::Text(text)) = block else { return Vec::new() };
    // The text's life is that of the state behind the view.
    let cite = |citation: Citation<'_>| match citation {
        Citation::Reference { number, source, .. } => {
            let mut out = String::new();
            let mut members = Members::open(&mut out);
            members.text("type", "search_result_location");
            members
                .text("cited_text", &source.text.unwrap_or_default().chars().take(200).collect::<String>());
            members.number("search_result_index", number.saturating_sub(1));
            members.text("source", &source.address(number));
            members.text("title", &source.name(number));
            members.number("start_block_index", 0);
            members.number("end_block_index", 1);
            members.close();
            Some(out)
        }
        Citation::Other { tag, raw } => tag.ends_with("_location").then(|| raw.to_owned()),
    };
    citations(view, text).into_iter().filter_map(cite).collect()
}
