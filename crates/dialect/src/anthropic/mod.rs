//! Anthropic's Messages: the event stream, and the message as one object. `README.md` has the mapping and what is
//! lost.

mod block;
pub mod error;
pub mod request;

use riverrun_event::{Item, TurnId, Usage};
use riverrun_fold::State;

use crate::members::Members;
use crate::request::Failure;
use crate::turn::{Ending, Line, Shown, Step, Stop, Teller, TurnProjector, View};
use crate::{Answer, Frames, Options};

pub type Anthropic = TurnProjector<Telling>;

/// What keeps a silent stream open.
pub const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// A projector that goes on where `state` stands.
pub fn projector(state: State, options: Options) -> Anthropic {
    TurnProjector::with(state, options, Telling::default())
}

/// `msg_` and the turn.
pub fn message_id(turn: &TurnId) -> String {
    format!("msg_{turn}")
}

/// What was told so far. Blocks must never interleave here: one line.
#[derive(Debug, Clone)]
pub struct Telling {
    has_begun: bool,
    /// The index of the next block.
    blocks: u64,
    calls: usize,
    line: Line,
}

impl Default for Telling {
    fn default() -> Self {
        let line = Line::of(&[Shown::Thinking, Shown::Text, Shown::Call]);
        Self { has_begun: false, blocks: 0, calls: 0, line }
    }
}

impl Telling {
    fn blocks(&mut self, view: &View<'_>, frames: &mut Frames) {
        let Self { blocks, calls, line, .. } = self;
        line.advance(view, &mut |step| match step {
            Step::Opened(shown, item) => {
                *calls += usize::from(shown == Shown::Call);
                push(frames, view, "content_block_start", |members| {
                    members.number("index", *blocks);
                    members.with("content_block", |out| block::write_start(out, shown, item));
                });
            }
            Step::Text(shown, news) => {
                delta(frames, view, *blocks, |out| block::write_delta(out, shown, news))
            }
            Step::Closed(shown, item, text) => {
                for last in block::last_deltas(view, shown, item, text) {
                    delta(frames, view, *blocks, |out| out.push_str(&last));
                }
                push(frames, view, "content_block_stop", |members| members.number("index", *blocks));
                *blocks += 1;
            }
        });
    }
}

fn push(frames: &mut Frames, view: &View<'_>, name: &'static str, write: impl FnOnce(&mut Members<'_>)) {
    frames.push_named(view.at, name, |out| {
        let mut members = Members::open(out);
        members.text("type", name);
        write(&mut members);
        members.close();
    });
}

fn delta(frames: &mut Frames, view: &View<'_>, index: u64, write: impl FnOnce(&mut String)) {
    push(frames, view, "content_block_delta", |members| {
        members.number("index", index);
        members.with("delta", write);
    });
}

impl Teller for Telling {
    fn tell(&mut self, view: &View<'_>, frames: &mut Frames) {
        if !std::mem::replace(&mut self.has_begun, true) {
            push(frames, view, "message_start", |members| {
                members.with("message", |out| write_message(out, view, "[]", None, &Usage::default()));
            });
        }
        self.blocks(view, frames);
        match &view.ending {
            Some(Ending::Completed(stop)) => {
                let reason = stop_reason(*stop, self.calls);
                push(frames, view, "message_delta", |members| {
                    members.with("delta", |out| write_stop(out, reason));
                    members.with("usage", |out| write_usage(out, &view.turn.usage));
                });
                push(frames, view, "message_stop", |_| {});
            }
            Some(ended) => {
                let body = error::body(&failed(ended), None);
                frames.push_named(view.at, "error", |out| out.push_str(&body));
            }
            None => {}
        }
    }

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn answer(&self, view: &View<'_>) -> Answer {
        let (content, calls) = content(view);
        let object = |reason: Option<&str>| {
            let mut out = String::new();
            write_message(&mut out, view, &content, reason, &view.turn.usage);
            out
        };
        match &view.ending {
            Some(Ending::Completed(stop)) => Answer::Whole(object(Some(stop_reason(*stop, calls)))),
            Some(ended) => Answer::Failed(failed(ended)),
            None => Answer::Open(object(None)),
        }
    }
}

/// There is no word for a cancelled answer: it must not look like a whole one.
fn failed(ending: &Ending) -> Failure {
    match ending {
        Ending::Failed { error } => crate::responses::error::failure_of(error),
        Ending::Cancelled | Ending::Completed(_) => {
            Failure::new(499, "cancelled", "the turn was cancelled; what was sent is all there is")
        }
    }
}

fn stop_reason(stop: Stop, calls: usize) -> &'static str {
    match stop {
        Stop::Length => "max_tokens",
        Stop::Filter | Stop::Refusal => "refusal",
        Stop::End | Stop::Sequence if calls > 0 => "tool_use",
        Stop::Sequence => "stop_sequence",
        Stop::Pause => "pause_turn",
        Stop::End => "end_turn",
    }
}

fn write_stop(out: &mut String, reason: &str) {
    let mut members = Members::open(out);
    members.text("stop_reason", reason);
    members.raw("stop_sequence", "null");
    members.close();
}

/// The input tokens are without those that came from a cache or went into one, as this protocol counts.
fn write_usage(out: &mut String, usage: &Usage) {
    let cached = usage.cached_input_tokens.unwrap_or(0);
    let written = usage.cache_write_input_tokens.unwrap_or(0);
    let mut members = Members::open(out);
    members.number("input_tokens", usage.input_tokens.unwrap_or(0).saturating_sub(cached + written));
    if written > 0 {
        members.number("cache_creation_input_tokens", written);
    }
    if cached > 0 {
        members.number("cache_read_input_tokens", cached);
    }
    members.number("output_tokens", usage.output_tokens.unwrap_or(0));
    members.close();
}

fn write_message(out: &mut String, view: &View<'_>, content: &str, reason: Option<&str>, usage: &Usage) {
    let mut members = Members::open(out);
    members.text("id", &message_id(&view.turn.turn_id));
    members.text("type", "message");
    members.text("role", "assistant");
    members.text("model", &view.model());
    members.raw("content", content);
    match reason {
        Some(reason) => members.text("stop_reason", reason),
        None => members.raw("stop_reason", "null"),
    }
    members.raw("stop_sequence", "null");
    members.with("usage", |out| write_usage(out, usage));
    members.close();
}

/// The blocks as a list, and how many of them are calls. A call that is still open is left out.
fn content(view: &View<'_>) -> (String, usize) {
    let (mut list, mut text, mut calls) = (String::from("["), String::new(), 0);
    let mut line = Line::of(&[Shown::Thinking, Shown::Text, Shown::Call]);
    let mut open: Option<(Shown, Item)> = None;
    line.advance(view, &mut |step| match step {
        Step::Opened(shown, item) => {
            text.clear();
            open = Some((shown, item.clone()));
        }
        Step::Text(_, news) => text.push_str(news),
        Step::Closed(shown, item, block) => {
            block::write_whole(&mut list, view, shown, item, block, &text);
            calls += usize::from(shown == Shown::Call);
            open = None;
        }
    });
    if let Some((shown @ (Shown::Thinking | Shown::Text), item)) = open {
        block::write_whole(&mut list, view, shown, &item, None, &text);
    }
    list.push(']');
    (list, calls)
}
