//! What a view shows: an agent view everything, a chat view no thinking.

use std::collections::HashSet;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DisplayMode {
    #[default]
    Agent,
    Chat,
}

/// Filters the messages for one reader. Every message of its stream must pass, in order.
#[derive(Debug, Clone, Default)]
pub struct Display {
    mode: DisplayMode,
    hidden: HashSet<(String, u64)>,
}

impl Display {
    pub fn new(mode: DisplayMode) -> Self {
        Self { mode, hidden: HashSet::new() }
    }

    /// The message as this reader gets it; None if it gets none. Numbers of hidden blocks are not used again.
    pub fn pass(&mut self, message: &str) -> Option<String> {
        if self.mode == DisplayMode::Agent {
            return Some(message.to_owned());
        }
        let mut value: Value = serde_json::from_str(message).ok()?;
        if value["type"] == "message_start" {
            value["display_mode"] = json!("chat");
            return Some(value.to_string());
        }
        let of = value["message_id"].as_str().unwrap_or_default().to_owned();
        let Some(index) = value["index"].as_u64() else { return Some(message.to_owned()) };
        if value["content_block"]["type"] == "thinking" {
            self.hidden.insert((of.clone(), index));
        }
        let is_hidden = self.hidden.contains(&(of.clone(), index));
        if is_hidden && value["type"] == "content_block_stop" {
            self.hidden.remove(&(of, index));
        }
        (!is_hidden).then(|| message.to_owned())
    }
}
