//! What it costs to take one event in: check, decode, store. Run under callgrind, or alone for nanoseconds.
//!
//! `valgrind --tool=callgrind target/release/examples/decode_cost 2000`

use std::hint::black_box;
use std::time::Instant;

use riverrun_event::{Composer, Record, Sequence, SessionId, Timestamp, decode, json, write_record};

const EVENT: &str = r#"{"type":"model.delta","turnId":"turn_0000000001","taskId":"task_0000000001","payload":{"delta":"hello river, this is one small piece of text ","itemId":"item_000001","outputIndex":0,"blockIndex":0}}"#;

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let composer = Composer::new(&SessionId::new("ses_1").expect("a good id"), 7);
    let limits = json::JsonLimits::default();
    let (mut record, mut wire) = (Vec::new(), String::new());
    let mut spent = [0_u128; 4];
    for n in 1..=count {
        let start = Instant::now();
        let text = json::compact(black_box(EVENT.as_bytes()), &limits).expect("JSON");
        let checked = Instant::now();
        let decoded = decode(&text).expect("an event");
        let read = Instant::now();
        record.clear();
        write_record(&decoded.draft, Timestamp::from_millis(1_800_000_000_000), &mut record);
        let stored = Instant::now();
        wire.clear();
        let record = Record::read(&record).expect("a record");
        composer.write(&record, Sequence::new(n).expect("small"), &mut wire);
        black_box(&wire);
        for (sum, (from, to)) in spent.iter_mut().zip([
            (start, checked),
            (checked, read),
            (read, stored),
            (stored, Instant::now()),
        ]) {
            *sum += (to - from).as_nanos();
        }
    }
    for (name, sum) in ["check", "decode", "store", "compose"].iter().zip(spent) {
        println!("{name:8} {:6} ns", sum / u128::from(count));
    }
}
