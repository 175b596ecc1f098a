//! From what a program wrote to what its tool gives back.

use super::reader::Captured;
use crate::ToolOutput;
use crate::written::written;

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
    let (shown, total) = (captured.bytes.len(), captured.total);
    ToolOutput::text(format!("{text}\n[cut: the first {shown} of {total} bytes]"))
}
