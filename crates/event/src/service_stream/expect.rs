//! Predicts a service's next event from the previous ones. A wrong guess costs bytes and nothing else.

use serde_json::{Map, Value, json};

use super::ServiceStream;

const POSITION: [&str; 4] = ["item_id", "output_index", "content_index", "summary_index"];

impl ServiceStream {
    /// The expected event of this type.
    pub(super) fn expect(&mut self, name: &str) -> Value {
        if name == "response.created" {
            self.begin();
        }
        let mut event = self.expect_delta(name);
        let Some(stem) = name.strip_prefix("response.") else { return Value::Object(event) };
        match stem {
            "created" => {}
            "queued" | "in_progress" | "completed" | "incomplete" | "failed" => {
                event.insert("response".to_owned(), self.expect_response(stem));
            }
            "output_item.added" => {
                let count = self.items.keys().next_back().map_or(0, |last| last + 1);
                event.insert("output_index".to_owned(), json!(count));
            }
            "output_item.done" => {
                let item = self.expect_item();
                event.insert("item".to_owned(), item);
            }
            "content_part.done" => {
                event.insert("part".to_owned(), self.expect_part("content"));
            }
            "reasoning_summary_part.done" => {
                event.insert("part".to_owned(), self.expect_part("summary"));
            }
            _ => {
                let text = name.strip_suffix(".done").and_then(|of| Some((member(of)?, self.text(of)?)));
                if let Some((member, text)) = text {
                    event.insert(member.to_owned(), json!(text));
                }
            }
        }
        Value::Object(event)
    }

    /// The last event of this type, with the numbers of the next one.
    pub(super) fn expect_delta(&self, name: &str) -> Map<String, Value> {
        let is_whole = matches!(name, "response.output_item.added" | "response.output_item.done");
        let mut event = match self.known.get(name).and_then(Value::as_object) {
            Some(known) => known.clone(),
            None if name.starts_with("response.") && is_about_item(name) => {
                let mut event = self.position.clone();
                if is_whole {
                    event.retain(|name, _| name == "output_index");
                }
                event
            }
            None => Map::new(),
        };
        for (name, value) in &self.position {
            if let Some(known) = event.get_mut(name) {
                known.clone_from(value);
            }
        }
        event.insert("type".to_owned(), json!(name));
        event.insert("sequence_number".to_owned(), json!(self.number.map_or(0, |number| number + 1)));
        event
    }

    fn begin(&mut self) {
        self.number = None;
        self.position = Map::new();
        self.items.clear();
        self.parts.clear();
        self.texts.clear();
        self.held.clear();
    }

    fn expect_response(&self, status: &str) -> Value {
        let mut response = self.response.clone();
        let Some(members) = response.as_object_mut() else { return json!({}) };
        if matches!(status, "completed" | "incomplete" | "failed") {
            members.insert("status".to_owned(), json!(status));
            members.insert("output".to_owned(), self.items.values().cloned().collect());
        }
        response
    }

    fn expect_item(&self) -> Value {
        let index = number(&self.position, "output_index");
        let mut item = self.items.get(&index).cloned().unwrap_or_else(|| json!({}));
        let Some(members) = item.as_object_mut() else { return item };
        for list in ["content", "summary"] {
            let parts: Vec<Value> = self
                .parts
                .range((list, index, 0)..=(list, index, u64::MAX))
                .map(|(_, part)| part.clone())
                .collect();
            if !parts.is_empty() {
                members.insert(list.to_owned(), Value::Array(parts));
            }
        }
        let texts = self.texts.iter().filter(|((stem, of, _), _)| *of == index && is_of_item(stem));
        for ((stem, ..), text) in texts {
            if let Some(member) = member(stem) {
                members.insert(member.to_owned(), json!(text));
            }
        }
        if members.contains_key("status") {
            members.insert("status".to_owned(), json!("completed"));
        }
        item
    }

    fn expect_part(&self, list: &'static str) -> Value {
        let (item, index) = (number(&self.position, "output_index"), part_index(&self.position));
        let mut part = self.parts.get(&(list, item, index)).cloned().unwrap_or_else(|| json!({}));
        let (member, stem) = match part["type"].as_str() {
            Some("output_text") => ("text", "response.output_text"),
            Some("summary_text") => ("text", "response.reasoning_summary_text"),
            Some("reasoning_text") => ("text", "response.reasoning_text"),
            Some("refusal") => ("refusal", "response.refusal"),
            _ => return part,
        };
        if let (Some(text), Some(members)) = (self.text(stem), part.as_object_mut()) {
            members.insert(member.to_owned(), json!(text));
        }
        part
    }

    /// The text so far at the present position.
    fn text(&self, stem: &str) -> Option<&str> {
        let key = (stem.to_owned(), number(&self.position, "output_index"), part_index(&self.position));
        self.texts.get(&key).map(String::as_str)
    }

    /// Learns from an event of the service.
    pub(super) fn accept(&mut self, event: &Value) {
        self.has_begun = true;
        let Some(members) = event.as_object() else { return };
        let name = event["type"].as_str().unwrap_or_default();
        if let Some(number) = event["sequence_number"].as_u64() {
            self.number = Some(number);
        }
        if members.contains_key("output_index") {
            let here =
                POSITION.iter().filter_map(|name| Some(((*name).to_owned(), members.get(*name)?.clone())));
            self.position = here.collect();
        }
        let (item, index) = (number(members, "output_index"), part_index(members));
        match name {
            "response.output_item.added" | "response.output_item.done" => {
                self.items.insert(item, event["item"].clone());
            }
            "response.content_part.added" | "response.content_part.done" => {
                self.parts.insert(("content", item, index), event["part"].clone());
            }
            "response.reasoning_summary_part.added" | "response.reasoning_summary_part.done" => {
                self.parts.insert(("summary", item, index), event["part"].clone());
            }
            "response.output_text.annotation.added" => {
                let part = self.parts.get_mut(&("content", item, index));
                if let Some(list) = part.and_then(|part| part["annotations"].as_array_mut()) {
                    list.push(event["annotation"].clone());
                }
            }
            _ => {
                if let (Some(stem), Some(delta)) = (name.strip_suffix(".delta"), event["delta"].as_str()) {
                    self.texts.entry((stem.to_owned(), item, index)).or_default().push_str(delta);
                }
            }
        }
        if event["response"].is_object() {
            self.response.clone_from(&event["response"]);
        }
        self.know(name, event);
    }

    /// Ends are not alike, so only what recurs is worth remembering.
    fn know(&mut self, name: &str, event: &Value) {
        let is_once = matches!(
            name,
            "response.in_progress"
                | "response.completed"
                | "response.incomplete"
                | "response.failed"
                | "error"
        );
        if !is_once {
            let mut known = event.clone();
            if let Some(members) = known.as_object_mut() {
                members.retain(|_, value| !matches!(value, Value::String(text) if text.len() > 4096));
            }
            self.known.insert(name.to_owned(), known);
        }
    }
}

/// False for an event about the response as a whole.
fn is_about_item(name: &str) -> bool {
    name.matches('.').count() > 1
}

/// Texts that are a member of their item, and not of a part of it.
fn is_of_item(stem: &str) -> bool {
    ["_arguments", "_input", "_code"].iter().any(|end| stem.ends_with(end))
}

/// The member in which the end of a text repeats it.
fn member(stem: &str) -> Option<&'static str> {
    let ends = [
        ("_text", "text"),
        ("refusal", "refusal"),
        ("_arguments", "arguments"),
        ("_input", "input"),
        ("_code", "code"),
    ];
    ends.into_iter().find(|(end, _)| stem.ends_with(end)).map(|(_, member)| member)
}

fn number(members: &Map<String, Value>, name: &str) -> u64 {
    members.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn part_index(members: &Map<String, Value>) -> u64 {
    let index = members.get("content_index").or_else(|| members.get("summary_index"));
    index.and_then(Value::as_u64).unwrap_or(0)
}
