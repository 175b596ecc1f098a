//! `agents-sdk`: the three kinds of events, the closed set of names, and their order.

use riverrun_dialect::Dialect;
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::{Delivered, scenario};
use crate::vectors;

const NAMES: [(&str, &str); 11] = [
    ("message_output_created", "message_output_item"),
    ("handoff_requested", "handoff_call_item"),
    ("handoff_occured", "handoff_output_item"),
    ("tool_called", "tool_call_item"),
    ("tool_search_called", "tool_search_call_item"),
    ("tool_search_output_created", "tool_search_output_item"),
    ("tool_output", "tool_call_output_item"),
    ("reasoning_item_created", "reasoning_item"),
    ("mcp_approval_requested", "mcp_approval_request_item"),
    ("mcp_approval_response", "mcp_approval_response_item"),
    ("mcp_list_tools", "mcp_list_tools_item"),
];

#[derive(Default)]
struct AgentsSdk {
    is_open: bool,
    items: Vec<Value>,
    end: Value,
}

impl Client for AgentsSdk {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        let event: Value = serde_json::from_str(&frame.text).map_err(|error| error.to_string())?;
        let kind = event["type"].as_str().unwrap_or_default();
        if !self.is_open && kind != "agent_updated_stream_event" {
            return Err("the first event of a run is agent_updated".to_owned());
        }
        match kind {
            "agent_updated_stream_event" => self.is_open = true,
            "raw_response_event" if event["data"]["type"].is_string() => {}
            "run_item_stream_event" => {
                let (name, item) = (event["name"].as_str(), event["item"]["type"].as_str());
                if !NAMES.iter().any(|(event, of)| name == Some(event) && item == Some(of)) {
                    return Err(format!("{name:?} with {item:?} is not in the set"));
                }
                self.items.push(json!([name, event["item"]]));
            }
            "run_complete_event" => {
                self.is_open = false;
                self.end = event.clone();
            }
            other => return Err(format!("unknown event `{other}`")),
        }
        Ok(())
    }

    fn object(&self) -> Value {
        // A retracted item was an item; a reader who comes later does not see it.
        let kept: Vec<&Value> =
            self.items.iter().filter(|item| item[1]["raw_item"]["status"] != "incomplete").collect();
        json!({"items": kept, "end": self.end})
    }
}

#[test]
fn every_cut_ends_with_the_same_items_and_the_same_bytes() {
    cuts::check::<AgentsSdk>(Dialect::AgentsSdk);
}

#[test]
fn the_vectors() {
    vectors::check(Dialect::AgentsSdk);
}

/// The item events of recorded runs of the SDK, in their order.
fn names(name: &str) -> Vec<String> {
    let log = scenario(name);
    let frames = log.tail(Dialect::AgentsSdk, 0, log.turns().first().copied());
    let name = |frame: &Delivered| {
        let event: Value = serde_json::from_str(&frame.text).expect("a frame is JSON");
        match event["type"].as_str() {
            Some("agent_updated_stream_event") => Some("agent_updated".to_owned()),
            Some("run_item_stream_event") => event["name"].as_str().map(str::to_owned),
            _ => None,
        }
    };
    frames.iter().filter_map(name).collect()
}

#[test]
fn item_events_come_in_the_order_of_the_sdk() {
    let tool =
        ["agent_updated", "reasoning_item_created", "tool_called", "tool_output", "message_output_created"];
    assert_eq!(names("tool"), tool);
    let paused = ["agent_updated", "reasoning_item_created", "tool_called"];
    assert_eq!(names("approval_pending"), paused);
    // The resume begins with the agent and does not repeat the call.
    let resumed = ["agent_updated", "tool_output", "message_output_created"];
    assert_eq!(names("approval")[..3], paused);
    assert_eq!(names("approval")[3..], resumed);
}
