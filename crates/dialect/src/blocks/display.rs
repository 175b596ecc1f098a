//! What a view shows: an agent view everything, a chat view no thinking.

use std::collections::HashSet;

use riverrun_event::RawJson;
use riverrun_fold::{State, Turn};
use serde::Deserialize;
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

    /// What `turn.submitted` keeps under `request`; None for what is shown without it.
    pub fn request(self) -> Option<RawJson> {
        let kept = json!({"dialect": "blocks", "display_mode": self.as_str()});
        if self == DisplayMode::Agent { None } else { RawJson::of(&kept).ok() }
    }

    /// How a turn is shown to those who do not say how they want it.
    pub(super) fn of(turn: &Turn) -> Self {
        let kept = turn.request.as_ref().and_then(|request| request.to::<Kept>().ok());
        match kept.and_then(|kept| kept.display_mode).as_deref() {
            Some("chat") => DisplayMode::Chat,
            Some(_) | None => DisplayMode::Agent,
        }
    }
}

#[derive(Deserialize)]
struct Kept {
    display_mode: Option<String>,
}

/// Filters the messages for one reader. Every message of its stream must pass, in order.
#[derive(Debug, Clone, Default)]
pub struct Display {
    /// How the reader wants every turn; None for each as it was asked for.
    wanted: Option<DisplayMode>,
    /// The turns that were asked for as a chat.
    chats: HashSet<String>,
    hidden: HashSet<(String, u64)>,
}

impl Display {
    /// For a reader that sees every turn from its first message.
    pub fn new(wanted: Option<DisplayMode>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// For a reader that may come in the middle of a turn of `state`.
    pub fn within(wanted: Option<DisplayMode>, state: &State) -> Self {
        let chats = state.turns.iter().filter(|turn| DisplayMode::of(turn) == DisplayMode::Chat);
        Self { wanted, chats: chats.map(|turn| turn.turn_id.to_string()).collect(), ..Self::default() }
    }

    /// From now on each turn is shown as it was asked for.
    pub fn follow_turns(&mut self) {
        self.wanted = None;
    }

    /// The message as this reader gets it; None if it gets none. Numbers of hidden blocks are not used again.
    pub fn pass(&mut self, message: &str) -> Option<String> {
        if self.wanted != Some(DisplayMode::Chat) && self.chats.is_empty() && !begins(message) {
            return Some(message.to_owned());
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
        if value["type"] == "message_stop" {
            self.chats.remove(&of);
        }
        let Some(index) = value["index"].as_u64().filter(|_| self.mode(&of) == DisplayMode::Chat) else {
            return Some(message.to_owned());
        };
        if value["content_block"]["type"] == "thinking" {
            self.hidden.insert((of.clone(), index));
        }
        let is_hidden = self.hidden.contains(&(of.clone(), index));
        if is_hidden && value["type"] == "content_block_stop" {
            self.hidden.remove(&(of, index));
        }
        (!is_hidden).then(|| message.to_owned())
    }

    fn mode(&self, message_id: &str) -> DisplayMode {
        let asked = if self.chats.contains(message_id) { DisplayMode::Chat } else { DisplayMode::Agent };
        self.wanted.unwrap_or(asked)
    }
}

/// Whether a message may begin a turn: nearly none does, and those are not read.
fn begins(message: &str) -> bool {
    message.contains("\"message_start\"")
}
