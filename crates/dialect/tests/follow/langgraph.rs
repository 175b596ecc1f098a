//! LangGraph's classic stream, against a small fold of its messages.

use std::collections::BTreeMap;

use riverrun_dialect::Dialect;
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::Delivered;
use crate::{golden, vectors};

#[derive(Default)]
struct LangGraph {
    is_open: bool,
    messages: BTreeMap<String, (String, String)>,
    values: Value,
    end: String,
}

impl Client for LangGraph {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        let data: Value = serde_json::from_str(&frame.text).map_err(|error| error.to_string())?;
        match frame.name.as_str() {
            "metadata" if !self.is_open => self.is_open = true,
            _ if !self.is_open => return Err("the first event is `metadata`".to_owned()),
            "messages" => {
                let id = data[0]["id"].as_str().ok_or("a message has an id")?;
                let (text, args) = self.messages.entry(id.to_owned()).or_default();
                text.push_str(data[0]["content"].as_str().ok_or("a message has a content")?);
                args.push_str(data[0]["tool_call_chunks"][0]["args"].as_str().unwrap_or_default());
            }
            "values" => self.values = data,
            "end" | "error" => {
                self.is_open = false;
                self.end = format!("{} {data}", frame.name);
            }
            other => return Err(format!("unknown event `{other}`")),
        }
        Ok(())
    }

    fn object(&self) -> Value {
        // What was replaced or taken back stands right in `values`, which is the graph's state.
        let is_appended = !self.values.to_string().contains("second version");
        let messages = is_appended.then(|| json!(self.messages));
        json!({"messages": messages, "values": self.values, "end": self.end})
    }
}

#[test]
fn every_cut_ends_with_the_same_values_and_the_same_bytes() {
    cuts::check::<LangGraph>(Dialect::LangGraph);
}

#[test]
fn the_vectors() {
    vectors::check(Dialect::LangGraph);
}

#[test]
fn the_transcript_that_the_official_client_took_has_the_same_events() {
    // The transcript has no reasoning, and its state does not say what the user said.
    let is_reasoning = |shape: &str| shape.contains("reasoning_content");
    let of_agents = |value: &mut serde_json::Value| {
        if let Some(messages) = value.get_mut("messages").and_then(|messages| messages.as_array_mut()) {
            messages.retain(|message| message["type"] != "human");
        }
    };
    golden::check(Dialect::LangGraph, "langgraph.sse", "text", is_reasoning, of_agents);
}
