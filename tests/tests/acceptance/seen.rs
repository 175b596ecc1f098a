//! The types of events that a scenario saw, and what `spec/scenarios.txt` says that it shows.
//!
//! With `RIVERRUN_SEEN=DIR` every scenario writes what it saw into `DIR`; `cargo xtask scenarios DIR` makes the list of
//! that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

#[derive(Default)]
pub struct Seen(Mutex<BTreeSet<String>>);

impl Seen {
    pub fn note(&self, events: &[Value]) {
        let types = events.iter().filter_map(|event| event["type"].as_str());
        // What the stream says of itself is no event.
        let types = types.filter(|kind| !kind.starts_with("stream.")).map(str::to_owned);
        self.0.lock().unwrap().extend(types);
    }

    /// At the end of each stage, so a scenario that is listed has one. Fails if the scenario did not see what it is listed for, or saw what no scenario is listed for.
    pub fn check(&self) {
        let seen = self.0.lock().unwrap().clone();
        let name = scenario();
        if let Some(folder) = std::env::var_os("RIVERRUN_SEEN") {
            let lines: Vec<String> = seen.iter().map(|kind| format!("{kind} {name}\n")).collect();
            let path = PathBuf::from(folder).join(name.replace("::", "."));
            std::fs::write(path, lines.concat()).unwrap();
            return;
        }
        let list = std::fs::read_to_string(list()).unwrap();
        let rows =
            || list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
        let missing: Vec<&str> =
            rows().filter(|(kind, by)| *by == name && !seen.contains(*kind)).map(|(kind, _)| kind).collect();
        assert!(
            missing.is_empty(),
            "spec/scenarios.txt says that {name} shows {missing:?}, which it did not see"
        );
        let unlisted: Vec<&String> = seen
            .iter()
            .filter(|kind| !kind.starts_with("x.") && !rows().any(|(known, _)| known == kind.as_str()))
            .collect();
        assert!(
            unlisted.is_empty(),
            "{name} saw {unlisted:?}, which no scenario is listed for in spec/scenarios.txt"
        );
    }
}

/// The test that runs in this thread: `module::test`.
fn scenario() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/scenarios.txt")
}
