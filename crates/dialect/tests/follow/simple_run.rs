//! `simple-run`, against its aggregator.

use riverrun_dialect::Dialect;
use riverrun_dialect::simple_run::Aggregator;
use serde_json::{Value, json};

use crate::cuts::{self, Client};
use crate::log::Delivered;
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
fn the_vectors() {
    vectors::check(Dialect::SimpleRun);
}

#[test]
fn two_items_with_the_same_index_do_not_mix() {
    let mut aggregator = Aggregator::default();
    aggregator.add_text_delta("a", 0, "你");
    aggregator.add_text_delta("b", 0, "x");
    aggregator.add_text_delta("a", 0, "好");
    aggregator.add_args_delta("c", "{}");
    assert_eq!(aggregator.get_complete_text("a", 0), "你好");
    assert_eq!(aggregator.get_complete_text("b", 0), "x");
    assert_eq!(aggregator.get_complete_text("c", 7), "");
    assert_eq!(aggregator.get_complete_args("c"), "{}");
}
