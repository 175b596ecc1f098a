//! Happenings as messages of the socket.

use std::collections::{HashMap, HashSet};

use riverrun_event::Item;
use riverrun_event::json::write_string;
use riverrun_fold::{ItemAt, Status};
use serde_json::{Value, json};

use super::approval::ApprovalGroup;
use super::content::{artifact, owned, texts, tool_result, tool_use};
use super::display::{DisplayMode, TurnRequest};
use super::event_id::EventId;
use super::files::{FilesBlock, FilesStep};
use super::texts::error_code;
use crate::Frames;
use crate::follow::{
    Encode, EncodeContext, Happening, List, Spot, block, is_input, item_id, shown_blocks, spot_id, text, turn,
};
use crate::turn::{Stop, stop_of};

/// What the reader of a turn knows: the numbers of the blocks that may grow, and how many there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks {
    /// The numbers of the blocks so far in a view without thinking; None for what such a view has not.
    chat_indices: Vec<Option<usize>>,
    chat_blocks: usize,
    /// Whether the turn was asked for as a chat; None before it is looked at.
    is_chat: Option<bool>,
    open: HashMap<String, usize>,
    /// The first actions of the requests that were shown, and of those whose decisions were.
    asked: HashSet<u64>,
    answered: HashSet<u64>,
    files: FilesBlock,
    /// Texts that ended and may be the last answer; the next item decides.
    ended: Option<usize>,
    /// The event that is being encoded, and its frames so far.
    event_position: (u64, u32),
}

/// A block's number, and that in a view without thinking where it is another one: `Some(None)` if it has none there.
struct Number {
    index: usize,
    in_chat: Option<Option<usize>>,
}

impl Blocks {
    /// The cursor of the next message.
    fn event_id(&mut self, context: &EncodeContext<'_>) -> String {
        let sequence = context.state.sequence;
        self.event_position = if self.event_position.0 == sequence.get() {
            (sequence.get(), self.event_position.1 + 1)
        } else {
            (sequence.get(), 0)
        };
        // A reader that is cut within an opening resumes from the start.
        let id = match context.is_opening {
            true => EventId { sequence: riverrun_event::Sequence::ZERO, part: 0 },
            false => EventId { sequence, part: self.event_position.1 },
        };
        id.write()
    }

    /// A block's number in a view without thinking: `Some(None)` if it has none there, None if it is the same.
    fn chat_index(&self, index: usize) -> Option<Option<usize>> {
        let chat = self.chat_indices.get(index).copied().unwrap_or(Some(index));
        (chat != Some(index)).then_some(chat)
    }

    /// The number that a block's message has for this reader; None if there is no such message.
    fn number(&mut self, context: &EncodeContext<'_>, index: usize) -> Option<Number> {
        let other = self.chat_index(index);
        if context.options.all_views {
            return Some(Number { index, in_chat: other });
        }
        let is_chat = || turn(context.state, context.turn).map(DisplayMode::of) == Some(DisplayMode::Chat);
        let index = match *self.is_chat.get_or_insert_with(is_chat) {
            true => other.unwrap_or(Some(index))?,
            false => index,
        };
        Some(Number { index, in_chat: None })
    }

    fn push(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, mut message: Value) {
        // Its place among the event's messages counts also where it is not shown.
        message["event_id"] = json!(self.event_id(context));
        message["message_id"] = json!(context.turn.as_str());
        let index = message["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        if let Some(index) = index {
            let Some(number) = self.number(context, index) else { return };
            message["index"] = json!(number.index);
            if let Some(chat) = number.in_chat {
                message["chat_index"] = json!(chat);
            }
        }
        context.push(frames, &message);
    }

    fn start(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, block: Value) -> usize {
        self.flush(context, frames, false);
        let index = self.chat_indices.len();
        let is_in_chat = block["type"] != "thinking";
        self.chat_indices.push(is_in_chat.then_some(self.chat_blocks));
        self.chat_blocks += usize::from(is_in_chat);
        self.push(
            context,
            frames,
            json!({"type": "content_block_start", "index": index, "content_block": block}),
        );
        index
    }

    fn delta(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, index: usize, delta: Value) {
        self.push(context, frames, json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    fn stop(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, index: usize) {
        self.push(context, frames, json!({"type": "content_block_stop", "index": index}));
    }

    /// Ends the text that waited for what follows it.
    fn flush(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, is_final: bool) {
        if let Some(index) = self.ended.take() {
            let stop = json!({"type": "content_block_stop", "index": index, "is_final": is_final});
            self.push(context, frames, stop);
        }
    }

    fn whole(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, block: Value) {
        let index = self.start(context, frames, block);
        self.stop(context, frames, index);
    }

    fn began(&mut self, context: &EncodeContext<'_>, frames: &mut Frames) {
        let turn = turn(context.state, context.turn);
        let time = turn.and_then(|turn| turn.started_at.or(turn.submitted_at)).unwrap_or(context.time);
        let message = json!({
            "type": "message_start",
            "session_id": context.session(),
            "timestamp": time.millis() as f64 / 1000.0,
            "display_mode": turn.map(DisplayMode::of).unwrap_or_default().as_str(),
            "is_new_session_from_share": turn.is_some_and(|turn| TurnRequest::of(turn).is_from_share()),
        });
        self.push(context, frames, message);
    }

    /// Shows what became of the files of the message. `is_over`: nothing more comes of the turn.
    fn files(&mut self, context: &EncodeContext<'_>, is_over: bool, frames: &mut Frames) {
        let Some(turn) = turn(context.state, context.turn) else { return };
        for step in self.files.steps(turn, &texts(context), is_over) {
            match (step, self.files.index) {
                (FilesStep::Start(block), _) => {
                    self.files.index = Some(self.start(context, frames, block));
                }
                (FilesStep::File(delta), Some(index)) => self.delta(context, frames, index, delta),
                (FilesStep::End(delta), Some(index)) => {
                    self.delta(context, frames, index, delta);
                    self.stop(context, frames, index);
                }
                // The block begins before anything else of it.
                (FilesStep::File(_) | FilesStep::End(_), None) => {}
            }
        }
    }

    fn text_started(&mut self, context: &EncodeContext<'_>, at: Spot, frames: &mut Frames) {
        let block = match at.list {
            List::Blocks => json!({"type": "text", "text": "", "is_part": false}),
            List::Summary | List::Raw => json!({"type": "thinking", "thinking": ""}),
        };
        let index = self.start(context, frames, owned(context, at.item.task, block));
        self.open.insert(spot_id(context.state, at), index);
    }

    fn text(&mut self, context: &EncodeContext<'_>, at: Spot, from: usize, frames: &mut Frames) {
        let Some(index) = self.open.get(&spot_id(context.state, at)).copied() else { return };
        let (id, new) = (self.event_id(context), &text(context.state, at)[from..]);
        let (before, behind) = match at.list {
            List::Blocks => ("\"delta\":{\"text\":", ",\"type\":\"text_delta\"},\"event_id\":\""),
            List::Summary | List::Raw => {
                ("\"delta\":{\"thinking\":", ",\"type\":\"thinking_delta\"},\"event_id\":\"")
            }
        };
        let Some(Number { index, in_chat }) = self.number(context, index) else { return };
        // Written by hand: it is what nearly every event is.
        frames.push(context.state.sequence, |out| {
            out.push('{');
            match in_chat {
                Some(Some(number)) => out.push_str(&format!("\"chat_index\":{number},")),
                Some(None) => out.push_str("\"chat_index\":null,"),
                None => {}
            }
            out.push_str(before);
            write_string(out, new);
            out.push_str(behind);
            out.push_str(&id);
            out.push_str("\",\"index\":");
            out.push_str(&index.to_string());
            out.push_str(",\"message_id\":");
            write_string(out, context.turn.as_str());
            out.push_str(",\"type\":\"content_block_delta\"}");
        });
    }

    /// A client that only appends needs the whole text anew.
    fn replaced(&mut self, context: &EncodeContext<'_>, at: Spot, frames: &mut Frames) {
        let Some(index) = self.open.get(&spot_id(context.state, at)).copied() else { return };
        let extras = json!({"block_subtype": "replaced", "text": text(context.state, at)});
        self.delta(context, frames, index, json!({"type": "text_delta", "text": "", "extras": extras}));
    }

    fn text_ended(&mut self, context: &EncodeContext<'_>, at: Spot, frames: &mut Frames) {
        let Some(index) = self.open.get(&spot_id(context.state, at)).copied() else { return };
        if at.list != List::Blocks || !context.is_root(at.item) {
            return self.stop(context, frames, index);
        }
        self.flush(context, frames, false);
        self.ended = Some(index);
        if !is_last(context, at) {
            self.flush(context, frames, false);
        }
    }

    fn retracted(&mut self, context: &EncodeContext<'_>, at: riverrun_fold::ItemAt, frames: &mut Frames) {
        self.flush(context, frames, false);
        let id = item_id(context.state, at);
        let is_its = |known: &str| {
            known == id || known.strip_prefix(&id).is_some_and(|suffix| suffix.starts_with('.'))
        };
        let mut indices: Vec<usize> =
            self.open.iter().filter(|(known, _)| is_its(known)).map(|(_, index)| *index).collect();
        indices.sort_unstable();
        for index in indices {
            let extras = json!({"block_subtype": "retracted"});
            self.delta(context, frames, index, json!({"type": "text_delta", "text": "", "extras": extras}));
        }
    }

    /// Shows a request once all of its actions are known.
    fn asked(&mut self, context: &EncodeContext<'_>, action: usize, frames: &mut Frames) {
        let group = ApprovalGroup::of(context.state, action, context.options.approvals);
        if !group.is_whole() || !self.asked.insert(group.first().sequence.get()) {
            return;
        }
        let block = group.request(context.session(), &texts(context));
        let mut delta = json!({"type": "approval_request_delta"});
        for name in ["action_requests", "review_configs", "timeout_seconds"] {
            delta[name] = block[name].clone();
        }
        let index = self.start(context, frames, block);
        self.delta(context, frames, index, delta);
        self.stop(context, frames, index);
    }

    /// Shows the decisions of a request once none of its actions waits.
    fn answered(&mut self, context: &EncodeContext<'_>, action: usize, frames: &mut Frames) {
        let group = ApprovalGroup::of(context.state, action, context.options.approvals);
        let decisions = group.decisions(&texts(context));
        if !group.is_decided() || decisions.is_empty() || !self.answered.insert(group.first().sequence.get())
        {
            return;
        }
        let block = json!({"type": "approval_result", "approval_key": group.key(context.session())});
        let index = self.start(context, frames, block);
        self.delta(context, frames, index, json!({"type": "approval_result_delta", "decisions": decisions}));
        self.stop(context, frames, index);
    }

    /// A terminal block is a text that its extras make another one; the start says so too.
    fn terminal(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, words: &str, extras: Value) {
        let block = json!({
            "type": "text", "text": "", "is_part": false, "subagent": null, "parent_tool_use_id": null,
            "block_subtype": extras["block_subtype"],
        });
        let index = self.start(context, frames, block);
        self.delta(context, frames, index, json!({"type": "text_delta", "text": words, "extras": extras}));
        self.stop(context, frames, index);
    }

    fn ended(&mut self, context: &EncodeContext<'_>, frames: &mut Frames) {
        let Some(turn) = turn(context.state, context.turn) else { return };
        self.files(context, true, frames);
        self.flush(context, frames, matches!(turn.status, Status::Completed | Status::Archived));
        let reason = match turn.status {
            Status::Completed | Status::Archived => match stop_of(context.state, context.turn) {
                Stop::Refusal => "refusal",
                Stop::End | Stop::Length | Stop::Filter | Stop::Sequence | Stop::Pause => "end_turn",
            },
            Status::Cancelled => {
                let stopped = texts(context).text("stopped");
                self.terminal(context, frames, &stopped, json!({"block_subtype": "user_stopped"}));
                "user_stopped"
            }
            status => {
                let error = turn.error.as_ref();
                let why = error.map_or("the run ended without a reason", |error| &error.message);
                let code = error_code(status, error);
                let extras = json!({
                    "block_subtype": "error", "code": code,
                    "can_retry": error.and_then(|error| error.retryable).unwrap_or(false),
                    "error_type": "terminal", "details": {"error": why},
                });
                let name = match code {
                    "TIMEOUT" => "timeout",
                    "APPROVAL_TIMEOUT" => "approval_timeout",
                    _ => "error",
                };
                let shown = texts(context).text(name);
                self.terminal(context, frames, &shown, extras);
                match code {
                    "TIMEOUT" => "timeout",
                    "MAX_TURNS" => "max_turns",
                    "GUARDRAIL" => "guardrail",
                    _ => "error",
                }
            }
        };
        self.push(context, frames, json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
        let begun = turn.started_at.or(turn.submitted_at);
        let duration = turn.ended_at.zip(begun).map_or(0, |(end, begun)| end.millis() - begun.millis());
        self.push(context, frames, json!({"type": "message_stop", "duration_ms": duration.max(0)}));
    }
}

/// True if no later item of the root task was emitted.
fn is_last(context: &EncodeContext<'_>, at: Spot) -> bool {
    let task = &context.state.tasks[at.item.task];
    let is_shown = |item: usize| match &task.output[item] {
        Item::Message(_) => !is_input(context.state, ItemAt { item, ..at.item }),
        Item::Reasoning(_) => true,
        Item::ToolCall(_) | Item::ToolResult(_) => !task.open.contains(item),
        Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => false,
    };
    at.part + 1 == shown_blocks(&task.output[at.item.item]).len()
        && !(at.item.item + 1..task.output.len()).any(is_shown)
}

impl Encode for Blocks {
    fn ends_at_pause(&self) -> bool {
        false
    }

    fn encode(&mut self, context: &EncodeContext<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { again: false } => self.began(context, frames),
            Happening::Files => self.files(context, false, frames),
            Happening::Paused => self.flush(context, frames, false),
            Happening::Ended => self.ended(context, frames),
            Happening::TextStarted(at) => self.text_started(context, at, frames),
            Happening::Text { at, from } => self.text(context, at, from, frames),
            Happening::TextReplaced(at) => self.replaced(context, at, frames),
            Happening::TextEnded(at) => self.text_ended(context, at, frames),
            Happening::Block(at) => {
                let shown = block(context.state, at).map(artifact);
                let artifact = json!({"type": "artifact", "artifact": shown});
                self.whole(context, frames, owned(context, at.item.task, artifact));
            }
            Happening::CallEnded(at) => self.whole(context, frames, tool_use(context, at)),
            Happening::Result(at) => self.whole(context, frames, tool_result(context, at)),
            Happening::Retracted(at) => self.retracted(context, at, frames),
            Happening::Asked(action) => self.asked(context, action, frames),
            Happening::Answered(action) => self.answered(context, action, frames),
            // Sub-tasks are seen by the members of their blocks; the rest has no block.
            Happening::Began { again: true }
            | Happening::TaskStarted(_)
            | Happening::TaskEnded(_)
            | Happening::ItemStarted(_)
            | Happening::ItemEnded(_)
            | Happening::Cited { .. }
            | Happening::CallStarted(_)
            | Happening::Arguments { .. }
            | Happening::ArgumentsReplaced(_)
            | Happening::Other(_)
            | Happening::Tool(_)
            | Happening::Agent
            | Happening::Session
            | Happening::Model => {}
        }
    }
}
