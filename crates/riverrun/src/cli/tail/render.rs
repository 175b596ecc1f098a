//! Draws native events for a person: live text, tools, waiting decisions, sub-agents indented.
//!
//! Deltas of one block are written on one running line. When something else speaks in between, the line is closed
//! and, when the first goes on, opened again with an ellipsis.

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;

use serde_json::Value;

use super::file;
use super::flow::Column;
use super::hook::{self, HookLine};
use super::process;
use crate::cli::terminal::{Lines, Mark, Style, Tone, escape, shorten, width};

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;

/// The columns of a label and the space behind it.
const LABEL: usize = 11;

/// Which text is on the running line: (task, item, part of the item, voice).
type Place = (String, String, u64, Voice);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Voice {
    Answer,
    Thinking,
    Arguments,
}

pub struct Renderer {
    style: Style,
    depths: HashMap<String, usize>,
    /// The names of tools by call id.
    tools: HashMap<String, String>,
    /// Calls that are being made, by task and item: the name, and the arguments so far.
    calls: HashMap<(String, String), (String, String)>,
    running: Option<Place>,
    /// Texts that were on the running line before.
    begun: HashSet<Place>,
    /// Where the running line is.
    column: Column,
    /// What sub-agents are called, by task.
    children: HashMap<String, String>,
    /// The sub-agent that spoke last.
    speaker: Option<String>,
    /// Why calls were rejected, by call id.
    rejected: HashMap<String, String>,
    width: usize,
    /// Text is broken at the width: somebody looks at a screen.
    breaks: bool,
    /// What failed last, so that it is said once and not by all who pass it on.
    failure: String,
}

impl Renderer {
    pub fn new(style: Style) -> Self {
        let (depths, tools, calls) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (running, begun, failure) = (None, HashSet::new(), String::new());
        let (children, speaker, rejected) = (HashMap::new(), None, HashMap::new());
        let column = Column { start: 0, at: 0, width: None };
        let (width, breaks) = (width(), std::io::stdout().is_terminal());
        Self {
            style,
            depths,
            tools,
            calls,
            running,
            begun,
            column,
            children,
            speaker,
            rejected,
            width,
            breaks,
            failure,
        }
    }

    /// The text to print for one event; empty for those that a person does not need.
    pub fn event(&mut self, kind: &str, event: &Value) -> String {
        self.learn_depth(event);
        let said = self.said(kind, event);
        self.with_speaker(event, said)
    }

    fn said(&mut self, kind: &str, event: &Value) -> String {
        let payload = &event["payload"];
        match kind {
            "turn.submitted" => self.line(event, "turn", &quoted(payload), Tone::Strong),
            "turn.completed" => self.turn_completed(event),
            "turn.failed" => self.turn_failed(event),
            "turn.cancelled" => self.marked(event, Mark::Stopped, "turn cancelled", text(payload, "reason")),
            "model.delta" => self.delta(event, Voice::Answer),
            "reasoning.delta" => self.delta(event, Voice::Thinking),
            "item.started" => self.item_started(event),
            "item.completed" => self.item_completed(event),
            "item.retracted" => self.marked(event, Mark::Stopped, "retracted", text(payload, "reason")),
            "tool.args" => self.arguments(event),
            "tool.started" => self.tool(event, Mark::Running, "running", ""),
            "tool.progress" => self.line(event, "", text(payload, "message"), Tone::Dim),
            "tool.result" => self.tool_result(event),
            "tool.failed" => self.tool(event, Mark::Failed, "failed", &error_text(payload)),
            "tool.cancelled" => self.tool_cancelled(event),
            "action.required" => self.action(event),
            "action.resolved" => self.decision(event),
            _ if is_kept_task(kind, event) => self.kept_task(kind, event),
            "task.created" => self.task_created(event),
            "task.paused" => self.marked(event, Mark::Waiting, "paused   ", text(payload, "reason")),
            "task.resumed" => self.marked(event, Mark::Running, "resumed  ", text(payload, "reason")),
            "task.failed" if error_text(payload) == self.failure => String::new(),
            "task.failed" | "model.failed" | "runtime.error" => self.failed(event, kind),
            "agent.changed" => self.line(event, "agent", text(payload, "agent"), Tone::Id),
            "handoff.completed" => self.line(event, "handoff", text(payload, "to"), Tone::Id),
            "file.processing.completed" => self.line(event, "file", &file::completed(payload), Tone::Dim),
            "file.processing.failed" => self.marked(event, Mark::Failed, "file     ", &file::failed(payload)),
            "hook.completed" => self.hook(event, hook::completed(payload)),
            "hook.failed" => self.hook(event, Some(hook::failed(payload))),
            _ if kind.starts_with("process.") => match process::told(kind, event) {
                Some((label, said)) => self.line(event, &label, &said, Tone::Dim),
                None => String::new(),
            },
            "input.steered" => self.line(event, "steered", &quoted(payload), Tone::Strong),
            _ => String::new(),
        }
    }

    /// An answer that was cut or refused is not passed off as a whole one.
    fn turn_completed(&mut self, event: &Value) -> String {
        let payload = &event["payload"];
        let usage = usage(payload);
        let why = match text(payload, "stopReason") {
            "" => return self.marked(event, Mark::Done, "turn done", &usage),
            "max_tokens" => "the answer is cut: the limit of output tokens was reached",
            "refusal" => "the model refused to answer",
            "content_filter" => "the provider's content filter stopped the answer",
            other => other,
        };
        self.marked(event, Mark::Stopped, "turn done", &format!("{why}  {usage}"))
    }

    /// Ends the running line, if there is one.
    pub fn close_line(&mut self) -> String {
        if self.running.take().is_some() { "\n".to_owned() } else { String::new() }
    }

    fn learn_depth(&mut self, event: &Value) {
        let Some(task) = event["taskId"].as_str() else { return };
        if self.depths.contains_key(task) {
            return;
        }
        let from_parent =
            || event["parentTaskId"].as_str().map(|parent| self.depths.get(parent).map_or(1, |d| d + 1));
        let depth = event["depth"].as_u64().map(|depth| depth as usize).or_else(from_parent).unwrap_or(0);
        self.depths.insert(task.to_owned(), depth.min(8));
    }

    fn indent(&self, event: &Value) -> String {
        let bar = if self.style.unicode { "│ " } else { "| " };
        self.style.paint(Tone::Dim, &bar.repeat(self.depth(event)))
    }

    fn depth(&self, event: &Value) -> usize {
        event["taskId"].as_str().and_then(|task| self.depths.get(task)).copied().unwrap_or(0)
    }

    /// One whole line with a label in its column.
    fn line(&mut self, event: &Value, label: &str, said: &str, tone: Tone) -> String {
        let mut out = self.close_line();
        let said = shorten(said, self.room(event, LABEL));
        out.push_str(&format!(
            "{}{} {}\n",
            self.indent(event),
            self.label(label),
            self.style.paint(tone, &said)
        ));
        out
    }

    fn label(&self, label: &str) -> String {
        self.style.paint(Tone::Dim, &format!("{:10}", shorten(label, 10)))
    }

    fn marked(&mut self, event: &Value, mark: Mark, word: &str, said: &str) -> String {
        let mut out = self.close_line();
        let gap = if said.is_empty() { "" } else { "  " };
        let marked = self.style.mark(mark, word);
        // The glyph and the space behind it, the word, the gap.
        let said = shorten(said, self.room(event, 2 + word.chars().count() + gap.len()));
        out.push_str(&format!("{}{marked}{gap}{said}\n", self.indent(event)));
        out
    }

    /// A failure is shown whole, because its end often says what to do; and once.
    /// With the code, which finds the section of docs/errors.md.
    fn turn_failed(&mut self, event: &Value) -> String {
        let mut out = self.failed(event, "turn failed");
        if let Some(code) = event["payload"]["error"]["code"].as_str() {
            out.truncate(out.trim_end_matches('\n').len());
            out.push_str(&format!("  [{}]\n", escape(code, Lines::One)));
        }
        out
    }

    fn failed(&mut self, event: &Value, word: &str) -> String {
        let said = error_text(&event["payload"]);
        if said == self.failure {
            return self.marked(event, Mark::Failed, word, "");
        }
        let mut out = self.marked(event, Mark::Failed, word, "");
        out.truncate(out.trim_end_matches('\n').len());
        out.push_str(&format!("  {}\n", escape(&said, Lines::One)));
        self.failure = said;
        out
    }

    /// What is left of the line behind the indent and `used` characters.
    fn room(&self, event: &Value, used: usize) -> usize {
        self.width.saturating_sub(2 * self.depth(event) + used).max(20)
    }

    fn delta(&mut self, event: &Value, voice: Voice) -> String {
        let payload = &event["payload"];
        let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let part = payload["summaryIndex"].as_u64().or(payload["blockIndex"].as_u64()).unwrap_or(0);
        let place = (name(&event["taskId"]), name(&payload["itemId"]), part, voice);
        let indent = self.indent(event);
        let mut out = String::new();
        if self.running.as_ref() != Some(&place) {
            out.push_str(&self.close_line());
            out.push_str(&indent);
            out.push_str(&self.label(voice.label()));
            out.push(' ');
            let start = 2 * self.depth(event) + LABEL;
            self.column = Column { start, at: start, width: self.breaks.then_some(self.width) };
            if !self.begun.insert(place.clone()) {
                out.push('…');
                self.column.at += 1;
            }
            self.running = Some(place);
        }
        // Each line keeps the column.
        let said = escape(text(payload, "delta"), Lines::Prose);
        let style = self.style;
        let paint = |line: String| match voice {
            Voice::Thinking => style.paint(Tone::Dim, &line),
            Voice::Answer | Voice::Arguments => line,
        };
        let lines: Vec<String> = self.column.lines(&said).into_iter().map(paint).collect();
        out.push_str(&lines.join(&format!("\n{indent}{:LABEL$}", "")));
        out
    }

    fn item_started(&mut self, event: &Value) -> String {
        let item = &event["payload"]["item"];
        if let (Some(call), Some(name)) = (item["callId"].as_str(), item["name"].as_str()) {
            self.tools.insert(call.to_owned(), name.to_owned());
            let made = (name.to_owned(), text(item, "arguments").to_owned());
            self.calls.insert((text(event, "taskId").to_owned(), text(item, "id").to_owned()), made);
        }
        String::new()
    }

    /// Arguments are shown when they are whole.
    fn arguments(&mut self, event: &Value) -> String {
        let payload = &event["payload"];
        let place = (text(event, "taskId").to_owned(), text(payload, "itemId").to_owned());
        if let Some((_, arguments)) = self.calls.get_mut(&place) {
            arguments.push_str(text(payload, "delta"));
        }
        String::new()
    }

    fn item_completed(&mut self, event: &Value) -> String {
        let item = &event["payload"]["item"];
        match item["type"].as_str() {
            Some("tool_call") => {
                // What the end does not say again is as it was told before.
                let place = (text(event, "taskId").to_owned(), text(item, "id").to_owned());
                let (name, arguments) = self.calls.remove(&place).unwrap_or_default();
                let name = item["name"].as_str().unwrap_or(&name);
                let said = format!("{name} {}", item["arguments"].as_str().unwrap_or(&arguments));
                self.line(event, Voice::Arguments.label(), &said, Tone::Strong)
            }
            Some("message") if item["status"] == "incomplete" => {
                self.marked(event, Mark::Stopped, "incomplete", "")
            }
            Some("message" | "reasoning") => self.close_line(),
            Some("error") => self.marked(event, Mark::Failed, "error", text(item, "message")),
            _ => String::new(),
        }
    }

    fn tool(&mut self, event: &Value, mark: Mark, word: &str, said: &str) -> String {
        let name = self.tool_name(event);
        let said = if said.is_empty() { name } else { format!("{name}  {said}") };
        self.marked(event, mark, &format!("{word:9}"), &said)
    }

    /// A call that a person rejected says why.
    fn tool_cancelled(&mut self, event: &Value) -> String {
        let rejected = event["toolCallId"].as_str().and_then(|call| self.rejected.remove(call));
        match rejected {
            Some(why) if !why.is_empty() => self.tool(event, Mark::Stopped, "rejected:", &why),
            Some(_) => self.tool(event, Mark::Stopped, "rejected", ""),
            None => self.tool(event, Mark::Stopped, "cancelled", text(&event["payload"], "reason")),
        }
    }

    fn tool_name(&self, event: &Value) -> String {
        let call = event["toolCallId"].as_str().unwrap_or_default();
        let named = event["payload"]["toolName"].as_str();
        named.or(self.tools.get(call).map(String::as_str)).unwrap_or(call).to_owned()
    }

    fn tool_result(&mut self, event: &Value) -> String {
        let payload = &event["payload"];
        let took = payload["durationMs"].as_u64().map(|took| format!("{took} ms  ")).unwrap_or_default();
        let preview = match &payload["preview"] {
            Value::String(preview) => preview.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        self.tool(event, Mark::Done, "done", &format!("{took}{preview}"))
    }

    fn action(&mut self, event: &Value) -> String {
        let payload = &event["payload"];
        // The id stands first: it is what a decision names, and long arguments are cut.
        let action = text(event, "actionId");
        let mut said = format!("{action}  {}  {}", self.tool_name(event), text(payload, "prompt"));
        if !payload["arguments"].is_null() {
            said.push_str(&format!("  {}", payload["arguments"]));
        }
        self.marked(event, Mark::Waiting, "waiting  ", &said)
    }

    fn decision(&mut self, event: &Value) -> String {
        let payload = &event["payload"];
        let decision = text(payload, "decision");
        if let ("reject", Some(call)) = (decision, event["toolCallId"].as_str()) {
            self.rejected.insert(call.to_owned(), text(payload, "message").to_owned());
        }
        let mark = if decision == "reject" { Mark::Failed } else { Mark::Done };
        let by = payload["decidedBy"].as_str().or(payload["source"].as_str()).unwrap_or_default();
        self.marked(event, mark, "decided  ", &format!("{decision} by {by}"))
    }

    fn hook(&mut self, event: &Value, line: Option<HookLine>) -> String {
        line.map(|line| self.marked(event, line.mark, line.word, &line.said)).unwrap_or_default()
    }

    /// A task that nobody runs here; its attempts are told with it.
    fn kept_task(&mut self, kind: &str, event: &Value) -> String {
        let word = kind.trim_start_matches("task.");
        if word.starts_with("attempt.") {
            return String::new();
        }
        let payload = &event["payload"];
        let told = ["title", "message", "reason", "completionSummary", "targetId"];
        let told = told.iter().map(|name| text(payload, name)).find(|text| !text.is_empty());
        let told = told.map_or_else(|| error_text(payload), str::to_owned);
        let said = format!("{} {}  {told}", text(event, "taskId"), word.replace(['.', '_'], " "));
        self.line(event, "task", said.trim_end(), Tone::Id)
    }

    fn task_created(&mut self, event: &Value) -> String {
        if event["parentTaskId"].is_null() {
            return String::new();
        }
        let payload = &event["payload"];
        let said = format!("{}  {}", text(payload, "agent"), text(payload, "title")).trim_end().to_owned();
        let task = text(event, "taskId").to_owned();
        // Two of one agent with one title are told apart by their ids.
        let is_known = self.children.values().any(|name| *name == said);
        let name = if is_known { format!("{said}  {task}") } else { said.clone() };
        self.children.insert(task.clone(), name);
        self.speaker = Some(task);
        self.line(event, "sub-agent", &said, Tone::Id)
    }

    /// Sub-agents that run at the same time look alike: the one that begins to speak is named.
    fn with_speaker(&mut self, event: &Value, said: String) -> String {
        let task = text(event, "taskId");
        let Some(name) = self.children.get(task).filter(|_| !said.trim().is_empty()) else { return said };
        if self.speaker.as_deref() == Some(task) {
            return said;
        }
        self.speaker = Some(task.to_owned());
        let name = self.style.paint(Tone::Id, &shorten(name, self.room(event, LABEL)));
        let named = format!("{}{} {name}\n", self.indent(event), self.label("sub-agent"));
        // What was being said before ends first.
        match said.strip_prefix('\n') {
            Some(rest) => format!("\n{named}{rest}"),
            None => format!("{named}{said}"),
        }
    }
}

impl Voice {
    fn label(self) -> &'static str {
        match self {
            Voice::Answer => "answer",
            Voice::Thinking => "thinking",
            Voice::Arguments => "tool",
        }
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A task that belongs to no turn and is nobody's sub-agent.
fn is_kept_task(kind: &str, event: &Value) -> bool {
    kind.starts_with("task.") && event["turnId"].is_null() && event["parentTaskId"].is_null()
}

fn error_text(payload: &Value) -> String {
    let error = &payload["error"];
    error["message"]
        .as_str()
        .or(error.as_str())
        .or(payload["message"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// An input, which is text or parts.
fn quoted(payload: &Value) -> String {
    match &payload["input"] {
        Value::String(input) => format!("\"{input}\""),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            format!("\"{}\"", texts.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn usage(payload: &Value) -> String {
    let usage = &payload["usage"];
    match (usage["inputTokens"].as_u64(), usage["outputTokens"].as_u64()) {
        (Some(input), Some(output)) => format!("{input} tokens in, {output} out"),
        (Some(_), None) | (None, Some(_)) | (None, None) => String::new(),
    }
}
