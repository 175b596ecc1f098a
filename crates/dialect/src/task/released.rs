//! Frames of AgentLin's released server (0.0.27) in the members of the design text.
//!
//! Its frames have an `agent_step` and no `output_index`, count blocks as `content_index`, and name some members and
//! types otherwise. What the design text has no word for stays as it is.

use std::collections::HashMap;

use riverrun_fold::State;
use serde_json::{Map, Value, json};

type Frame = Map<String, Value>;

/// The position of every item of every task, which these frames do not say.
#[derive(Debug, Clone, Default)]
pub(super) struct Positions {
    tasks: HashMap<String, Output>,
}

#[derive(Debug, Clone, Default)]
struct Output {
    items: HashMap<String, u64>,
    /// The position of the next new item.
    next: u64,
}

impl Positions {
    pub fn of(state: &State) -> Self {
        let mut positions = Self::default();
        for task in &state.tasks {
            for (position, item) in task.output.iter().enumerate() {
                let Some(item) = item.id() else { continue };
                positions.set(task.task_id.as_str(), &item, position as u64);
            }
        }
        positions
    }

    fn set(&mut self, task: &str, item: &str, position: u64) {
        let output = self.tasks.entry(task.to_owned()).or_default();
        output.items.insert(item.to_owned(), position);
        output.next = output.next.max(position.saturating_add(1));
    }

    /// A new item comes after all others of its task.
    fn position(&mut self, task: &str, item: &str) -> u64 {
        let output = self.tasks.entry(task.to_owned()).or_default();
        let position = output.items.get(item).copied().unwrap_or(output.next);
        self.set(task, item, position);
        position
    }
}

/// Whether a frame has a native form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Native,
    /// It is stored as it came.
    Vendor,
}

/// Gives the frame the members of the design text, if it is one of the released server.
pub(super) fn translate(frame: &mut Frame, positions: &mut Positions) -> Form {
    let Some((task, item)) = names(frame) else { return Form::Native };
    if let Some(position) = frame.get("output_index").and_then(Value::as_u64) {
        positions.set(&task, &item, position);
        return Form::Native;
    }
    if !frame.contains_key("agent_step") {
        return Form::Native;
    }
    let position = positions.position(&task, &item);
    let kind = frame.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_reasoning = item.starts_with("rs_");
    match kind.as_str() {
        "task.output_item.added" | "task.output_item.done" => {
            frame.get_mut("item").and_then(Value::as_object_mut).into_iter().for_each(translate_item);
        }
        "task.reasoning_summary_part.added" => rename_part(frame, "task.reasoning_summary_item.added"),
        "task.reasoning_summary_part.done" => rename_part(frame, "task.reasoning_summary_item.done"),
        "task.reasoning_summary_text.delta" => rename(frame, "content_index", "summary_index"),
        "task.content_part.added" if !is_reasoning => content_part(frame, "added"),
        "task.content_part.done" if !is_reasoning => content_part(frame, "done"),
        "task.text.delta" => rename(frame, "content_index", "block_index"),
        "task.text.done" => {
            let text = frame.get("text").cloned().unwrap_or_else(|| "".into());
            frame.insert("item".to_owned(), json!({"type": "text", "text": text}));
            rename(frame, "content_index", "block_index");
        }
        "task.image.delta" => image(frame),
        "task.reasoning_text.delta" | "task.tool_call_arguments.delta" => {}
        _ => return Form::Vendor,
    }
    frame.insert("output_index".to_owned(), position.into());
    Form::Native
}

/// The task and the item that a frame is about.
fn names(frame: &Frame) -> Option<(String, String)> {
    let item = frame.get("item_id").or_else(|| frame.get("item")?.get("id"))?;
    Some((frame.get("task_id")?.as_str()?.to_owned(), item.as_str()?.to_owned()))
}

fn rename(frame: &mut Frame, from: &str, to: &str) {
    if let Some(value) = frame.remove(from) {
        frame.entry(to).or_insert(value);
    }
}

fn rename_part(frame: &mut Frame, kind: &str) {
    frame.insert("type".to_owned(), kind.into());
    rename(frame, "part", "item");
}

/// A part of a message is one of its blocks.
fn content_part(frame: &mut Frame, change: &str) {
    if let Some(part) = frame.get_mut("part") {
        translate_part(part);
    }
    let is_text = frame.get("part").is_some_and(|part| part["type"] == "text");
    let family = if is_text { "text" } else { "block" };
    rename_part(frame, &format!("task.{family}.{change}"));
    rename(frame, "content_index", "block_index");
}

/// A draft of an image is its bytes alone.
fn image(frame: &mut Frame) {
    let Some(bytes) = frame.remove("partial_image_b64") else { return };
    let url = format!("data:image/png;base64,{}", bytes.as_str().unwrap_or_default());
    frame.insert("item".to_owned(), json!({"type": "image", "image_url": {"url": url}}));
    frame.entry("block_index").or_insert_with(|| 0.into());
}

/// An absent member is written as `null` by some of its routes; that clears nothing.
fn translate_item(item: &mut Map<String, Value>) {
    item.retain(|_, value| !value.is_null());
    match item.get("type").and_then(Value::as_str) {
        Some("tool_result") => drop(item.remove("output")),
        Some("message") => rename(item, "name", "agent"),
        _ => {}
    }
    match (item.remove("message_content"), item.get("content").and_then(Value::as_str)) {
        (Some(parts), _) => drop(item.insert("content".to_owned(), parts)),
        (None, Some("")) => drop(item.remove("content")),
        (None, Some(text)) => {
            let parts = json!([{"type": "text", "text": text}]);
            item.insert("content".to_owned(), parts);
        }
        (None, None) => {}
    }
    for list in ["content", "summary", "block_list"] {
        if let Some(Value::Array(parts)) = item.get_mut(list) {
            parts.iter_mut().for_each(translate_part);
        }
    }
}

/// Texts of every kind are texts, also where only the text itself is there.
fn translate_part(part: &mut Value) {
    if let Some(text) = part.as_str() {
        *part = json!({"type": "text", "text": text});
    }
    let Some(members) = part.as_object_mut() else { return };
    members.retain(|_, value| !value.is_null());
    let is_text = |kind: &str| {
        matches!(kind, "input_text" | "output_text" | "reasoning_text" | "summary_text" | "refusal")
    };
    if members.get("type").and_then(Value::as_str).is_some_and(is_text) {
        members.insert("type".to_owned(), "text".into());
    }
}
