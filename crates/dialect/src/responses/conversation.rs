//! Conversations: a session under another name. Its items are what its turns were asked and what they answered.

use riverrun_event::{RawJson, SessionId};
use riverrun_fold::TurnState;
use serde::Deserialize;

use super::list::{ListedItem, asked};
use crate::members::Members;

/// `conv_` and the session.
pub fn conversation_id(session: &SessionId) -> String {
    format!("conv_{session}")
}

/// The session of a conversation; None for an id that no conversation has.
pub fn session_of(conversation_id: &str) -> Option<SessionId> {
    SessionId::new(conversation_id.strip_prefix("conv_")?).ok()
}

/// The conversation object. `created` is in seconds since 1970, `metadata` a JSON object.
pub fn conversation(session: &SessionId, created: u64, metadata: &str) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("id", &conversation_id(session));
    members.text("object", "conversation");
    members.number("created_at", created);
    members.raw("metadata", metadata);
    members.close();
    out
}

/// The items of one turn, oldest first. `response` is the turn as a response object.
pub fn items(turn: &TurnState, response: &str) -> Vec<ListedItem> {
    #[derive(Deserialize)]
    struct Response {
        output: Vec<RawJson>,
    }
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let output = serde_json::from_str::<Response>(response).map(|response| response.output);
    let answered = output.unwrap_or_default().into_iter().filter_map(|item| {
        let Named { id } = serde_json::from_str(item.get()).ok()?;
        Some(ListedItem { id, json: item.get().to_owned() })
    });
    asked(turn).into_iter().chain(answered).collect()
}
