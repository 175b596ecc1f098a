//! Items in AgentLin's spelling.

use std::borrow::Cow;

use riverrun_event::{
    Block, ErrorItem, HandoffItem, HostedItem, Item, ItemId, ItemPatch, MessageItem, Opaque, Part,
    ReasoningItem, TextBlock, ToolCallItem, ToolResultItem,
};
use serde_json::value::RawValue;

use super::block::{BlockPlace, write_block, write_flag, write_summary_part};
use crate::OffsetUnit;
use crate::members::{List, Members, write_list};

/// Who reads the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// `content` is for the model and is left out.
    User,
    /// The whole object, `content` included.
    All,
}

/// How much of an item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Empty lists and arguments, which fill later.
    Skeleton,
    /// Everything.
    Whole,
    /// Everything but the blocks: the reader has collected them.
    WithoutBlocks,
}

/// The characters behind the prefix of an id that Riverrun made.
const MADE_ID_LENGTH: usize = 26;

/// The id of an item in AgentLin's spelling: ids that Riverrun made have the prefix of their type, others are the
/// producer's and stay as they are.
pub(crate) fn written_id(item: &Item) -> Option<Cow<'_, str>> {
    let id = item.id()?;
    let prefix = match item {
        Item::Message(_) => "msg_",
        Item::Reasoning(_) => "rs_",
        Item::ToolCall(_) => "fc_",
        Item::ToolResult(_) => "fco_",
        Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => return Some(id),
    };
    match id.strip_prefix(ItemId::PREFIX).filter(|suffix| suffix.len() == MADE_ID_LENGTH) {
        Some(suffix) => Some(Cow::Owned(format!("{prefix}{suffix}"))),
        None => Some(id),
    }
}

/// How an item is written.
#[derive(Clone, Copy)]
pub(super) struct ItemForm<'a> {
    /// Another id than AgentLin's spelling of the item's own.
    pub(super) id: Option<&'a str>,
    pub(super) audience: Audience,
    pub(super) body: Body,
    pub(super) unit: OffsetUnit,
    /// Says another status than the item's own.
    pub(super) status: Option<&'a str>,
    /// The child task, for an item that is shown inside its parent's result.
    pub(super) child_of: Option<&'a str>,
    pub(super) is_retracted: bool,
    /// Members that were taken away: AgentLin's `done` keeps what is absent, so they are `null`.
    pub(super) cleared: &'a [&'static str],
    /// Writes what stands behind the item's own blocks.
    pub(super) children: Option<&'a dyn Fn(&mut List<'_>)>,
}

impl ItemForm<'_> {
    pub(super) fn whole(audience: Audience, unit: OffsetUnit) -> Self {
        ItemForm {
            id: None,
            audience,
            body: Body::Whole,
            unit,
            status: None,
            child_of: None,
            is_retracted: false,
            cleared: &[],
            children: None,
        }
    }
}

pub(super) fn write_item(out: &mut String, item: &Item, form: &ItemForm<'_>) {
    let id = form.id.map(Cow::Borrowed).or_else(|| written_id(item)).unwrap_or_default();
    match item {
        Item::Message(item) => write_message(out, item, &id, form),
        Item::Reasoning(item) => write_reasoning(out, item, &id, form),
        Item::ToolCall(item) => write_call(out, item, &id, form),
        Item::ToolResult(item) => write_result(out, item, &id, form),
        Item::Handoff(item) => write_handoff(out, item, &id, form),
        Item::Error(item) => write_error(out, item, &id, form),
        Item::Hosted(item) => write_hosted(out, item, &id, form),
        Item::Other(item) => write_other(out, item, form),
    }
}

/// An item that is complete, for another dialect that names its members in the same way.
pub(crate) fn write_shown_item(out: &mut String, item: &Item, id: &str, unit: OffsetUnit) {
    write_item(out, item, &ItemForm { id: Some(id), ..ItemForm::whole(Audience::User, unit) });
}

fn open<'a>(out: &'a mut String, tag: &str, id: &str, form: &ItemForm<'_>) -> Members<'a> {
    let mut members = Members::open(out);
    members.text("type", tag);
    members.text("id", id);
    members.maybe_text("task_id", form.child_of);
    members
}

fn close(mut members: Members<'_>, form: &ItemForm<'_>) {
    if form.is_retracted {
        members.raw("retracted", "true");
    }
    for name in form.cleared {
        members.raw(name, "null");
    }
    members.close();
}

fn write_message(out: &mut String, item: &MessageItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "message", id, form);
    members.maybe_text("role", item.role.as_deref());
    members.maybe_text("agent", item.agent.as_deref());
    match (&item.content, form.audience) {
        (None, Audience::All) => {
            write_content(&mut members, &item.block_list.as_deref().map(raw_content), form)
        }
        (content, _) => write_content(&mut members, content, form),
    }
    if form.body != Body::WithoutBlocks {
        write_blocks(&mut members, item.block_list.as_deref(), BlockPlace::Message, form);
    }
    members.maybe_text("status", form.status.or(item.status.as_deref()));
    close(members, form);
}

fn write_reasoning(out: &mut String, item: &ReasoningItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "reasoning", id, form);
    write_content(&mut members, &item.content, form);
    let summary = item.summary.as_deref().filter(|_| form.body != Body::Skeleton).unwrap_or_default();
    members.with("summary", |out| {
        write_list(out, summary, |out, part| write_summary_part(out, part, usize::MAX, form.unit));
    });
    members.maybe_text("status", form.status.or(item.status.as_deref()));
    close(members, form);
}

fn write_call(out: &mut String, item: &ToolCallItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "tool_call", id, form);
    members.text("call_id", &item.call_id);
    members.text("name", &item.name);
    members.text("arguments", if form.body == Body::Skeleton { "" } else { &item.arguments });
    members.maybe_text("language", item.language.as_deref());
    members.maybe_text("status", form.status.or(item.status.as_deref()));
    close(members, form);
}

fn write_result(out: &mut String, item: &ToolResultItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "tool_result", id, form);
    members.text("call_id", &item.call_id);
    write_content(&mut members, &item.content, form);
    if form.body != Body::WithoutBlocks {
        write_blocks(&mut members, item.block_list.as_deref(), BlockPlace::ToolResult, form);
    }
    members.maybe_text("status", form.status.or(item.status.as_deref()));
    write_flag(&mut members, "is_error", item.is_error);
    if let Some(references) = &item.references {
        members.raw("references", references.get());
    }
    close(members, form);
}

fn write_handoff(out: &mut String, item: &HandoffItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "handoff", id, form);
    members.maybe_text("from", item.from.as_deref());
    members.text("to", &item.to);
    members.maybe_text("call_id", item.call_id.as_deref());
    close(members, form);
}

fn write_error(out: &mut String, item: &ErrorItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "error", id, form);
    members.maybe_text("code", item.code.as_deref());
    members.text("message", &item.message);
    close(members, form);
}

/// That a service's own tool was at work, and how it ended; what it said are the words of another dialect.
fn write_hosted(out: &mut String, item: &HostedItem, id: &str, form: &ItemForm<'_>) {
    let mut members = open(out, "hosted", id, form);
    members.text("dialect", &item.dialect);
    members.text("kind", &item.kind);
    members.maybe_text("status", form.status.or(item.status.as_deref()));
    close(members, form);
}

/// An item of a type that is not known here is passed on as it came; what we know of it stands behind.
fn write_other(out: &mut String, item: &Opaque, form: &ItemForm<'_>) {
    type Known = std::collections::BTreeMap<String, Box<RawValue>>;
    let known = item.raw.to::<Known>().unwrap_or_default();
    let raw = item.raw.get();
    let start = out.len();
    out.push_str(raw.strip_suffix('}').unwrap_or(raw));
    if let Some(task) = form.child_of.filter(|_| !known.contains_key("task_id")) {
        out.push_str(",\"task_id\":");
        riverrun_event::json::write_string(out, task);
    }
    if form.is_retracted && !known.contains_key("retracted") {
        out.push_str(",\"retracted\":true");
    }
    debug_assert!(out[start..].starts_with('{'), "an item is an object");
    out.push('}');
}

fn write_content(members: &mut Members<'_>, content: &Option<Vec<Part>>, form: &ItemForm<'_>) {
    if form.audience == Audience::User {
        return;
    }
    if let Some(content) = content {
        members.with("content", |out| {
            write_list(out, content, |out, part| write_block(out, part, BlockPlace::Content, form.unit));
        });
    }
}

/// What the model said, from the blocks that were made of it: the same parts without numbers and annotations.
fn raw_content(blocks: &[Block]) -> Vec<Part> {
    let raw = |block: &Block| match block {
        Block::Text(text) => Block::Text(TextBlock {
            text: text.text.clone(),
            tags: text.tags.clone(),
            ..TextBlock::default()
        }),
        Block::Html(_)
        | Block::Image(_)
        | Block::File(_)
        | Block::Audio(_)
        | Block::Table(_)
        | Block::Json(_)
        | Block::Item(_)
        | Block::Other(_) => block.clone(),
    };
    blocks.iter().map(raw).collect()
}

fn write_blocks(
    members: &mut Members<'_>,
    blocks: Option<&[Part]>,
    block_place: BlockPlace,
    form: &ItemForm<'_>,
) {
    let blocks = blocks.filter(|_| form.body != Body::Skeleton).unwrap_or_default();
    members.with("block_list", |out| {
        let mut list = List::open(out);
        for block in blocks {
            write_block(list.entry(), block, block_place, form.unit);
        }
        if let Some(write_children) = form.children {
            write_children(&mut list);
        }
        list.close();
    });
}

/// The members that a patch took away, where absence would mean that they are kept.
pub(super) fn cleared(patch: &ItemPatch) -> Vec<&'static str> {
    use riverrun_event::Patch::Clear;
    let named = |members: &[(bool, &'static str)]| {
        members.iter().filter(|(is_cleared, _)| *is_cleared).map(|(_, name)| *name).collect()
    };
    match patch {
        ItemPatch::Message(patch) => named(&[(patch.role == Clear, "role"), (patch.agent == Clear, "agent")]),
        ItemPatch::ToolCall(patch) => named(&[(patch.language == Clear, "language")]),
        ItemPatch::ToolResult(patch) => {
            named(&[(patch.is_error == Clear, "is_error"), (patch.references == Clear, "references")])
        }
        ItemPatch::Handoff(patch) => {
            named(&[(patch.from == Clear, "from"), (patch.call_id == Clear, "call_id")])
        }
        ItemPatch::Error(patch) => named(&[(patch.code == Clear, "code")]),
        ItemPatch::Reasoning(_) | ItemPatch::Hosted(_) | ItemPatch::Other(_) => Vec::new(),
    }
}
