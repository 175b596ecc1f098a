//! The golden vectors of `spec/vectors/fold`: events in, public state out. TypeScript and Python run the same files.
//!
//! `RIVERRUN_BLESS=1 cargo test -p riverrun-fold --test vectors` writes `expected.json` anew; the diff is reviewed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use riverrun_event::{Event, SessionId, decode_wire};
use riverrun_fold::{ApplyOutcome, Change, State};
use serde_json::{Value, json};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/fold")
}

/// The cases, by name.
fn cases() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(vectors()).expect("spec/vectors/fold is there");
    let folders =
        entries.map(|entry| entry.expect("the folder can be read").path()).filter(|path| path.is_dir());
    folders
        .map(|path| (path.file_name().expect("a folder has a name").to_string_lossy().into_owned(), path))
        .collect()
}

struct Case {
    session: SessionId,
    events: Vec<Event>,
}

fn load(folder: &Path) -> Case {
    let text = fs::read_to_string(folder.join("events.ndjson")).expect("a case has events.ndjson");
    let first: Value =
        serde_json::from_str(text.lines().next().expect("a case has an event")).expect("events are JSON");
    let session = first["sessionId"].as_str().expect("events name their session");
    let events =
        text.lines().map(|line| decode_wire(line).unwrap_or_else(|error| panic!("{folder:?}: {error}")));
    Case { session: SessionId::new(session).expect("the session's id is an id"), events: events.collect() }
}

/// The public state as a vector shows it: without what is for people or counts changes.
fn shown(state: &State) -> Value {
    let mut shown: Value = serde_json::from_str(&state.to_json()).expect("a state is JSON");
    shown.as_object_mut().expect("a state is an object").remove("revision");
    for problem in shown["problems"]["recent"].as_array_mut().into_iter().flatten() {
        problem.as_object_mut().expect("a problem is an object").remove("detail");
    }
    shown
}

/// What a case comes to, in the form of `expected.json`.
fn run(case: &Case, prefixes: &[u64]) -> Value {
    let (mut state, mut changes) = (State::new(case.session.clone()), Vec::new());
    let (mut refused, mut at) = (Vec::new(), serde_json::Map::new());
    for (line, event) in case.events.iter().enumerate() {
        match state.apply(event, &mut changes) {
            ApplyOutcome::Applied => {}
            ApplyOutcome::Duplicate => refused.push(json!({"line": line + 1, "outcome": "duplicate"})),
            ApplyOutcome::Gap { expected, found } => {
                refused
                    .push(json!({"line": line + 1, "outcome": "gap", "expected": expected, "found": found}));
            }
        }
        if prefixes.contains(&state.sequence.get()) {
            at.insert(state.sequence.to_string(), shown(&state));
        }
    }
    let sealed = |change: &Change| match change {
        Change::TurnSealed(sealed) => Some(sealed.turn.turn_id.to_string()),
        _ => None,
    };
    let sealed: Vec<String> = changes.iter().filter_map(sealed).collect();
    let mut out = json!({"state": shown(&state), "revision": state.revision});
    for (name, value) in
        [("refused", json!(refused)), ("sealed", json!(sealed)), ("prefixes", Value::Object(at))]
    {
        if value != json!([]) && value != json!({}) {
            out[name] = value;
        }
    }
    out
}

fn prefixes_of(expected: &Value) -> Vec<u64> {
    let asked = expected["prefixes"].as_object().into_iter().flatten();
    asked.map(|(sequence, _)| sequence.parse().expect("prefixes are named by sequences")).collect()
}

#[test]
fn every_vector_folds_to_its_expected_state() {
    let bless = std::env::var_os("RIVERRUN_BLESS").is_some();
    let mut differ = Vec::new();
    for (name, folder) in cases() {
        let path = folder.join("expected.json");
        let expected: Value = fs::read_to_string(&path)
            .map_or(Value::Null, |text| serde_json::from_str(&text).expect("expected.json is JSON"));
        let found = run(&load(&folder), &prefixes_of(&expected));
        if bless {
            // The other tests read while this one writes.
            let draft = path.with_extension("draft");
            fs::write(&draft, format!("{found:#}\n")).expect("the folder can be written");
            fs::rename(&draft, &path).expect("expected.json can be replaced");
        } else if found != expected {
            differ.push(format!("{name}: found {found:#}"));
        }
        assert!(folder.join("why.md").exists(), "{name} says why");
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The state that a case expects, for the numbers that are checked by hand.
fn expected(case: &str) -> Value {
    let text = fs::read_to_string(vectors().join(case).join("expected.json")).expect("the case is there");
    serde_json::from_str::<Value>(&text).expect("expected.json is JSON")["state"].take()
}

/// The annotations of a case's last message, as `(number, start, end)`.
fn citations(case: &str) -> Vec<(u64, u64, u64)> {
    let state = expected(case);
    let output = state["tasks"][0]["output"].as_array().expect("a task has output");
    let message = output.iter().rev().find(|item| item["type"] == "message").expect("there is a message");
    let annotations = message["blockList"][0]["annotations"].as_array().into_iter().flatten();
    let number = |annotation: &Value, name: &str| annotation[name].as_u64().expect("a number");
    annotations.map(|a| (number(a, "referenceId"), number(a, "startIndex"), number(a, "endIndex"))).collect()
}

#[test]
fn the_citations_stand_where_they_were_counted_by_hand() {
    assert_eq!(citations("blog_message"), [(1, 56, 60)]);
    assert_eq!(citations("blog_whole_task"), [(1, 56, 60)]);
    assert_eq!(citations("blog_sub_agent"), [(1, 56, 60)]);
    assert_eq!(citations("citation_sample"), [(1, 56, 60)]);
    assert_eq!(citations("citation_split_over_deltas"), [(12, 4, 9)]);
    assert_eq!(citations("citation_vietnamese"), [(1, 35, 39), (1, 53, 57)]);
    assert_eq!(citations("citation_chinese"), [(1, 13, 17)]);
    assert_eq!(citations("citation_emoji"), [(1, 16, 20), (1, 22, 26)]);
    assert_eq!(citations("citation_in_code"), [(1, 32, 36)]);
    assert_eq!(citations("citation_unknown_number"), [(1, 1, 5)]);
    assert_eq!(citations("citation_in_a_replaced_block"), [(1, 17, 21)]);
    assert_eq!(citations("citation_given_by_the_producer"), [(1, 5, 9), (1, 19, 23)]);
    assert_eq!(citations("citation_completed_text_is_confirmed"), [(1, 8, 12)]);
    assert_eq!(citations("citation_in_an_item_that_only_completed"), [(1, 12, 16)]);
    assert_eq!(citations("citation_of_a_sub_agents_reference"), [(1, 6, 10)]);
}

#[test]
fn every_annotation_of_every_vector_spans_its_marker() {
    fn visit(value: &Value, count: &mut usize) {
        if let (Some(text), Some(annotations)) = (value["text"].as_str(), value["annotations"].as_array()) {
            // What a service's own citation spans is the service's to say.
            let is_own = |annotation: &&Value| annotation["type"] == "reference_to_block";
            for annotation in annotations.iter().filter(is_own) {
                let place = |name: &str| annotation[name].as_u64().expect("a number") as usize;
                let (start, end) = (place("startIndex"), place("endIndex"));
                let span: String = text.chars().skip(start).take(end - start).collect();
                assert_eq!(span, format!("[^{}]", annotation["referenceId"]), "in {text:?}");
                *count += 1;
            }
        }
        value.as_array().into_iter().flatten().for_each(|inner| visit(inner, count));
        value.as_object().into_iter().flatten().for_each(|(_, inner)| visit(inner, count));
    }
    let mut count = 0;
    cases().keys().for_each(|case| visit(&expected(case), &mut count));
    assert!(count > 15, "the vectors hold citations: {count}");
}

#[test]
fn the_outcomes_are_those_that_the_rules_name() {
    let check = |case: &str, pointer: &str, value: Value| {
        assert_eq!(expected(case).pointer(pointer), Some(&value), "{case} {pointer}");
    };
    check("done_without_blocks_keeps_them", "/tasks/0/output/0/blockList/0/text", json!("kept"));
    check(
        "blog_tool_result",
        "/tasks/0/output/0/blockList/1/imageUrl/url",
        json!("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA"),
    );
    check("blog_tool_call", "/tasks/0/output/0/arguments", json!("{\"location\":\"Paris, France\"}"));
    check("child_left_running_is_lost", "/tasks/0/status", json!("lost"));
    check("child_cycle_is_refused", "/tasks/1/parentTaskId", json!("task_1"));
    check("second_terminal_event", "/session/status", json!("completed"));
    check("cancel_leaves_open_items_incomplete", "/tasks/0/output/0/status", json!("incomplete"));
    check("action_abandoned", "/actions/0/status", json!("abandoned"));
    check("action_in_a_child_shows_on_the_root", "/actions/0/rootTaskId", json!("task_1"));
    check("snapshot_keeps_actions_and_failures", "/toolCalls/0/status", json!("failed"));
    check("snapshot_keeps_actions_and_failures", "/actions/0/status", json!("pending"));
    check(
        "usage_adds_up",
        "/usage",
        json!({"inputTokens": 120, "outputTokens": 59, "cachedInputTokens": 4, "reasoningTokens": 2, "totalTokens": 10}),
    );
    check("retry_is_a_new_attempt", "/tasks/0/attempts/0/status", json!("failed"));
    check("the_window", "/sealedTurns", json!(2));
    check("cost", "/cost", json!({"EUR": 3.0, "USD": 0.30000000000000004}));
}
