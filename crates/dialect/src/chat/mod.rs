//! OpenAI's Chat Completions: chunks, and the completion as one object. `README.md` has the mapping and what is lost.

mod chunk;
pub mod request;

use riverrun_event::{Item, ToolCallItem};
use riverrun_fold::State;

use crate::request::Failure;
use crate::responses::error::{failure_of, write_error};
use crate::turn::{Ending, Line, Shown, Step, Stop, Teller, TurnProjector, View};
use crate::{Answer, Frames, Options};
use chunk::{Chunk, write_object};

pub type Chat = TurnProjector<Telling>;

/// A projector that goes on where `state` stands.
pub fn projector(state: State, options: Options) -> Chat {
    TurnProjector::with(state, options, Telling::default())
}

/// What was told so far. Text, reasoning and calls are three lines: a chunk may carry any of them.
#[derive(Debug, Clone)]
pub struct Telling {
    has_begun: bool,
    has_text: bool,
    calls: usize,
    text: Line,
    thinking: Line,
    call: Line,
}

impl Default for Telling {
    fn default() -> Self {
        Self {
            has_begun: false,
            has_text: false,
            calls: 0,
            text: Line::of(&[Shown::Text]),
            thinking: Line::of(&[Shown::Thinking]),
            call: Line::of(&[Shown::Call]),
        }
    }
}

impl Telling {
    fn lines(&mut self, view: &View<'_>, tell: &mut dyn FnMut(Delta<'_>)) {
        let Self { has_text, calls, text, thinking, call, .. } = self;
        thinking.advance(view, &mut |step| {
            if let Step::Text(_, news) = step {
                tell(Delta::Reasoning(news));
            }
        });
        text.advance(view, &mut |step| match step {
            // Messages of one turn are one content here.
            Step::Opened(..) if std::mem::replace(has_text, true) => tell(Delta::Content("\n\n")),
            Step::Text(_, news) => tell(Delta::Content(news)),
            Step::Opened(..) | Step::Closed(..) => {}
        });
        call.advance(view, &mut |step| match step {
            Step::Opened(_, Item::ToolCall(item)) => {
                *calls += 1;
                tell(Delta::Call(*calls - 1, item));
            }
            Step::Text(_, news) => tell(Delta::Arguments(*calls - 1, news)),
            Step::Opened(..) | Step::Closed(..) => {}
        });
    }
}

/// What a chunk adds.
enum Delta<'a> {
    Reasoning(&'a str),
    Content(&'a str),
    Call(usize, &'a ToolCallItem),
    Arguments(usize, &'a str),
}

impl Teller for Telling {
    fn tell(&mut self, view: &View<'_>, frames: &mut Frames) {
        let chunk = Chunk::of(view);
        if !std::mem::replace(&mut self.has_begun, true) {
            frames.push(view.at, |out| chunk.role(out));
        }
        self.lines(view, &mut |delta| frames.push(view.at, |out| chunk.delta(out, &delta)));
        match &view.ending {
            Some(Ending::Completed(stop)) => {
                frames.push(view.at, |out| chunk.finish(out, finish_reason(*stop, self.calls)));
                if wants_usage(view) {
                    frames.push(view.at, |out| chunk.usage(out, &view.turn.usage));
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

    fn answer(&self, view: &View<'_>) -> Answer {
        match &view.ending {
            Some(ended @ (Ending::Failed { .. } | Ending::Cancelled)) => Answer::Failed(failed(ended)),
            Some(Ending::Completed(_)) => Answer::Whole(object(view)),
            None => Answer::Open(object(view)),
        }
    }
}

/// There is no word for a cancelled answer: it must not look like a whole one.
fn failed(ending: &Ending) -> Failure {
    match ending {
        Ending::Failed { error } => failure_of(error),
        Ending::Cancelled | Ending::Completed(_) => {
            Failure::new(499, "cancelled", "the turn was cancelled; what was sent is all there is")
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
    let (mut content, mut reasoning) = (String::new(), String::new());
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut telling = Telling::default();
    telling.lines(view, &mut |delta| match delta {
        Delta::Reasoning(text) => reasoning.push_str(text),
        Delta::Content(text) => content.push_str(text),
        Delta::Call(_, item) => calls.push((item.call_id.clone(), item.name.clone(), String::new())),
        Delta::Arguments(at, text) => calls[at].2.push_str(text),
    });
    let finish = match view.ending {
        Some(Ending::Completed(stop)) => Some(finish_reason(stop, calls.len())),
        Some(Ending::Failed { .. } | Ending::Cancelled) | None => None,
    };
    let mut out = String::new();
    write_object(&mut out, view, &content, &reasoning, &calls, finish);
    out
}
