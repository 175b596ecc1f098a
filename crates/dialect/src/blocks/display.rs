//! What a view shows: an agent view everything, a chat view no thinking.

use std::collections::HashSet;

use riverrun_event::RawJson;
use riverrun_fold::{State, TurnState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DisplayMode {
    #[default]
    Agent,
    Chat,
}

impl DisplayMode {
    pub fn as_str(self) -> &'static str {
        match self {
            DisplayMode::Agent => "agent",
            DisplayMode::Chat => "chat",
        }
    }

    /// How a turn is shown to those who do not say how they want it.
    pub(super) fn of(turn: &TurnState) -> Self {
        match TurnRequest::of(turn).display_mode.as_deref() {
            Some("chat") => DisplayMode::Chat,
            Some(_) | None => DisplayMode::Agent,
        }
    }
}

/// The members that a `chat` set for its turn, as stored in `request` of `turn.submitted`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnRequest {
    dialect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_mode: Option<String>,
    /// The share that this turn begins a session from.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_id: Option<String>,
}

impl TurnRequest {
    /// None for a turn that is as any other.
    pub fn write(display_mode: Option<DisplayMode>, share_id: Option<&str>) -> Option<RawJson> {
        let display_mode = display_mode.filter(|mode| *mode != DisplayMode::Agent);
        if display_mode.is_none() && share_id.is_none() {
            return None;
        }
        let request = Self {
            dialect: "blocks".to_owned(),
            display_mode: display_mode.map(|mode| mode.as_str().to_owned()),
            share_id: share_id.map(str::to_owned),
        };
        RawJson::of(&request).ok()
    }

    pub(super) fn of(turn: &TurnState) -> Self {
        turn.request.as_ref().and_then(|request| request.to().ok()).unwrap_or_default()
    }

    pub(super) fn is_from_share(&self) -> bool {
        self.share_id.is_some()
    }
}

/// Shows the messages to one reader. Every message of its stream must pass, in order.
///
/// A message of a block has `chat_index` where the block has another number in a view without thinking, and null where
/// it has none. So what a reader gets does not depend on where it began.
#[derive(Debug, Clone, Default)]
pub struct Display {
    /// How the reader wants every turn; None for each as it was asked for.
    wanted: Option<DisplayMode>,
    /// The turns that were asked for as a chat.
    chats: HashSet<String>,
}

impl Display {
    /// For a reader that sees every turn from its first message.
    pub fn new(wanted: Option<DisplayMode>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// For a reader that may come in the middle of a turn of `state`.
    pub fn within(wanted: Option<DisplayMode>, state: &State) -> Self {
        let chats = state.turns.iter().filter(|turn| DisplayMode::of(turn) == DisplayMode::Chat);
        Self { wanted, chats: chats.map(|turn| turn.turn_id.to_string()).collect() }
    }

    /// From now on each turn is shown as it was asked for.
    pub fn follow_turns(&mut self) {
        self.wanted = None;
    }

    /// The message as this reader gets it; None if it gets none.
    pub fn pass(&mut self, message: &str) -> Option<String> {
        if self.wanted != Some(DisplayMode::Chat) && self.chats.is_empty() && !begins(message) {
            return Some(without_chat_index(message));
        }
        let mut value: Value = serde_json::from_str(message).ok()?;
        let of = value["message_id"].as_str().unwrap_or_default().to_owned();
        if value["type"] == "message_start" {
            if value["display_mode"] == "chat" {
                self.chats.insert(of.clone());
            }
            value["display_mode"] = json!(self.mode(&of).as_str());
            return Some(value.to_string());
        }
        let mode = self.mode(&of);
        if value["type"] == "message_stop" {
            self.chats.remove(&of);
        }
        let index = value.as_object_mut().and_then(|members| members.remove("chat_index"));
        match index {
            Some(Value::Null) if mode == DisplayMode::Chat => return None,
            Some(index) if mode == DisplayMode::Chat => value["index"] = index,
            Some(_) | None => {}
        }
        Some(value.to_string())
    }

    fn mode(&self, message_id: &str) -> DisplayMode {
        let asked = if self.chats.contains(message_id) { DisplayMode::Chat } else { DisplayMode::Agent };
        self.wanted.unwrap_or(asked)
    }
}

/// The member comes first in a message, which is not read for it.
fn without_chat_index(message: &str) -> String {
    let remaining = message.strip_prefix("{\"chat_index\":").and_then(|remaining| remaining.split_once(','));
    remaining.map_or_else(|| message.to_owned(), |(_, remaining)| format!("{{{remaining}"))
}

/// Whether a message may begin a turn: nearly none does, and those are not read.
fn begins(message: &str) -> bool {
    message.contains("\"message_start\"")
}
