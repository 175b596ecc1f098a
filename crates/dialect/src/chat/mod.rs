//! OpenAI's Chat Completions: chunks, and the completion as one object. `README.md` has the mapping and what is lost.

mod chunk;
pub mod request;

use riverrun_event::{Item, RawJson, ToolCallItem};
use riverrun_fold::State;

use crate::request::RequestFailure;
use crate::responses::error::{failure_of, write_error};
use crate::turn::{EncodeTurn, Line, Shown, Step, Stop, TurnEnding, TurnProjector, View};
use crate::{Frames, ReaderOptions, WholeAnswer};
use chunk::{Chunk, write_object};

pub type Chat = TurnProjector<ChatEncoder>;

/// A projector that continues from `state`.
pub fn projector(state: State, options: ReaderOptions) -> Chat {
    TurnProjector::with(state, options, ChatEncoder::default())
}

/// What was emitted so far. Text, reasoning, calls and the rest are lines of their own: a chunk may carry any of them.
#[derive(Debug, Clone)]
pub struct ChatEncoder {
    has_begun: bool,
    has_text: bool,
    calls: usize,
    text: Line,
    thinking: Line,
    call: Line,
    beside: Line,
}

/// The kind of an item that holds members of a service's message which have no place elsewhere.
const BESIDE: &str = "message";

impl Default for ChatEncoder {
    fn default() -> Self {
        Self {
            has_begun: false,
            has_text: false,
            calls: 0,
            text: Line::of(&[Shown::Text, Shown::Refusal]),
            thinking: Line::of(&[Shown::Thinking]),
            call: Line::of(&[Shown::Call, Shown::Hosted])
                .hosting(|item| item.dialect == "chat" && item.kind != BESIDE),
            beside: Line::of(&[Shown::Hosted]).hosting(|item| item.dialect == "chat" && item.kind == BESIDE),
        }
    }
}

impl ChatEncoder {
    fn lines(&mut self, view: &View<'_>, emit: &mut dyn FnMut(Delta<'_>)) {
        let Self { has_text, calls, text, thinking, call, beside, .. } = self;
        thinking.advance(view, &mut |step| {
            if let Step::Text(_, news, _) = step {
                emit(Delta::Reasoning(news));
            }
        });
        text.advance(view, &mut |step| match step {
            // Messages of one turn are one content here.
            Step::Opened(Shown::Text, _) if std::mem::replace(has_text, true) => {
                emit(Delta::Content("\n\n", &[]));
            }
            Step::Text(Shown::Refusal, news, _) => emit(Delta::Refusal(news)),
            Step::Text(_, news, odds) => emit(Delta::Content(news, odds)),
            Step::Opened(..) | Step::Frame(_) | Step::Closed(..) => {}
        });
        call.advance(view, &mut |step| match step {
            Step::Opened(_, Item::ToolCall(item)) => {
                *calls += 1;
                emit(Delta::Call(*calls - 1, item));
            }
            Step::Opened(_, Item::Hosted(item)) => {
                *calls += 1;
                if let Some(begun) = item.word(0).and_then(|(_, begun, _)| RawJson::parse(begun).ok()) {
                    emit(Delta::Other(*calls - 1, &begun));
                }
            }
            Step::Text(_, news, _) => emit(Delta::Arguments(*calls - 1, news)),
            Step::Frame(frame) => {
                if let Ok(frame) = RawJson::parse(frame) {
                    emit(Delta::Other(*calls - 1, &frame));
                }
            }
            Step::Closed(_, Item::Hosted(item), _) => {
                item.object().iter().for_each(|whole| emit(Delta::OtherWhole(*calls - 1, whole)));
            }
            Step::Opened(..) | Step::Closed(..) => {}
        });
        beside.advance(view, &mut |step| match step {
            Step::Frame(frame) => {
                if let Ok(frame) = RawJson::parse(frame) {
                    emit(Delta::Beside(&frame));
                }
            }
            Step::Closed(_, Item::Hosted(item), _) => {
                item.object().iter().for_each(|whole| emit(Delta::BesideWhole(whole)));
            }
            Step::Opened(..) | Step::Text(..) | Step::Closed(..) => {}
        });
    }
}

/// The one message of a completion.
#[derive(Default)]
struct WholeMessage {
    content: String,
    odds: Vec<RawJson>,
    refusal: String,
    reasoning: String,
    calls: Vec<Called>,
    /// Members that only the service knows.
    beside: Vec<RawJson>,
}

enum Called {
    Function {
        id: String,
        name: String,
        arguments: String,
    },
    /// A call that is no function's, as the service wrote it.
    Other(RawJson),
}

/// What a chunk adds.
enum Delta<'a> {
    Reasoning(&'a str),
    /// With the odds of its tokens.
    Content(&'a str, &'a [RawJson]),
    Refusal(&'a str),
    Call(usize, &'a ToolCallItem),
    Arguments(usize, &'a str),
    /// What a service says of a call that is no function's.
    Other(usize, &'a RawJson),
    /// The same at its end; a chunk does not repeat it.
    OtherWhole(usize, &'a RawJson),
    /// What a service says in members of its own.
    Beside(&'a RawJson),
    /// The same at its end.
    BesideWhole(&'a RawJson),
}

impl Delta<'_> {
    /// True for what earlier chunks had.
    fn is_repeated(&self) -> bool {
        matches!(self, Delta::OtherWhole(..) | Delta::BesideWhole(_))
    }
}

impl EncodeTurn for ChatEncoder {
    fn encode(&mut self, view: &View<'_>, frames: &mut Frames) {
        let chunk = Chunk::of(view);
        if !std::mem::replace(&mut self.has_begun, true) {
            frames.push(view.at, |out| chunk.role(out));
        }
        self.lines(view, &mut |delta| {
            if !delta.is_repeated() {
                frames.push(view.at, |out| chunk.delta(out, &delta));
            }
        });
        match &view.ending {
            Some(TurnEnding::Completed(stop)) => {
                let mut service = view.service_members("chat");
                let usage = service.remove("usage");
                frames.push(view.at, |out| chunk.finish(out, finish_reason(*stop, self.calls), &service));
                if wants_usage(view) {
                    let usage = usage.as_ref().map(RawJson::get);
                    frames.push(view.at, |out| chunk.usage(out, &view.turn.usage, usage, &service));
                }
                frames.push_marker(view.at, "[DONE]");
            }
            Some(ended) => frames.push(view.at, |out| write_error(out, &failed(ended))),
            None => {}
        }
    }

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn answer(&self, view: &View<'_>) -> WholeAnswer {
        match &view.ending {
            Some(ended @ (TurnEnding::Failed { .. } | TurnEnding::Cancelled)) => {
                WholeAnswer::Failed(failed(ended))
            }
            Some(TurnEnding::Completed(_)) => WholeAnswer::Whole(object(view)),
            None => WholeAnswer::Open(object(view)),
        }
    }
}

/// There is no word for a cancelled answer: it must not look like a whole one.
fn failed(ending: &TurnEnding) -> RequestFailure {
    match ending {
        TurnEnding::Failed { error } => failure_of(error),
        TurnEnding::Cancelled | TurnEnding::Completed(_) => {
            RequestFailure::new(499, "cancelled", "the turn was cancelled; what was sent is all there is")
        }
    }
}

fn finish_reason(stop: Stop, calls: usize) -> &'static str {
    match stop {
        Stop::Length => "length",
        Stop::Filter => "content_filter",
        Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause if calls > 0 => "tool_calls",
        Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause => "stop",
    }
}

fn wants_usage(view: &View<'_>) -> bool {
    let options = view.facts.get("stream_options");
    let value = options.and_then(|options| options.to::<serde_json::Value>().ok());
    value.is_some_and(|value| value["include_usage"] == true)
}

/// `chatcmpl-` and the turn.
pub fn completion_id(turn: &riverrun_event::TurnId) -> String {
    format!("chatcmpl-{turn}")
}

fn object(view: &View<'_>) -> String {
    let mut message = WholeMessage::default();
    let mut encoder = ChatEncoder::default();
    encoder.lines(view, &mut |delta| match delta {
        Delta::Reasoning(text) => message.reasoning.push_str(text),
        Delta::Content(text, odds) => {
            message.content.push_str(text);
            message.odds.extend(odds.iter().cloned());
        }
        Delta::Refusal(text) => message.refusal.push_str(text),
        Delta::Call(_, item) => message.calls.push(Called::Function {
            id: item.call_id.clone(),
            name: item.name.clone(),
            arguments: String::new(),
        }),
        Delta::Arguments(at, text) => {
            if let Some(Called::Function { arguments, .. }) = message.calls.get_mut(at) {
                arguments.push_str(text);
            }
        }
        // Its first word is the call as it began; what is added to it comes whole at its end.
        Delta::Other(at, begun) if at == message.calls.len() => {
            message.calls.push(Called::Other(begun.clone()))
        }
        Delta::OtherWhole(at, whole) => {
            if let Some(call) = message.calls.get_mut(at) {
                *call = Called::Other(whole.clone());
            }
        }
        Delta::BesideWhole(whole) => message.beside.push(whole.clone()),
        Delta::Other(..) | Delta::Beside(_) => {}
    });
    let finish = match view.ending {
        Some(TurnEnding::Completed(stop)) => Some(finish_reason(stop, message.calls.len())),
        Some(TurnEnding::Failed { .. } | TurnEnding::Cancelled) | None => None,
    };
    let mut out = String::new();
    write_object(&mut out, view, &message, finish);
    out
}
