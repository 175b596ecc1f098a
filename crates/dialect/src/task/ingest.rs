//! AgentLin's frames as native events, so that another AgentLin server can publish what it streams.
//!
//! One frame is one event. `README.md` has the mapping and the losses.

use riverrun_fold::State;
use serde_json::{Map, Value, json};

use super::released::{Form, Positions, translate};

/// Why a frame cannot be an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("the frame is not a JSON object")]
    NotAnObject,
    #[error("`{0}` is missing or of another type")]
    Member(&'static str),
}

impl FrameError {
    /// The member at fault.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            FrameError::NotAnObject => None,
            FrameError::Member(name) => Some(name),
        }
    }
}

/// Reads the frames of a publisher in their order.
///
/// Frames of the design text say everything themselves. Those of the released server do not say an item's position: it
/// follows from the items before.
#[derive(Debug, Clone, Default)]
pub struct FrameReader {
    positions: Positions,
}

impl FrameReader {
    /// A reader of what comes after `state`.
    pub fn new(state: &State) -> Self {
        Self { positions: Positions::of(state) }
    }

    /// The native event of a frame, as JSON. A frame inside the answer of AgentLin's JSON-RPC is taken out of it first.
    pub fn event(&mut self, frame: &str) -> Result<String, FrameError> {
        let frame: Value = serde_json::from_str(frame).map_err(|_| FrameError::NotAnObject)?;
        let frame = match frame.get("result").filter(|_| frame.get("jsonrpc").is_some()) {
            Some(result) => result.clone(),
            None => frame,
        };
        let mut frame = frame.as_object().cloned().ok_or(FrameError::NotAnObject)?;
        let form = translate(&mut frame, &mut self.positions);
        event_of(&Frame(frame), form)
    }
}

fn event_of(frame: &Frame, form: Form) -> Result<String, FrameError> {
    let (kind, payload) = match form {
        Form::Native => frame.native()?,
        Form::Vendor => frame.foreign(frame.text("type")?),
    };
    let mut event = Map::new();
    event.insert("type".to_owned(), kind.into());
    event.insert("taskId".to_owned(), frame.text("task_id")?.into());
    let members = [
        ("timestamp", "timestamp"),
        ("parent_task_id", "parentTaskId"),
        ("parent_call_id", "parentToolCallId"),
    ];
    for (name, native) in members {
        let value = frame.0.get("task").and_then(|task| task.get(name)).or_else(|| frame.0.get(name));
        if let Some(value) = value.filter(|value| value.is_string()) {
            event.insert(native.to_owned(), value.clone());
        }
    }
    event.insert("payload".to_owned(), payload);
    Ok(Value::Object(event).to_string())
}

struct Frame(Map<String, Value>);

impl Frame {
    fn text(&self, name: &'static str) -> Result<&str, FrameError> {
        self.0.get(name).and_then(Value::as_str).ok_or(FrameError::Member(name))
    }

    fn number(&self, name: &'static str) -> Result<u64, FrameError> {
        self.0.get(name).and_then(Value::as_u64).ok_or(FrameError::Member(name))
    }

    fn object(&self, name: &'static str) -> Result<Map<String, Value>, FrameError> {
        self.0.get(name).and_then(Value::as_object).cloned().ok_or(FrameError::Member(name))
    }

    /// The native type and its payload.
    fn native(&self) -> Result<(String, Value), FrameError> {
        let kind = self.text("type")?;
        let known = match kind {
            "task.output_item.added" => ("item.started", self.item()?),
            "task.output_item.done" => ("item.completed", self.item()?),
            "task.output_item.retracted" => ("item.retracted", self.at(json!({"reason": "retracted"}))?),
            "task.reasoning_summary_item.added" => {
                ("reasoning.delta", self.summary("delta", self.part_text()?)?)
            }
            "task.reasoning_summary_text.delta" => {
                ("reasoning.delta", self.summary("delta", self.text("delta")?)?)
            }
            "task.reasoning_summary_item.done" => {
                ("reasoning.summary", self.summary("text", self.part_text()?)?)
            }
            "task.reasoning_text.delta" => {
                ("reasoning.delta", self.at(json!({"delta": self.text("delta")?}))?)
            }
            "task.tool_call_arguments.delta" => {
                ("tool.args", self.at(json!({"delta": self.text("delta")?}))?)
            }
            "task.text.delta" | "task.block.delta" if !self.is_of_result()? => {
                ("model.delta", self.growth()?)
            }
            "task.audio.delta" | "task.file.delta" if !self.is_of_result()? => {
                ("model.delta", self.growth()?)
            }
            "task.text.added" | "task.image.added" | "task.audio.added" | "task.file.added"
            | "task.block.added" => ("item.updated", self.block("added")?),
            "task.image.delta" => ("item.updated", self.block("replaced")?),
            "task.text.done" | "task.image.done" | "task.audio.done" | "task.file.done"
            | "task.block.done" => ("item.updated", self.block("done")?),
            _ => return Ok(self.lifecycle(kind).unwrap_or_else(|| self.foreign(kind))),
        };
        Ok((known.0.to_owned(), known.1))
    }

    /// A frame that has no native counterpart is kept as it came.
    fn foreign(&self, kind: &str) -> (String, Value) {
        let name = kind.strip_prefix("task.").unwrap_or(kind);
        (format!("x.agentlin.{name}"), Value::Object(self.0.clone()))
    }

    fn lifecycle(&self, kind: &str) -> Option<(String, Value)> {
        let task = self.0.get("task");
        let native = task.and_then(|task| task.get("native_status")).and_then(Value::as_str);
        let event = match (kind, native) {
            ("task.created", None) => {
                match task.and_then(|task| task.get("status")).and_then(Value::as_str) {
                    Some("working") => ("task.created", json!({"status": "running"})),
                    Some("queued") => ("task.created", json!({"status": "queued"})),
                    Some(_) | None => ("task.created", json!({})),
                }
            }
            ("task.created", Some(status)) => ("task.created", json!({"status": status})),
            ("task.queued", _) => ("task.queued", json!({})),
            ("task.working", Some("blocked")) => ("task.blocked", json!({})),
            ("task.working", Some("retrying")) => ("task.retrying", json!({})),
            ("task.working", Some("cancelling")) => ("task.cancel_requested", json!({})),
            ("task.working", Some("waiting_resource")) => {
                ("task.waiting", json!({"status": "waiting_resource"}))
            }
            ("task.working", _) => ("task.started", json!({})),
            ("task.input_required", native) => {
                ("task.waiting", json!({"status": native.unwrap_or("waiting_input")}))
            }
            ("task.paused", _) => ("task.paused", json!({})),
            ("task.completed", _) => ("task.completed", json!({})),
            ("task.canceled", _) => ("task.cancelled", json!({})),
            ("task.expired", Some("archived")) => ("task.archived", json!({})),
            ("task.expired", _) => ("task.timed_out", json!({})),
            ("task.failed", Some("lost")) => ("task.lost", json!({})),
            ("task.failed", _) => ("task.failed", json!({"error": self.error()})),
            _ => return None,
        };
        Some((event.0.to_owned(), event.1))
    }

    /// AgentLin's error is one of JSON-RPC, whose code is a number.
    fn error(&self) -> Value {
        let error = self.0.get("task").and_then(|task| task.get("error")).or_else(|| self.0.get("error"));
        let mut error = error.and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(code) = error.get("code").filter(|code| !code.is_string()).map(Value::to_string) {
            error.insert("code".to_owned(), code.into());
        }
        error.entry("message").or_insert_with(|| "the task failed".into());
        Value::Object(error)
    }

    fn item(&self) -> Result<Value, FrameError> {
        let item = native_item(self.object("item")?);
        Ok(json!({"item": item, "outputIndex": self.number("output_index")?}))
    }

    fn part_text(&self) -> Result<&str, FrameError> {
        let part = self.0.get("item").ok_or(FrameError::Member("item"))?;
        part.get("text").and_then(Value::as_str).ok_or(FrameError::Member("item"))
    }

    fn summary(&self, member: &str, text: &str) -> Result<Value, FrameError> {
        self.at(json!({member: text, "summaryIndex": self.number("summary_index")?}))
    }

    /// Text, or base 64 of a file or a sound, that is appended. What the text cites is found again in it.
    fn growth(&self) -> Result<Value, FrameError> {
        let delta = self.text("partial_file_b64").or_else(|_| self.text("delta"))?;
        self.at(json!({"delta": delta, "blockIndex": self.number("block_index")?}))
    }

    fn block(&self, change: &str) -> Result<Value, FrameError> {
        let block = native_block(Value::Object(self.object("item")?));
        let payload = json!({"block": block, "blockIndex": self.number("block_index")?, "change": change});
        let mut payload = self.at(payload)?;
        if let (Some(number), Some(members)) = (self.0.get("partial_image_index"), payload.as_object_mut()) {
            members.insert("partialIndex".to_owned(), number.clone());
        }
        Ok(payload)
    }

    /// Adds which item it is about.
    fn at(&self, mut payload: Value) -> Result<Value, FrameError> {
        let (item, output_index) = (self.text("item_id")?, self.number("output_index")?);
        if let Some(members) = payload.as_object_mut() {
            members.insert("itemId".to_owned(), item.into());
            members.insert("outputIndex".to_owned(), output_index.into());
        }
        Ok(payload)
    }

    /// Text of a result grows only as a whole block: AgentLin's prefix says what the item is.
    fn is_of_result(&self) -> Result<bool, FrameError> {
        let id = self.text("item_id")?;
        Ok(id.starts_with("fco_") || id.starts_with("tr_"))
    }
}

/// The native decoder knows AgentLin's names of members; blocks differ.
fn native_item(mut item: Map<String, Value>) -> Value {
    for list in ["content", "block_list"] {
        if let Some(Value::Array(blocks)) = item.get_mut(list) {
            blocks.iter_mut().for_each(|block| *block = native_block(block.take()));
        }
    }
    item.remove("retracted");
    Value::Object(item)
}

/// The types of blocks that have a native form; others are passed on as they came.
const BLOCKS: [&str; 10] =
    ["text", "html", "image", "image_url", "input_image", "output_image", "file", "audio", "table", "json"];

/// A block's `id` is the number by which it is cited. Citations are found again, where the text has them.
fn native_block(mut block: Value) -> Value {
    let Some(members) = block.as_object_mut() else { return block };
    if let Some(number) = members.get("id").filter(|id| id.is_u64()).cloned() {
        members.remove("id");
        members.insert("refId".to_owned(), number);
    }
    let is_known = members.get("type").and_then(Value::as_str).is_some_and(|kind| BLOCKS.contains(&kind));
    if !is_known {
        return block;
    }
    if let Some(Value::Array(annotations)) = members.get_mut("annotations") {
        annotations.retain(|annotation| annotation["type"] != "reference_to_block");
        if annotations.is_empty() {
            members.remove("annotations");
        }
    }
    block
}
