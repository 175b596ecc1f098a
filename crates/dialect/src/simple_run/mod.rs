//! `simple-run`: the small vocabulary of a write-up, `run.start` … `run.done`. It is not OpenAI's.
//! `README.md` has the mapping and what is lost; [`Aggregator`] is its reference client.

mod aggregator;
mod result;

use riverrun_event::{Item, RawJson};
use riverrun_fold::{ItemAt, State};
use serde::Serialize;

use crate::follow::{
    Encode, EncodeContext, Happening, List, Shell, arguments, is_input, item, item_id, shown_item, steps_to,
    text, turn,
};
use crate::task::write_shown_item;
use crate::{Frames, OffsetUnit, ReaderOptions};
pub use aggregator::Aggregator;
use result::RunResult;

/// The second text of a message is so far behind its first in `content_index`, the third twice as far.
pub const CONTENT_STRIDE: usize = 1_000_000;

/// A projector that continues from `state`.
pub(crate) fn projector(state: State, options: ReaderOptions) -> Shell<SimpleRun> {
    Shell::new(state, options, |_, steps| SimpleRun { steps })
}

#[derive(Debug, Clone, Default)]
pub(crate) struct SimpleRun {
    steps: usize,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Frame<'a> {
    #[serde(rename = "run.start")]
    Start { run_id: &'a str },
    #[serde(rename = "response.text.delta")]
    Text { delta: &'a str, content_index: usize, item_id: String, output_index: usize },
    #[serde(rename = "response.output_item.done")]
    Item {
        item: RawJson,
        output_index: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        content_index: Option<usize>,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { delta: &'a str, call_id: &'a str, item_id: String },
    #[serde(rename = "response.function_call.done")]
    Call { call_id: &'a str, name: &'a str, arguments: &'a str },
    #[serde(rename = "run.step.done")]
    Step { step_number: usize },
    #[serde(rename = "run.done")]
    Done { run_result: RunResult<'a> },
}

impl SimpleRun {
    fn step_of(&mut self, context: &EncodeContext<'_>, at: ItemAt, frames: &mut Frames) {
        let step = steps_to(context.state, at);
        if step > self.steps {
            self.step_done(context, frames);
            self.steps = step;
        }
    }

    fn item_done(&self, context: &EncodeContext<'_>, at: ItemAt, frames: &mut Frames) {
        let shown = shown_item(item(context.state, at));
        let mut out = String::new();
        write_shown_item(&mut out, &shown, &item_id(context.state, at), OffsetUnit::default());
        let Ok(item) = RawJson::parse(out) else { return };
        let content_index = matches!(shown, Item::Message(_)).then(|| content_index(context.state, at, 0));
        context.push(frames, &Frame::Item { item, output_index: at.item, content_index });
    }

    fn step_done(&self, context: &EncodeContext<'_>, frames: &mut Frames) {
        if self.steps > 0 {
            context.push(frames, &Frame::Step { step_number: self.steps });
        }
    }
}

impl Encode for SimpleRun {
    fn ends_at_pause(&self) -> bool {
        false
    }

    /// Sub-tasks are seen through the results of their calls.
    fn encode(&mut self, context: &EncodeContext<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { again: false } => {
                context.push(frames, &Frame::Start { run_id: context.turn.as_str() })
            }
            Happening::Ended => {
                self.step_done(context, frames);
                let Some(turn) = turn(context.state, context.turn) else { return };
                context.push(frames, &Frame::Done { run_result: RunResult::of(context.state, turn) });
            }
            Happening::ItemStarted(at) | Happening::CallStarted(at) if context.is_root(at) => {
                self.step_of(context, at, frames);
            }
            Happening::Text { at, from } if context.is_root(at.item) && at.list == List::Blocks => {
                let delta = &text(context.state, at)[from..];
                let (item_id, output_index) = (item_id(context.state, at.item), at.item.item);
                let content_index = content_index(context.state, at.item, at.part);
                context.push(frames, &Frame::Text { delta, content_index, item_id, output_index });
            }
            Happening::Arguments { at, from } if context.is_root(at) => {
                let Item::ToolCall(call) = item(context.state, at) else { return };
                let delta = &arguments(context.state, at)[from..];
                let item_id = item_id(context.state, at);
                context.push(frames, &Frame::Arguments { delta, call_id: &call.call_id, item_id });
            }
            Happening::CallEnded(at) if context.is_root(at) => {
                let Item::ToolCall(call) = item(context.state, at) else { return };
                let (call_id, name, arguments) = (&call.call_id, &call.name, &call.arguments);
                context.push(frames, &Frame::Call { call_id, name, arguments });
            }
            Happening::ItemEnded(at) | Happening::Result(at) | Happening::Other(at)
                if context.is_root(at) =>
            {
                self.item_done(context, at, frames);
            }
            _ => {}
        }
    }
}

/// The number of a text, unique in the run: the message's place among the messages of its task, and a stride for each
/// text of the message before it. It depends on places that never change, so every reader gets the same number.
fn content_index(state: &State, at: ItemAt, part: usize) -> usize {
    let output = &state.tasks[at.task].output;
    let is_message = |index: &usize| {
        matches!(output[*index], Item::Message(_)) && !is_input(state, ItemAt { item: *index, ..at })
    };
    (0..at.item).filter(is_message).count() + part * CONTENT_STRIDE
}
