//! A client of Messages that fails wherever an official one would.

use serde_json::{Value, json};

use crate::log::Got;

#[derive(Default)]
pub struct Client {
    message: Option<Value>,
    /// The input of the open call, as text.
    partial: String,
    open: Option<usize>,
    error: Value,
    is_over: bool,
}

impl Client {
    pub fn take(&mut self, got: &Got) {
        assert!(!self.is_over, "nothing comes after the end: {}", got.data);
        let event = got.json();
        assert_eq!(event["type"], got.name.as_str(), "a frame without its name is not seen at all");
        match got.name.as_str() {
            "message_start" => {
                assert!(self.message.is_none(), "there is one message");
                assert_eq!(event["message"]["content"], json!([]));
                self.message = Some(event["message"].clone());
            }
            "content_block_start" => self.start(&event),
            "content_block_delta" => self.delta(&event),
            "content_block_stop" => self.stop(&event),
            "message_delta" => {
                assert!(self.open.is_none(), "blocks stop before the message does");
                let message = self.message.as_mut().expect("message_start comes first");
                for (name, value) in event["delta"].as_object().expect("the delta is an object") {
                    message[name] = value.clone();
                }
                for (name, value) in event["usage"].as_object().expect("usage is an object") {
                    message["usage"][name] = value.clone();
                }
            }
            "message_stop" => self.is_over = true,
            "error" => {
                self.error = event["error"].clone();
                self.is_over = true;
            }
            "future_event" => assert_eq!(event["note"], "new", "what is new comes as it is"),
            other => panic!("no such event: {other}"),
        }
    }

    fn content(&mut self) -> &mut Vec<Value> {
        let message = self.message.as_mut().expect("message_start comes first");
        message["content"].as_array_mut().expect("content is a list")
    }

    fn start(&mut self, event: &Value) {
        assert!(self.open.is_none(), "blocks never interleave");
        let index = event["index"].as_u64().expect("an index") as usize;
        assert_eq!(index, self.content().len(), "indexes are dense");
        self.content().push(event["content_block"].clone());
        self.open = Some(index);
        self.partial.clear();
    }

    fn delta(&mut self, event: &Value) {
        let index = event["index"].as_u64().expect("an index") as usize;
        assert_eq!(self.open, Some(index), "a delta belongs to the open block");
        let delta = &event["delta"];
        let append = |value: &mut Value, news: &Value| {
            *value = format!("{}{}", value.as_str().expect("text"), news.as_str().expect("text")).into();
        };
        if delta["type"] == "input_json_delta" {
            self.partial.push_str(delta["partial_json"].as_str().expect("text"));
            return;
        }
        let block = &mut self.content()[index];
        match delta["type"].as_str().expect("a type") {
            "text_delta" => append(&mut block["text"], &delta["text"]),
            "thinking_delta" => append(&mut block["thinking"], &delta["thinking"]),
            "signature_delta" => block["signature"] = delta["signature"].clone(),
            "citations_delta" => match block["citations"].as_array_mut() {
                Some(list) => list.push(delta["citation"].clone()),
                None => block["citations"] = json!([delta["citation"]]),
            },
            "future_delta" => {}
            other => panic!("no such delta: {other}"),
        }
    }

    fn stop(&mut self, event: &Value) {
        let index = event["index"].as_u64().expect("an index") as usize;
        assert_eq!(self.open.take(), Some(index), "the open block stops");
        if !self.partial.is_empty() {
            // What was cut is not JSON; the official client reads as much as there is.
            self.content()[index]["input"] =
                serde_json::from_str(&self.partial).unwrap_or_else(|_| json!({}));
        }
    }

    /// What the client holds at the end.
    pub fn whole(self) -> (Value, Value) {
        assert!(self.is_over, "the stream ended");
        (self.message.expect("a message"), self.error)
    }
}
