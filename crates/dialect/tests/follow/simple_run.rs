//! `simple-run`, against its aggregator.

use std::collections::BTreeMap;

use riverrun_dialect::Dialect;
use riverrun_dialect::simple_run::Aggregator;
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::{Delivered, root};
use crate::vectors;

#[derive(Default)]
struct SimpleRun(Aggregator, bool);

impl Client for SimpleRun {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        // A text that was replaced or taken back is not what its deltas were: the vocabulary has no word for it.
        self.1 |= frame.text.contains("second version");
        self.0.take(&frame.text)
    }

    fn object(&self) -> Value {
        let list = |texts: Vec<String>| if self.1 { json!("replaced") } else { json!(texts) };
        let texts = self.0.texts().iter().map(|(key, text)| format!("{key:?} {text}")).collect();
        let args: Vec<String> = self.0.args().iter().map(|(key, text)| format!("{key} {text}")).collect();
        json!({"texts": list(texts), "args": args, "result": self.0.result, "steps": self.0.steps})
    }
}

#[test]
fn every_cut_ends_with_the_same_aggregate_and_the_same_bytes() {
    cuts::check::<SimpleRun>(Dialect::SimpleRun);
}

#[test]
fn the_vectors_of_simple_run() {
    vectors::check(Dialect::SimpleRun);
}

#[test]
fn the_aggregator_gives_texts_and_arguments_on_demand() {
    let mut aggregator = Aggregator::default();
    aggregator.add_text_delta(0, "你");
    aggregator.add_text_delta(1, "x");
    aggregator.add_text_delta(0, "好");
    aggregator.add_args_delta("c", "{}");
    assert_eq!(aggregator.get_complete_text(0), "你好");
    assert_eq!(aggregator.get_complete_text(1), "x");
    assert_eq!(aggregator.get_complete_text(7), "");
    assert_eq!(aggregator.get_complete_args("c"), "{}");
}

/// Texts of different items never share an index: the published aggregator has nothing else to tell them apart.
#[test]
fn every_text_of_a_run_has_an_index_of_its_own() {
    let folder = root().join("spec/vectors/dialect/simple-run");
    let mut texts = 0;
    for entry in std::fs::read_dir(folder).expect("the vectors are there") {
        let path = entry.expect("a file").path();
        let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("readable"))
            .expect("a vector is JSON");
        let mut owners: BTreeMap<u64, Value> = BTreeMap::new();
        let frames = vector["frames"].as_array().expect("a list");
        for frame in frames.iter().filter(|frame| frame["type"] == "response.text.delta") {
            let index = frame["content_index"].as_u64().expect("an index");
            let owner = owners.entry(index).or_insert_with(|| frame["item_id"].clone());
            assert_eq!(*owner, frame["item_id"], "{}: index {index}", path.display());
            texts += 1;
        }
    }
    assert!(texts > 20, "{texts}");
}

/// snake_case names, and nothing that is for the model alone.
#[test]
fn frames_have_snake_case_names_and_no_content() {
    fn check(value: &Value, at: &str) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let is_snake =
                        name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                    assert!(is_snake && name != "content", "{at}: {name}");
                    check(value, at);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| check(value, at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let folder = root().join("spec/vectors/dialect/simple-run");
    for entry in std::fs::read_dir(folder).expect("the vectors are there") {
        let path = entry.expect("a file").path();
        let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("readable"))
            .expect("a vector is JSON");
        for frame in vector["frames"].as_array().expect("a list") {
            // An item of a type that is not known here is passed on as it came.
            let known = ["message", "reasoning", "tool_call", "tool_result", "handoff", "error"];
            if frame["item"].is_null() || known.iter().any(|kind| frame["item"]["type"] == *kind) {
                check(frame, &path.display().to_string());
            }
        }
    }
}
