//! OpenAI's Responses: the event stream, the response object and the list of input items. One response is one turn.
//! `README.md` has the mapping and what is lost.
//!
//! Every frame has a `sequence_number`, dense from 0. It is part of the projection: a projector that was begun at or
//! before the turn's first event numbers its frames the same on every node. `starting_after=K` is therefore served by
//! projecting the turn from its first event and leaving out the frames up to K ([`sequence_number`] reads it back).

mod action;
pub mod conversation;
pub mod error;
mod item;
mod list;
pub mod models;
mod object;
mod output_entry;
mod part;
mod picture;
pub mod request;

use riverrun_event::{RawJson, TurnId};
use riverrun_fold::{State, Status};
use serde::Deserialize;

use crate::members::Members;
use crate::turn::{EncodeTurn, Stop, TurnEnding, TurnProjector, View};
use crate::{Frames, ReaderOptions, WholeAnswer};
pub use list::{ItemPageQuery, ListedItem, Order, input_items, list};
use object::write_response;
use output_entry::OutputEntry;

pub type Responses = TurnProjector<ResponsesEncoder>;

/// A projector that continues from `state`. To number frames as everyone else does, begin before the turn.
pub fn projector(state: State, options: ReaderOptions) -> Responses {
    TurnProjector::with(state, options, ResponsesEncoder::default())
}

/// `resp_` and the turn.
pub fn response_id(turn: &TurnId) -> String {
    format!("resp_{turn}")
}

/// The turn of a response; None for an id that no response has.
pub fn turn_of(response_id: &str) -> Option<TurnId> {
    TurnId::new(response_id.strip_prefix("resp_")?).ok()
}

/// The number of a frame of this dialect.
pub fn sequence_number(frame_json: &str) -> Option<u64> {
    // It is the last member.
    let (_, number) = frame_json.strip_suffix('}')?.rsplit_once("\"sequence_number\":")?;
    number.parse().ok()
}

/// What was emitted so far.
#[derive(Debug, Clone, Default)]
pub struct ResponsesEncoder {
    has_begun: bool,
    is_in_progress: bool,
    /// The number of the next frame.
    next: u64,
    /// The output items, in the order of their `output_index`.
    entries: Vec<OutputEntry>,
}

/// The name of a frame.
#[derive(Deserialize)]
struct Named {
    #[serde(rename = "type")]
    name: String,
}

/// Where frames go, each with its number.
struct Out<'a> {
    frames: &'a mut Frames,
    view: &'a View<'a>,
    next: &'a mut u64,
}

impl Out<'_> {
    fn push(&mut self, name: &'static str, write: impl FnOnce(&mut Members<'_>)) {
        self.frames.push_named(self.view.at, name, |out| {
            let mut members = Members::open(out);
            members.text("type", name);
            write(&mut members);
            members.number("sequence_number", *self.next);
            members.close();
        });
        *self.next += 1;
    }

    /// A frame of the service's, without its numbers.
    fn push_service_frame(&mut self, frame: &str, output_index: usize) {
        let name = RawJson::parse(frame).ok().and_then(|raw| raw.to::<Named>().ok());
        let (Some(Named { name }), Some(stem)) = (name, frame.strip_suffix('}')) else { return };
        let next = *self.next;
        self.frames.push_with_name(self.view.at, &name, |out| {
            out.push_str(stem);
            out.push_str(&format!(",\"output_index\":{output_index},\"sequence_number\":{next}}}"));
        });
        *self.next += 1;
    }

    /// A word of the service's that is not known here, with our numbers and our names of items.
    fn vendor(&mut self, entries: &[OutputEntry]) {
        let Some((name, members)) = self.view.vendor.and_then(|vendor| vendor.frame()) else { return };
        if !name.starts_with("response.") {
            return;
        }
        let index = members.get("output_index").and_then(|index| index.to::<usize>().ok());
        let item = index.and_then(|index| item::id_of(self.view, entries.get(index)?));
        let next = *self.next;
        self.frames.push_with_name(self.view.at, &name, |out| {
            let mut frame = Members::open(out);
            for (name, value) in members.iter().filter(|(name, _)| *name != "sequence_number") {
                match (name.as_str(), &item) {
                    ("item_id", Some(id)) => frame.text("item_id", id),
                    _ => frame.raw_with_name(name, value.get()),
                }
            }
            frame.number("sequence_number", next);
            frame.close();
        });
        *self.next += 1;
    }

    fn lifecycle(&mut self, name: &'static str, status: &str, entries: &[OutputEntry]) {
        let view = self.view;
        self.push(name, |members| {
            members.with("response", |out| write_response(out, view, status, entries));
        });
    }
}

impl EncodeTurn for ResponsesEncoder {
    fn encode(&mut self, view: &View<'_>, frames: &mut Frames) {
        let Self { has_begun, is_in_progress, next, entries } = self;
        let mut out = Out { frames, view, next };
        if !std::mem::replace(has_begun, true) {
            let is_queued = view.was_queued || view.facts.is_set("background");
            out.lifecycle("response.created", if is_queued { "queued" } else { "in_progress" }, &[]);
            if is_queued {
                out.lifecycle("response.queued", "queued", &[]);
            }
        }
        if !*is_in_progress && has_started(view) {
            *is_in_progress = true;
            out.lifecycle("response.in_progress", "in_progress", &[]);
        }
        output_entry::emit_items(entries, view, &mut out);
        action::emit_actions(entries, view, &mut out);
        out.vendor(entries);
        if let Some(ending) = &view.ending {
            output_entry::close_all(entries, view, &mut out);
            let status = object::status(view);
            out.lifecycle(terminal(ending), status, entries);
        }
    }

    /// The items keep the positions at which they were emitted.
    fn fresh(&self) -> Self {
        let entries = self.entries.iter().map(OutputEntry::unsent).collect();
        Self { entries, ..Self::default() }
    }

    fn number_up_to(&mut self, entries: &Self, count: usize) {
        self.next = entries.next.saturating_sub(count as u64);
    }

    fn answer(&self, view: &View<'_>) -> WholeAnswer {
        let mut out = String::new();
        write_response(&mut out, view, object::status(view), &self.entries);
        if view.ending.is_some() { WholeAnswer::Whole(out) } else { WholeAnswer::Open(out) }
    }
}

fn has_started(view: &View<'_>) -> bool {
    view.turn.started_at.is_some()
        || view.ending.is_some()
        || view.root.is_some_and(|task| !task.output.is_empty())
        || !matches!(view.turn.status, Status::Accepted | Status::Queued | Status::Unknown)
}

/// There is no `response.cancelled`: `response.incomplete` with the status `cancelled` is what clients take best.
fn terminal(ending: &TurnEnding) -> &'static str {
    match ending {
        TurnEnding::Completed(Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause) => {
            "response.completed"
        }
        TurnEnding::Completed(Stop::Length | Stop::Filter) | TurnEnding::Cancelled => "response.incomplete",
        TurnEnding::Failed { .. } => "response.failed",
    }
}
