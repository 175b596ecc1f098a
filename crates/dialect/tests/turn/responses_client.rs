//! A client of Responses that fails wherever an official one would.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::log::Got;

#[derive(Default)]
pub struct Client {
    pub next: Option<u64>,
    id: Option<Value>,
    items: BTreeMap<u64, Item>,
    pub last: Option<Value>,
}

struct Item {
    identity: (Value, Value, Value),
    parts: BTreeMap<(&'static str, u64), Part>,
    arguments: String,
    done: Option<Value>,
}

#[derive(Default)]
struct Part {
    text: String,
    odds: usize,
    annotations: u64,
    is_text_done: bool,
    is_done: bool,
}

impl Client {
    pub fn take(&mut self, got: &Got) {
        let event = got.json();
        let number = event["sequence_number"].as_u64().expect("every event has a number");
        assert_eq!(number, self.next.unwrap_or(number), "numbers are dense: {}", got.data);
        self.next = Some(number + 1);
        assert!(self.last.is_none(), "nothing comes after the terminal event: {}", got.data);
        let kind = got.name.strip_prefix("response.").expect("it is an event of a response");
        if self.id.is_none() {
            assert_eq!(kind, "created", "response.created comes first");
        }
        match kind {
            "created" | "queued" | "in_progress" => self.lifecycle(&event["response"]),
            "completed" | "failed" | "incomplete" => self.end(&event["response"]),
            "output_item.added" => self.added(&event),
            "output_item.done" => self.item(&event).finish(&event["item"]),
            "content_part.added" => self.part_added(&event, "content_index"),
            "reasoning_summary_part.added" => self.part_added(&event, "summary_index"),
            "output_text.delta" | "reasoning_text.delta" | "refusal.delta" => {
                self.part(&event, "content_index").grow(&event);
            }
            "reasoning_summary_text.delta" => self.part(&event, "summary_index").grow(&event),
            "output_text.done" | "reasoning_text.done" => {
                self.part(&event, "content_index").text_done(&event["text"]);
            }
            "refusal.done" => self.part(&event, "content_index").text_done(&event["refusal"]),
            "reasoning_summary_text.done" => self.part(&event, "summary_index").text_done(&event["text"]),
            "content_part.done" => self.part(&event, "content_index").finish(&event["part"]),
            "reasoning_summary_part.done" => self.part(&event, "summary_index").finish(&event["part"]),
            "output_text.annotation.added" => {
                let part = self.part(&event, "content_index");
                assert_eq!(event["annotation_index"], part.annotations);
                part.annotations += 1;
            }
            "function_call_arguments.delta" | "mcp_call_arguments.delta" => {
                let delta = event["delta"].as_str().expect("a delta is text").to_owned();
                self.item(&event).arguments.push_str(&delta);
            }
            "function_call_arguments.done" | "mcp_call_arguments.done" => {
                let item = self.item(&event);
                assert_eq!(event["arguments"], item.arguments.as_str());
            }
            "mcp_call.in_progress" | "mcp_call.completed" | "mcp_call.failed" => drop(self.item(&event)),
            // What only the service knows: its own items, and what is newer than its client.
            "future.thing" => assert!(self.items.contains_key(&0), "{}", got.data),
            other if self.item(&event).is_hosted() => assert!(other.contains("_call"), "{}", got.data),
            other => panic!("an official client throws on `{other}`"),
        }
    }

    fn lifecycle(&mut self, response: &Value) {
        for member in ["id", "created_at", "model", "object", "output", "parallel_tool_calls", "tool_choice"]
        {
            assert!(!response[member].is_null(), "`{member}` is required");
        }
        let id = self.id.get_or_insert_with(|| response["id"].clone());
        assert_eq!(*id, response["id"], "the response's id never changes");
    }

    fn end(&mut self, response: &Value) {
        self.lifecycle(response);
        let output = response["output"].as_array().expect("output is a list");
        for (index, item) in &self.items {
            let done = item.done.as_ref().expect("every item is done before the end");
            let is = &output[*index as usize];
            assert_eq!(identity(is), item.identity, "the output agrees with what was done");
            let is_withdrawn = is["status"] == "incomplete";
            assert!(is == done || is_withdrawn, "the output agrees with what was done: {is} {done}");
        }
        assert_eq!(output.len(), self.items.len());
        self.last = Some(response.clone());
    }

    fn added(&mut self, event: &Value) {
        let index = event["output_index"].as_u64().expect("an index");
        let item = Item {
            identity: identity(&event["item"]),
            parts: BTreeMap::new(),
            arguments: String::new(),
            done: None,
        };
        assert!(self.items.insert(index, item).is_none(), "an item is added once at {index}");
    }

    fn item(&mut self, event: &Value) -> &mut Item {
        let index = event["output_index"].as_u64().expect("an index");
        let item = self.items.get_mut(&index).expect("an item is added before it is filled");
        assert!(item.done.is_none(), "nothing comes after an item is done");
        item
    }

    fn part_added(&mut self, event: &Value, name: &'static str) {
        let item = self.item(event);
        let index = event[name].as_u64().expect("an index");
        let before = item.parts.keys().filter(|(kind, _)| *kind == name).count() as u64;
        assert_eq!(index, before, "parts come in order");
        item.parts.insert((name, index), Part::default());
    }

    fn part(&mut self, event: &Value, name: &'static str) -> &mut Part {
        let index = event[name].as_u64().expect("an index");
        let part =
            self.item(event).parts.get_mut(&(name, index)).expect("a part is added before it is filled");
        assert!(!part.is_done, "nothing comes after a part is done");
        part
    }
}

impl Item {
    fn is_hosted(&self) -> bool {
        self.identity.0.as_str().is_some_and(|kind| kind.ends_with("_call") && kind != "function_call")
    }

    fn finish(&mut self, item: &Value) {
        assert_eq!(identity(item), self.identity, "an item keeps its identity");
        assert!(self.parts.values().all(|part| part.is_done), "parts are done before their item");
        self.done = Some(item.clone());
    }
}

impl Part {
    fn grow(&mut self, event: &Value) {
        assert!(!self.is_text_done);
        self.text.push_str(event["delta"].as_str().expect("a delta is text"));
        self.odds += event["logprobs"].as_array().map_or(0, Vec::len);
    }

    fn text_done(&mut self, text: &Value) {
        assert_eq!(*text, self.text.as_str(), "the deltas are the text");
        self.is_text_done = true;
    }

    fn finish(&mut self, part: &Value) {
        assert!(self.is_text_done, "a text is done before its part");
        let said = if part["type"] == "refusal" { &part["refusal"] } else { &part["text"] };
        assert_eq!(*said, self.text.as_str());
        let told = part["logprobs"].as_array().map_or(0, Vec::len);
        assert_eq!(told, self.odds, "the odds of every token were told");
        let annotations = part["annotations"].as_array().map_or(0, Vec::len) as u64;
        assert_eq!(annotations, self.annotations, "every annotation was told");
        self.is_done = true;
    }
}

fn identity(item: &Value) -> (Value, Value, Value) {
    (item["type"].clone(), item["id"].clone(), item["call_id"].clone())
}
