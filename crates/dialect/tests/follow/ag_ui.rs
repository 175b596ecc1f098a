//! AG-UI, against a client that keeps the official verifier's rules and folds as the official one does.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_dialect::Dialect;
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::Delivered;
use crate::{golden, vectors};

#[derive(Default)]
struct AgUi {
    is_begun: bool,
    is_running: bool,
    open: BTreeSet<(&'static str, String)>,
    owners: BTreeMap<String, Option<String>>,
    closed_subagents: BTreeSet<String>,
    messages: Vec<Value>,
    state: Value,
    ends: Vec<Value>,
}

const PAIRS: [(&str, &str, &str); 6] = [
    ("TEXT_MESSAGE", "START", "messageId"),
    ("REASONING", "START", "messageId"),
    ("REASONING_MESSAGE", "START", "messageId"),
    ("TOOL_CALL", "START", "toolCallId"),
    ("STEP", "STARTED", "stepName"),
    ("SUBAGENT", "STARTED", "subagentRunId"),
];

impl AgUi {
    fn text<'a>(event: &'a Value, name: &str) -> Result<&'a str, String> {
        event[name].as_str().ok_or(format!("`{name}` must be a text"))
    }

    /// Brackets by id; what is open is open once, and what is not open cannot go on.
    fn bracket(&mut self, kind: &str, event: &Value) -> Result<(), String> {
        for (family, start, member) in PAIRS {
            let Some(word) = kind.strip_prefix(family).and_then(|rest| rest.strip_prefix('_')) else {
                continue;
            };
            let Ok(id) = Self::text(event, member).map(str::to_owned) else { continue };
            let key = (family, id.clone());
            match word {
                word if word == start => {
                    if !self.open.insert(key) {
                        return Err(format!("{family} `{id}` is open"));
                    }
                    if family == "SUBAGENT" && self.closed_subagents.contains(&id) {
                        return Err(format!("sub-agent `{id}` was there before"));
                    }
                }
                "CONTENT" | "ARGS" if !self.open.contains(&key) => {
                    return Err(format!("{family} `{id}` is not open"));
                }
                "END" | "FINISHED" | "ERROR" => {
                    if !self.open.remove(&key) {
                        return Err(format!("{family} `{id}` is not open"));
                    }
                    if family == "SUBAGENT" {
                        self.closed_subagents.insert(id);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn owner(&mut self, event: &Value) -> Result<(), String> {
        let Some(tag) = event["subagentRunId"].as_str() else { return Ok(()) };
        let id = event["messageId"].as_str().or(event["toolCallId"].as_str());
        let Some(id) = id else { return Ok(()) };
        let owner = self.owners.entry(id.to_owned()).or_insert_with(|| Some(tag.to_owned()));
        if owner.as_deref() == Some(tag) {
            Ok(())
        } else {
            Err(format!("`{id}` belongs to {owner:?}, not to `{tag}`"))
        }
    }

    fn message(&mut self, id: &str, role: &str, event: &Value) -> &mut Value {
        let found = self.messages.iter().position(|message| message["id"] == id);
        let at = found.unwrap_or_else(|| {
            let mut message = json!({"id": id, "role": role});
            if let Some(tag) = event["subagentRunId"].as_str() {
                message["subagentRunId"] = json!(tag);
            }
            self.messages.push(message);
            self.messages.len() - 1
        });
        &mut self.messages[at]
    }

    fn apply(&mut self, kind: &str, event: &Value) -> Result<(), String> {
        match kind {
            "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START" => {
                let (id, role) = (Self::text(event, "messageId")?, Self::text(event, "role")?);
                let message = self.message(id, role, event);
                if message["content"].is_null() {
                    message["content"] = json!("");
                }
            }
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                let (id, delta) = (Self::text(event, "messageId")?, Self::text(event, "delta")?);
                let message = self.message(id, "", event);
                let before = message["content"].as_str().unwrap_or_default();
                message["content"] = json!(format!("{before}{delta}"));
            }
            "TOOL_CALL_START" => {
                let (id, parent) = (Self::text(event, "toolCallId")?, Self::text(event, "parentMessageId")?);
                let name = Self::text(event, "toolCallName")?;
                if self.call(id).is_none() {
                    let call =
                        json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
                    let message = self.message(parent, "assistant", event);
                    match message.get_mut("toolCalls").and_then(Value::as_array_mut) {
                        Some(calls) => calls.push(call),
                        None => message["toolCalls"] = json!([call]),
                    }
                }
            }
            "TOOL_CALL_ARGS" => {
                let delta = Self::text(event, "delta")?.to_owned();
                let call = self.call(Self::text(event, "toolCallId")?).ok_or("no such call")?;
                let before = call["function"]["arguments"].as_str().unwrap_or_default();
                call["function"]["arguments"] = json!(format!("{before}{delta}"));
            }
            "TOOL_CALL_RESULT" => {
                let id = Self::text(event, "messageId")?;
                let message = self.message(id, "tool", event);
                message["content"] = event["content"].clone();
                message["toolCallId"] = event["toolCallId"].clone();
            }
            // How a run came out is told to those who were there.
            "ACTIVITY_SNAPSHOT" if event["activityType"] != "RUN" => {
                let id = Self::text(event, "messageId")?;
                let message = self.message(id, "activity", event);
                message["content"] = event["content"].clone();
                message["activityType"] = event["activityType"].clone();
            }
            "MESSAGES_SNAPSHOT" => {
                let all = event["messages"].as_array().ok_or("no messages")?;
                let is_input =
                    |message: &Value| message["id"].as_str().is_some_and(|id| id.ends_with(".input"));
                let from = all.iter().rposition(is_input).map_or(0, |at| at + 1);
                self.messages = all[from..].to_vec();
                for message in &self.messages {
                    let tag = message["subagentRunId"].as_str().map(str::to_owned);
                    self.owners.insert(message["id"].as_str().unwrap_or_default().to_owned(), tag);
                }
            }
            "STATE_SNAPSHOT" => self.state = event["snapshot"].clone(),
            "STATE_DELTA" => {
                for operation in event["delta"].as_array().ok_or("no delta")? {
                    patch(&mut self.state, operation)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, id: &str) -> Option<&mut Value> {
        let calls =
            self.messages.iter_mut().filter_map(|message| message.get_mut("toolCalls")?.as_array_mut());
        calls.flatten().find(|call| call["id"] == id)
    }
}

fn patch(state: &mut Value, operation: &Value) -> Result<(), String> {
    let path = operation["path"].as_str().ok_or("no path")?;
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", ""));
    let at = state.pointer_mut(parent).ok_or(format!("no place `{parent}`"))?;
    match (operation["op"].as_str(), at) {
        (Some("replace"), at) if path.is_empty() => *at = operation["value"].clone(),
        (Some("add"), Value::Array(list)) if name == "-" => list.push(operation["value"].clone()),
        (Some("add" | "replace"), Value::Object(members)) => {
            members.insert(name.to_owned(), operation["value"].clone());
        }
        (Some("remove"), Value::Object(members)) => drop(members.remove(name).ok_or("nothing to remove")?),
        (word, _) => return Err(format!("cannot {word:?} at `{path}`")),
    }
    Ok(())
}

impl Client for AgUi {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        let event: Value = serde_json::from_str(&frame.text).map_err(|error| error.to_string())?;
        let members = event.as_object().ok_or("a frame is an object")?;
        if let Some((name, _)) = members.iter().find(|(name, value)| value.is_null() && *name != "snapshot") {
            return Err(format!("`{name}` is null; it must be absent"));
        }
        let kind = Self::text(&event, "type")?;
        match kind {
            "RUN_STARTED" if self.is_running => return Err("a run is active".to_owned()),
            "RUN_STARTED" => {
                (self.is_begun, self.is_running) = (true, true);
                self.closed_subagents.clear();
                self.owners.clear();
            }
            _ if !self.is_begun => return Err("the first event must be RUN_STARTED".to_owned()),
            _ if !self.is_running => return Err("the run is over".to_owned()),
            "RUN_FINISHED" => {
                if let Some(open) = self.open.first() {
                    return Err(format!("{open:?} is open"));
                }
                self.is_running = false;
                self.ends.push(event.clone());
            }
            "RUN_ERROR" => {
                self.open.clear();
                self.is_running = false;
                self.ends.push(event.clone());
            }
            _ => {
                self.owner(&event)?;
                self.bracket(kind, &event)?;
                self.apply(kind, &event)?;
            }
        }
        Ok(())
    }

    fn object(&self) -> Value {
        let mut end = self.ends.last().cloned().unwrap_or_default();
        if let Some(members) = end.as_object_mut() {
            members.remove("timestamp");
        }
        let (own, below): (Vec<&Value>, Vec<&Value>) =
            self.messages.iter().partition(|message| message["subagentRunId"].is_null());
        // Sub-agents run side by side, so only the order within one of them is told the same way every time.
        let mut by_agent: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for message in below {
            by_agent.entry(message["subagentRunId"].to_string()).or_default().push(message);
        }
        json!({"messages": own, "below": by_agent, "state": self.state, "end": end, "isRunning": self.is_running})
    }
}

#[test]
fn every_cut_ends_with_the_same_messages_and_the_same_bytes() {
    cuts::check::<AgUi>(Dialect::AgUi);
}

#[test]
fn one_stream_may_carry_several_runs() {
    cuts::check_session::<AgUi>(Dialect::AgUi);
}

#[test]
fn the_vectors() {
    vectors::check(Dialect::AgUi);
}

/// Steps, shared state, activities and custom events are the script's own in the transcripts; ours come from elsewhere.
fn is_elsewhere(shape: &str) -> bool {
    ["type=STEP_", "type=STATE_", "type=ACTIVITY_", "type=CUSTOM"].iter().any(|word| shape.contains(word))
}

/// We say the protocol's version, the tokens that were used and what the action is about besides.
fn without_extras(event: &mut Value) {
    if let Some(members) = event.as_object_mut() {
        members.remove("protocolVersion");
        members.remove("usage");
        if let Some(result) = members.get_mut("result") {
            *result = Value::Null;
        }
    }
    if let Some(interrupt) = event.pointer_mut("/outcome/interrupts/0").and_then(Value::as_object_mut) {
        interrupt.remove("metadata");
    }
}

#[test]
fn transcripts_that_the_official_client_took_have_the_same_events() {
    let pairs =
        [("agui_text.sse", "text"), ("agui_tool.sse", "tool"), ("agui_approval.sse", "approval_pending")];
    for (transcript, scenario) in pairs {
        golden::check(Dialect::AgUi, transcript, scenario, is_elsewhere, without_extras);
    }
}
