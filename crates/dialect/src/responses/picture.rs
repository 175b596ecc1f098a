//! Pictures in a message: each is an `image_generation_call` of its own, because a message holds texts here.

use riverrun_event::{Block, Item};
use riverrun_fold::TaskState;

use super::Out;
use super::action::emit_once;
use super::item::Form;
use super::output_entry::{OutputEntry, Source};
use crate::members::Members;
use crate::turn::{View, is_assistant};

/// Emits the final pictures of the message at this position that were not emitted yet.
pub(super) fn emit_pictures(
    entries: &mut Vec<OutputEntry>,
    view: &View<'_>,
    task: &TaskState,
    at: usize,
    out: &mut Out<'_>,
) {
    let Some(Item::Message(message)) = task.output.get(at) else { return };
    if !is_assistant(message.role.as_deref()) || task.retracted.contains(&at) {
        return;
    }
    let is_done = |block| task.open.get(at).is_none_or(|open| open.done.contains(&block));
    for (block, content) in message.block_list.iter().flatten().enumerate() {
        if matches!(content, Block::Image(_)) && (view.ending.is_some() || is_done(block)) {
            emit_once(entries, Source::Picture { item: at, block }, view, out);
        }
    }
}

/// `result` is the picture in base 64; one that is elsewhere has `image_url` instead.
pub(super) fn write(out: &mut String, view: &View<'_>, at: usize, block: usize, form: Form) {
    let Some(Item::Message(message)) = view.root.and_then(|task| task.output.get(at)) else { return };
    let Some(Block::Image(image)) = message.block_list.iter().flatten().nth(block) else { return };
    let url = image.image_url.as_ref().map(|image| image.url.as_str()).filter(|_| form != Form::Withdrawn);
    let inside = url.and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
    let mut members = Members::open(out);
    members.text("type", "image_generation_call");
    members.text("id", &format!("{}.{block}", message.id));
    members.text("status", if form == Form::Withdrawn { "failed" } else { "completed" });
    match inside {
        Some((media_type, data)) => {
            members.text("result", data);
            members.maybe_text("output_format", media_type.strip_prefix("image/"));
        }
        None => {
            members.raw("result", "null");
            members.maybe_text("image_url", url);
        }
    }
    members.close();
}
