//! A client of Gemini that fails wherever an official one would.

use serde_json::{Value, json};

use crate::log::Got;

#[derive(Default)]
pub struct Client {
    text: String,
    thoughts: String,
    signatures: Vec<Value>,
    calls: Vec<Value>,
    finish: Value,
    usage: Value,
    error: Value,
}

pub fn token(frame: &Got) -> Option<String> {
    frame.json()["candidates"][0]["continuationToken"].as_str().map(str::to_owned)
}

impl Client {
    pub fn take(&mut self, got: &Got) {
        assert!(self.finish.is_null() && self.error.is_null(), "nothing comes after the end: {}", got.data);
        let response = got.json();
        if !response["error"].is_null() {
            self.error = response["error"].clone();
            return;
        }
        let candidate = &response["candidates"][0];
        for part in candidate["content"]["parts"].as_array().expect("parts are a list") {
            self.part(part);
        }
        self.finish = candidate["finishReason"].clone();
        if !self.finish.is_null() {
            assert!(token(got).is_none(), "the last chunk has no token");
            self.usage = response["usageMetadata"].clone();
        }
    }

    fn part(&mut self, part: &Value) {
        let text = part["text"].as_str().unwrap_or_default();
        match part["thought"] == true {
            true => self.thoughts.push_str(text),
            false => self.text.push_str(text),
        }
        if !part["thoughtSignature"].is_null() {
            self.signatures.push(part["thoughtSignature"].clone());
        }
        if !part["functionCall"].is_null() {
            assert!(part["functionCall"]["args"].is_object(), "arguments are an object");
            self.calls.push(part["functionCall"].clone());
        }
    }

    /// What the client holds at the end.
    pub fn whole(self) -> Value {
        assert!(!self.finish.is_null() || !self.error.is_null(), "the stream ended");
        json!({
            "text": self.text, "thoughts": self.thoughts, "signatures": self.signatures, "calls": self.calls,
            "finish": self.finish, "usage": self.usage, "error": self.error,
        })
    }
}
