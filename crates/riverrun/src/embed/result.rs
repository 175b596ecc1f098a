//! What a run gave so far, in the words of the OpenAI Agents SDK.

use std::collections::BTreeMap;

use riverrun_dialect::{Dialect, Frames, ReaderOptions};
use riverrun_event::{ActionRequired, Input, Item, Part, Record, TurnId};
use riverrun_fold::State;
use serde_json::{Value, json};

use super::standing::turn;
use super::{Error, RunStream};

const READ_BYTES: usize = 256 * 1024;

/// How [`RunStream::to_input_list`] writes the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputListMode {
    /// Every item as the run has it, with its id.
    #[default]
    PreserveAll,
    /// What a model can be asked with: no ids and no states of items, and no calls without a result.
    Normalized,
}

impl RunStream {
    /// The agent that acted last: the one with which a conversation goes on. The same as `current_agent` once the run
    /// ended.
    pub async fn last_agent(&self) -> Result<Option<String>, Error> {
        self.current_agent().await
    }

    /// The items of the run so far, as `run_item_stream_event` has them: `type`, `agent`, `raw_item`. Calls that a
    /// person was asked about have a `tool_approval_item` beside them, which no stream has.
    pub async fn new_items(&self) -> Result<Vec<Value>, Error> {
        let asked = asked_calls(&self.state().await?, self.turn_id());
        let (mut items, mut approvals) = (Vec::new(), Vec::new());
        for mut frame in self.sdk_frames().await? {
            let item = match frame["type"].as_str() {
                Some("run_item_stream_event") => frame["item"].take(),
                _ => Value::Null,
            };
            // The items of one model call come together, with nothing between them.
            if item["type"] != "tool_call_item" {
                items.append(&mut approvals);
            } else if let Some(tool) = asked.get(item["raw_item"]["call_id"].as_str().unwrap_or_default()) {
                let (agent, raw) = (&item["agent"], &item["raw_item"]);
                approvals.push(json!({
                    "type": "tool_approval_item", "agent": agent, "raw_item": raw, "tool_name": tool,
                }));
            }
            if !item.is_null() {
                items.push(item);
            }
        }
        items.append(&mut approvals);
        Ok(items)
    }

    /// The responses of the run's model calls that came to their end: the service's own objects where it speaks
    /// Responses, rebuilt ones otherwise.
    pub async fn raw_responses(&self) -> Result<Vec<Value>, Error> {
        let frames = self.sdk_frames().await?.into_iter();
        let is_end = |frame: &Value| {
            matches!(frame["data"]["type"].as_str(), Some("response.completed" | "response.incomplete"))
        };
        Ok(frames.filter(is_end).map(|mut frame| frame["data"]["response"].take()).collect())
    }

    /// The conversation of this run as input for another one: what it was asked, and what came of it.
    pub async fn to_input_list(&self, mode: InputListMode) -> Result<Vec<Value>, Error> {
        let state = self.state().await?;
        let known = turn(&state, self.turn_id());
        let brought = known.into_iter().flat_map(|turn| turn.history.iter().filter_map(brought));
        let asked = known.and_then(|turn| turn.input.as_ref()).map(asked);
        let items = self.new_items().await?.into_iter();
        let items = items.filter(|item| item["type"] != "tool_approval_item");
        let items = items.map(|mut item| item["raw_item"].take());
        let list = brought.chain(asked).chain(items).collect();
        Ok(match mode {
            InputListMode::PreserveAll => list,
            InputListMode::Normalized => normalized(list),
        })
    }

    /// Tries a run again that failed or was cancelled, and goes on where it stopped: calls that ran keep their results,
    /// and nothing new is said. So a run goes on after `cancel(CancelMode::AfterTurn)`. The handle stays the same:
    /// `stream_events` has what comes.
    pub async fn retry(&self) -> Result<(), Error> {
        let runner = self.runtime().runner();
        runner.retry(self.key(), self.turn_id(), None).await?;
        self.shared().note_retried(self.shared().hub().await?.head());
        Ok(())
    }

    /// Everything that the run told so far, as the dialect of the Agents SDK has it. Streams are not touched.
    async fn sdk_frames(&self) -> Result<Vec<Value>, Error> {
        let shared = self.shared();
        let hub = shared.hub().await?;
        let (session, head) = (hub.dialect_session(), hub.head());
        let options = ReaderOptions { turn: Some(shared.first()), ..ReaderOptions::default() };
        let mut projector = Dialect::AgentsSdk.projector(&session, shared.blank(), options);
        let (mut at, mut found) = (projector.sequence(), Vec::new());
        while at < head {
            let chunks = shared.home().sessions().log().read(&hub.key, at, READ_BYTES).await?;
            let Some(last) = chunks.last().map(|chunk| chunk.last()) else { break };
            for (sequence, bytes) in chunks.iter().flat_map(|chunk| chunk.records_after(at)) {
                let damaged = |_| Error::Store(format!("event {sequence} cannot be read"));
                let record = Record::read(bytes).map_err(damaged)?;
                let event = record.to_event(sequence);
                let event = event.map_err(|_| Error::Store(format!("event {sequence} cannot be read")))?;
                let mut frames = Frames::default();
                projector.event(&record, &event, &mut frames);
                found.extend(frames.iter().filter_map(|frame| serde_json::from_str(frame.json).ok()));
            }
            at = last;
        }
        Ok(found)
    }
}

/// The calls of the run's own task that a person was asked about, with the names of their tools.
fn asked_calls(state: &State, id: &TurnId) -> BTreeMap<String, String> {
    let root = turn(state, id).and_then(|turn| turn.task_id.as_ref());
    let of_run = state.actions.iter().filter(|action| action.task_id.as_ref() == root);
    let calls = of_run.filter_map(|action| {
        let request: ActionRequired = action.request.to().ok()?;
        Some((action.tool_call_id.as_ref()?.to_string(), request.tool_name.unwrap_or_default()))
    });
    calls.collect()
}

/// An item that came with the input, as an item of the Responses API.
fn brought(item: &Item) -> Option<Value> {
    let text = |parts: &Option<Vec<Part>>| -> String {
        parts.iter().flatten().filter_map(Part::text).collect::<Vec<_>>().join("")
    };
    match item {
        Item::Message(message) => {
            let parts = message.content.clone().or_else(|| message.block_list.clone());
            let role = message.role.as_deref().unwrap_or("assistant");
            Some(json!({"role": role, "content": text(&parts)}))
        }
        Item::ToolCall(call) => Some(json!({
            "type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments,
        })),
        Item::ToolResult(result) => {
            let parts = result.content.clone().or_else(|| result.block_list.clone());
            Some(json!({"type": "function_call_output", "call_id": result.call_id, "output": text(&parts)}))
        }
        Item::Hosted(hosted) => hosted.object()?.to().ok(),
        Item::Reasoning(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => None,
    }
}

fn asked(input: &Input) -> Value {
    let content = match input {
        Input::Text(text) => json!(text),
        other => json!(other),
    };
    json!({"role": "user", "content": content})
}

fn normalized(list: Vec<Value>) -> Vec<Value> {
    let is = |item: &Value, end: &str| item["type"].as_str().is_some_and(|kind| kind.ends_with(end));
    let answered: Vec<Value> =
        list.iter().filter(|item| is(item, "call_output")).map(|item| item["call_id"].clone()).collect();
    let mut list = list;
    list.retain(|item| item["type"] != "function_call" || answered.contains(&item["call_id"]));
    for members in list.iter_mut().filter_map(Value::as_object_mut) {
        members.remove("id");
        members.remove("status");
    }
    list
}
