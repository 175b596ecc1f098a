//! The AI SDK's UI message stream, against a client that builds a message by the official reader's rules.

use std::collections::BTreeMap;

use riverrun_dialect::Dialect;
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::Delivered;
use crate::{golden, vectors};

#[derive(Default)]
struct AiSdk {
    id: Option<String>,
    parts: Vec<Value>,
    /// Text and reasoning parts that may grow, by kind and id.
    open: BTreeMap<(String, String), usize>,
    end: Value,
    is_done: bool,
}

impl AiSdk {
    fn text<'a>(chunk: &'a Value, name: &str) -> Result<&'a str, String> {
        chunk[name].as_str().ok_or(format!("`{name}` must be a text"))
    }

    fn tool(&mut self, chunk: &Value) -> Result<&mut Value, String> {
        let id = Self::text(chunk, "toolCallId")?;
        self.parts.iter_mut().find(|part| part["toolCallId"] == id).ok_or(format!("there is no call `{id}`"))
    }

    /// `text-start`, `reasoning-delta`, …
    fn stream(&mut self, kind: &str, word: &str, chunk: &Value) -> Result<(), String> {
        let id = Self::text(chunk, "id")?.to_owned();
        let key = (kind.to_owned(), id.clone());
        if word == "start" {
            self.open.insert(key, self.parts.len());
            self.parts.push(json!({"type": kind, "id": id, "text": "", "state": "streaming"}));
            return Ok(());
        }
        let at = *self.open.get(&key).ok_or(format!("{kind} part `{id}` was not started"))?;
        let part = &mut self.parts[at];
        if word == "end" {
            self.open.remove(&key);
            part["state"] = json!("done");
            if !chunk["providerMetadata"].is_null() {
                part["providerMetadata"] = chunk["providerMetadata"].clone();
            }
        } else {
            let text =
                format!("{}{}", part["text"].as_str().unwrap_or_default(), Self::text(chunk, "delta")?);
            part["text"] = json!(text);
        }
        Ok(())
    }

    fn call(&mut self, kind: &str, chunk: &Value) -> Result<(), String> {
        let id = Self::text(chunk, "toolCallId")?;
        if kind == "tool-input-start" {
            let name = Self::text(chunk, "toolName")?;
            let part = json!({"type": format!("tool-{name}"), "toolCallId": id, "state": "input-streaming", "written": ""});
            self.parts.push(part);
            return Ok(());
        }
        let part = self.tool(chunk)?;
        let state = match kind {
            "tool-input-delta" => {
                let written = part["written"].as_str().unwrap_or_default();
                part["written"] = json!(format!("{written}{}", Self::text(chunk, "inputTextDelta")?));
                "input-streaming"
            }
            "tool-input-available" => {
                part["input"] = chunk["input"].clone();
                "input-available"
            }
            "tool-input-error" | "tool-output-error" => {
                part["errorText"] = chunk["errorText"].clone();
                "output-error"
            }
            "tool-approval-request" => {
                part["approval"] = json!({"id": chunk["approvalId"]});
                "approval-requested"
            }
            "tool-output-available" => {
                part["output"] = chunk["output"].clone();
                "output-available"
            }
            "tool-output-denied" => "output-denied",
            other => return Err(format!("unknown chunk `{other}`")),
        };
        part["state"] = json!(state);
        Ok(())
    }

    fn approved(&mut self, chunk: &Value) -> Result<(), String> {
        let id = Self::text(chunk, "approvalId")?;
        let is_asked = |part: &&mut Value| part["approval"]["id"] == id;
        let part = self.parts.iter_mut().find(is_asked).ok_or(format!("nobody asked `{id}`"))?;
        part["approval"] = json!({"id": id, "approved": chunk["approved"], "reason": chunk["reason"]});
        part["state"] = json!("approval-responded");
        Ok(())
    }

    fn data(&mut self, kind: &str, chunk: &Value) {
        if chunk["transient"] == true {
            return;
        }
        match kind {
            "data-riverrun-replaced" => {
                for part in self.parts.iter_mut().filter(|part| part["id"] == chunk["id"]) {
                    part["text"] = chunk["data"]["text"].clone();
                }
            }
            "data-riverrun-retracted" => self.parts.retain(|part| part["id"] != chunk["data"]["itemId"]),
            _ => {
                let part = json!({"type": kind, "id": chunk["id"], "data": chunk["data"]});
                let same = |known: &&mut Value| known["type"] == kind && known["id"] == chunk["id"];
                match self.parts.iter_mut().find(same) {
                    Some(known) => *known = part,
                    None => self.parts.push(part),
                }
            }
        }
    }
}

impl Client for AiSdk {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        if frame.is_marker {
            self.is_done = true;
            return if frame.text == "[DONE]" { Ok(()) } else { Err("an unknown marker".to_owned()) };
        }
        let chunk: Value = serde_json::from_str(&frame.text).map_err(|error| error.to_string())?;
        let kind = Self::text(&chunk, "type")?.to_owned();
        if self.id.is_none() && kind != "start" {
            return Err("a replay must begin with `start`".to_owned());
        }
        let streamed = ["text", "reasoning"].iter().find_map(|family| {
            let word = kind.strip_prefix(family)?.strip_prefix('-')?;
            ["start", "delta", "end"].contains(&word).then_some((*family, word.to_owned()))
        });
        if let Some((family, word)) = streamed {
            return self.stream(family, &word, &chunk);
        }
        match kind.as_str() {
            "start" => {
                let id = Self::text(&chunk, "messageId")?.to_owned();
                // Another message is another turn: the client begins a new one.
                if self.id.as_ref().is_some_and(|known| *known != id) {
                    *self = Self::default();
                }
                (self.id, self.is_done) = (Some(id), false);
            }
            "start-step" => self.parts.push(json!({"type": "step-start"})),
            "finish-step" => self.open.clear(),
            "tool-approval-response" => self.approved(&chunk)?,
            "source-url" | "source-document" | "file" => self.parts.push(chunk.clone()),
            "finish" | "abort" | "error" => self.end = chunk.clone(),
            kind if kind.starts_with("data-") => self.data(kind, &chunk),
            kind if kind.starts_with("tool-") => self.call(kind, &chunk)?,
            other => return Err(format!("unknown chunk `{other}`")),
        }
        Ok(())
    }

    /// Parts that are not of the root task come when their sub-task moves; the rest is in order.
    fn object(&self) -> Value {
        let is_aside = |part: &&Value| {
            part["type"].as_str().is_some_and(|kind| kind.starts_with("data-") || kind.starts_with("source-"))
        };
        let (mut aside, own): (Vec<&Value>, Vec<&Value>) = self.parts.iter().partition(is_aside);
        aside.sort_by_key(|part| part.to_string());
        json!({"id": self.id, "parts": own, "aside": aside, "end": self.end, "isDone": self.is_done})
    }
}

#[test]
fn every_cut_ends_with_the_same_message_and_the_same_bytes() {
    cuts::check::<AiSdk>(Dialect::AiSdk);
}

#[test]
fn one_turn_follows_the_other() {
    cuts::check_session::<AiSdk>(Dialect::AiSdk);
}

#[test]
fn the_vectors() {
    vectors::check(Dialect::AiSdk);
}

/// The transcripts carry a script's own data parts.
fn is_data(shape: &str) -> bool {
    shape.contains("type=data-")
}

/// Our input is always announced, and a finished answer says the tokens that were used.
fn without_extras(chunk: &mut Value) {
    if chunk["type"] == "tool-approval-request" || chunk["type"] == "finish" {
        let members = chunk.as_object_mut().expect("a chunk is an object");
        members.remove("reason");
        members.remove("messageMetadata");
    }
    if chunk["type"] == "tool-output-available" {
        chunk["output"] = Value::Null;
    }
}

#[test]
fn transcripts_that_the_official_client_took_have_the_same_chunks() {
    let pairs = [
        ("vercel_text.sse", "text"),
        ("vercel_tool.sse", "tool"),
        ("vercel_approval.sse", "approval_pending"),
    ];
    for (transcript, scenario) in pairs {
        let is_announced = |shape: &str| {
            let is_input = shape.contains("type=tool-input-start") || shape.contains("type=tool-input-delta");
            is_data(shape) || (scenario == "approval_pending" && is_input)
        };
        golden::check(Dialect::AiSdk, transcript, scenario, is_announced, without_extras);
    }
    // The transcript of the failure leaves its text open; ours ends it before the error.
    let is_end = |shape: &str| is_data(shape) || shape.contains("type=text-end");
    golden::check(Dialect::AiSdk, "vercel_error.sse", "error", is_end, without_extras);
}
