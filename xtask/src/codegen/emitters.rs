//! Which source files write which event types, read from the sources, and which acceptance scenario shows each type.
//!
//! A file writes a type if it names it as a value: `push(EventType::TaskWaiting, …)`, or by its name on the wire in a
//! call of `event(…)` or as the member `type`. A name in a pattern or a comparison does not count.
//! `spec/scenarios.txt` says which scenario shows a type; the acceptance suite fails if it does not see it there, and
//! if it sees a type that the file does not have.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use riverrun_event::EventType;

use crate::files::root;

/// The crates that write events.
const WRITERS: &[&str] = &["api", "runner", "server", "session"];
const SCENARIOS: &str = "spec/scenarios.txt";
const OPENING: &str = "# The acceptance scenario that shows each type which the server writes. Made by `cargo xtask scenarios`.\n";

/// The files that write a type, without `src` and the ending: `runner/actor/ask`.
pub type Emitters = BTreeMap<&'static str, Vec<String>>;

pub fn emitters() -> Emitters {
    let mut found = Emitters::new();
    for writer in WRITERS {
        let folder = root().join("crates").join(writer).join("src");
        let mut files = Vec::new();
        rust_files(&folder, &mut files);
        for path in files {
            let Ok(text) = std::fs::read_to_string(folder.join(&path)) else { continue };
            let module = format!("{writer}/{}", path.trim_end_matches(".rs").trim_end_matches("/mod"));
            for kind in written(&text) {
                found.entry(kind).or_default().push(module.clone());
            }
        }
    }
    found
}

/// The scenario of each type that is shown by one.
pub fn scenarios() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join(SCENARIOS)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).map(|(kind, by)| (kind.to_owned(), by.to_owned())).collect()
}

/// Makes the list of what the scenarios saw: a file of `TYPE SCENARIO` lines for each. A scenario that is listed stays;
/// for a new type the first that saw it is taken, the numbered ones of the standard before the others.
pub fn list_scenarios(folder: &str) -> Result<()> {
    let mut saw: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {folder}"))? {
        let text = std::fs::read_to_string(entry?.path())?;
        for (kind, scenario) in text.lines().filter_map(|line| line.split_once(' ')) {
            saw.entry(kind.to_owned()).or_default().push(scenario.to_owned());
        }
    }
    let (before, written) = (scenarios(), emitters());
    let mut out = OPENING.to_owned();
    for kind in EventType::ALL.iter().map(EventType::as_str).filter(|kind| written.contains_key(kind)) {
        let Some(by) = saw.get_mut(kind) else {
            eprintln!("no scenario saw {kind}");
            continue;
        };
        by.sort_by_key(|scenario| (!scenario.contains("::scenario_"), scenario.clone()));
        let listed = before.get(kind).filter(|listed| by.contains(listed));
        let shown = listed.or(by.first()).map(String::as_str).unwrap_or_default();
        out.push_str(&format!("{kind} {shown}\n"));
    }
    std::fs::write(root().join(SCENARIOS), out).with_context(|| format!("writing {SCENARIOS}"))
}

fn rust_files(folder: &Path, out: &mut Vec<String>) {
    fn walk(base: &Path, folder: &Path, out: &mut Vec<String>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                walk(base, &path, out);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let inner = path.strip_prefix(base).unwrap_or(&path);
                out.push(inner.to_string_lossy().into_owned());
            }
        }
    }
    walk(folder, folder, out);
    out.sort();
}

/// The types that a source text writes, each once.
fn written(text: &str) -> Vec<&'static str> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    EventType::ALL
        .iter()
        .filter(|kind| names_variant(&code, kind) || names_wire(&code, kind.as_str()))
        .map(EventType::as_str)
        .collect()
}

/// True if the variant is a value here: an argument, or the end of a block.
fn names_variant(code: &str, kind: &EventType) -> bool {
    let name = format!("EventType::{kind:?}");
    code.match_indices(&name).any(|(at, _)| {
        let before = code[..at].trim_end();
        let after = code[at + name.len()..].trim_start();
        !before.ends_with("==") && after.starts_with([',', '}'])
    })
}

fn names_wire(code: &str, name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    code.match_indices(&quoted).any(|(at, _)| {
        let before = code[..at].trim_end();
        ["event(", "ended(", "\"type\":"].iter().any(|opening| before.ends_with(opening))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_and_a_pattern_does_not() {
        let check = |code: &str, expected: &[&str]| assert_eq!(written(code), expected, "{code}");
        check("page.push(EventType::TaskWaiting, &scope, &change);", &["task.waiting"]);
        check("let kind = if has { EventType::RunStatus } else { other };", &["run.status"]);
        check("vec![event(\"task.updated\", task, payload)]", &["task.updated"]);
        check("json!({ \"type\": \"task.created\", \"taskId\": id })", &["task.created"]);
        check("EventType::TaskWaiting => 1,", &[]);
        check("matches!(kind, EventType::TaskWaiting | EventType::TaskLost)", &[]);
        check("if kind == EventType::TaskWaiting { 1 }", &[]);
        check("// page.push(EventType::TaskWaiting, …)", &[]);
        check("entry(Task, \"task.progress\", WRITE)", &[]);
    }

    #[test]
    fn every_type_that_is_written_is_shown_by_a_scenario() {
        let (written, shown) = (emitters(), scenarios());
        let without: Vec<&&str> = written.keys().filter(|kind| !shown.contains_key(**kind)).collect();
        assert!(without.is_empty(), "no line in {SCENARIOS} for {without:?}");
        let unwritten: Vec<&String> =
            shown.keys().filter(|kind| !written.contains_key(kind.as_str())).collect();
        assert!(unwritten.is_empty(), "{SCENARIOS} has types that nothing writes: {unwritten:?}");
    }

    #[test]
    fn a_scenario_that_is_named_is_a_test_of_the_suite() {
        for (kind, scenario) in scenarios() {
            let (module, test) = scenario.rsplit_once("::").expect("MODULE::TEST");
            let path =
                root().join("tests/tests/acceptance").join(format!("{}.rs", module.replace("::", "/")));
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(source.contains(&format!("fn {test}(")), "{kind}: there is no test {scenario}");
        }
    }
}
