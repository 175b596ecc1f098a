//! A client of `task.*` frames, written from AgentLin's rules and from nothing else of this crate.
//!
//! Tests hold the projection against it. It shows what a client has to do: an item's place is its task and its
//! `output_index`; `added` replaces; `done` merges (absent keeps, null takes away); a picture's delta replaces, a
//! text's delta is appended; a child's items are shown in the result of the call whose id is the child's task id.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A client's view of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceClient {
    /// In the order of their first frames.
    tasks: Vec<Task>,
    /// The last number that was seen; what is not behind it came before.
    last: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Task {
    id: String,
    /// Its place among the tasks: a parent is named before its children.
    rank: usize,
    summary: Map<String, Value>,
    output: BTreeMap<u64, Map<String, Value>>,
}

impl ReferenceClient {
    /// Takes one frame. A frame that was taken before changes nothing.
    pub fn take(&mut self, frame: &str) -> Result<(), serde_json::Error> {
        let frame: Value = serde_json::from_str(frame)?;
        let number = frame["sequence_number"].as_u64().unwrap_or(0);
        if number <= self.last {
            return Ok(());
        }
        self.last = number;
        let kind = frame["type"].as_str().unwrap_or_default();
        let task = self.task(frame["task_id"].as_str().unwrap_or_default());
        match frame.get("task") {
            Some(summary) => task.summary = summary.as_object().cloned().unwrap_or_default(),
            None => task.take(kind, &frame),
        }
        Ok(())
    }

    pub fn task_ids(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().map(|task| task.id.as_str())
    }

    /// The task as the frames tell it, children inside.
    pub fn object(&self, task_id: &str) -> Option<Value> {
        let task = self.tasks.iter().find(|task| task.id == task_id)?;
        let mut object = task.summary.clone();
        let output = task.output.values().map(|item| self.with_children(task, item.clone()));
        object.insert("output".to_owned(), output.collect());
        Some(object.into())
    }

    fn task(&mut self, id: &str) -> &mut Task {
        let at = self.tasks.iter().position(|task| task.id == id).unwrap_or_else(|| {
            self.tasks.push(Task { id: id.to_owned(), rank: self.tasks.len(), ..Task::default() });
            self.tasks.len() - 1
        });
        &mut self.tasks[at]
    }

    /// The first result of a call holds what its children put out.
    fn with_children(&self, task: &Task, mut item: Map<String, Value>) -> Map<String, Value> {
        let is_result = |item: &Map<String, Value>| item["type"] == "tool_result";
        if !is_result(&item) {
            return item;
        }
        let call = item["call_id"].clone();
        let first = task.output.values().find(|other| is_result(other) && other["call_id"] == call);
        if first.is_some_and(|first| first["id"] != item["id"]) {
            return item;
        }
        let children = self.tasks.iter().filter(|child| child.is_below(task, &call));
        let shown: Vec<Value> = children.flat_map(|child| self.shown(child)).collect();
        if let Some(Value::Array(blocks)) = item.get_mut("block_list") {
            blocks.extend(shown);
        }
        item
    }

    fn shown(&self, child: &Task) -> Vec<Value> {
        let show = |item: &Map<String, Value>| {
            let mut item = self.with_children(child, item.clone());
            item.entry("task_id").or_insert_with(|| child.id.clone().into());
            item.into()
        };
        child.output.values().map(show).collect()
    }
}

impl Task {
    /// AgentLin's own rule is that the task id is the call id; where a lifecycle frame names the parent, it decides.
    fn is_below(&self, parent: &Task, call: &Value) -> bool {
        if self.summary.is_empty() {
            return parent.rank < self.rank && *call == self.id;
        }
        let named = |member: &str| self.summary.get(member).and_then(Value::as_str);
        named("parent_task_id") == Some(&parent.id) && call == named("parent_call_id").unwrap_or(&self.id)
    }

    fn take(&mut self, kind: &str, frame: &Value) {
        let index = frame["output_index"].as_u64().unwrap_or_default();
        if kind == "task.output_item.added" {
            self.output.insert(index, frame["item"].as_object().cloned().unwrap_or_default());
            return;
        }
        let Some(item) = self.output.get_mut(&index) else { return };
        match kind {
            "task.output_item.done" => merge(item, &frame["item"]),
            "task.output_item.retracted" => retract(item),
            "task.tool_call_arguments.delta" => append(item, "arguments", &frame["delta"]),
            "task.tool_call_arguments.done" => {
                drop(item.insert("arguments".to_owned(), frame["arguments"].clone()))
            }
            "task.reasoning_summary_text.delta" => {
                add_text(part(item, "summary", &frame["summary_index"]), frame)
            }
            "task.text.delta" | "task.block.delta" => {
                add_text(part(item, "block_list", &frame["block_index"]), frame)
            }
            "task.audio.delta" | "task.file.delta" => {
                let part = part(item, "block_list", &frame["block_index"]).as_object_mut();
                part.into_iter().for_each(|part| append(part, "data", &frame["delta"]));
            }
            "task.reasoning_summary_item.added" | "task.reasoning_summary_item.done" => {
                *part(item, "summary", &frame["summary_index"]) = frame["item"].clone();
            }
            "task.text.added" | "task.text.done" | "task.image.added" | "task.image.delta"
            | "task.image.done" | "task.block.added" | "task.block.done" => {
                *part(item, "block_list", &frame["block_index"]) = frame["item"].clone();
            }
            // A word that this client does not know.
            _ => {}
        }
    }
}

/// `done`: what is there replaces, what is absent stays, null goes.
fn merge(item: &mut Map<String, Value>, done: &Value) {
    let known = ["reasoning", "tool_call", "tool_result", "message", "handoff", "error", "hosted"];
    if !known.iter().any(|kind| item["type"] == *kind) {
        *item = done.as_object().cloned().unwrap_or_default();
        return;
    }
    for (name, value) in done.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(item.remove(name)),
            value => drop(item.insert(name.clone(), value.clone())),
        }
    }
}

fn retract(item: &mut Map<String, Value>) {
    item.insert("retracted".to_owned(), true.into());
    let has_status = ["reasoning", "tool_call", "tool_result", "message", "hosted"];
    if has_status.iter().any(|kind| item["type"] == *kind) {
        item.insert("status".to_owned(), "incomplete".into());
    }
}

/// The part at this place of a list, which grows as needed.
fn part<'a>(item: &'a mut Map<String, Value>, list: &str, index: &Value) -> &'a mut Value {
    let index = index.as_u64().unwrap_or_default() as usize;
    let entry = item.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    if !entry.is_array() {
        *entry = Value::Array(Vec::new());
    }
    let parts = entry.as_array_mut().expect("it was made a list above");
    if parts.len() <= index {
        parts.resize(index + 1, Value::Null);
    }
    &mut parts[index]
}

fn add_text(part: &mut Value, frame: &Value) {
    let Some(part) = part.as_object_mut() else { return };
    append(part, "text", &frame["delta"]);
    if let Some(more) = frame["annotations"].as_array() {
        let entry = part.entry("annotations").or_insert_with(|| Value::Array(Vec::new()));
        entry.as_array_mut().into_iter().for_each(|annotations| annotations.extend(more.iter().cloned()));
    }
}

fn append(object: &mut Map<String, Value>, member: &str, delta: &Value) {
    let before = object.get(member).and_then(Value::as_str).unwrap_or_default();
    let after = format!("{before}{}", delta.as_str().unwrap_or_default());
    object.insert(member.to_owned(), after.into());
}
