//! The views on the states of the vectors.

use std::fs;
use std::path::Path;

use riverrun_event::{Item, SessionId, TaskId, decode_wire};
use riverrun_fold::{State, view};

fn fold(case: &str) -> State {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../spec/vectors/fold")
        .join(case)
        .join("events.ndjson");
    let mut state = State::new(SessionId::new("ses_1").expect("an id"));
    for line in fs::read_to_string(path).expect("the case is there").lines() {
        let _ = state.apply(&decode_wire(line).expect("an event"), &mut Vec::new());
    }
    state
}

fn task(id: &str) -> TaskId {
    TaskId::new(id).expect("an id")
}

#[test]
fn the_user_sees_all_items_of_a_child_inside_the_result_that_answers_its_call() {
    let output =
        view::nested_output(&fold("blog_sub_agent"), &task("task_1234xyz")).expect("the task is there");
    let json = serde_json::to_value(&output).expect("items are JSON");
    let blocks = json[2]["blockList"].as_array().expect("the result has blocks");
    let inner: Vec<&str> = blocks.iter().filter_map(|block| block["item"]["type"].as_str()).collect();
    assert_eq!(inner, ["reasoning", "tool_call", "tool_result", "message"]);
    assert!(blocks.iter().all(|block| block["type"] == "item" && block["taskId"] == "call_1234xyz"));
    assert_eq!(blocks[3]["item"]["blockList"][0]["annotations"][0]["startIndex"], 56);
    assert_eq!(json[3]["type"], "message");
}

#[test]
fn what_the_model_reads_is_not_shown() {
    let output =
        view::nested_output(&fold("blog_sub_agent"), &task("task_1234xyz")).expect("the task is there");
    let shows_content = |item: &Item| match item {
        Item::Message(item) => item.content.is_some(),
        Item::ToolResult(item) => item.content.is_some(),
        Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => false,
    };
    assert!(!output.iter().any(shows_content));
}

#[test]
fn descendants_are_found_at_any_depth() {
    let state = fold("action_in_a_child_shows_on_the_root");
    let below: Vec<String> =
        view::descendants(&state, &task("task_1")).iter().map(TaskId::to_string).collect();
    assert_eq!(below, ["call_1", "call_2", "task_1"]);
    assert_eq!(view::descendants(&state, &task("call_2")).len(), 1);
    assert_eq!(view::pending_actions(&state).count(), 1);
    assert_eq!(view::pending_actions(&fold("action_resolved")).count(), 0);
}

#[test]
fn unknown_tools_are_not_an_empty_list() {
    assert_eq!(view::tool_inventory(&fold("action_resolved")), None);
}
