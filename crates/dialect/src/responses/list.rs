//! `GET /v1/responses/{id}/input_items`.

use riverrun_event::{Block, Input, Item, Part};
use riverrun_fold::TurnState;

use super::item::write_plain;
use crate::members::{Members, write_list};
use crate::request::RequestFailure;
use crate::turn::encrypted;

/// The requested page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPageQuery {
    pub limit: usize,
    pub order: Order,
    /// The page starts after this item.
    pub after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    OldestFirst,
    #[default]
    NewestFirst,
}

impl ItemPageQuery {
    /// As many as the API gives to a client that names no number, and as many as it gives at most.
    pub const DEFAULT: usize = 20;
    pub const MOST: usize = 100;
}

impl Default for ItemPageQuery {
    fn default() -> Self {
        Self { limit: Self::DEFAULT, order: Order::default(), after: None }
    }
}

/// What the turn was asked: the history that the client sent, and its last message.
pub fn input_items(turn: &TurnState, page: &ItemPageQuery) -> Result<String, RequestFailure> {
    let mut items = asked(turn);
    if page.order == Order::NewestFirst {
        items.reverse();
    }
    let from = match &page.after {
        None => 0,
        Some(after) => {
            let at = items.iter().position(|entry| entry.id == *after);
            at.ok_or_else(|| unknown(after))? + 1
        }
    };
    let remaining = &items[from..];
    let shown = &remaining[..remaining.len().min(page.limit)];
    Ok(list(shown, shown.len() < remaining.len()))
}

/// An item of a list: its id and its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedItem {
    pub id: String,
    pub json: String,
}

/// A page of items.
pub fn list(shown: &[ListedItem], has_more: bool) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("object", "list");
    members.with("data", |out| write_list(out, shown, |out, item| out.push_str(&item.json)));
    for (name, item) in [("first_id", shown.first()), ("last_id", shown.last())] {
        match item {
            Some(item) => members.text(name, &item.id),
            None => members.raw(name, "null"),
        }
    }
    members.flag("has_more", has_more);
    members.close();
    out
}

/// What a turn was asked, oldest first.
pub(super) fn asked(turn: &TurnState) -> Vec<ListedItem> {
    let past = turn.history.iter().map(|item| Entry::past(turn, item));
    let entries = past.chain(turn.input.as_ref().map(|input| Entry::asked(turn, input)));
    let listed = |entry: Entry<'_>| {
        let mut json = String::new();
        entry.write(&mut json);
        ListedItem { id: entry.id, json }
    };
    entries.map(listed).collect()
}

fn unknown(after: &str) -> RequestFailure {
    let shown: String = after.chars().take(80).filter(|c| !c.is_control()).collect();
    let message = format!("`after` is '{shown}', which is no input item of this response");
    RequestFailure::new(400, "invalid_value", message).param("after")
}

struct Entry<'a> {
    id: String,
    what: What<'a>,
}

enum What<'a> {
    Asked(&'a Input),
    Past(&'a Item),
}

impl<'a> Entry<'a> {
    fn asked(turn: &TurnState, input: &'a Input) -> Self {
        Self { id: format!("msg_in_{}", turn.turn_id), what: What::Asked(input) }
    }

    /// The items of a history are named by their place, so their names say it in every response.
    fn past(turn: &TurnState, item: &'a Item) -> Self {
        let prefix = match item {
            Item::Reasoning(_) => "rs",
            Item::ToolCall(_) => "fc",
            Item::ToolResult(_) => "fco",
            Item::Message(_) | Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => "msg",
        };
        let item_id = item.id().unwrap_or_default();
        Self { id: format!("{prefix}_in_{}_{item_id}", turn.turn_id), what: What::Past(item) }
    }

    fn write(&self, out: &mut String) {
        match self.what {
            What::Asked(Input::Text(text)) => self.message(out, "user", &[Part::plain(text.clone())]),
            What::Asked(Input::Parts(parts)) => self.message(out, "user", parts),
            What::Past(item) => self.write_past(out, item),
        }
    }

    fn write_past(&self, out: &mut String, item: &Item) {
        match item {
            Item::Message(message) => {
                let role = message.role.as_deref().unwrap_or("assistant");
                self.message(out, role, message.block_list.as_deref().unwrap_or_default());
            }
            Item::Reasoning(_) => {
                let mut members = self.open(out, "reasoning");
                members.raw("summary", "[]");
                members.maybe_text("encrypted_content", encrypted(item).as_deref());
                members.close();
            }
            Item::ToolCall(call) => {
                let mut members = self.open(out, "function_call");
                members.text("call_id", &call.call_id);
                members.text("name", &call.name);
                members.text("arguments", &call.arguments);
                members.text("status", "completed");
                members.close();
            }
            Item::ToolResult(result) => {
                let parts = result.content.as_deref().unwrap_or_default();
                let mut members = self.open(out, "function_call_output");
                members.text("call_id", &result.call_id);
                match parts {
                    [Block::Text(text)] => members.text("output", &text.text),
                    parts => members.with("output", |out| write_list(out, parts, write_part)),
                }
                members.text("status", "completed");
                members.close();
            }
            Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {
                self.message(out, "assistant", &[])
            }
        }
    }

    fn open<'o>(&self, out: &'o mut String, kind: &str) -> Members<'o> {
        let mut members = Members::open(out);
        members.text("type", kind);
        members.text("id", &self.id);
        members
    }

    fn message(&self, out: &mut String, role: &str, parts: &[Part]) {
        let write = if role == "assistant" { write_output_text } else { write_part };
        let mut members = self.open(out, "message");
        members.text("role", role);
        members.text("status", "completed");
        members.with("content", |out| write_list(out, parts, write));
        members.close();
    }
}

fn write_output_text(out: &mut String, part: &Part) {
    let mut members = Members::open(out);
    members.text("type", "output_text");
    members.text("text", part.text().unwrap_or_default());
    members.raw("annotations", "[]");
    members.close();
}

fn write_part(out: &mut String, part: &Part) {
    match part {
        Block::Image(image) => {
            let mut members = Members::open(out);
            members.text("type", "input_image");
            members.text(
                "detail",
                image.image_url.as_ref().and_then(|it| it.detail.as_deref()).unwrap_or("auto"),
            );
            members.maybe_text("image_url", image.image_url.as_ref().map(|it| it.url.as_str()));
            members.close();
        }
        Block::File(file) => {
            let mut members = Members::open(out);
            members.text("type", "input_file");
            members.maybe_text("filename", file.name.as_deref());
            members.maybe_text("file_url", file.url.as_deref());
            members.maybe_text("file_data", file.data.as_deref());
            members.close();
        }
        // As the service sent it.
        Block::Other(part) => out.push_str(part.raw.get()),
        part => write_plain(out, "input_text", part.text().unwrap_or_default()),
    }
}
