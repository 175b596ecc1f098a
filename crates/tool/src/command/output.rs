//! From what a program wrote to what its tool gives back.

use riverrun_event::Block;
use serde::Deserialize;
use serde_json::Value;

use super::reader::Captured;
use crate::ToolOutput;

/// What a program may write instead of text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    content: Option<Vec<Block>>,
    block_list: Option<Vec<Block>>,
    structured: Option<Value>,
    #[serde(default)]
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
    let content = content.unwrap_or_default();
    Some(ToolOutput { content, block_list: block_list.unwrap_or_default(), structured, is_error })
}
