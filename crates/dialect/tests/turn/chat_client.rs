//! A client of Chat Completions that fails wherever an official one would.

use serde_json::{Value, json};

use crate::log::Got;

#[derive(Default)]
pub struct Client {
    id: Option<Value>,
    content: String,
    refusal: String,
    odds: Vec<Value>,
    /// What the service says of the whole; the official client takes it from the last chunk.
    fingerprint: Value,
    reasoning: String,
    calls: Vec<Value>,
    finish: Value,
    usage: Value,
    error: Value,
    is_over: bool,
}

impl Client {
    pub fn take(&mut self, got: &Got) {
        assert!(!self.is_over, "nothing comes after the end: {}", got.data);
        if got.data == "[DONE]" {
            self.is_over = true;
            return;
        }
        let chunk = got.json();
        if !chunk["error"].is_null() {
            self.error = chunk["error"].clone();
            self.is_over = true;
            return;
        }
        if self.id.is_none() {
            assert_eq!(chunk["choices"][0]["delta"]["role"], "assistant", "the role comes first");
        }
        let id = self.id.get_or_insert_with(|| chunk["id"].clone());
        assert_eq!(*id, chunk["id"], "every chunk has the same id");
        self.fingerprint = chunk["system_fingerprint"].clone();
        match chunk["choices"].as_array().map(Vec::as_slice) {
            Some([]) => self.usage = chunk["usage"].clone(),
            Some([choice]) => self.choice(choice),
            _ => panic!("one choice, or usage: {chunk}"),
        }
    }

    fn choice(&mut self, choice: &Value) {
        let delta = &choice["delta"];
        assert!(self.finish.is_null(), "there is one finish_reason, and it is last");
        self.content.push_str(delta["content"].as_str().unwrap_or_default());
        self.refusal.push_str(delta["refusal"].as_str().unwrap_or_default());
        self.odds.extend(choice["logprobs"]["content"].as_array().into_iter().flatten().cloned());
        self.reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        self.finish = choice["finish_reason"].clone();
    }

    fn call(&mut self, call: &Value) {
        let index = call["index"].as_u64().expect("a call has an index") as usize;
        if index == self.calls.len() {
            assert!(
                call["id"].is_string() && call["function"]["name"].is_string(),
                "the first has id and name"
            );
            let function = json!({"name": call["function"]["name"], "arguments": ""});
            self.calls.push(json!({"id": call["id"], "type": "function", "function": function}));
        } else {
            assert!(call["id"].is_null(), "only the first has an id");
        }
        let arguments = &mut self.calls[index]["function"]["arguments"];
        let grown = format!(
            "{}{}",
            arguments.as_str().expect("text"),
            call["function"]["arguments"].as_str().unwrap_or_default()
        );
        *arguments = grown.into();
    }

    /// What the client holds at the end.
    pub fn whole(self) -> Value {
        assert!(self.is_over, "the stream ended");
        json!({
            "content": self.content, "reasoning": self.reasoning, "calls": self.calls,
            "refusal": self.refusal, "odds": self.odds, "fingerprint": self.fingerprint,
            "finish": self.finish, "usage": self.usage, "error": self.error,
        })
    }
}
