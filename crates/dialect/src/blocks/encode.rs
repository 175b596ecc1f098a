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
    Encode, Happening, List, Spot, Telling, block, is_input, item_id, shown_blocks, spot_id, text, turn,
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
    /// Texts that ended and may be the last answer: only what follows tells.
    ended: Option<usize>,
    /// The event that is told, and its frames so far.
    place: (u64, u32),
}

/// A block's number, and that in a view without thinking where it is another one: `Some(None)` if it has none there.
struct Number {
    index: usize,
    in_chat: Option<Option<usize>>,
}

impl Blocks {
    /// The cursor of the next message.
    fn event_id(&mut self, told: &Telling<'_>) -> String {
        let sequence = told.state.sequence;
        self.place = if self.place.0 == sequence.get() {
            (sequence.get(), self.place.1 + 1)
        } else {
            (sequence.get(), 0)
        };
        // A reader that is cut among the frames of an opening stands before everything.
        let id = match told.is_opening {
            true => EventId { sequence: riverrun_event::Sequence::ZERO, part: 0 },
            false => EventId { sequence, part: self.place.1 },
        };
        id.write()
    }

    /// A block's number in a view without thinking: `Some(None)` if it has none there, None if it is the same.
    fn chat_index(&self, index: usize) -> Option<Option<usize>> {
        let chat = self.chat_indices.get(index).copied().unwrap_or(Some(index));
        (chat != Some(index)).then_some(chat)
    }

    /// The number that a block's message has for this reader; None if there is no such message.
    fn number(&mut self, told: &Telling<'_>, index: usize) -> Option<Number> {
        let other = self.chat_index(index);
        if told.options.all_views {
            return Some(Number { index, in_chat: other });
        }
        let is_chat = || turn(told.state, told.turn).map(DisplayMode::of) == Some(DisplayMode::Chat);
        let index = match *self.is_chat.get_or_insert_with(is_chat) {
            true => other.unwrap_or(Some(index))?,
            false => index,
        };
        Some(Number { index, in_chat: None })
    }

    fn push(&mut self, told: &Telling<'_>, frames: &mut Frames, mut message: Value) {
        // Its place among the event's messages counts also where it is not shown.
        message["event_id"] = json!(self.event_id(told));
        message["message_id"] = json!(told.turn.as_str());
        let index = message["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        if let Some(index) = index {
            let Some(number) = self.number(told, index) else { return };
            message["index"] = json!(number.index);
            if let Some(chat) = number.in_chat {
                message["chat_index"] = json!(chat);
            }
        }
        told.push(frames, &message);
    }

    fn start(&mut self, told: &Telling<'_>, frames: &mut Frames, block: Value) -> usize {
        self.flush(told, frames, false);
        let index = self.chat_indices.len();
        let is_in_chat = block["type"] != "thinking";
        self.chat_indices.push(is_in_chat.then_some(self.chat_blocks));
        self.chat_blocks += usize::from(is_in_chat);
        self.push(
            told,
            frames,
            json!({"type": "content_block_start", "index": index, "content_block": block}),
        );
        index
    }

    fn delta(&mut self, told: &Telling<'_>, frames: &mut Frames, index: usize, delta: Value) {
        self.push(told, frames, json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    fn stop(&mut self, told: &Telling<'_>, frames: &mut Frames, index: usize) {
        self.push(told, frames, json!({"type": "content_block_stop", "index": index}));
    }

    /// Ends the text that waited for what follows it.
    fn flush(&mut self, told: &Telling<'_>, frames: &mut Frames, is_final: bool) {
        if let Some(index) = self.ended.take() {
            let stop = json!({"type": "content_block_stop", "index": index, "is_final": is_final});
            self.push(told, frames, stop);
        }
    }

    fn whole(&mut self, told: &Telling<'_>, frames: &mut Frames, block: Value) {
        let index = self.start(told, frames, block);
        self.stop(told, frames, index);
    }

    fn began(&mut self, told: &Telling<'_>, frames: &mut Frames) {
        let turn = turn(told.state, told.turn);
        let time = turn.and_then(|turn| turn.started_at.or(turn.submitted_at)).unwrap_or(told.time);
        let message = json!({
            "type": "message_start",
            "session_id": told.session(),
            "timestamp": time.millis() as f64 / 1000.0,
            "display_mode": turn.map(DisplayMode::of).unwrap_or_default().as_str(),
            "is_new_session_from_share": turn.is_some_and(|turn| TurnRequest::of(turn).is_from_share()),
        });
        self.push(told, frames, message);
    }

    /// Shows what became of the files of the message. `is_over`: nothing more comes of the turn.
    fn files(&mut self, told: &Telling<'_>, is_over: bool, frames: &mut Frames) {
        let Some(turn) = turn(told.state, told.turn) else { return };
        for step in self.files.steps(turn, &texts(told), is_over) {
            match (step, self.files.index) {
                (FilesStep::Start(block), _) => {
                    self.files.index = Some(self.start(told, frames, block));
                }
                (FilesStep::File(delta), Some(index)) => self.delta(told, frames, index, delta),
                (FilesStep::End(delta), Some(index)) => {
                    self.delta(told, frames, index, delta);
                    self.stop(told, frames, index);
                }
                // The block begins before anything else of it.
                (FilesStep::File(_) | FilesStep::End(_), None) => {}
            }
        }
    }

    fn text_started(&mut self, told: &Telling<'_>, at: Spot, frames: &mut Frames) {
        let block = match at.list {
            List::Blocks => json!({"type": "text", "text": "", "is_part": false}),
            List::Summary | List::Raw => json!({"type": "thinking", "thinking": ""}),
        };
        let index = self.start(told, frames, owned(told, at.item.task, block));
        self.open.insert(spot_id(told.state, at), index);
    }

    fn text(&mut self, told: &Telling<'_>, at: Spot, from: usize, frames: &mut Frames) {
        let Some(index) = self.open.get(&spot_id(told.state, at)).copied() else { return };
        let (id, new) = (self.event_id(told), &text(told.state, at)[from..]);
        let (before, behind) = match at.list {
            List::Blocks => ("\"delta\":{\"text\":", ",\"type\":\"text_delta\"},\"event_id\":\""),
            List::Summary | List::Raw => {
                ("\"delta\":{\"thinking\":", ",\"type\":\"thinking_delta\"},\"event_id\":\"")
            }
        };
        let Some(Number { index, in_chat }) = self.number(told, index) else { return };
        // Written by hand: it is what nearly every event is.
        frames.push(told.state.sequence, |out| {
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
            write_string(out, told.turn.as_str());
            out.push_str(",\"type\":\"content_block_delta\"}");
        });
    }

    /// A client that only appends needs the whole text anew.
    fn replaced(&mut self, told: &Telling<'_>, at: Spot, frames: &mut Frames) {
        let Some(index) = self.open.get(&spot_id(told.state, at)).copied() else { return };
        let extras = json!({"block_subtype": "replaced", "text": text(told.state, at)});
        self.delta(told, frames, index, json!({"type": "text_delta", "text": "", "extras": extras}));
    }

    fn text_ended(&mut self, told: &Telling<'_>, at: Spot, frames: &mut Frames) {
        let Some(index) = self.open.get(&spot_id(told.state, at)).copied() else { return };
        if at.list != List::Blocks || !told.is_root(at.item) {
            return self.stop(told, frames, index);
        }
        self.flush(told, frames, false);
        self.ended = Some(index);
        if !is_last(told, at) {
            self.flush(told, frames, false);
        }
    }

    fn retracted(&mut self, told: &Telling<'_>, at: riverrun_fold::ItemAt, frames: &mut Frames) {
        self.flush(told, frames, false);
        let id = item_id(told.state, at);
        let is_its =
            |known: &str| known == id || known.strip_prefix(&id).is_some_and(|rest| rest.starts_with('.'));
        let mut indices: Vec<usize> =
            self.open.iter().filter(|(known, _)| is_its(known)).map(|(_, index)| *index).collect();
        indices.sort_unstable();
        for index in indices {
            let extras = json!({"block_subtype": "retracted"});
            self.delta(told, frames, index, json!({"type": "text_delta", "text": "", "extras": extras}));
        }
    }

    /// Shows a request once all of its actions are known.
    fn asked(&mut self, told: &Telling<'_>, action: usize, frames: &mut Frames) {
        let group = ApprovalGroup::of(told.state, action, told.options.approvals);
        if !group.is_whole() || !self.asked.insert(group.first().sequence.get()) {
            return;
        }
        let block = group.request(told.session(), &texts(told));
        let mut delta = json!({"type": "approval_request_delta"});
        for name in ["action_requests", "review_configs", "timeout_seconds"] {
            delta[name] = block[name].clone();
        }
        let index = self.start(told, frames, block);
        self.delta(told, frames, index, delta);
        self.stop(told, frames, index);
    }

    /// Shows the decisions of a request once none of its actions waits.
    fn answered(&mut self, told: &Telling<'_>, action: usize, frames: &mut Frames) {
        let group = ApprovalGroup::of(told.state, action, told.options.approvals);
        let decisions = group.decisions(&texts(told));
        if !group.is_decided() || decisions.is_empty() || !self.answered.insert(group.first().sequence.get())
        {
            return;
        }
        let block = json!({"type": "approval_result", "approval_key": group.key(told.session())});
        let index = self.start(told, frames, block);
        self.delta(told, frames, index, json!({"type": "approval_result_delta", "decisions": decisions}));
        self.stop(told, frames, index);
    }

    /// A terminal block is a text that its extras make another one; the start says so too.
    fn terminal(&mut self, told: &Telling<'_>, frames: &mut Frames, words: &str, extras: Value) {
        let block = json!({
            "type": "text", "text": "", "is_part": false, "subagent": null, "parent_tool_use_id": null,
            "block_subtype": extras["block_subtype"],
        });
        let index = self.start(told, frames, block);
        self.delta(told, frames, index, json!({"type": "text_delta", "text": words, "extras": extras}));
        self.stop(told, frames, index);
    }

    fn ended(&mut self, told: &Telling<'_>, frames: &mut Frames) {
        let Some(turn) = turn(told.state, told.turn) else { return };
        self.files(told, true, frames);
        self.flush(told, frames, matches!(turn.status, Status::Completed | Status::Archived));
        let reason = match turn.status {
            Status::Completed | Status::Archived => match stop_of(told.state, told.turn) {
                Stop::Refusal => "refusal",
                Stop::End | Stop::Length | Stop::Filter | Stop::Sequence | Stop::Pause => "end_turn",
            },
            Status::Cancelled => {
                let stopped = texts(told).text("stopped");
                self.terminal(told, frames, &stopped, json!({"block_subtype": "user_stopped"}));
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
                let shown = texts(told).text(name);
                self.terminal(told, frames, &shown, extras);
                match code {
                    "TIMEOUT" => "timeout",
                    "MAX_TURNS" => "max_turns",
                    "GUARDRAIL" => "guardrail",
                    _ => "error",
                }
            }
        };
        self.push(told, frames, json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
        let begun = turn.started_at.or(turn.submitted_at);
        let duration = turn.ended_at.zip(begun).map_or(0, |(end, begun)| end.millis() - begun.millis());
        self.push(told, frames, json!({"type": "message_stop", "duration_ms": duration.max(0)}));
    }
}

/// True if nothing of the root task was told behind this text.
fn is_last(told: &Telling<'_>, at: Spot) -> bool {
    let task = &told.state.tasks[at.item.task];
    let is_told = |item: usize| match &task.output[item] {
        Item::Message(_) => !is_input(told.state, ItemAt { item, ..at.item }),
        Item::Reasoning(_) => true,
        Item::ToolCall(_) | Item::ToolResult(_) => !task.open.contains(item),
        Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => false,
    };
    at.part + 1 == shown_blocks(&task.output[at.item.item]).len()
        && !(at.item.item + 1..task.output.len()).any(is_told)
}

impl Encode for Blocks {
    fn ends_at_pause(&self) -> bool {
        false
    }

    fn tell(&mut self, told: &Telling<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { again: false } => self.began(told, frames),
            Happening::Files => self.files(told, false, frames),
            Happening::Paused => self.flush(told, frames, false),
            Happening::Ended => self.ended(told, frames),
            Happening::TextStarted(at) => self.text_started(told, at, frames),
            Happening::Text { at, from } => self.text(told, at, from, frames),
            Happening::TextReplaced(at) => self.replaced(told, at, frames),
            Happening::TextEnded(at) => self.text_ended(told, at, frames),
            Happening::Block(at) => {
                let shown = block(told.state, at).map(artifact);
                let artifact = json!({"type": "artifact", "artifact": shown});
                self.whole(told, frames, owned(told, at.item.task, artifact));
            }
            Happening::CallEnded(at) => self.whole(told, frames, tool_use(told, at)),
            Happening::Result(at) => self.whole(told, frames, tool_result(told, at)),
            Happening::Retracted(at) => self.retracted(told, at, frames),
            Happening::Asked(action) => self.asked(told, action, frames),
            Happening::Answered(action) => self.answered(told, action, frames),
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
