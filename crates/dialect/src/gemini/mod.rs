//! Gemini's `generateContent`: the stream of responses, and one response as a whole. `README.md` has the mapping and
//! what is lost.
//!
//! Every chunk but the last carries a `continuationToken`: the reader's cursor. Google's Python client sends the
//! latest one with the same request after a drop, so that a plain client resumes by itself.

mod chunk;
pub mod error;
pub mod models;
pub mod request;

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::URL_SAFE};
use riverrun_event::{Cursor, CursorOrigin, Item, TurnId};
use riverrun_fold::State;

use crate::registry::ProjectedSession;
use crate::request::RequestFailure;
use crate::turn::{EncodeTurn, Line, Shown, Step, Stop, TurnEnding, TurnProjector, View, thought_signature};
use crate::{Frames, ReaderOptions, WholeAnswer};
use chunk::{Chunk, write_call, write_text};

pub type Gemini = TurnProjector<GeminiEncoder>;

/// A projector that continues from `state`.
pub fn projector(session: &ProjectedSession<'_>, state: State, options: ReaderOptions) -> Gemini {
    let encoder = GeminiEncoder { origin: Some(session.origin()), ..GeminiEncoder::default() };
    TurnProjector::with(state, options, encoder)
}

/// A token names the turn too: the client sends it with the same request, which says nothing of either. It is base64,
/// because clients read the field as bytes.
fn write_token(turn: &TurnId, cursor: &Cursor) -> String {
    URL_SAFE.encode(format!("{turn}~{cursor}"))
}

/// The turn and the place that a `continuationToken` names, in either alphabet; None if it is none of ours.
pub fn read_token(token: &str) -> Option<(TurnId, Cursor)> {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::URL_SAFE, lenient);
    let bytes = engine.decode(token.replace('+', "-").replace('/', "_")).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (turn, cursor) = text.rsplit_once('~')?;
    Some((TurnId::new(turn).ok()?, Cursor::parse(cursor).ok()?))
}

/// What was emitted so far. Parts come one after the other, calls only whole: one line.
#[derive(Debug, Clone)]
pub struct GeminiEncoder {
    /// Whose log it is; without it there are no tokens.
    origin: Option<CursorOrigin>,
    has_text: bool,
    line: Line,
}

impl Default for GeminiEncoder {
    fn default() -> Self {
        Self { origin: None, has_text: false, line: Line::of(&[Shown::Thinking, Shown::Text, Shown::Call]) }
    }
}

impl GeminiEncoder {
    /// Hands out each part as JSON.
    fn parts(&mut self, view: &View<'_>, emit: &mut dyn FnMut(&str)) {
        let Self { has_text, line, .. } = self;
        line.advance(view, &mut |step| match step {
            // Messages of one turn are one text to the client.
            Step::Opened(Shown::Text, _) if std::mem::replace(has_text, true) => {
                emit(&write_text("\n\n", false));
            }
            Step::Text(shown @ (Shown::Thinking | Shown::Text), news, _) => {
                emit(&write_text(news, shown == Shown::Thinking));
            }
            // The proof of the reasoning follows it, as a thought without words.
            Step::Closed(Shown::Thinking, item, _) => {
                if let Some(signature) = thought_signature(item) {
                    emit(&chunk::write_signature(&signature));
                }
            }
            Step::Closed(Shown::Call, Item::ToolCall(call), _) => {
                emit(&write_call(call));
            }
            Step::Opened(..) | Step::Text(..) | Step::Frame(_) | Step::Closed(..) => {}
        });
    }

    /// The place behind the frame that comes next. An opening counts only as a whole.
    fn token(&self, view: &View<'_>, frames: &Frames, is_last: bool) -> Option<String> {
        let origin = self.origin?;
        let turn = &view.turn.turn_id;
        if view.touched.is_none() {
            return is_last.then(|| write_token(turn, &Cursor::after(view.at, origin)));
        }
        let part = frames.next_part(view.at) + 1;
        Some(write_token(turn, &Cursor { sequence: view.at.previous(), part, origin: Some(origin) }))
    }
}

impl EncodeTurn for GeminiEncoder {
    fn encode(&mut self, view: &View<'_>, frames: &mut Frames) {
        let chunk = Chunk::of(view);
        let mut parts = Vec::new();
        self.parts(view, &mut |part| parts.push(part.to_owned()));
        for (at, part) in parts.iter().enumerate() {
            let token = self.token(view, frames, at + 1 == parts.len());
            frames.push(view.at, |out| chunk.part(out, part, token.as_deref()));
        }
        match &view.ending {
            Some(TurnEnding::Completed(stop)) => {
                frames.push(view.at, |out| chunk.finish(out, &write_text("", false), finish_reason(*stop)));
            }
            Some(ended) => {
                let body = error::body(&failed(ended));
                frames.push(view.at, |out| out.push_str(&body));
            }
            None => {}
        }
    }

    fn fresh(&self) -> Self {
        Self { origin: self.origin, ..Self::default() }
    }

    fn answer(&self, view: &View<'_>) -> WholeAnswer {
        let mut all: Vec<String> = Vec::new();
        self.fresh().parts(view, &mut |part| chunk::append(&mut all, part));
        let object = |reason: Option<&str>| Chunk::of(view).whole(&all.join(","), reason);
        match &view.ending {
            Some(TurnEnding::Completed(stop)) => WholeAnswer::Whole(object(Some(finish_reason(*stop)))),
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

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Filter => "SAFETY",
    }
}
