//! Decisions at a terminal: what is typed counts for the question that was there when it was typed.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use serde_json::Value;
use support::{Server, Terminal, lines};

/// Two calls in one step, each of which waits for a person.
const CONFIG: &str = r#"
[scripts]
files = ["two.toml", "beside.toml"]

[agents.clerk]
model = "scripted/two"
tools = ["erase"]

[agents.busy]
model = "scripted/beside"
tools = ["erase", "wait"]

[tools.wait]
description = "Takes its time."
command = ["sleep", "1"]
read_only = true

[tools.erase]
description = "Erases a file."
command = ["true"]
parameters = { type = "object", properties = { path = { type = "string" } } }
"#;

const TWO: &str = r#"
[[step]]
when = { results = 2 }
play = [{ text = { pieces = ["That is all."] } }]

[[step]]
play = [
  { call = { name = "erase", arguments = ['{"path":"one"}'] } },
  { call = { name = "erase", arguments = ['{"path":"two"}'] } },
]
"#;

/// A call that waits for a person, and one beside it that does not.
const BESIDE: &str = r#"
[[step]]
when = { results = 2 }
play = [{ text = { pieces = ["That is all."] } }]

[[step]]
play = [
  { call = { name = "erase", arguments = ['{"path":"one"}'] } },
  { call = { name = "wait", arguments = ['{}'] } },
]
"#;

fn server(directory: &Path) -> Server {
    std::fs::write(directory.join("riverrun.toml"), CONFIG).unwrap();
    std::fs::write(directory.join("two.toml"), TWO).unwrap();
    std::fs::write(directory.join("beside.toml"), BESIDE).unwrap();
    Server::start(directory, &[])
}

/// The decisions of the newest session, in the order in which they were made.
fn decisions(server: &Server) -> Vec<Value> {
    let events = lines(&server.run(&["tail", "-", "--json", "--no-follow"]));
    let resolved = events.iter().filter(|event| event["type"] == "action.resolved");
    resolved.map(|event| event["payload"]["decision"].clone()).collect()
}

#[test]
fn a_yes_typed_before_the_question_approves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(directory.path(), &["run", "demo", "tides", "--data-dir", "data"], &[]);
    terminal.see("thinking");
    terminal.type_in("y\n");
    let shown = terminal.see("your decision");
    assert!(shown.contains("what was typed before this question does not count"), "{shown}");
    terminal.see("r respond]");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().0, Some(0));
    let server = Server::start(directory.path(), &["--dev"]);
    assert_eq!(decisions(&server), ["reject"]);
}

#[test]
fn a_line_begun_for_a_question_that_was_closed_elsewhere_answers_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path());
    let mut terminal = Terminal::open(directory.path(), &["run", "clerk", "go"], &server.environment());
    terminal.see("{\"path\":\"one\"}");
    terminal.see("r respond]");
    // The echo tells that the terminal has it.
    terminal.type_in("n\x20");
    terminal.see("n ");
    let waiting = lines(&server.run(&["approve", "--json"]));
    let is_first = |action: &&Value| action["request"]["arguments"]["path"] == "one";
    let first = waiting[0].as_array().unwrap().iter().find(is_first).unwrap();
    server.run(&["approve", first["actionId"].as_str().unwrap()]);
    terminal.see("{\"path\":\"two\"}");
    terminal.see("r respond]");
    terminal.type_in("y\n");
    terminal.see("that line was begun before this question; it does not count");
    terminal.see("r respond]");
    assert_eq!(decisions(&server), ["approve"]);
    terminal.type_in("n\n");
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(decisions(&server), ["approve", "reject"]);
}

#[test]
fn the_end_of_input_still_leaves_the_question_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path());
    let mut terminal = Terminal::open(directory.path(), &["run", "clerk", "go"], &server.environment());
    terminal.see("r respond]");
    terminal.type_in("\x04");
    let shown = terminal.see("a decision is needed");
    assert!(shown.ends_with("\na decision is needed"), "{shown:?}");
    assert_eq!(terminal.end().0, Some(5));
}

#[test]
fn what_happens_beside_an_open_question_stands_below_it_and_it_is_put_again() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path());
    let mut terminal = Terminal::open(directory.path(), &["run", "busy", "go"], &server.environment());
    terminal.see("r respond]");
    let shown = terminal.see("✓ done");
    assert!(shown.lines().last().is_some_and(|line| line == "✓ done"), "{shown:?}");
    let shown = terminal.see("r respond]");
    let question = shown.lines().last().unwrap_or_default();
    assert!(question.trim_start().starts_with("⏸ your decision"), "{shown:?}");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().0, Some(0));
}
