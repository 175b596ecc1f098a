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

    fn unnumbered(frame: &Delivered) -> Delivered {
        let mut event: Value = serde_json::from_str(&frame.text).expect("a frame is JSON");
        if event["rebuilt"] == true {
            event["data"]["sequence_number"] = json!(null);
        }
        Delivered { text: event.to_string(), ..frame.clone() }
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
fn the_vectors_of_agents_sdk() {
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

/// The frames of a scenario as JSON.
fn told(name: &str) -> Vec<Value> {
    let log = scenario(name);
    let frames = log.tail(Dialect::AgentsSdk, 0, log.turns().first().copied());
    frames.iter().map(|frame| serde_json::from_str(&frame.text).expect("a frame is JSON")).collect()
}

/// Each frame in a word: the type of a raw event, the name of an item's, `agent_updated NAME`.
fn words(name: &str) -> Vec<String> {
    let word = |frame: &Value| match frame["type"].as_str() {
        Some("raw_response_event") => frame["data"]["type"].as_str().unwrap_or_default().to_owned(),
        Some("run_item_stream_event") => frame["name"].as_str().unwrap_or_default().to_owned(),
        Some("agent_updated_stream_event") => {
            format!("agent_updated {}", frame["new_agent"]["name"].as_str().unwrap_or_default())
        }
        _ => "run_complete".to_owned(),
    };
    told(name).iter().map(word).collect()
}

#[test]
fn all_eleven_names_are_emitted() {
    let mut seen: Vec<String> =
        ["tool", "handoff", "provider_items"].iter().flat_map(|name| names(name)).collect();
    seen.retain(|name| name != "agent_updated");
    seen.sort();
    seen.dedup();
    let mut all: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    all.sort();
    assert_eq!(seen, all);
}

#[test]
fn raw_events_of_a_known_type_pass_unchanged() {
    let told = told("provider_items");
    let raw = told.iter().find(|frame| frame["data"]["type"] == "response.web_search_call.searching");
    let data = json!({
        "type": "response.web_search_call.searching", "item_id": "ws1", "output_index": 5, "sequence_number": 12,
    });
    assert_eq!(raw.expect("it is told"), &json!({"type": "raw_response_event", "data": data}));
}

#[test]
fn raw_events_of_an_unknown_type_pass_byte_by_byte() {
    let log = scenario("provider_items");
    let frames = log.tail(Dialect::AgentsSdk, 0, log.turns().first().copied());
    let found = frames.iter().find(|frame| frame.text.contains("of_next_year")).expect("it is told");
    let expected = "{\"data\":{\"type\":\"response.of_next_year.delta\",\"b\":[1,2.50,{\"z\":\"é\"}],\"a\":null},\
                    \"type\":\"raw_response_event\"}";
    assert_eq!(found.text, expected);
}

#[test]
fn a_model_call_is_emitted_from_creation_to_end_then_its_items() {
    let call = [
        "agent_updated A",
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
        "handoff_requested",
    ];
    assert_eq!(words("handoff")[..9], call);
    let failed = words("error");
    assert_eq!(failed[failed.len() - 2..], ["response.failed", "run_complete"]);
    assert!(!failed.iter().any(|word| word == "response.completed" || word == "reasoning_item_created"));
    assert!(
        !words("cancel").iter().any(|word| word == "response.completed"),
        "what is broken off has no end"
    );
}

#[test]
fn a_handoff_is_requested_occurs_and_changes_the_agent() {
    let told = words("handoff");
    let items: Vec<&str> =
        told.iter().map(String::as_str).filter(|word| !word.starts_with("response.")).collect();
    let expected = [
        "agent_updated A",
        "handoff_requested",
        "handoff_occured",
        "agent_updated B",
        "message_output_created",
        "run_complete",
    ];
    assert_eq!(items, expected);
}

#[test]
fn a_handoff_is_not_also_a_tool_call() {
    let told = words("handoff");
    assert!(!told.iter().any(|word| word == "tool_called" || word == "tool_output"), "{told:?}");
    // One that is refused was a call like any other.
    let lines =
        std::fs::read_to_string(crate::log::root().join("spec/vectors/dialect/scenarios/handoff.ndjson"));
    let refused =
        lines.expect("the scenario is there").replace("\"content\":[", "\"isError\":true,\"content\":[");
    let refused: Vec<&str> =
        refused.lines().filter(|line| !line.contains("\"h1\"") && !line.contains("\"from\":\"A\"")).collect();
    let log = crate::log::Log::of(refused);
    let frames = log.tail(Dialect::AgentsSdk, 0, log.turns().first().copied());
    let names: Vec<Value> = frames
        .iter()
        .map(|frame| serde_json::from_str::<Value>(&frame.text).expect("JSON")["name"].clone())
        .collect();
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    assert_eq!(names, ["tool_called", "tool_output", "message_output_created"]);
}

#[test]
fn only_the_last_event_marks_the_run_complete() {
    for name in ["text", "tool", "error", "cancel", "handoff", "approval_pending"] {
        let told = told(name);
        let (last, before) = told.split_last().expect("there are events");
        assert_eq!(last["is_complete"], true, "{name}");
        assert!(before.iter().all(|frame| frame.get("is_complete").is_none()), "{name}");
    }
}

#[test]
fn there_is_no_final_output_before_the_end() {
    let told = told("approval");
    let outputs: Vec<&Value> = told.iter().filter_map(|frame| frame.get("final_output")).collect();
    assert_eq!(outputs.len(), 2, "one at the pause and one at the end");
    assert!(outputs[0].is_null() && outputs[1].is_string(), "{outputs:?}");
    assert!(told.last().is_some_and(|frame| frame["final_output"].is_string()));
}

/// The raw events of each model call that was rebuilt.
fn calls(name: &str) -> Vec<Vec<Value>> {
    let mut calls: Vec<Vec<Value>> = Vec::new();
    for frame in told(name).iter().filter(|frame| frame["rebuilt"] == true) {
        if frame["data"]["type"] == "response.created" {
            calls.push(Vec::new());
        }
        calls.last_mut().expect("a call is created first").push(frame["data"].clone());
    }
    calls
}

#[test]
fn rebuilt_events_are_numbered_from_zero_in_each_response() {
    for name in ["text", "tool", "handoff", "parallel_tools", "approval", "retraction"] {
        let calls = calls(name);
        assert!(!calls.is_empty(), "{name}");
        for call in calls {
            let numbers: Vec<&Value> = call.iter().map(|event| &event["sequence_number"]).collect();
            let counted: Vec<Value> = (0..call.len()).map(|number| json!(number)).collect();
            assert_eq!(numbers, counted.iter().collect::<Vec<_>>(), "{name}");
            let output = call.last().map(|last| last["response"]["output"].clone()).unwrap_or_default();
            for event in call.iter().filter(|event| event["type"] == "response.output_item.done") {
                let index = event["output_index"].as_u64().expect("a number") as usize;
                assert!(output.is_null() || output[index]["id"] == event["item"]["id"], "{name}: {event}");
            }
        }
    }
}

/// A turn whose service searched the web; the events of the service are in the log.
fn service_log(terminal: &Value) -> (Vec<Value>, crate::log::Log) {
    let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed"});
    let call =
        json!({"id": "fc_1", "type": "function_call", "name": "f", "call_id": "c_1", "arguments": "{}"});
    let response = json!({"id": "resp_1", "model": "gpt", "status": "in_progress", "output": []});
    let sent = vec![
        json!({"type": "response.created", "response": response, "sequence_number": 0}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": search, "sequence_number": 1}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": search, "sequence_number": 2}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": call, "sequence_number": 3}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1",
               "delta": "{}", "obfuscation": "x", "sequence_number": 4}),
        json!({"type": "response.of_next_year", "new": [1.5], "sequence_number": 5}),
        terminal.clone(),
    ];
    let scope = json!({"threadId": "main", "turnId": "turn_1", "taskId": "turn_1"});
    let event = |kind: &str, payload: Value| {
        let mut event = scope.clone();
        (event["type"], event["payload"]) = (json!(kind), payload);
        event.to_string()
    };
    let mut writer = riverrun_event::ServiceStream::default();
    let mut lines = vec![
        event("turn.submitted", json!({"input": "x"})),
        event("turn.started", json!({"agent": "A"})),
        event("model.requested", json!({})),
    ];
    for one in &sent {
        let mut members = one.as_object().expect("an object").clone();
        let delta = members.remove("delta");
        match delta.as_ref().and_then(Value::as_str) {
            Some(delta) => {
                let carried = riverrun_event::SentText { bytes: delta.len(), members };
                let growth = riverrun_event::Growth::Arguments;
                let sent = writer.record_text(growth, delta, Some(vec![carried]));
                let args =
                    json!({"delta": delta, "itemId": "i2", "outputIndex": 1, "callId": "c_1", "sent": sent});
                lines.push(event("tool.args", args));
            }
            None => lines.extend(
                writer
                    .record(one)
                    .iter()
                    .map(|raw| event("model.raw", serde_json::to_value(raw).expect("JSON"))),
            ),
        }
        match (one["type"].as_str(), one["output_index"].as_u64()) {
            (Some("response.output_item.added"), Some(0)) => {
                let item =
                    json!({"type": "hosted", "id": "i1", "dialect": "responses", "kind": "web_search_call"});
                lines.push(event("item.started", json!({"item": item, "outputIndex": 0})));
                let block = json!({"type": "json", "data": search, "tags": ["begun"]});
                let updated = json!({"itemId": "i1", "outputIndex": 0, "blockIndex": 0, "block": block, "change": "done"});
                lines.push(event("item.updated", updated));
                let patch = json!({"type": "hosted", "id": "i1"});
                lines.push(event("item.completed", json!({"itemId": "i1", "outputIndex": 0, "item": patch})));
            }
            (Some("response.output_item.added"), Some(1)) => {
                let item = json!({"type": "function_call", "id": "i2", "callId": "c_1", "name": "f", "arguments": ""});
                lines.push(event("item.started", json!({"item": item, "outputIndex": 1})));
            }
            _ => {}
        }
    }
    let patch = json!({"type": "function_call", "id": "i2", "status": "completed"});
    lines.push(event("item.completed", json!({"itemId": "i2", "outputIndex": 1, "item": patch})));
    lines.push(event("model.completed", json!({})));
    (sent, crate::log::Log::of(lines.iter().map(String::as_str)))
}

fn frames_of(log: &crate::log::Log) -> Vec<Value> {
    let frames = log.tail(Dialect::AgentsSdk, 0, log.turns().first().copied());
    frames.iter().map(|frame| serde_json::from_str(&frame.text).expect("JSON")).collect()
}

#[test]
fn service_events_are_forwarded_unchanged() {
    let completed = json!({"type": "response.completed", "sequence_number": 6,
        "response": {"id": "resp_1", "model": "gpt", "status": "completed", "usage": {"total_tokens": 3}}});
    let (sent, log) = service_log(&completed);
    let told = frames_of(&log);
    let raw: Vec<&Value> = told
        .iter()
        .filter(|frame| frame["type"] == "raw_response_event")
        .map(|frame| &frame["data"])
        .collect();
    assert_eq!(raw, sent.iter().collect::<Vec<_>>());
    assert!(told.iter().all(|frame| frame.get("rebuilt").is_none()), "{told:#?}");
}

#[test]
fn a_reader_that_comes_in_the_middle_gets_a_rebuilt_call() {
    let (_, log) = service_log(&json!({"type": "response.failed", "response": {}, "sequence_number": 6}));
    let turn = log.turns().first().copied();
    for after in 0..log.len() {
        let tail = log.tail(Dialect::AgentsSdk, after, turn);
        for frame in tail.iter().filter(|frame| frame.text.contains("raw_response_event")) {
            assert!(after < 4 || frame.text.contains("\"rebuilt\":true"), "{after}: {}", frame.text);
        }
    }
}
