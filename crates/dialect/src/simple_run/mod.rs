//! `simple-run`: the small vocabulary of a write-up, `run.start` … `run.done`. It is not OpenAI's.
//! `README.md` has the mapping and what is lost; [`Aggregator`] is its reference client.

mod aggregator;

use riverrun_event::{Item, RawJson};
use riverrun_fold::view::final_output;
use riverrun_fold::{ItemAt, State};
use serde::Serialize;

use crate::follow::{
    Encode, Happening, List, Shell, Telling, arguments, item, spot_id, steps_to, text, turn,
};
use crate::{Frames, Options};
pub use aggregator::Aggregator;

/// A projector that goes on where `state` stands.
pub(crate) fn projector(state: State, options: Options) -> Shell<SimpleRun> {
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
    Item { item: &'a Item, output_index: usize },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { delta: &'a str, call_id: &'a str, item_id: &'a str },
    #[serde(rename = "response.function_call.done")]
    Call { call_id: &'a str, name: &'a str, arguments: &'a str },
    #[serde(rename = "run.step.done")]
    Step { step_number: usize },
    #[serde(rename = "run.done")]
    Done { run_result: RunResult<'a> },
}

#[derive(Serialize)]
struct RunResult<'a> {
    run_id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_output: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a riverrun_event::ErrorInfo>,
    usage: &'a riverrun_event::Usage,
}

impl SimpleRun {
    fn step_of(&mut self, told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
        let step = steps_to(told.state, at);
        if step > self.steps {
            self.step_done(told, frames);
            self.steps = step;
        }
    }

    fn step_done(&self, told: &Telling<'_>, frames: &mut Frames) {
        if self.steps > 0 {
            told.push(frames, &Frame::Step { step_number: self.steps });
        }
    }
}

impl Encode for SimpleRun {
    fn ends_at_pause(&self) -> bool {
        false
    }

    /// Sub-tasks are seen through the results of their calls.
    fn tell(&mut self, told: &Telling<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { again: false } => {
                told.push(frames, &Frame::Start { run_id: told.turn.as_str() })
            }
            Happening::Ended => {
                self.step_done(told, frames);
                let Some(turn) = turn(told.state, told.turn) else { return };
                let run_result = RunResult {
                    run_id: turn.turn_id.as_str(),
                    status: turn.status.as_str(),
                    final_output: final_output(told.state, turn),
                    error: turn.error.as_ref(),
                    usage: &turn.usage,
                };
                told.push(frames, &Frame::Done { run_result });
            }
            Happening::ItemStarted(at) | Happening::CallStarted(at) if told.is_root(at) => {
                self.step_of(told, at, frames);
            }
            Happening::Text { at, from } if told.is_root(at.item) && at.list == List::Blocks => {
                let delta = &text(told.state, at)[from..];
                let item_id = spot_id(told.state, crate::follow::Spot { part: 0, ..at });
                let (content_index, output_index) = (at.part, at.item.item);
                told.push(frames, &Frame::Text { delta, content_index, item_id, output_index });
            }
            Happening::Arguments { at, from } if told.is_root(at) => {
                let Item::ToolCall(call) = item(told.state, at) else { return };
                let delta = &arguments(told.state, at)[from..];
                told.push(frames, &Frame::Arguments { delta, call_id: &call.call_id, item_id: &call.id });
            }
            Happening::CallEnded(at) if told.is_root(at) => {
                let Item::ToolCall(call) = item(told.state, at) else { return };
                let (call_id, name, arguments) = (&call.call_id, &call.name, &call.arguments);
                told.push(frames, &Frame::Call { call_id, name, arguments });
            }
            Happening::ItemEnded(at) | Happening::Result(at) | Happening::Other(at) if told.is_root(at) => {
                let frame = Frame::Item { item: item(told.state, at), output_index: at.item };
                told.push(frames, &frame);
            }
            _ => {}
        }
    }
}
