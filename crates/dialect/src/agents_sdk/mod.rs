//! `agents-sdk`: the three kinds of stream events of the OpenAI Agents SDK.
//! `README.md` has the mapping and what is lost.

mod item;
mod raw;
mod response;
mod service;

use riverrun_event::json::write_string;
use riverrun_event::{ActionRequired, Event, Item, Payload};
use riverrun_fold::view::final_output;
use riverrun_fold::{ItemAt, State};
use serde_json::{Value, json};

use crate::follow::{Encode, EncodeContext, Happening, Shell, item as item_at, pending, turn};
use crate::{Frames, ReaderOptions};
use response::{End, Response};
use service::Service;

/// A projector that continues from `state`.
pub(crate) fn projector(state: State, options: ReaderOptions) -> Shell<AgentsSdk> {
    Shell::primed(state, options)
}

/// What the reader knows beyond the items.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentsSdk {
    service: Service,
    /// The model call whose `response.created` was emitted and whose end was not.
    response: Option<Response>,
    agent: Option<String>,
    /// The item whose end the present event brought.
    just_ended: Option<ItemAt>,
    /// Items of the root task before this place are of model calls that are over.
    emitted_items: usize,
}

impl Encode for AgentsSdk {
    /// What happens below the root task does not enter the parent's stream.
    fn encode(&mut self, context: &EncodeContext<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { .. } => self.agent_updated(context, frames, true),
            Happening::Agent => self.agent_updated(context, frames, false),
            Happening::ItemStarted(at) | Happening::CallStarted(at) if context.is_root(at) => {
                self.open(context, at, frames);
                self.rebuild(context, at, |response| raw::item_added(context, response, at, frames));
            }
            Happening::TextStarted(at) if context.is_root(at.item) => {
                self.rebuild(context, at.item, |response| raw::part_added(context, response, at, frames));
            }
            Happening::Text { at, from } if context.is_root(at.item) => {
                self.rebuild(context, at.item, |response| raw::delta(context, response, at, from, frames));
            }
            Happening::TextEnded(at) if context.is_root(at.item) => {
                self.rebuild(context, at.item, |response| raw::part_done(context, response, at, frames));
            }
            Happening::Arguments { at, from } if context.is_root(at) => {
                self.rebuild(context, at, |response| raw::arguments(context, response, at, from, frames));
            }
            Happening::ItemEnded(at) | Happening::CallEnded(at) if context.is_root(at) => {
                self.rebuild(context, at, |response| raw::item_done(context, response, at, frames));
                self.just_ended = Some(at);
            }
            Happening::Retracted(at) if context.is_root(at) => self.retracted(context, at, frames),
            Happening::Result(at) if context.is_root(at) => self.result(context, at, frames),
            Happening::Other(at) if context.is_root(at) => self.other(context, at, frames),
            Happening::Paused => {
                self.close(context, End::Completed, frames);
                complete(context, frames);
            }
            Happening::Ended => {
                if let Some(end) = response::end(context) {
                    self.close(context, end, frames);
                }
                self.response = None;
                complete(context, frames);
            }
            _ => {}
        }
    }

    /// Events of the service pass as they came: those that the runner recorded, and those that a producer sent under
    /// their own names.
    fn verbatim(&mut self, context: &EncodeContext<'_>, event: &Event, frames: &mut Frames) {
        raw::passed(context, event, frames);
        if event.scope.turn_id.as_ref() != Some(context.turn) || event.scope.parent_task_id.is_some() {
            return;
        }
        if let Ok(Payload::ModelRequested(_)) = event.payload {
            self.begin_call(context, frames);
        }
        for event in self.service.events(event) {
            raw::original(context, &event, frames);
        }
        if let Ok(Payload::ModelCompleted(_)) = event.payload
            && self.service.is_original
        {
            self.open_at_end(context);
        }
    }

    /// The SDK emits items after the model call. The log shows that end by the calls' consequences.
    fn settle(&mut self, context: &EncodeContext<'_>, frames: &mut Frames) {
        self.just_ended = None;
        if self.response.as_ref().is_some_and(|response| response.is_over(context.state)) {
            self.close(context, End::Completed, frames);
        }
    }
}

impl AgentsSdk {
    fn agent_updated(&mut self, context: &EncodeContext<'_>, frames: &mut Frames, always: bool) {
        let of_turn = turn(context.state, context.turn).and_then(|turn| turn.agent.as_deref());
        let name = context.state.agent.as_deref().or(of_turn).unwrap_or("agent");
        if !always && self.agent.as_deref() == Some(name) {
            return;
        }
        context.push(frames, &json!({"type": "agent_updated_stream_event", "new_agent": {"name": name}}));
        self.agent = Some(name.to_owned());
    }

    fn open(&mut self, context: &EncodeContext<'_>, at: ItemAt, frames: &mut Frames) {
        let response = Response::of(context.state, at, self.emitted_items);
        if self.response.as_ref().is_some_and(|open| open.first != response.first) {
            self.close(context, End::Completed, frames);
        }
        if self.response.is_none() {
            let mut response = Response { is_original: self.service.is_original, ..response };
            if !response.is_original {
                raw::opened(context, &mut response, frames);
            }
            self.response = Some(response);
        }
    }

    /// A model call of which nothing but tools of the service came has items too.
    fn open_at_end(&mut self, context: &EncodeContext<'_>) {
        let Some(task) = root(context) else { return };
        let end = ItemAt { task, item: context.state.tasks[task].output.len() };
        let response = Response::of(context.state, end, self.emitted_items);
        if self.response.is_none() && response.items(context.state).next().is_some() {
            self.response = Some(Response { is_original: true, ..response });
        }
    }

    /// The items of the call before come before the first event of the next one.
    fn begin_call(&mut self, context: &EncodeContext<'_>, frames: &mut Frames) {
        match &self.response {
            Some(open) if open.is_original && open.is_whole(context.state) => {
                self.close(context, End::Completed, frames);
            }
            Some(open) if open.is_original => self.response = None,
            Some(_) | None => {}
        }
        self.service.begin_call();
    }

    /// Emits an item of the open model call, unless the service's own events have it.
    fn rebuild(&mut self, context: &EncodeContext<'_>, at: ItemAt, write: impl FnOnce(&mut Response)) {
        match &mut self.response {
            Some(open) if open.is_original => {}
            Some(open) => write(open),
            None if self.service.is_original => {}
            None => write(&mut Response::of(context.state, at, self.emitted_items)),
        }
    }

    fn close(&mut self, context: &EncodeContext<'_>, end: End, frames: &mut Frames) {
        self.close_with(context, end, None, frames);
    }

    /// The end of a model call, and the items that came of it.
    fn close_with(
        &mut self,
        context: &EncodeContext<'_>,
        end: End,
        also: Option<ItemAt>,
        frames: &mut Frames,
    ) {
        let Some(mut response) = self.response.take() else { return };
        let is_already_sent = response.is_original && (self.service.has_ended || end != End::Failed);
        if !is_already_sent {
            raw::ended(context, &mut response, end, frames);
        }
        self.emitted_items =
            response.items(context.state).last().map_or(self.emitted_items, |last| last.item + 1);
        for at in response.remaining_items(context.state, also).filter(|_| end == End::Completed) {
            if let Some(name) = item::name(context.state, at) {
                run_item(context, at, &name, frames);
            }
        }
    }

    /// What had come to its end was an item before it was taken back. A model call that was broken off is not told to
    /// its end: it is tried again.
    fn retracted(&mut self, context: &EncodeContext<'_>, at: ItemAt, frames: &mut Frames) {
        if !self.response.as_ref().is_some_and(|response| response.is_whole(context.state)) {
            return;
        }
        match self.just_ended == Some(at) {
            true => self.response = None,
            false => self.close_with(context, End::Completed, Some(at), frames),
        }
    }

    fn result(&mut self, context: &EncodeContext<'_>, at: ItemAt, frames: &mut Frames) {
        if response::only_closes(context, at) {
            return;
        }
        self.close(context, End::Completed, frames);
        match item::handed(context.state, at) {
            item::Handed::Not => {}
            // The hand-off's item has it.
            item::Handed::Over => return,
            item::Handed::Refused(call) => run_item(context, call, &item::CALLED, frames),
        }
        run_item(context, at, &item::OUTPUT, frames);
    }

    fn other(&mut self, context: &EncodeContext<'_>, at: ItemAt, frames: &mut Frames) {
        match item_at(context.state, at) {
            Item::Handoff(_) => {
                self.close(context, End::Completed, frames);
                [item::REQUESTED, item::OCCURRED].iter().for_each(|name| run_item(context, at, name, frames));
            }
            Item::Other(_) => {
                self.open(context, at, frames);
                self.rebuild(context, at, |response| {
                    raw::item_added(context, response, at, frames);
                    raw::item_done(context, response, at, frames);
                });
            }
            Item::Error(_) | Item::Hosted(_) | Item::Message(_) | Item::Reasoning(_) | Item::ToolCall(_) => {}
            Item::ToolResult(_) => {}
        }
    }
}

fn root(context: &EncodeContext<'_>) -> Option<usize> {
    let root = turn(context.state, context.turn)?.task_id.as_ref()?;
    context.state.tasks.iter().position(|task| task.task_id == *root)
}

fn run_item(context: &EncodeContext<'_>, at: ItemAt, name: &item::Name, frames: &mut Frames) {
    let (agent, shown) = (agent_of(context, at), item_at(context.state, at));
    frames.push(context.state.sequence, |out| {
        out.push_str("{\"item\":{\"agent\":{\"name\":");
        write_string(out, agent);
        out.push('}');
        if let Some(output) = item::output(shown) {
            out.push_str(",\"output\":");
            out.push_str(&output);
        }
        out.push_str(",\"raw_item\":");
        match shown {
            Item::Handoff(handoff) if name.event == item::OCCURRED.event => {
                item::write_occurred(out, handoff)
            }
            _ => item::write_raw(out, context.state, at, item::Extent::Whole),
        }
        for part in [",\"type\":\"", name.item_type, "\"},\"name\":\"", name.event] {
            out.push_str(part);
        }
        out.push_str("\",\"type\":\"run_item_stream_event\"}");
    });
}

/// Whose item it is, by the hand-offs before it. The agent that acts now may be another one.
fn agent_of<'a>(context: &EncodeContext<'a>, at: ItemAt) -> &'a str {
    let output = &context.state.tasks[at.task].output;
    if let Item::Message(message) = &output[at.item]
        && let Some(agent) = &message.agent
    {
        return agent;
    }
    let handed = output[..at.item].iter().rev().find_map(|item| match item {
        Item::Handoff(handoff) => Some(handoff.to.as_str()),
        _ => None,
    });
    let of_turn = turn(context.state, context.turn).and_then(|turn| turn.agent.as_deref());
    handed.or(of_turn).unwrap_or("agent")
}

/// The SDK's iterator just ends; on a wire the end needs a frame, with the members of the result object.
fn complete(context: &EncodeContext<'_>, frames: &mut Frames) {
    let Some(turn) = turn(context.state, context.turn) else { return };
    let interruption = |action: &riverrun_fold::ActionState| {
        let request: ActionRequired = action.request.to().unwrap_or_default();
        json!({
            "type": "tool_approval_item",
            "action_id": action.action_id.as_str(),
            "tool_name": request.tool_name,
            "call_id": action.tool_call_id.as_ref().map(|id| id.as_str()),
            "arguments": request.arguments.and_then(|raw| raw.to::<Value>().ok()),
        })
    };
    let interruptions: Vec<Value> = pending(context.state, context.turn).map(interruption).collect();
    let output: Option<Value> = final_output(context.state, turn).and_then(|raw| raw.to().ok());
    context.push(
        frames,
        &json!({
            "type": "run_complete_event",
            "is_complete": true,
            "status": turn.status.as_str(),
            "final_output": output,
            "interruptions": interruptions,
            "error": turn.error.as_ref().map(|error| json!({"code": error.code, "message": error.message})),
        }),
    );
}
