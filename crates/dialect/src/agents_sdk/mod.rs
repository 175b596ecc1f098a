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

use crate::follow::{Encode, Happening, Shell, Telling, item as item_at, pending, turn};
use crate::{Frames, Options};
use response::{End, Response};
use service::Service;

/// A projector that goes on where `state` stands.
pub(crate) fn projector(state: State, options: Options) -> Shell<AgentsSdk> {
    Shell::primed(state, options)
}

/// What the reader knows beyond the items.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentsSdk {
    service: Service,
    /// The model call whose `response.created` was told and whose end was not.
    response: Option<Response>,
    agent: Option<String>,
    /// The item whose end the present event brought.
    just_ended: Option<ItemAt>,
    /// Items of the root task before this place are of model calls that are over.
    told: usize,
}

impl Encode for AgentsSdk {
    /// What happens below the root task does not enter the parent's stream.
    fn tell(&mut self, told: &Telling<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { .. } => self.agent_updated(told, frames, true),
            Happening::Agent => self.agent_updated(told, frames, false),
            Happening::ItemStarted(at) | Happening::CallStarted(at) if told.is_root(at) => {
                self.open(told, at, frames);
                self.rebuild(told, at, |response| raw::item_added(told, response, at, frames));
            }
            Happening::TextStarted(at) if told.is_root(at.item) => {
                self.rebuild(told, at.item, |response| raw::part_added(told, response, at, frames));
            }
            Happening::Text { at, from } if told.is_root(at.item) => {
                self.rebuild(told, at.item, |response| raw::delta(told, response, at, from, frames));
            }
            Happening::TextEnded(at) if told.is_root(at.item) => {
                self.rebuild(told, at.item, |response| raw::part_done(told, response, at, frames));
            }
            Happening::Arguments { at, from } if told.is_root(at) => {
                self.rebuild(told, at, |response| raw::arguments(told, response, at, from, frames));
            }
            Happening::ItemEnded(at) | Happening::CallEnded(at) if told.is_root(at) => {
                self.rebuild(told, at, |response| raw::item_done(told, response, at, frames));
                self.just_ended = Some(at);
            }
            Happening::Retracted(at) if told.is_root(at) => self.retracted(told, at, frames),
            Happening::Result(at) if told.is_root(at) => self.result(told, at, frames),
            Happening::Other(at) if told.is_root(at) => self.other(told, at, frames),
            Happening::Paused => {
                self.close(told, End::Completed, frames);
                complete(told, frames);
            }
            Happening::Ended => {
                if let Some(end) = response::end(told) {
                    self.close(told, end, frames);
                }
                self.response = None;
                complete(told, frames);
            }
            _ => {}
        }
    }

    /// Events of the service pass as they came: those that the runner recorded, and those that a producer sent under
    /// their own names.
    fn verbatim(&mut self, told: &Telling<'_>, event: &Event, frames: &mut Frames) {
        raw::passed(told, event, frames);
        if event.scope.turn_id.as_ref() != Some(told.turn) || event.scope.parent_task_id.is_some() {
            return;
        }
        if let Ok(Payload::ModelRequested(_)) = event.payload {
            self.begin_call(told, frames);
        }
        for event in self.service.events(event) {
            raw::original(told, &event, frames);
        }
        if let Ok(Payload::ModelCompleted(_)) = event.payload
            && self.service.is_original
        {
            self.open_at_end(told);
        }
    }

    /// The SDK tells items when the model call is over. The log shows that by what comes of its calls.
    fn settle(&mut self, told: &Telling<'_>, frames: &mut Frames) {
        self.just_ended = None;
        if self.response.as_ref().is_some_and(|response| response.is_over(told.state)) {
            self.close(told, End::Completed, frames);
        }
    }
}

impl AgentsSdk {
    fn agent_updated(&mut self, told: &Telling<'_>, frames: &mut Frames, always: bool) {
        let of_turn = turn(told.state, told.turn).and_then(|turn| turn.agent.as_deref());
        let name = told.state.agent.as_deref().or(of_turn).unwrap_or("agent");
        if !always && self.agent.as_deref() == Some(name) {
            return;
        }
        told.push(frames, &json!({"type": "agent_updated_stream_event", "new_agent": {"name": name}}));
        self.agent = Some(name.to_owned());
    }

    fn open(&mut self, told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
        let response = Response::of(told.state, at, self.told);
        if self.response.as_ref().is_some_and(|open| open.first != response.first) {
            self.close(told, End::Completed, frames);
        }
        if self.response.is_none() {
            let mut response = Response { is_original: self.service.is_original, ..response };
            if !response.is_original {
                raw::opened(told, &mut response, frames);
            }
            self.response = Some(response);
        }
    }

    /// A model call of which nothing but tools of the service came has items too.
    fn open_at_end(&mut self, told: &Telling<'_>) {
        let Some(task) = root(told) else { return };
        let end = ItemAt { task, item: told.state.tasks[task].output.len() };
        let response = Response::of(told.state, end, self.told);
        if self.response.is_none() && response.items(told.state).next().is_some() {
            self.response = Some(Response { is_original: true, ..response });
        }
    }

    /// The items of the call before come before the first event of the next one.
    fn begin_call(&mut self, told: &Telling<'_>, frames: &mut Frames) {
        match &self.response {
            Some(open) if open.is_original && open.is_whole(told.state) => {
                self.close(told, End::Completed, frames);
            }
            Some(open) if open.is_original => self.response = None,
            Some(_) | None => {}
        }
        self.service.begin_call();
    }

    /// Tells of an item of the open model call, unless its service tells it.
    fn rebuild(&mut self, told: &Telling<'_>, at: ItemAt, tell: impl FnOnce(&mut Response)) {
        match &mut self.response {
            Some(open) if open.is_original => {}
            Some(open) => tell(open),
            None if self.service.is_original => {}
            None => tell(&mut Response::of(told.state, at, self.told)),
        }
    }

    fn close(&mut self, told: &Telling<'_>, end: End, frames: &mut Frames) {
        self.close_with(told, end, None, frames);
    }

    /// The end of a model call, and the items that came of it.
    fn close_with(&mut self, told: &Telling<'_>, end: End, also: Option<ItemAt>, frames: &mut Frames) {
        let Some(mut response) = self.response.take() else { return };
        let is_told = response.is_original && (self.service.has_ended || end != End::Failed);
        if !is_told {
            raw::ended(told, &mut response, end, frames);
        }
        self.told = response.items(told.state).last().map_or(self.told, |last| last.item + 1);
        for at in response.kept(told.state, also).filter(|_| end == End::Completed) {
            if let Some(name) = item::name(told.state, at) {
                run_item(told, at, &name, frames);
            }
        }
    }

    /// What had come to its end was an item before it was taken back. A model call that was broken off is not told to
    /// its end: it is tried again.
    fn retracted(&mut self, told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
        if !self.response.as_ref().is_some_and(|response| response.is_whole(told.state)) {
            return;
        }
        match self.just_ended == Some(at) {
            true => self.response = None,
            false => self.close_with(told, End::Completed, Some(at), frames),
        }
    }

    fn result(&mut self, told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
        if response::only_closes(told, at) {
            return;
        }
        self.close(told, End::Completed, frames);
        match item::handed(told.state, at) {
            item::Handed::Not => {}
            // The item of the hand-off tells it.
            item::Handed::Over => return,
            item::Handed::Refused(call) => run_item(told, call, &item::CALLED, frames),
        }
        run_item(told, at, &item::OUTPUT, frames);
    }

    fn other(&mut self, told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
        match item_at(told.state, at) {
            Item::Handoff(_) => {
                self.close(told, End::Completed, frames);
                [item::REQUESTED, item::OCCURRED].iter().for_each(|name| run_item(told, at, name, frames));
            }
            Item::Other(_) => {
                self.open(told, at, frames);
                self.rebuild(told, at, |response| {
                    raw::item_added(told, response, at, frames);
                    raw::item_done(told, response, at, frames);
                });
            }
            Item::Error(_) | Item::Hosted(_) | Item::Message(_) | Item::Reasoning(_) | Item::ToolCall(_) => {}
            Item::ToolResult(_) => {}
        }
    }
}

fn root(told: &Telling<'_>) -> Option<usize> {
    let root = turn(told.state, told.turn)?.task_id.as_ref()?;
    told.state.tasks.iter().position(|task| task.task_id == *root)
}

fn run_item(told: &Telling<'_>, at: ItemAt, name: &item::Name, frames: &mut Frames) {
    let (agent, shown) = (agent_of(told, at), item_at(told.state, at));
    frames.push(told.state.sequence, |out| {
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
            _ => item::write_raw(out, told.state, at, item::Extent::Whole),
        }
        for part in [",\"type\":\"", name.item_type, "\"},\"name\":\"", name.event] {
            out.push_str(part);
        }
        out.push_str("\",\"type\":\"run_item_stream_event\"}");
    });
}

/// Whose item it is, by the hand-offs before it. The agent that acts now may be another one.
fn agent_of<'a>(told: &Telling<'a>, at: ItemAt) -> &'a str {
    let output = &told.state.tasks[at.task].output;
    if let Item::Message(message) = &output[at.item]
        && let Some(agent) = &message.agent
    {
        return agent;
    }
    let handed = output[..at.item].iter().rev().find_map(|item| match item {
        Item::Handoff(handoff) => Some(handoff.to.as_str()),
        _ => None,
    });
    let of_turn = turn(told.state, told.turn).and_then(|turn| turn.agent.as_deref());
    handed.or(of_turn).unwrap_or("agent")
}

/// The SDK's iterator just ends; on a wire the end must be said, with what its result object then has.
fn complete(told: &Telling<'_>, frames: &mut Frames) {
    let Some(turn) = turn(told.state, told.turn) else { return };
    let interruption = |action: &riverrun_fold::Action| {
        let request: ActionRequired = action.request.to().unwrap_or_default();
        json!({
            "type": "tool_approval_item",
            "action_id": action.action_id.as_str(),
            "tool_name": request.tool_name,
            "call_id": action.tool_call_id.as_ref().map(|id| id.as_str()),
            "arguments": request.arguments.and_then(|raw| raw.to::<Value>().ok()),
        })
    };
    let interruptions: Vec<Value> = pending(told.state, told.turn).map(interruption).collect();
    let output: Option<Value> = final_output(told.state, turn).and_then(|raw| raw.to().ok());
    told.push(
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
