//! The vectors of `spec/vectors/runner/history`.

use std::collections::BTreeSet;
use std::path::Path;

use riverrun_event::{Input, Item, Part};
use riverrun_provider::HistoryEntry;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Making, items, pair, user};

#[derive(Deserialize)]
struct Vector {
    turns: Vec<Told>,
    expected: Vec<Value>,
}

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    history: Vec<Item>,
    input: Option<Input>,
    output: Vec<Item>,
    #[serde(default)]
    retracted: BTreeSet<usize>,
}

#[test]
fn every_vector_gives_the_history_that_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/runner/history");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Vector = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut out = Vec::new();
        for turn in &vector.turns {
            items(&turn.history, |_| false, &Making::Past, &mut out);
            turn.input.iter().for_each(|input| user(input, &mut out));
            items(&turn.output, |position| turn.retracted.contains(&position), &Making::Past, &mut out);
        }
        let found: Vec<Value> = pair(out).iter().map(short).collect();
        assert_eq!(found, vector.expected, "{}", path.display());
        count += 1;
    }
    assert!(count >= 12, "only {count} vectors");
}

fn short(entry: &HistoryEntry) -> Value {
    let text = |parts: &[Part]| parts.iter().filter_map(Part::text).collect::<String>();
    match entry {
        HistoryEntry::System { text } => json!(["system", text]),
        HistoryEntry::User { parts } => json!(["user", text(parts)]),
        HistoryEntry::Assistant { parts, .. } => json!(["assistant", text(parts)]),
        HistoryEntry::Reasoning { provider, .. } => json!(["reasoning", provider]),
        HistoryEntry::ToolCall { call_id, arguments, .. } => json!(["call", call_id, arguments]),
        HistoryEntry::Hosted { provider, object } => json!(["hosted", provider, object]),
        HistoryEntry::Given { object } => json!(["given", object]),
        HistoryEntry::ToolResult { call_id, parts, is_error, .. } => {
            json!(["result", call_id, text(parts), is_error])
        }
    }
}
