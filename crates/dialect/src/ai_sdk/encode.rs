//! Happenings as chunks.

use riverrun_event::{ActionRequired, ActionResolved, Annotation, Block, Item, RawJson, TurnId};
use riverrun_fold::{ActionStatus, ItemAt, PartAt, State, Status};
use serde_json::{Value, json};

use super::chunk::Chunk;
use super::subagent;
use crate::Frames;
use crate::follow::{
    Happening, List, Spot, arguments, block, cited, is_child, is_client_run, is_failed, item, item_id,
    result_text, root, shared_state, shown_blocks, spot_id, steps_to, text, turn,
};

/// Writes the chunks of one log event.
pub(super) struct Encoder<'a> {
    pub(super) state: &'a State,
    pub(super) turn: &'a TurnId,
    pub(super) frames: &'a mut Frames,
    /// Steps that were emitted.
    pub(super) steps: &'a mut usize,
}

impl Encoder<'_> {
    pub(super) fn push(&mut self, chunk: Chunk<'_>) {
        let text = serde_json::to_string(&chunk).expect("every member is text, number, list or object");
        self.frames.push(self.state.sequence, |out| out.push_str(&text));
    }

    fn done(&mut self) {
        self.frames.push_marker(self.state.sequence, "[DONE]");
    }

    pub(super) fn encode(&mut self, happening: Happening) {
        match happening {
            Happening::Began { .. } => self.began(),
            Happening::Paused => self.paused(),
            Happening::Ended => self.ended(),
            Happening::TaskStarted(task) | Happening::TaskEnded(task) => self.subagent(task),
            Happening::ItemStarted(at) if self.is_root(at) => self.step_of(at),
            Happening::ItemEnded(at)
            | Happening::CallEnded(at)
            | Happening::Result(at)
            | Happening::Other(at)
            | Happening::Retracted(at)
            | Happening::ArgumentsReplaced(at)
                if !self.is_root(at) =>
            {
                self.subagent(at.task);
            }
            Happening::Text { at, from } if !self.is_root(at.item) => self.sub_delta(at, from),
            Happening::TextReplaced(at) if !self.is_root(at.item) => self.subagent(at.item.task),
            Happening::TextStarted(at) | Happening::TextEnded(at) | Happening::Cited { at, .. }
                if !self.is_root(at.item) => {}
            Happening::ItemStarted(at) | Happening::CallStarted(at) | Happening::Arguments { at, .. }
                if !self.is_root(at) => {}
            Happening::Block(at) if !self.is_root(at.item) => {}
            Happening::TextStarted(at) => self.text_started(at),
            Happening::Text { at, from } => self.text(at, from),
            Happening::TextEnded(at) => self.text_ended(at),
            Happening::TextReplaced(at) => {
                let data = json!({"text": text(self.state, at)});
                self.push(Chunk::Replaced { id: spot_id(self.state, at), data });
            }
            Happening::Cited { at, annotation } => self.cited(at, annotation),
            Happening::Block(at) => self.block(at),
            Happening::CallStarted(at) => self.call_started(at),
            Happening::Arguments { at, from } => self.arguments(at, from),
            Happening::CallEnded(at) => self.call_ended(at),
            Happening::Result(at) => self.result(at),
            Happening::Other(at) => {
                self.step_of(at);
                let data = serde_json::to_value(item(self.state, at)).unwrap_or_default();
                self.push(Chunk::Item { id: item_id(self.state, at), data });
            }
            Happening::Retracted(at) => {
                let id = item_id(self.state, at);
                self.push(Chunk::Retracted { id: id.clone(), data: json!({"itemId": id}) });
            }
            Happening::Asked(action) => self.asked(action),
            Happening::Answered(action) => self.answered(action),
            Happening::Tool(call) => self.progress(call),
            Happening::Session => self.shared(),
            Happening::ItemStarted(_)
            | Happening::ItemEnded(_)
            // The whole input follows when the call is complete.
            | Happening::ArgumentsReplaced(_)
            | Happening::Agent
            | Happening::Files
            | Happening::Model => {}
        }
    }

    fn is_root(&self, at: ItemAt) -> bool {
        !is_child(self.state, at.task)
    }

    fn began(&mut self) {
        let metadata = json!({"runId": self.turn.as_str()});
        self.push(Chunk::Start { message_id: format!("msg_{}", self.turn), message_metadata: metadata });
        self.shared();
    }

    fn shared(&mut self) {
        if let Some(data) = shared_state(self.state) {
            self.push(Chunk::State { id: "state", data });
        }
    }

    fn finish_step(&mut self) {
        if *self.steps > 0 {
            self.push(Chunk::FinishStep);
        }
    }

    fn paused(&mut self) {
        self.finish_step();
        self.push(Chunk::Finish { finish_reason: "tool-calls", message_metadata: None });
        self.done();
    }

    fn ended(&mut self) {
        let Some(turn) = turn(self.state, self.turn) else { return };
        match turn.status {
            Status::Completed | Status::Archived => {
                self.finish_step();
                let usage = serde_json::to_value(&turn.usage).unwrap_or_default();
                let metadata = usage.as_object().is_some_and(|usage| !usage.is_empty());
                let metadata = metadata.then(|| json!({"usage": usage}));
                self.push(Chunk::Finish { finish_reason: "stop", message_metadata: metadata });
            }
            Status::Cancelled => {
                let (_, task) = root(self.state, self.turn).unzip();
                let reason = task.and_then(|task| task.status_reason.clone());
                self.push(Chunk::Abort { reason });
            }
            _ => {
                let error = turn.error.as_ref();
                let error_text = error.map_or("the run ended without saying why", |error| &error.message);
                self.push(Chunk::Error { error_text });
            }
        }
        self.done();
    }

    fn subagent(&mut self, task: usize) {
        let data = subagent::data(self.state, task);
        self.push(Chunk::Subagent { id: self.state.tasks[task].task_id.as_str(), data });
    }

    /// Text of a sub-task as it comes, for those who listen; the data part follows when the item is complete.
    fn sub_delta(&mut self, at: Spot, from: usize) {
        let kind = if at.list == List::Blocks { "text" } else { "reasoning" };
        let data = json!({
            "taskId": self.state.tasks[at.item.task].task_id.as_str(),
            "id": spot_id(self.state, at),
            "kind": kind,
            "delta": &text(self.state, at)[from..],
        });
        self.push(Chunk::Delta { data, transient: true });
    }

    fn step_of(&mut self, at: ItemAt) {
        self.catch_up(steps_to(self.state, at));
    }

    /// Begins the step with this number, unless it was begun.
    pub(super) fn catch_up(&mut self, step: usize) {
        if step > *self.steps {
            if *self.steps > 0 {
                self.push(Chunk::FinishStep);
            }
            *self.steps = step;
            self.push(Chunk::StartStep);
        }
    }

    fn text_started(&mut self, at: Spot) {
        let id = spot_id(self.state, at);
        self.push(match at.list {
            List::Blocks => Chunk::TextStart { id },
            List::Summary | List::Raw => Chunk::ReasoningStart { id },
        });
    }

    fn text(&mut self, at: Spot, from: usize) {
        let (id, delta) = (spot_id(self.state, at), &text(self.state, at)[from..]);
        self.push(match at.list {
            List::Blocks => Chunk::TextDelta { id, delta },
            List::Summary | List::Raw => Chunk::ReasoningDelta { id, delta },
        });
    }

    fn text_ended(&mut self, at: Spot) {
        let id = spot_id(self.state, at);
        let chunk = match at.list {
            List::Blocks => Chunk::TextEnd { id, provider_metadata: self.citations(at) },
            List::Summary | List::Raw => Chunk::ReasoningEnd { id },
        };
        self.push(chunk);
    }

    /// Where the text cites what.
    fn citations(&self, at: Spot) -> Option<Value> {
        let Some(Block::Text(text)) = block(self.state, at.block()) else { return None };
        let list = text.annotations.as_ref().filter(|list| !list.is_empty())?;
        Some(json!({"riverrun": {"citations": serde_json::to_value(list).unwrap_or_default()}}))
    }

    /// A source is a part of the message once, however often it is cited.
    fn cited(&mut self, at: Spot, number: usize) {
        let state = self.state;
        let Some(Block::Text(text)) = block(state, at.block()) else { return };
        let Some(annotation) = text.annotations.as_ref().and_then(|list| list.get(number)) else { return };
        let Some((reference, source)) = cited(state, at.item.task, annotation) else { return };
        if is_cited_before(state, at, number, reference) {
            return;
        }
        let source_id = format!("{}#{reference}", state.tasks[at.item.task].task_id);
        let chunk = match source {
            Block::File(file) => match file.url.as_deref() {
                Some(url) => Chunk::SourceUrl { source_id, url, title: file.name.as_deref() },
                None => Chunk::SourceDocument {
                    source_id,
                    media_type: file.media_type.as_deref().unwrap_or("application/octet-stream"),
                    title: file.name.clone().unwrap_or_else(|| format!("[{reference}]")),
                    filename: file.name.as_deref(),
                },
            },
            Block::Image(image) if image.image_url.is_some() => {
                let url = image.image_url.as_ref().map_or("", |image| image.url.as_str());
                Chunk::SourceUrl { source_id, url, title: None }
            }
            other => Chunk::SourceDocument {
                source_id,
                media_type: "text/plain",
                title: title(other.text().unwrap_or_default(), reference),
                filename: None,
            },
        };
        self.push(chunk);
    }

    fn block(&mut self, at: PartAt) {
        let chunk = block(self.state, at).and_then(Chunk::file);
        let id = format!("{}.{}", item_id(self.state, at.item), at.part);
        let data = serde_json::to_value(block(self.state, at)).unwrap_or_default();
        self.push(chunk.unwrap_or(Chunk::Item { id, data }));
    }

    fn call_started(&mut self, at: ItemAt) {
        self.step_of(at);
        let Item::ToolCall(call) = item(self.state, at) else { return };
        self.push(Chunk::ToolInputStart { tool_call_id: &call.call_id, tool_name: &call.name });
    }

    fn arguments(&mut self, at: ItemAt, from: usize) {
        let Item::ToolCall(call) = item(self.state, at) else { return };
        let input_text_delta = &arguments(self.state, at)[from..];
        self.push(Chunk::ToolInputDelta { tool_call_id: &call.call_id, input_text_delta });
    }

    fn call_ended(&mut self, at: ItemAt) {
        let Item::ToolCall(call) = item(self.state, at) else { return };
        let (tool_call_id, tool_name) = (call.call_id.as_str(), call.name.as_str());
        let written = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let parsed = serde_json::from_str::<Value>(written).and_then(|_| RawJson::parse(written));
        self.push(match parsed {
            Ok(input) => Chunk::ToolInputAvailable { tool_call_id, tool_name, input },
            Err(error) => Chunk::ToolInputError {
                tool_call_id,
                tool_name,
                input: &call.arguments,
                error_text: format!("the arguments are not JSON: {error}"),
            },
        });
    }

    fn result(&mut self, at: ItemAt) {
        let shown = item(self.state, at);
        let Item::ToolResult(result) = shown else { return };
        let tool_call_id = result.call_id.as_str();
        if self.is_denied(tool_call_id) {
            return self.push(Chunk::ToolOutputDenied { tool_call_id });
        }
        if is_failed(self.state, shown) {
            return self.push(Chunk::ToolOutputError { tool_call_id, error_text: result_text(shown) });
        }
        let output = match shown_blocks(shown) {
            [Block::Json(json) | Block::Table(json)] => json.data.as_ref().and_then(|data| data.to().ok()),
            _ => None,
        };
        let output = output.unwrap_or_else(|| Value::String(result_text(shown)));
        self.push(Chunk::ToolOutputAvailable { tool_call_id, output });
        // An output is data of the tool's own; what can be seen or heard is a part of the message.
        let media = shown_blocks(shown).iter().filter(|it| matches!(it, Block::Image(_) | Block::Audio(_)));
        media.filter_map(Chunk::file).for_each(|file| self.push(file));
    }

    fn is_denied(&self, call: &str) -> bool {
        let asked = self
            .state
            .actions
            .iter()
            .filter(|action| action.tool_call_id.as_ref().is_some_and(|id| id.as_str() == call));
        asked
            .into_iter()
            .filter(|action| !is_client_run(action))
            .any(|action| decision(&action.resolution).is_some_and(|it| !is_approval(&it.decision)))
    }

    fn asked(&mut self, action: usize) {
        let action = &self.state.actions[action];
        // The call itself asks for its output, and no leave is needed.
        if is_client_run(action) {
            return;
        }
        let request: ActionRequired = action.request.to().unwrap_or_default();
        match self.gated_call(action.action_id.as_str()) {
            Some(tool_call_id) => {
                let approval_id = action.action_id.as_str();
                self.push(Chunk::ToolApprovalRequest {
                    approval_id,
                    tool_call_id: &tool_call_id,
                    reason: request.prompt,
                });
            }
            None => self.action(action.action_id.as_str(), &action.request, None),
        }
    }

    /// The call of the root task that waits for an action; the client knows no other such call.
    fn gated_call(&self, id: &str) -> Option<String> {
        let state = self.state;
        let action = state.actions.iter().find(|action| action.action_id.as_str() == id)?;
        let call = action.tool_call_id.as_ref()?.as_str();
        let (_, root) = root(state, self.turn)?;
        let is_call = |item: &Item| matches!(item, Item::ToolCall(it) if it.call_id == call);
        root.output.iter().any(is_call).then(|| call.to_owned())
    }

    fn action(&mut self, id: &str, request: &RawJson, resolution: Option<&RawJson>) {
        let request: Value = request.to().unwrap_or_default();
        let resolution: Option<Value> = resolution.and_then(|raw| raw.to().ok());
        self.push(Chunk::Action { id, data: json!({"request": request, "resolution": resolution}) });
    }

    fn answered(&mut self, action: usize) {
        let action = &self.state.actions[action];
        if is_client_run(action) {
            return;
        }
        let approval_id = action.action_id.as_str();
        match (action.status, self.gated_call(approval_id), decision(&action.resolution)) {
            (ActionStatus::Resolved, Some(_), Some(decision)) => {
                let approved = is_approval(&decision.decision);
                self.push(Chunk::ToolApprovalResponse { approval_id, approved, reason: decision.message });
            }
            (ActionStatus::Resolved, None, _) => {
                self.action(approval_id, &action.request, action.resolution.as_ref());
            }
            (ActionStatus::Resolved | ActionStatus::Abandoned | ActionStatus::Pending, _, _) => {}
        }
    }

    fn progress(&mut self, call: usize) {
        let call = &self.state.tool_calls[call];
        let Some(message) = call.progress.as_ref().filter(|_| call.status == Status::Running) else { return };
        let data = json!({"toolCallId": call.tool_call_id.as_str(), "message": message});
        self.push(Chunk::Progress { data, transient: true });
    }
}

fn decision(resolution: &Option<RawJson>) -> Option<ActionResolved> {
    resolution.as_ref()?.to().ok()
}

/// Everything that lets the call run, changed or not.
pub(super) fn is_approval(decision: &str) -> bool {
    matches!(decision, "approve" | "approved" | "allow" | "accept" | "edit" | "yes")
}

/// A person reads the beginning of what is cited.
fn title(text: &str, reference: u64) -> String {
    let line = text.lines().next().unwrap_or_default();
    let title: String = line.chars().take(80).collect();
    if title.is_empty() { format!("[{reference}]") } else { title }
}

fn is_cited_before(state: &State, at: Spot, number: usize, reference: u64) -> bool {
    let cites = |annotation: &Annotation| matches!(annotation, Annotation::ReferenceToBlock(it) if it.reference_id == reference);
    let output = &state.tasks[at.item.task].output;
    output[..=at.item.item].iter().enumerate().any(|(position, item)| {
        let blocks = if matches!(item, Item::Message(_)) { shown_blocks(item) } else { &[] };
        blocks.iter().enumerate().any(|(part, block)| {
            let Block::Text(text) = block else { return false };
            let list = text.annotations.as_deref().unwrap_or_default();
            let is_here = position == at.item.item && part == at.part;
            let is_after = position == at.item.item && part > at.part;
            let list = if is_here { &list[..number] } else { list };
            !is_after && list.iter().any(cites)
        })
    })
}
