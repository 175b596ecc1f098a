//! Blocks of a result that an MCP server shows before its call has ended.
//!
//! The protocol has no word for them, so they come with `notifications/progress`: in `_meta` as `riverrun/partial`, a
//! block or a content of MCP, and `riverrun/blockIndex`; or as a message that is JSON with `partial`, as the progress
//! lines of commands, for servers whose SDK gives them the message alone.

use riverrun_event::Block;
use rmcp::model::{NotificationMetaObject, ProgressNotificationParam};
use serde_json::Value;

use super::content::convert;
use crate::CallProgress;

const PARTIAL: &str = "riverrun/partial";
const BLOCK_INDEX: &str = "riverrun/blockIndex";

/// What a notification tells, with the `_meta` that came with it.
pub(super) fn progress(
    notification: &ProgressNotificationParam,
    meta: &NotificationMetaObject,
) -> CallProgress {
    let fraction = notification
        .total
        .filter(|total| *total > 0.0)
        .map(|total| (notification.progress / total).clamp(0.0, 1.0));
    let message = notification.message.as_deref();
    let mut progress = match message.filter(|message| message.trim_start().starts_with('{')) {
        Some(message) => CallProgress::read(message),
        None => CallProgress { message: message.map(ToOwned::to_owned), ..CallProgress::default() },
    };
    progress.fraction = fraction.or(progress.fraction);
    let member =
        |name: &str| notification.meta.as_ref().and_then(|own| own.0.get(name)).or_else(|| meta.0.get(name));
    if let Some(block) = member(PARTIAL).and_then(block) {
        let index = member(BLOCK_INDEX).and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok());
        (progress.partial, progress.block_index) = (Some(block), index);
    }
    progress
}

fn block(value: &Value) -> Option<Block> {
    if value.get("mimeType").is_some() || value.get("resource").is_some() {
        let (part, block) = convert(value);
        return Some(block.unwrap_or(part));
    }
    serde_json::from_value(value.clone()).ok()
}
