//! The golden vectors of `spec/vectors/decode`: what a producer sent, and what the tolerant decoder makes of it.

use std::fs;
use std::path::{Path, PathBuf};

use riverrun_event::{Composer, Record, Sequence, SessionId, Timestamp, decode, json, write_record};
use serde_json::{Value, json};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/decode");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("spec/vectors/decode is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// What comes of a text: `{"event": …}` or `{"error": …}`.
fn run(input: &str) -> Value {
    let compact = match json::compact(input.as_bytes(), &json::JsonLimits::default()) {
        Ok(compact) => compact,
        Err(error) => return json!({"error": {"code": error.code()}}),
    };
    match decode(&compact) {
        Err(error) => {
            let mut out = json!({"error": {"code": error.code()}});
            if let Some(field) = error.field() {
                out["error"]["field"] = json!(field);
            }
            out
        }
        Ok(decoded) => {
            let mut bytes = Vec::new();
            write_record(&decoded.draft, Timestamp::default(), &mut bytes);
            let record = Record::read(&bytes).expect("what was written reads back");
            let session = SessionId::new("ses_1").expect("an id");
            let mut wire = String::new();
            Composer::new(&session, 0).write(&record, Sequence::new(1).expect("small"), &mut wire);
            let mut event: Value = serde_json::from_str(&wire).expect("the wire form is JSON");
            let members = event.as_object_mut().expect("an event is an object");
            members.retain(|name, _| !matches!(name.as_str(), "sequence" | "sessionId" | "schemaVersion"));
            members.retain(|name, _| name != "eventId" || decoded.draft.event_id.is_some());
            members.retain(|name, _| name != "timestamp" || decoded.draft.timestamp.is_some());
            json!({"event": event})
        }
    }
}

#[test]
fn every_vector_decodes_as_expected() {
    let bless = std::env::var_os("RIVERRUN_BLESS").is_some();
    for path in cases() {
        let text = fs::read_to_string(&path).expect("a case can be read");
        let case: Value = serde_json::from_str(&text).expect("a case is JSON");
        let input = case["input"].as_str().expect("an input is a string");
        let mut found = run(input);
        found["why"] = case["why"].clone();
        found["input"] = case["input"].clone();
        if bless {
            fs::write(&path, format!("{found:#}\n")).expect("a case can be written");
        } else {
            assert_eq!(found, case, "{}", path.display());
        }
    }
}
