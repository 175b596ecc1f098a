//! Happenings as AG-UI events.

use riverrun_event::{Annotation, Block, Item, Timestamp, TurnId, Usage};
use riverrun_fold::view::final_output;
use riverrun_fold::{ActionState, ActionStatus, ItemAt, PartAt, State, Status};
use serde_json::{Value, json};

use super::action::{interrupt, is_held_by_client};
use super::frame::{Event, Interrupt, Outcome, Stamped, SubagentOutcome, TokenUsage};
use super::identity::{block_id, parent_message, run_id, step_name, subagent};
use super::message::{BLOCK, block_content, messages, role};
use super::part::result_content;
use crate::Frames;
use crate::follow::{
    Happening, List, Spot, arguments, block, cited, is_child, is_client_run, item, item_id, pending,
    shared_state, spot_id, steps_to, tasks_of, text, turn,
};

/// Writes the events of one log event, all with its time.
pub(super) struct Encoder<'a> {
    pub(super) state: &'a State,
    pub(super) turn: &'a TurnId,
    pub(super) time: Timestamp,
    pub(super) frames: &'a mut Frames,
    /// Steps that were emitted; the last of them is open while the run is.
    pub(super) steps: &'a mut usize,
    /// All happenings of the event.
    pub(super) happenings: &'a [Happening],
}

impl Encoder<'_> {
    pub(super) fn push(&mut self, event: Event<'_>) {
        let stamped = Stamped { event, timestamp: self.time.millis() };
        let text = serde_json::to_string(&stamped).expect("every member is text, number, list or object");
        self.frames.push(self.state.sequence, |out| out.push_str(&text));
    }

    fn custom(&mut self, name: &'static str, value: Value, task: usize) {
        let owner = subagent(self.state, task);
        self.push(Event::Custom { name, value, subagent_run_id: owner.as_deref() });
    }

    pub(super) fn encode(&mut self, happening: Happening) {
        match happening {
            Happening::Began { again } => self.began(again),
            Happening::Paused => self.paused(),
            Happening::Ended => self.ended(),
            Happening::TaskStarted(task) => self.task_started(task),
            Happening::TaskEnded(task) => self.task_ended(task),
            Happening::ItemStarted(at) => self.item_started(at),
            Happening::ItemEnded(at) => self.item_ended(at),
            Happening::TextStarted(at) => self.text_started(at),
            Happening::Text { at, from } => self.text(at, from),
            Happening::TextEnded(at) => self.text_ended(at),
            Happening::Cited { at, annotation } => self.cited(at, annotation),
            Happening::Block(at) => self.block(at),
            Happening::CallStarted(at) => self.call_started(at),
            Happening::Arguments { at, from } => self.arguments(at, from),
            Happening::CallEnded(at) => self.call_ended(at),
            Happening::Result(at) => self.result(at),
            Happening::Other(at) => self.other(at),
            Happening::Answered(action) => self.answered(action),
            Happening::Agent => {
                let agent = self.state.agent.clone();
                self.push(Event::Custom {
                    name: "riverrun.agent",
                    value: json!({"agent": agent}),
                    subagent_run_id: None,
                });
            }
            // Told by a snapshot, by an interrupt at the pause, by a state event, or not at all.
            Happening::TextReplaced(_)
            | Happening::ArgumentsReplaced(_)
            | Happening::Retracted(_)
            | Happening::Asked(_)
            | Happening::Session
            | Happening::Tool(_)
            | Happening::Files
            | Happening::Model => {}
        }
    }

    fn thread(&self) -> String {
        self.state.session_id.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    pub(super) fn run_started(&mut self) {
        let (thread, run) = (self.thread(), run_id(self.state, self.turn));
        let parent = (run != self.turn.as_str()).then_some(self.turn.as_str());
        let event = Event::RunStarted {
            thread_id: &thread,
            run_id: run,
            protocol_version: "1.0",
            parent_run_id: parent,
        };
        self.push(event);
    }

    /// After a pause everything that outlived it is opened again.
    fn began(&mut self, again: bool) {
        self.run_started();
        self.state_snapshot();
        if again {
            self.reopen();
        }
    }

    pub(super) fn state_snapshot(&mut self) {
        if let Some(snapshot) = shared_state(self.state) {
            self.push(Event::StateSnapshot { snapshot });
        }
    }

    pub(super) fn messages_snapshot(&mut self) {
        if self.state.sealed_turns > 0 {
            let value = json!({"turns": self.state.sealed_turns});
            self.push(Event::Custom { name: "riverrun.earlier", value, subagent_run_id: None });
        }
        let messages = messages(self.state, self.turn);
        self.push(Event::MessagesSnapshot { messages });
    }

    /// The step and the sub-tasks that went on when the event came.
    pub(super) fn reopen(&mut self) {
        if *self.steps > 0 {
            self.push(Event::StepStarted { step_name: step_name(*self.steps) });
        }
        let (state, turn) = (self.state, self.turn);
        for (task, of) in tasks_of(state, turn).filter(|(task, _)| is_child(state, *task)) {
            let goes_on = !of.status.is_terminal() || self.happenings.contains(&Happening::TaskEnded(task));
            if goes_on && !self.happenings.contains(&Happening::TaskStarted(task)) {
                self.task_started(task);
            }
        }
    }

    fn step_finished(&mut self) {
        if *self.steps > 0 {
            self.push(Event::StepFinished { step_name: step_name(*self.steps) });
        }
    }

    fn paused(&mut self) {
        let (state, turn) = (self.state, self.turn);
        let open: Vec<usize> = tasks_of(state, turn)
            .filter(|(task, of)| is_child(state, *task) && !of.status.is_terminal())
            .map(|(task, _)| task)
            .collect();
        for task in open.into_iter().rev() {
            let id = subagent(state, task).unwrap_or_default();
            let of = &state.tasks[task].task_id;
            let is_here =
                |action: &&ActionState| action.task_id.as_ref() == Some(of) && !is_client_run(action);
            let interrupt_ids = pending(state, turn).filter(is_here).map(|action| action.action_id.as_str());
            let outcome = SubagentOutcome::Suspended { interrupt_ids: interrupt_ids.collect() };
            self.push(Event::SubagentFinished { subagent_run_id: &id, outcome });
        }
        self.step_finished();
        let interrupts: Vec<Interrupt> =
            pending(state, turn).filter(|it| !is_client_run(it)).map(|it| interrupt(state, it)).collect();
        // A call that the application runs itself is no question: its run is done, and the next one brings the result.
        let outcome = if interrupts.is_empty() {
            let calls = pending(state, turn).filter_map(|action| action.tool_call_id.as_ref());
            Outcome::Success { pending_tool_call_ids: calls.map(ToString::to_string).collect() }
        } else {
            Outcome::Interrupt { interrupts }
        };
        self.finished(outcome);
    }

    fn finished(&mut self, outcome: Outcome) {
        let (thread, run) = (self.thread(), run_id(self.state, self.turn));
        let ended_turn = turn(self.state, self.turn);
        let output = ended_turn.and_then(|turn| final_output(self.state, turn));
        let result = outcome.is_whole().then(|| match output {
            Some(output) => json!({"ok": true, "output": output}),
            None => json!({"ok": true}),
        });
        // What the run came to, as a message that a client can show beside the conversation.
        let status = ended_turn.map_or("unknown", |turn| turn.status.as_str());
        self.push(Event::ActivitySnapshot {
            message_id: format!("{run}.activity"),
            activity_type: "RUN",
            content: json!({"status": status, "steps": *self.steps}),
            subagent_run_id: None,
        });
        let usage = ended_turn.map(|turn| usage(&turn.usage)).into_iter().flatten().collect();
        let sequence = self.state.sequence.get();
        self.push(Event::Custom {
            name: "riverrun.cursor",
            value: json!({"seq": sequence}),
            subagent_run_id: None,
        });
        self.push(Event::RunFinished { thread_id: &thread, run_id: run, result, outcome, usage });
    }

    fn ended(&mut self) {
        let Some(turn) = turn(self.state, self.turn) else { return };
        self.step_finished();
        match turn.status {
            Status::Completed | Status::Archived => {
                self.finished(Outcome::Success { pending_tool_call_ids: Vec::new() })
            }
            Status::Cancelled => self.finished(Outcome::Cancelled),
            status => {
                let error = turn.error.as_ref();
                let message = error.map_or("the run ended without saying why", |error| &error.message);
                let code = error.and_then(|error| error.code.as_deref()).unwrap_or(status.as_str());
                self.push(Event::RunError { message, code: Some(code) });
            }
        }
    }

    fn task_started(&mut self, task: usize) {
        let state = self.state;
        let (of, id) = (&state.tasks[task], subagent(state, task).unwrap_or_default());
        let parent = of.parent_task_id.as_ref().and_then(|parent| {
            state
                .tasks
                .iter()
                .position(|task| task.task_id == *parent)
                .filter(|at| !state.tasks[*at].status.is_terminal())
        });
        let parent = parent.and_then(|parent| subagent(state, parent));
        let name = of.agent.as_deref().or(of.title.as_deref()).unwrap_or(of.task_id.as_str());
        self.push(Event::SubagentStarted {
            subagent_run_id: &id,
            name,
            description: of.objective.as_deref(),
            parent_subagent_run_id: parent.as_deref(),
            parent_tool_call_id: of.parent_tool_call_id.as_ref().map(|id| id.as_str()),
        });
    }

    fn task_ended(&mut self, task: usize) {
        let of = &self.state.tasks[task];
        let id = subagent(self.state, task).unwrap_or_default();
        if of.status == Status::Completed || of.status == Status::Archived {
            return self
                .push(Event::SubagentFinished { subagent_run_id: &id, outcome: SubagentOutcome::Success });
        }
        let message = of.error.as_ref().map(|error| error.message.clone()).or(of.status_reason.clone());
        let message = message.unwrap_or_else(|| format!("the task was {}", of.status.as_str()));
        let code = of.error.as_ref().and_then(|error| error.code.as_deref()).unwrap_or(of.status.as_str());
        self.push(Event::SubagentError { subagent_run_id: &id, message, code: Some(code) });
    }

    /// Steps are emitted for the root task only.
    fn step_of(&mut self, at: ItemAt) {
        if is_child(self.state, at.task) {
            return;
        }
        let step = steps_to(self.state, at);
        if step > *self.steps {
            self.step_finished();
            *self.steps = step;
            self.push(Event::StepStarted { step_name: step_name(step) });
        }
    }

    /// Opens again what was begun before: no step begins.
    pub(super) fn open(&mut self, happening: Happening) {
        match happening {
            Happening::ItemStarted(at) => self.reasoning_started(at),
            Happening::CallStarted(at) => self.call_named(at),
            Happening::TextStarted(at) => self.text_started(at),
            _ => {}
        }
    }

    fn item_started(&mut self, at: ItemAt) {
        self.step_of(at);
        self.reasoning_started(at);
    }

    fn reasoning_started(&mut self, at: ItemAt) {
        if matches!(item(self.state, at), Item::Reasoning(_)) {
            let owner = subagent(self.state, at.task);
            self.push(Event::ReasoningStart {
                message_id: item_id(self.state, at),
                subagent_run_id: owner.as_deref(),
            });
        }
    }

    fn item_ended(&mut self, at: ItemAt) {
        if matches!(item(self.state, at), Item::Reasoning(_)) {
            let owner = subagent(self.state, at.task);
            self.push(Event::ReasoningEnd {
                message_id: item_id(self.state, at),
                subagent_run_id: owner.as_deref(),
            });
        }
    }

    fn text_started(&mut self, at: Spot) {
        let (state, owner) = (self.state, subagent(self.state, at.item.task));
        let (message_id, subagent_run_id) = (spot_id(state, at), owner.as_deref());
        self.push(match at.list {
            List::Blocks => {
                let role = role(item(state, at.item));
                Event::TextMessageStart { message_id, role, name: None, subagent_run_id }
            }
            List::Summary | List::Raw => {
                Event::ReasoningMessageStart { message_id, role: "reasoning", subagent_run_id }
            }
        });
    }

    fn text(&mut self, at: Spot, from: usize) {
        let (state, owner) = (self.state, subagent(self.state, at.item.task));
        let (message_id, subagent_run_id) = (spot_id(state, at), owner.as_deref());
        let delta = &text(state, at)[from..];
        self.push(match at.list {
            List::Blocks => Event::TextMessageContent { message_id, delta, subagent_run_id },
            List::Summary | List::Raw => {
                Event::ReasoningMessageContent { message_id, delta, subagent_run_id }
            }
        });
    }

    fn text_ended(&mut self, at: Spot) {
        let owner = subagent(self.state, at.item.task);
        let (message_id, subagent_run_id) = (spot_id(self.state, at), owner.as_deref());
        self.push(match at.list {
            List::Blocks => Event::TextMessageEnd { message_id, subagent_run_id },
            List::Summary | List::Raw => Event::ReasoningMessageEnd { message_id, subagent_run_id },
        });
    }

    fn cited(&mut self, at: Spot, number: usize) {
        let Some(Block::Text(text)) = block(self.state, at.block()) else { return };
        let Some(annotation) = text.annotations.as_ref().and_then(|list| list.get(number)) else { return };
        let source = cited(self.state, at.item.task, annotation).map(|(_, block)| block.clone());
        let value = citation(spot_id(self.state, at), annotation, source);
        self.custom("riverrun.citation", value, at.item.task);
    }

    fn call_started(&mut self, at: ItemAt) {
        self.step_of(at);
        self.call_named(at);
    }

    fn call_named(&mut self, at: ItemAt) {
        let Item::ToolCall(call) = item(self.state, at) else { return };
        let owner = subagent(self.state, at.task);
        self.push(Event::ToolCallStart {
            tool_call_id: &call.call_id,
            tool_call_name: &call.name,
            parent_message_id: parent_message(self.state, at),
            subagent_run_id: owner.as_deref(),
        });
    }

    fn arguments(&mut self, at: ItemAt, from: usize) {
        let Item::ToolCall(call) = item(self.state, at) else { return };
        let (delta, owner) = (&arguments(self.state, at)[from..], subagent(self.state, at.task));
        self.push(Event::ToolCallArgs {
            tool_call_id: &call.call_id,
            delta,
            subagent_run_id: owner.as_deref(),
        });
    }

    fn call_ended(&mut self, at: ItemAt) {
        let Item::ToolCall(call) = item(self.state, at) else { return };
        let owner = subagent(self.state, at.task);
        self.push(Event::ToolCallEnd { tool_call_id: &call.call_id, subagent_run_id: owner.as_deref() });
    }

    fn result(&mut self, at: ItemAt) {
        let Item::ToolResult(result) = item(self.state, at) else { return };
        if is_held_by_client(self.state, &result.call_id) {
            return;
        }
        let owner = subagent(self.state, at.task);
        self.push(Event::ToolCallResult {
            message_id: item_id(self.state, at),
            tool_call_id: &result.call_id,
            content: result_content(item(self.state, at)),
            role: "tool",
            subagent_run_id: owner.as_deref(),
        });
    }

    /// A message of its own, so that it stays where it was shown.
    fn block(&mut self, at: PartAt) {
        let owner = subagent(self.state, at.item.task);
        self.push(Event::ActivitySnapshot {
            message_id: block_id(self.state, at),
            activity_type: BLOCK,
            content: block_content(self.state, at),
            subagent_run_id: owner.as_deref(),
        });
    }

    fn other(&mut self, at: ItemAt) {
        self.step_of(at);
        let value = serde_json::to_value(item(self.state, at)).unwrap_or_default();
        self.custom("riverrun.item", value, at.task);
    }

    fn answered(&mut self, action: usize) {
        let action = &self.state.actions[action];
        if action.status != ActionStatus::Resolved {
            return;
        }
        let resolution: Option<Value> = action.resolution.as_ref().and_then(|raw| raw.to().ok());
        let value = json!({"interruptId": action.action_id.as_str(), "resolution": resolution});
        self.push(Event::Custom { name: "riverrun.action.resolved", value, subagent_run_id: None });
    }
}

fn citation(message: String, annotation: &Annotation, source: Option<Block>) -> Value {
    let annotation = serde_json::to_value(annotation).unwrap_or_default();
    let mut value = json!({"messageId": message, "annotation": annotation});
    if let Some(source) = source {
        value["source"] = serde_json::to_value(source).unwrap_or_default();
    }
    value
}

fn usage(usage: &Usage) -> Option<TokenUsage> {
    (*usage != Usage::default()).then_some(TokenUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        cached_input_tokens: usage.cached_input_tokens,
    })
}
