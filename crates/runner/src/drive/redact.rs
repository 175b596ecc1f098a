//! Secrets stay out of what effects report: what they report is logged, shown to users and read by models.

use std::borrow::Cow;

use riverrun_event::{RawJson, SentText};
use riverrun_provider::{ItemKind, ModelError, ModelEvent};
use riverrun_secret::{Redacting, known};
use serde_json::Value;

use super::{HookFailure, ProcessReport, Report, Tripped};
use crate::hook::HookOutput;

/// Of a secret that a model says in pieces, fewer bytes than this may be seen. Holding back shorter pieces would
/// delay ordinary words.
const SHORTEST_HELD: usize = 6;

/// The report without secrets. A model's events are cleaned where they are read, because a secret may come in pieces;
/// so is the output of a process.
pub(super) fn redact(report: Report) -> Report {
    let tripped = |tripped: Tripped| Tripped { reason: text(tripped.reason), ..tripped };
    match report {
        Report::Tool(result) => Report::Tool(match result {
            Ok(output) => Ok(output.redacted()),
            Err(error) => Err(error.redacted()),
        }),
        Report::Process(name, report) => Report::Process(name, Box::new(process(*report))),
        Report::Checked(result) => Report::Checked(result.map_err(tripped)),
        Report::Vetted(result) => Report::Vetted(result.map_err(tripped)),
        Report::Admitted(names, result) => Report::Admitted(names, result.map_err(tripped)),
        Report::Hooked(result) => Report::Hooked(match result {
            Ok(output) => Ok(hook(output)),
            Err(failure) => Err(HookFailure { message: text(failure.message), ..failure }),
        }),
        // The text of a file is cleaned before it is stored.
        Report::File(_) | Report::FilesRead => report,
        Report::Model(_) | Report::Progress(_) | Report::Delayed | Report::Summary(_) => report,
    }
}

pub(super) fn text(text: String) -> String {
    match known().text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

pub(super) fn error(error: ModelError) -> ModelError {
    let message = text(error.message);
    ModelError { message, code: error.code.map(text), param: error.param.map(text), ..error }
}

fn raw(json: RawJson) -> RawJson {
    match known().text(json.get()) {
        Cow::Borrowed(_) => json,
        // A secret that holds quotes may have cut the JSON.
        Cow::Owned(clean) => RawJson::parse(clean).unwrap_or_else(|_| RawJson::empty_object()),
    }
}

fn process(report: ProcessReport) -> ProcessReport {
    match report {
        ProcessReport::Begun { mut plan, handle, durable } => {
            plan.command = text(plan.command);
            ProcessReport::Begun { plan, handle, durable }
        }
        report @ (ProcessReport::Output(_) | ProcessReport::Ended(..)) => report,
    }
}

fn hook(mut output: HookOutput) -> HookOutput {
    output.reason = output.reason.map(text);
    output.additional_context = output.additional_context.map(text);
    if let Some(input) = &mut output.updated_input {
        known().json(input);
    }
    output.updated_tool_output = output.updated_tool_output.map(|input| {
        let Ok(mut value) = serde_json::to_value(&input) else { return input };
        let clean = known().json(&mut value).then(|| serde_json::from_value(value).ok());
        clean.flatten().unwrap_or(input)
    });
    output
}

/// Which text a delta belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Text(u32),
    Refusal(u32),
    Reasoning(u32, Option<u32>),
    Arguments(u32),
}

impl Stream {
    fn index(self) -> u32 {
        match self {
            Stream::Text(index)
            | Stream::Refusal(index)
            | Stream::Reasoning(index, _)
            | Stream::Arguments(index) => index,
        }
    }

    fn delta(self, delta: String) -> ModelEvent {
        match self {
            Stream::Text(index) => ModelEvent::Text { index, delta },
            Stream::Refusal(index) => ModelEvent::Refusal { index, delta },
            Stream::Reasoning(index, summary_index) => ModelEvent::Reasoning { index, summary_index, delta },
            Stream::Arguments(index) => ModelEvent::Arguments { index, delta },
        }
    }
}

/// The events of one model call, without secrets.
#[derive(Default)]
pub(super) struct ModelRedactor {
    open: Vec<(Stream, Redacting)>,
}

impl ModelRedactor {
    /// Puts what may be reported now behind `ready`.
    pub fn push(&mut self, event: ModelEvent, ready: &mut Vec<ModelEvent>) {
        match event {
            ModelEvent::Text { index, delta } => self.delta(Stream::Text(index), &delta, ready),
            ModelEvent::Refusal { index, delta } => self.delta(Stream::Refusal(index), &delta, ready),
            ModelEvent::Arguments { index, delta } => self.delta(Stream::Arguments(index), &delta, ready),
            ModelEvent::Reasoning { index, summary_index, delta } => {
                self.delta(Stream::Reasoning(index, summary_index), &delta, ready);
            }
            ModelEvent::Scored { index, delta, logprobs } => {
                let before = ready.len();
                self.delta(Stream::Text(index), &delta, ready);
                let is_same =
                    matches!(&ready[before..], [ModelEvent::Text { delta: clean, .. }] if *clean == delta);
                if is_same {
                    ready.truncate(before);
                    ready.push(ModelEvent::Scored { index, delta, logprobs });
                }
            }
            ModelEvent::Sent { text, events } => self.sent(*text, events, ready),
            ModelEvent::Original(mut event) => {
                known().json(&mut event);
                ready.push(ModelEvent::Original(event));
            }
            ModelEvent::ItemStarted { index, kind } => {
                ready.push(ModelEvent::ItemStarted { index, kind: item(kind) });
            }
            ModelEvent::Block { index, block } => {
                self.end_item(index, ready);
                let mut value = serde_json::to_value(&block).unwrap_or_default();
                let clean = known().json(&mut value).then(|| serde_json::from_value(value).ok());
                ready.push(ModelEvent::Block { index, block: clean.flatten().unwrap_or(block) });
            }
            ModelEvent::Annotated { index, annotation } => {
                self.end_item(index, ready);
                ready.push(ModelEvent::Annotated { index, annotation });
            }
            ModelEvent::Frame { index, frame } => {
                self.end_item(index, ready);
                ready.push(ModelEvent::Frame { index, frame: raw(frame) });
            }
            ModelEvent::ItemDone { index, opaque } => {
                self.end_item(index, ready);
                self.open.retain(|(stream, _)| stream.index() != index);
                ready.push(ModelEvent::ItemDone { index, opaque: opaque.map(raw) });
            }
            ModelEvent::State(state) => ready.push(ModelEvent::State(raw(state))),
            ModelEvent::Vendor { name, data } => ready.push(ModelEvent::Vendor { name, data: raw(data) }),
            ModelEvent::Warning { code, message, detail } => {
                ready.push(ModelEvent::Warning { code, message, detail: raw(detail) });
            }
            ModelEvent::Raw(bytes) => {
                let clean = match known().bytes(&bytes) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(clean) => Some(clean.into()),
                };
                ready.push(ModelEvent::Raw(clean.unwrap_or(bytes)));
            }
            ModelEvent::Completed { stop, usage, members } => {
                self.end(ready);
                ready.push(ModelEvent::Completed { stop, usage, members: members.map(raw) });
            }
            ModelEvent::Failed(failure) => ready.push(ModelEvent::Failed(error(failure))),
            event @ (ModelEvent::Started { .. } | ModelEvent::RateLimited(_)) => ready.push(event),
        }
    }

    /// A text from which something was taken is not what the service's events carried.
    fn sent(&mut self, text: ModelEvent, mut events: Vec<SentText>, ready: &mut Vec<ModelEvent>) {
        let (before, original) = (ready.len(), text.text().map(ToOwned::to_owned));
        self.push(text, ready);
        let [same] = &mut ready[before..] else { return };
        if same.text() == original.as_deref() {
            let text = Box::new(std::mem::replace(same, ModelEvent::Original(Value::Null)));
            for event in &mut events {
                for value in event.members.values_mut() {
                    known().json(value);
                }
            }
            *same = ModelEvent::Sent { text, events };
        }
    }

    fn delta(&mut self, stream: Stream, delta: &str, ready: &mut Vec<ModelEvent>) {
        let position = self.open.iter().position(|(known, _)| *known == stream).unwrap_or_else(|| {
            self.open.push((stream, Redacting::prompt(known(), SHORTEST_HELD)));
            self.open.len() - 1
        });
        let clean = self.open[position].1.push(delta.as_bytes());
        if !clean.is_empty() || delta.is_empty() {
            ready.push(stream.delta(into_text(clean)));
        }
    }

    fn end_item(&mut self, index: u32, ready: &mut Vec<ModelEvent>) {
        for (stream, redacting) in self.open.iter_mut().filter(|(stream, _)| stream.index() == index) {
            let remaining = redacting.end();
            if !remaining.is_empty() {
                ready.push(stream.delta(into_text(remaining)));
            }
        }
    }

    fn end(&mut self, ready: &mut Vec<ModelEvent>) {
        for (stream, mut redacting) in std::mem::take(&mut self.open) {
            let remaining = redacting.end();
            if !remaining.is_empty() {
                ready.push(stream.delta(into_text(remaining)));
            }
        }
    }
}

fn item(kind: ItemKind) -> ItemKind {
    match kind {
        ItemKind::ToolCall { call_id, name } => ItemKind::ToolCall { call_id, name: text(name) },
        ItemKind::Hosted { kind, begun } => ItemKind::Hosted { kind, begun: raw(begun) },
        kind @ (ItemKind::Message | ItemKind::Reasoning) => kind,
    }
}

/// Secrets are whole characters, and so is what stands between them.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_over_three_deltas_is_hidden_and_words_are_not_held() {
        riverrun_secret::learn("sk-model-canary-7");
        let mut redactor = ModelRedactor::default();
        let mut ready = Vec::new();
        let text = |delta: &str| ModelEvent::Text { index: 0, delta: delta.to_owned() };
        for delta in ["the s", "k-mo", "del-can", "ary-7 it", " is"] {
            redactor.push(text(delta), &mut ready);
        }
        redactor.push(ModelEvent::ItemDone { index: 0, opaque: None }, &mut ready);
        let done = ModelEvent::ItemDone { index: 0, opaque: None };
        assert_eq!(ready, [text("the s"), text("[secret] it"), text(" is"), done]);
    }
}
