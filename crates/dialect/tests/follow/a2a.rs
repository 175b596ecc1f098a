//! A2A, against a fold of its task.

use std::collections::BTreeMap;

use riverrun_dialect::{Dialect, a2a};
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::Delivered;
use crate::{golden, vectors};

#[derive(Default)]
struct A2a {
    task: Option<Value>,
    artifacts: BTreeMap<String, Vec<Value>>,
    status: Value,
}

impl Client for A2a {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        let result: Value = serde_json::from_str(&frame.text).map_err(|error| error.to_string())?;
        let members = result.as_object().ok_or("a result is an object")?;
        let (kind, body) =
            members.iter().next().filter(|_| members.len() == 1).ok_or("exactly one member")?;
        match kind.as_str() {
            "task" => self.task = Some(body.clone()),
            _ if self.task.is_none() => return Err("the task comes first".to_owned()),
            "statusUpdate" => self.status = body["status"].clone(),
            "artifactUpdate" => {
                let id = body["artifact"]["artifactId"].as_str().ok_or("an artifact has an id")?;
                let parts = body["artifact"]["parts"].as_array().ok_or("an artifact has parts")?;
                let known = self.artifacts.entry(id.to_owned()).or_default();
                if body["append"] != true {
                    known.clear();
                }
                known.extend(parts.iter().cloned());
            }
            other => return Err(format!("unknown result `{other}`")),
        }
        Ok(())
    }

    fn object(&self) -> Value {
        let mut status = self.status.clone();
        if let Some(members) = status.as_object_mut() {
            members.remove("timestamp");
        }
        let text = |parts: &Vec<Value>| {
            let texts: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            let others: Vec<&Value> = parts.iter().filter(|part| part["text"].is_null()).collect();
            json!([texts, others])
        };
        // What was taken back stays with those who saw it: the protocol has no word for it.
        let kept = self.artifacts.iter().filter(|(_, parts)| parts[0]["text"] != "a wrong word");
        let artifacts: BTreeMap<&String, Value> = kept.map(|(id, parts)| (id, text(parts))).collect();
        json!({"artifacts": artifacts, "status": status})
    }
}

#[test]
fn every_cut_ends_with_the_same_task_and_the_same_bytes() {
    cuts::check::<A2a>(Dialect::A2a);
}

#[test]
fn the_vectors() {
    vectors::check(Dialect::A2a);
}

/// The transcript is inside JSON-RPC answers, marks the last delta itself, and has no times.
fn inside(answer: &mut Value) {
    if let Some(result) = answer.get_mut("result") {
        *answer = result.take();
    }
    if let Some(status) = answer.pointer_mut("/statusUpdate/status").and_then(Value::as_object_mut) {
        status.remove("timestamp");
    }
    if answer["artifactUpdate"]["artifact"]["parts"][0]["text"] == "" {
        *answer = json!("last");
    }
}

#[test]
fn the_transcript_that_the_official_client_took_has_the_same_results() {
    golden::check(Dialect::A2a, "a2a.sse", "text", |shape| shape.trim().is_empty(), inside);
}

#[test]
fn an_envelope_is_a_json_rpc_answer() {
    let answer: Value = serde_json::from_str(&a2a::envelope("7", r#"{"task":{}}"#)).expect("it is JSON");
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 7, "result": {"task": {}}}));
    let answer: Value =
        serde_json::from_str(&a2a::error_envelope("\"a\"", -32001, "no \"x\"")).expect("it is JSON");
    assert_eq!(answer["error"], json!({"code": -32001, "message": "no \"x\""}));
}
