//! Each `tool_result` answers a `tool_use` of the message before it.

use crate::request::RequestFailure;

/// Follows the messages of a request and finds a result that answers nothing.
#[derive(Debug, Default)]
pub(super) struct ResultCheck {
    /// Calls of the newest assistant message.
    calls: Vec<String>,
    is_assistant: bool,
    /// The messages before the first one are not in the request.
    continues: bool,
    /// The first result without a call, and its position.
    pub orphan: Option<RequestFailure>,
}

impl ResultCheck {
    /// `continues` if the server holds the messages before the first one; it checks them itself.
    pub(super) fn new(continues: bool) -> Self {
        Self { continues, ..Self::default() }
    }

    /// A message begins. Messages of one role that follow each other count as one.
    pub(super) fn message(&mut self, role: &str) {
        let is_assistant = role == "assistant";
        if is_assistant && !self.is_assistant {
            self.calls.clear();
            self.continues = false;
        }
        self.is_assistant = is_assistant;
    }

    pub(super) fn call(&mut self, id: &str) {
        self.calls.push(id.to_owned());
    }

    /// `path` is the place of the block.
    pub(super) fn result(&mut self, id: &str, path: &str) {
        let is_answer = !self.is_assistant && self.calls.iter().any(|known| known == id);
        if !is_answer && !self.continues && self.orphan.is_none() {
            self.orphan = Some(orphan(id, path));
        }
    }
}

/// The refusal of a result without a call, in the vendor's words.
pub fn orphan(id: &str, path: &str) -> RequestFailure {
    let id: String = id.chars().take(80).filter(|c| !c.is_control()).collect();
    let location = path.replace('[', ".").replace(']', "");
    let message = format!(
        "{location}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
         corresponding `tool_use` block in the previous message."
    );
    RequestFailure::new(400, "invalid_request", message).param(path)
}
