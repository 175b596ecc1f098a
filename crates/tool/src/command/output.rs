//! From what a program wrote to what its tool gives back.

use riverrun_event::Block;
use serde::Deserialize;
use serde_json::Value;

use super::reader::Captured;
use crate::ToolOutput;

/// What a program may write instead of text, in our words or in AgentLin's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(alias = "message_content")]
    content: Option<Vec<Value>>,
    #[serde(alias = "block_list")]
    block_list: Option<Vec<Value>>,
    structured: Option<Value>,
    #[serde(default, alias = "is_error")]
    is_error: bool,
}

pub(super) fn parse(captured: Captured) -> ToolOutput {
    let whole = captured.total == captured.bytes.len() as u64;
    let text = String::from_utf8_lossy(&captured.bytes);
    if whole && let Some(output) = written(&text) {
        return output;
    }
    if whole {
        return ToolOutput::text(text.trim_end());
    }
    // The cut may have gone through a character.
    let text = text.trim_end_matches('\u{fffd}');
    let (kept, total) = (captured.bytes.len(), captured.total);
    ToolOutput::text(format!("{text}\n[cut: the first {kept} of {total} bytes]"))
}

fn written(text: &str) -> Option<ToolOutput> {
    let written: Written = serde_json::from_str(text).ok()?;
    if written.content.is_none() && written.block_list.is_none() {
        return None;
    }
    let Written { content, block_list, structured, is_error } = written;
    let (content, block_list) = (parts(content)?, parts(block_list)?);
    Some(ToolOutput { content, block_list, structured, is_error })
}

/// None if one of them is no part.
fn parts(written: Option<Vec<Value>>) -> Option<Vec<Block>> {
    let part = |value: Value| serde_json::from_value(numbered(value)).ok();
    written.unwrap_or_default().into_iter().map(part).collect()
}

/// AgentLin's number of a group is the part's `id`.
fn numbered(mut part: Value) -> Value {
    if let Some(members) = part.as_object_mut()
        && !(members.contains_key("refId") || members.contains_key("ref_id"))
        && members.get("id").is_some_and(Value::is_u64)
        && let Some(number) = members.remove("id")
    {
        members.insert("refId".to_owned(), number);
    }
    part
}
