//! A session for a client that opens it: its messages, and the cursor to subscribe from.

use riverrun_event::{Block, Input, Item};
use riverrun_fold::{State, Status};
use serde_json::{Value, json};

use super::approval::ApprovalGroup;
use super::content::{ResultText, artifacts};
use super::display::DisplayMode;
use super::event_id::EventId;
use super::files::files_of;
use super::texts::Texts;
use crate::follow::{Happening, happenings, is_child, is_input, item, pending, shown_blocks};
use crate::{Languages, ReaderOptions};

/// The body of the history answer: the turns that the state holds, and how many came before them. `last_event_id` is
/// what to send with `subscribe`: nothing between is lost.
pub fn history(state: &State, options: ReaderOptions) -> String {
    let session = state.session_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let messages = messages(state, options.languages);
    let waiting =
        state.turns.iter().find_map(|turn| pending(state, &turn.turn_id).next().map(|action| (turn, action)));
    let status = status(state);
    let approval = waiting.and_then(|(turn, action)| {
        let at = state.actions.iter().position(|known| known.action_id == action.action_id)?;
        let group = ApprovalGroup::of(state, at, options.approvals);
        Some(group.request(&session, &Texts::new(options.languages, turn.texts.as_ref())))
    });
    let mode = state.turns.last().map(DisplayMode::of).unwrap_or_default();
    let is_open = state.turns.iter().any(|turn| !turn.status.is_terminal());
    let agent_status = if !is_open {
        "idle"
    } else if waiting.is_some() {
        "waiting"
    } else {
        "running"
    };
    json!({
        "session_id": session, "message_count": messages.len(), "messages": messages, "status": status,
        "has_more": state.sealed_turns > 0, "earlier_turns": state.sealed_turns,
        "pending_approval": approval, "display_mode": mode.as_str(),
        "workspace": null, "agent_status": agent_status,
        "last_event_id": EventId { sequence: state.sequence, part: EventId::WHOLE }.write(),
    })
    .to_string()
}

/// The messages of the turns that the state holds. A turn that began as a chat has no thinking.
pub fn messages(state: &State, languages: Languages) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in &state.turns {
        let texts = Texts::new(languages, turn.texts.as_ref());
        messages.extend(turn.history.iter().filter_map(earlier));
        if let Some(input) = &turn.input {
            messages
                .push(json!({"role": "user", "uuid": turn.turn_id.as_str(), "content": user_parts(input)}));
        }
        if let Some(files) = files_of(turn, &texts) {
            messages.push(json!({"role": "assistant", "content": [files]}));
        }
        let first_own = messages.len();
        let is_chat = DisplayMode::of(turn) == DisplayMode::Chat;
        for happening in happenings(state, turn) {
            let message = message(state, happening, &texts);
            messages.extend(message.filter(|it| !is_chat || it["content"][0]["type"] != "thinking"));
        }
        mark_final(&mut messages[first_own..], turn.status);
    }
    messages
}

/// Messages from before the session, as its first turn brings them along.
fn earlier(item: &Item) -> Option<Value> {
    let Item::Message(message) = item else { return None };
    let role = message.role.as_deref().filter(|role| matches!(*role, "user" | "assistant"))?;
    let text = shown_blocks(item).iter().filter_map(Block::text).collect::<Vec<_>>().join("\n\n");
    Some(json!({"role": role, "content": [{"type": "text", "text": text}]}))
}

/// The last answer of a turn that was completed is final, as in its stream.
fn mark_final(messages: &mut [Value], status: Status) {
    let is_text = |message: &Value| message["role"] == "assistant" && message["content"][0]["type"] == "text";
    for message in messages.iter_mut().filter(|message| is_text(message)) {
        message["content"][0]["is_final"] = json!(false);
    }
    let last = messages.iter_mut().rfind(|message| message.get("subagent").is_none());
    if let Some(last) = last.filter(|last| is_text(last) && status == Status::Completed) {
        last["content"][0]["is_final"] = json!(true);
    }
}

/// A session's status in the protocol's terms.
pub fn status(state: &State) -> &'static str {
    let waiting = state.turns.iter().find_map(|turn| pending(state, &turn.turn_id).next());
    match (waiting, state.turns.last().map(|turn| turn.status)) {
        (Some(_), _) => "waiting_approval",
        (None, Some(Status::Cancelled)) => "cancelled",
        (None, Some(Status::Failed | Status::TimedOut)) => "error",
        (None, Some(Status::Lost)) => "lost",
        (None, Some(status)) if !status.is_terminal() => "running",
        (None, Some(_) | None) => "completed",
    }
}

fn user_parts(input: &Input) -> Vec<Value> {
    let Input::Parts(parts) = input else { return vec![json!({"type": "text", "text": input.text()})] };
    let part = |part: &Block| match part {
        Block::File(file) => {
            json!({"type": "attachment", "url": file.url, "name": file.name, "mime_type": file.media_type})
        }
        Block::Image(image) => {
            let url = image.image_url.as_ref().map(|image| image.url.as_str());
            json!({"type": "attachment", "url": url, "mime_type": image.media_type})
        }
        other => json!({"type": "text", "text": other.text()}),
    };
    parts.iter().map(part).collect()
}

fn message(state: &State, happening: Happening, labels: &Texts) -> Option<Value> {
    let at = match happening {
        Happening::ItemEnded(at) | Happening::CallEnded(at) | Happening::Result(at) => at,
        _ => return None,
    };
    let texts = |blocks: &[Block]| blocks.iter().filter_map(Block::text).collect::<Vec<_>>().join("\n\n");
    let mut message = match item(state, at) {
        Item::Message(_) => {
            let text = texts(shown_blocks(item(state, at)));
            let role = if is_input(state, at) { "user" } else { "assistant" };
            json!({"role": role, "content": [{"type": "text", "text": text}]})
        }
        Item::Reasoning(reasoning) => {
            let text = texts(reasoning.summary.as_deref().unwrap_or_default());
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": text}]})
        }
        Item::ToolCall(call) => {
            let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            let label = labels.label(&call.name, &call.arguments);
            let used = json!({"type": "tool_use", "id": call.call_id, "name": call.name, "input": input});
            let calls = json!([{"id": call.call_id, "name": call.name, "tool_content_message": label}]);
            json!({"role": "assistant", "content": [used], "tool_calls": calls})
        }
        Item::ToolResult(result) => {
            let text = ResultText::of(state, item(state, at));
            let content = text.start(usize::MAX);
            let mut message = json!({"role": "tool", "tool_use_id": result.call_id, "content": content});
            text.put_reference(usize::MAX, &mut message);
            let artifacts = artifacts(item(state, at));
            if !artifacts.is_empty() {
                message["artifacts"] = json!(artifacts);
            }
            message
        }
        Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => return None,
    };
    if is_child(state, at.task) {
        message["subagent"] = json!(state.tasks[at.task].agent);
    }
    Some(message)
}
