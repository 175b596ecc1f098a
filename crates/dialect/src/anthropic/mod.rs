//! Anthropic's Messages: the event stream, and the message as one object. `README.md` has the mapping and what is
//! lost.

mod block;
pub mod error;
pub mod models;
pub mod request;
mod results;
pub mod thread;

use std::collections::BTreeMap;

use riverrun_event::{Item, RawJson, TurnId, Usage};
use riverrun_fold::State;

use crate::members::Members;
use crate::request::RequestFailure;
use crate::turn::{EncodeTurn, Line, Shown, Step, Stop, TurnEnding, TurnProjector, View};
use crate::{Frames, ReaderOptions, WholeAnswer};

pub type Anthropic = TurnProjector<AnthropicEncoder>;

/// What keeps a silent stream open.
pub const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// A projector that continues from `state`.
pub fn projector(state: State, options: ReaderOptions) -> Anthropic {
    TurnProjector::with(state, options, AnthropicEncoder::default())
}

/// `msg_` and the turn.
pub fn message_id(turn: &TurnId) -> String {
    format!("msg_{turn}")
}

/// The turn of a message's id.
pub fn turn_of(message_id: &str) -> Option<TurnId> {
    TurnId::new(message_id.strip_prefix("msg_")?).ok()
}

/// What was emitted so far. Blocks must never interleave here: one line.
#[derive(Debug, Clone)]
pub struct AnthropicEncoder {
    has_begun: bool,
    /// The index of the next block.
    blocks: u64,
    calls: usize,
    /// The next block has begun.
    is_open: bool,
    line: Line,
}

const SHOWN: [Shown; 4] = [Shown::Thinking, Shown::Text, Shown::Call, Shown::Hosted];

impl Default for AnthropicEncoder {
    fn default() -> Self {
        Self { has_begun: false, blocks: 0, calls: 0, is_open: false, line: line() }
    }
}

impl AnthropicEncoder {
    fn blocks(&mut self, view: &View<'_>, frames: &mut Frames) {
        let Self { blocks, calls, is_open, line, .. } = self;
        line.advance(view, &mut |step| match step {
            Step::Opened(shown, item) => {
                *calls += usize::from(shown == Shown::Call);
                *is_open = true;
                push(frames, view, "content_block_start", |members| {
                    members.number("index", *blocks);
                    members.with("content_block", |out| block::write_start(out, shown, item));
                });
            }
            Step::Text(shown, news, _) => {
                delta(frames, view, *blocks, |out| block::write_delta(out, shown, news))
            }
            Step::Frame(frame) => frame_of(frames, view, *blocks, frame),
            Step::Closed(shown, item, text) => {
                for last in block::last_deltas(view, shown, item, text) {
                    delta(frames, view, *blocks, |out| out.push_str(&last));
                }
                push(frames, view, "content_block_stop", |members| members.number("index", *blocks));
                *blocks += 1;
                *is_open = false;
            }
        });
    }

    /// A frame type of the service that is not known here. One about a block goes to the open block.
    fn vendor(&self, view: &View<'_>, frames: &mut Frames) {
        let Some((name, members)) = view.vendor.and_then(|vendor| vendor.frame()) else { return };
        let is_of_block = members.contains_key("index");
        // Another dialect's service has words of its own.
        if name.starts_with("response.") || is_of_block && !self.is_open {
            return;
        }
        frames.push_with_name(view.at, &name, |out| {
            let mut frame = Members::open(out);
            for (name, value) in &members {
                match name.as_str() {
                    "index" => frame.number("index", self.blocks),
                    _ => frame.raw_with_name(name, value.get()),
                }
            }
            frame.close();
        });
    }
}

/// A frame about the open block, as the service sent it except for the index.
fn frame_of(frames: &mut Frames, view: &View<'_>, index: u64, frame: &str) {
    frames.push_named(view.at, "content_block_delta", |out| {
        out.push_str(frame.strip_suffix('}').unwrap_or(frame));
        out.push_str(&format!(",\"index\":{index}}}"));
    });
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

impl EncodeTurn for AnthropicEncoder {
    fn encode(&mut self, view: &View<'_>, frames: &mut Frames) {
        if !std::mem::replace(&mut self.has_begun, true) {
            push(frames, view, "message_start", |members| {
                members.with("message", |out| write_message(out, view, "[]", None));
            });
        }
        self.blocks(view, frames);
        self.vendor(view, frames);
        match &view.ending {
            Some(TurnEnding::Completed(stop)) => {
                let (reason, mut service) =
                    (stop_reason(*stop, self.calls), view.service_members("anthropic"));
                let (usage, context) = (service.remove("usage"), service.remove(CONTEXT));
                push(frames, view, "message_delta", |members| {
                    members.with("delta", |out| write_stop(out, view, reason, &service));
                    members.with("usage", |out| write_usage(out, &view.turn.usage, usage.as_ref()));
                    if let Some(context) = &context {
                        members.raw(CONTEXT, context.get());
                    }
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

    fn answer(&self, view: &View<'_>) -> WholeAnswer {
        let (content, calls) = content(view);
        let object = |reason: Option<&str>| {
            let mut out = String::new();
            write_message(&mut out, view, &content, reason);
            out
        };
        match &view.ending {
            Some(TurnEnding::Completed(stop)) => WholeAnswer::Whole(object(Some(stop_reason(*stop, calls)))),
            Some(ended) => WholeAnswer::Failed(failed(ended)),
            None => WholeAnswer::Open(object(None)),
        }
    }
}

/// There is no word for a cancelled answer: it must not look like a whole one.
fn failed(ending: &TurnEnding) -> RequestFailure {
    match ending {
        TurnEnding::Failed { error } => crate::responses::error::failure_of(error),
        TurnEnding::Cancelled | TurnEnding::Completed(_) => {
            RequestFailure::new(499, "cancelled", "the turn was cancelled; what was sent is all there is")
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

/// The one member of a message that `message_delta` has beside `delta`.
const CONTEXT: &str = "context_management";

fn write_stop(out: &mut String, view: &View<'_>, reason: &str, service: &BTreeMap<String, RawJson>) {
    let mut members = Members::open(out);
    members.text("stop_reason", reason);
    write_sequence(&mut members, view, Some(reason));
    service.iter().for_each(|(name, value)| members.raw_with_name(name, value.get()));
    members.maybe_text("riverrun_model", view.service_model());
    members.close();
}

fn write_sequence(members: &mut Members<'_>, view: &View<'_>, reason: Option<&str>) {
    let which = view.completed.and_then(|completed| completed.stop_sequence.as_deref());
    match which.filter(|_| reason == Some("stop_sequence")) {
        Some(which) => members.text("stop_sequence", which),
        None => members.raw("stop_sequence", "null"),
    }
}

/// As the service counts it, else as this protocol does: the input tokens are without those that came from a cache or
/// went into one.
fn write_usage(out: &mut String, usage: &Usage, raw_usage: Option<&RawJson>) {
    if let Some(raw_usage) = raw_usage {
        return out.push_str(raw_usage.get());
    }
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

/// A message has no reason while it is open, and then its tokens are not counted.
fn write_message(out: &mut String, view: &View<'_>, content: &str, reason: Option<&str>) {
    let mut service = if reason.is_some() { view.service_members("anthropic") } else { BTreeMap::new() };
    let raw_usage = service.remove("usage");
    let counted = if view.ending.is_some() { view.turn.usage.clone() } else { Usage::default() };
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
    write_sequence(&mut members, view, reason);
    members.with("usage", |out| write_usage(out, &counted, raw_usage.as_ref()));
    service.iter().for_each(|(name, value)| members.raw_with_name(name, value.get()));
    members.maybe_text("riverrun_model", view.service_model().filter(|_| reason.is_some()));
    members.close();
}

fn line() -> Line {
    Line::of(&SHOWN).hosting(|item| item.dialect == "anthropic")
}

/// The blocks as a list, and how many of them are calls. A call that is still open is left out.
fn content(view: &View<'_>) -> (String, usize) {
    let (mut list, mut text, mut calls) = (String::from("["), String::new(), 0);
    let mut line = line();
    let mut open: Option<(Shown, Item)> = None;
    line.advance(view, &mut |step| match step {
        Step::Opened(shown, item) => {
            text.clear();
            open = Some((shown, item.clone()));
        }
        Step::Text(_, news, _) => text.push_str(news),
        Step::Frame(_) => {}
        Step::Closed(shown, item, block) => {
            block::write_whole(&mut list, view, shown, item, block, &text);
            calls += usize::from(shown == Shown::Call);
            open = None;
        }
    });
    if let Some((shown @ (Shown::Thinking | Shown::Text | Shown::Hosted), item)) = open {
        block::write_whole(&mut list, view, shown, &item, None, &text);
    }
    list.push(']');
    (list, calls)
}
