//! A step, turned into events and waits.

use std::time::Duration;
use std::vec;

use riverrun_event::{RawJson, Usage};

use super::condition::Situation;
use super::fill::{Into, fill, fill_round};
use super::parameter::{Values, word};
use super::scenario::{Fail, Pieces, Play, ScriptedCall, ScriptedStep};
use crate::{Category, ItemKind, ModelError, ModelEvent, RateLimit, StopReason};

/// What comes next.
#[derive(Debug)]
pub enum Beat {
    Emit(ModelEvent),
    Wait(Duration),
    Hang,
}

/// Beats are made while they are played, so that a long answer costs no memory.
pub struct Performance {
    segments: vec::IntoIter<Segment>,
    rounds: Option<Rounds>,
    over: bool,
}

enum Segment {
    One(Box<Beat>),
    Deltas(Rounds),
}

/// Pieces that are said one after the other, several times.
struct Rounds {
    pieces: Vec<String>,
    times: u64,
    pace: Duration,
    event: fn(u32, u32, String) -> ModelEvent,
    index: u32,
    part: u32,
    /// The next piece, counted over all rounds.
    at: u64,
    waits: bool,
}

impl Performance {
    pub fn new(
        step: &ScriptedStep,
        situation: &Situation,
        values: &Values,
        model: &str,
    ) -> Result<Self, String> {
        let mut layout =
            Layout { segments: Vec::new(), open: None, next_index: 0, calls: 0, situation, values };
        layout.emit(ModelEvent::Started { response_id: None, model: Some(model.to_owned()) });
        for play in &step.play {
            if layout.play(play)? {
                return Ok(layout.done());
            }
        }
        layout.close();
        let stop = match &step.stop {
            Some(word) => stop_of(word),
            None if layout.calls > 0 => StopReason::ToolUse,
            None => StopReason::End,
        };
        layout.emit(ModelEvent::Completed { stop, usage: usage(step, values), members: None });
        Ok(layout.done())
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Ends it before its time.
    pub fn stop(&mut self, error: ModelError) -> ModelEvent {
        self.over = true;
        ModelEvent::Failed(error)
    }

    pub fn next(&mut self) -> Option<Beat> {
        loop {
            if let Some(beat) = self.rounds.as_mut().and_then(Rounds::next) {
                return Some(beat);
            }
            match self.segments.next()? {
                Segment::One(beat) => {
                    self.over = matches!(
                        *beat,
                        Beat::Emit(ModelEvent::Completed { .. }) | Beat::Emit(ModelEvent::Failed(_))
                    );
                    return Some(*beat);
                }
                Segment::Deltas(rounds) => self.rounds = Some(rounds),
            }
        }
    }
}

impl Rounds {
    fn next(&mut self) -> Option<Beat> {
        if std::mem::take(&mut self.waits) && !self.pace.is_zero() {
            return Some(Beat::Wait(self.pace));
        }
        let count = self.pieces.len() as u64;
        if count == 0 || self.at >= count.saturating_mul(self.times) {
            return None;
        }
        let piece = &self.pieces[(self.at % count) as usize];
        let text = fill_round(piece, self.at / count + 1);
        self.at += 1;
        self.waits = true;
        Some(Beat::Emit((self.event)(self.index, self.part, text)))
    }
}

struct Layout<'a> {
    segments: Vec<Segment>,
    /// The item that text goes to.
    open: Option<(u32, ItemKind)>,
    next_index: u32,
    calls: usize,
    situation: &'a Situation,
    values: &'a Values,
}

impl Layout<'_> {
    /// True if nothing can follow.
    fn play(&mut self, play: &Play) -> Result<bool, String> {
        match play {
            Play::Reasoning(pieces) => self.deltas(ItemKind::Reasoning, pieces, |index, part, delta| {
                ModelEvent::Reasoning { index, summary_index: Some(part), delta }
            }),
            Play::Text(pieces) => {
                self.deltas(ItemKind::Message, pieces, |index, _, delta| ModelEvent::Text { index, delta })
            }
            Play::Call(call) => self.call(call),
            Play::WaitMs(time) => self.one(Beat::Wait(Duration::from_millis(time.of(self.values)))),
            Play::State(state) => {
                self.emit(ModelEvent::State(RawJson::of(state).map_err(|error| error.to_string())?));
            }
            Play::Vendor { name, data } => {
                let data = RawJson::of(data).map_err(|error| error.to_string())?;
                self.emit(ModelEvent::Vendor { name: name.clone(), data });
            }
            Play::RateLimit { kind, limit, remaining, resets_in_ms } => {
                self.emit(ModelEvent::RateLimited(RateLimit {
                    kind: kind.clone(),
                    limit: *limit,
                    remaining: *remaining,
                    resets_in: resets_in_ms.map(Duration::from_millis),
                }));
            }
            Play::Fail(fail) => {
                let error = failure(fail, self.values)?;
                self.emit(ModelEvent::Failed(error));
                return Ok(true);
            }
            Play::Cut(true) => {
                let message = "the stream ended without its terminal event";
                self.emit(ModelEvent::Failed(ModelError::new(Category::Truncated, message)));
                return Ok(true);
            }
            Play::Hang(true) => self.one(Beat::Hang),
            Play::Cut(false) | Play::Hang(false) => {}
        }
        Ok(false)
    }

    fn deltas(&mut self, kind: ItemKind, pieces: &Pieces, event: fn(u32, u32, String) -> ModelEvent) {
        let index = match &self.open {
            Some((index, open)) if *open == kind => *index,
            Some(_) | None => self.open(kind),
        };
        let filled = pieces.pieces.iter().map(|piece| fill(piece, self.situation, Into::Text));
        let parts = match pieces.by_word {
            true => filled.flat_map(|text| by_word(&text)).collect(),
            false => filled.collect(),
        };
        self.segments.push(Segment::Deltas(Rounds {
            pieces: parts,
            times: pieces.times.as_ref().map_or(1, |times| times.of(self.values)),
            pace: Duration::from_millis(pieces.pace_ms.of(self.values)),
            event,
            index,
            part: pieces.part,
            at: 0,
            waits: false,
        }));
    }

    fn call(&mut self, call: &ScriptedCall) {
        let call_id = self.call_id(call);
        let index = self.open(ItemKind::ToolCall { call_id, name: call.name.clone() });
        let fill_in = |piece: &String| fill(piece, self.situation, Into::Arguments);
        self.segments.push(Segment::Deltas(Rounds {
            pieces: call.arguments.iter().map(fill_in).collect(),
            times: 1,
            pace: Duration::from_millis(call.pace_ms.of(self.values)),
            event: |index, _, delta| ModelEvent::Arguments { index, delta },
            index,
            part: 0,
            at: 0,
            waits: false,
        }));
        self.calls += 1;
        match call.finish {
            true => self.close(),
            false => self.open = None,
        }
    }

    /// Never the same twice in a conversation, nor in an agent and its sub-agent.
    fn call_id(&self, call: &ScriptedCall) -> String {
        let taken = |id: &String| self.situation.call_ids.contains(id);
        if let Some(id) = call.id.as_ref().filter(|id| !taken(id)) {
            return id.clone();
        }
        let name = self.situation.name.wrapping_add(self.calls as u64) & 0xffff_ffff_ffff;
        format!("call_{name:012x}")
    }

    fn open(&mut self, kind: ItemKind) -> u32 {
        self.close();
        let index = self.next_index;
        self.next_index += 1;
        self.emit(ModelEvent::ItemStarted { index, kind: kind.clone() });
        self.open = Some((index, kind));
        index
    }

    fn close(&mut self) {
        if let Some((index, _)) = self.open.take() {
            self.emit(ModelEvent::ItemDone { index, opaque: None });
        }
    }

    fn emit(&mut self, event: ModelEvent) {
        self.one(Beat::Emit(event));
    }

    fn one(&mut self, beat: Beat) {
        self.segments.push(Segment::One(Box::new(beat)));
    }

    fn done(self) -> Performance {
        Performance { segments: self.segments.into_iter(), rounds: None, over: false }
    }
}

fn by_word(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

fn failure(fail: &Fail, values: &Values) -> Result<ModelError, String> {
    Ok(ModelError {
        category: category_of(&word(&fail.category, values))?,
        message: fail.message.clone(),
        fault: None,
        code: fail.code.clone(),
        status: fail.status,
        param: None,
        retry_after: fail.retry_after_ms.as_ref().map(|time| Duration::from_millis(time.of(values))),
    })
}

pub fn category_of(word: &str) -> Result<Category, String> {
    Category::ALL.iter().copied().find(|category| category.as_str() == word).ok_or_else(|| {
        let known: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).collect();
        format!("`{word}` is not a category; there are: {}", known.join(", "))
    })
}

fn stop_of(word: &str) -> StopReason {
    match word {
        "end" => StopReason::End,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence(None),
        "refusal" => StopReason::Refusal,
        "content_filter" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}

fn usage(step: &ScriptedStep, values: &Values) -> Usage {
    let tokens = &step.usage;
    let of = |amount: &Option<super::parameter::Amount>| amount.as_ref().map(|amount| amount.of(values));
    let (input, output) = (of(&tokens.input), of(&tokens.output));
    Usage {
        input_tokens: input,
        cached_input_tokens: of(&tokens.cached),
        cache_write_input_tokens: None,
        output_tokens: output,
        reasoning_tokens: of(&tokens.reasoning),
        total_tokens: input.zip(output).map(|(input, output)| input + output),
    }
}
