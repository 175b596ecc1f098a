//! What the JSON scanner costs beside `serde_json`. Run alone for nanoseconds, or under callgrind for instructions.
//!
//! `valgrind --tool=callgrind target/release/examples/scan_cost NAME PASSES`, with two numbers of passes: the
//! difference is the cost.

use std::hint::black_box;
use std::time::Instant;

use riverrun_event::json::{self, Limits};
use serde::de::IgnoredAny;
use serde_json::Value;

const EVENT: &str = r#"{"type":"model.delta","turnId":"turn_0000000001","taskId":"task_0000000001","payload":{"delta":"hello river, this is one small piece of text ","itemId":"item_000001","outputIndex":0,"blockIndex":0}}"#;

type Reader = fn(&[u8]) -> usize;

/// Each checks the text of one event; the names say what it has to offer then.
const READERS: &[(&str, Reader)] = &[
    // Grammar, UTF-8, depth, nodes, repeated keys, surrogates, numbers; the text without white space.
    ("scanner", |text| json::compact_text(text, &Limits::default()).expect("JSON").len()),
    // Grammar alone.
    ("serde-ignored", |text| serde_json::from_slice::<IgnoredAny>(text).map(|_| text.len()).expect("JSON")),
    // Grammar and UTF-8; repeated keys and the text of numbers are lost.
    ("serde-value", |text| serde_json::from_slice::<Value>(text).expect("JSON").to_string().len()),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next();
    let passes: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(200_000);
    for (name, read) in READERS.iter().filter(|(name, _)| wanted.as_deref().is_none_or(|one| one == *name)) {
        let start = Instant::now();
        for _ in 0..passes {
            black_box(read(black_box(EVENT.as_bytes())));
        }
        println!("{name:14} {:6} ns", start.elapsed().as_nanos() / u128::from(passes.max(1)));
    }
}
