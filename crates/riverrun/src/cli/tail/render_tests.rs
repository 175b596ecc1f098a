use serde_json::json;

use super::*;

/// Draws events, plain and 100 wide.
fn check(events: &[Value]) -> String {
    draw(events, Renderer { width: 100, breaks: false, ..Renderer::new(Style::PLAIN) })
}

fn draw(events: &[Value], mut renderer: Renderer) -> String {
    let mut out: String =
        events.iter().map(|event| renderer.event(event["type"].as_str().expect("a type"), event)).collect();
    out.push_str(&renderer.close_line());
    out
}

fn delta(task: &str, item: &str, text: &str) -> Value {
    json!({"type": "model.delta", "taskId": task, "payload": {"itemId": item, "delta": text}})
}

#[test]
fn deltas_run_on_one_line_and_go_on_after_an_interruption() {
    let between = json!({"type": "tool.progress", "taskId": "t", "payload": {"message": "half way"}});
    let events = [delta("t", "m", "Hel"), delta("t", "m", "lo"), between, delta("t", "m", " world")];
    assert_eq!(check(&events), "answer     Hello\n           half way\nanswer     … world\n");
}

#[test]
fn each_part_of_a_reasoning_has_its_own_line() {
    let part = |index: u64, text: &str| {
        json!({"type": "reasoning.delta", "taskId": "t",
        "payload": {"itemId": "r", "summaryIndex": index, "delta": text}})
    };
    assert_eq!(check(&[part(0, "One."), part(1, "Two.")]), "thinking   One.\nthinking   Two.\n");
}

#[test]
fn a_sub_agent_is_indented_below_its_parent() {
    let child = json!({"type": "task.created", "taskId": "call_1", "parentTaskId": "t",
        "payload": {"agent": "scout", "title": "Sources"}});
    assert_eq!(
        check(&[delta("t", "m", "a"), child, delta("call_1", "n", "b\nc")]),
        "answer     a\n│ sub-agent  scout  Sources\n│ answer     b\n│            c\n"
    );
}

#[test]
fn files_of_the_input_show_what_they_are_or_why_they_were_not_read() {
    let event = |kind: &str, payload: Value| json!({"type": kind, "taskId": "t", "payload": payload});
    let events = [
        event("file.processing.started", json!({"fileId": "file_1", "name": "a.pdf"})),
        event(
            "file.processing.completed",
            json!({"fileId": "file_1", "name": "a.pdf", "mediaType": "application/pdf", "size": 90, "pages": 2}),
        ),
        event(
            "file.processing.failed",
            json!({"fileId": "file_2", "url": "https://files.example/b\u{1b}[2J", "error": {"message": "it is empty"}}),
        ),
    ];
    let shown = "file       a.pdf  application/pdf, 90 bytes, 2 pages\n\
                 ✗ file       https://files.example/b\\u{1b}[2J  it is empty\n";
    assert_eq!(check(&events), shown);
}

#[test]
fn a_process_shows_its_name_what_it_is_given_and_what_it_writes_but_no_secret() {
    let event = |kind: &str, payload: Value| json!({"type": kind, "taskId": "t", "processId": "proc_1", "payload": payload});
    let events = [
        event("process.started", json!({"commandSummary": "sh ask.sh"})),
        event("process.output", json!({"stream": "stdout", "text": "name?\n"})),
        event("process.input", json!({"text": "Ada\n", "size": 4})),
        event("process.input", json!({"secret": true, "size": 9})),
        event("process.output", json!({"stream": "stderr", "preview": "much", "outputRef": "sha256:a"})),
        event("process.terminated", json!({"terminatedBy": "key_1", "reason": "enough"})),
    ];
    let shown = "process    proc_1  sh ask.sh\nstdout     name?\nstdin      Ada\nstdin      9 bytes\n\
                 stderr     much\nterminated key_1  enough\n";
    assert_eq!(check(&events), shown);
}

#[test]
fn a_tool_shows_its_call_its_result_and_its_time() {
    let call = json!({"type": "item.completed", "payload": {"item": {"type": "tool_call", "name": "get_weather", "arguments": "{\"city\":\"Rome\"}"}}});
    let done = json!({"type": "tool.result", "payload": {"toolName": "get_weather", "durationMs": 180, "preview": "18 °C"}});
    assert_eq!(
        check(&[call, done]),
        "tool       get_weather {\"city\":\"Rome\"}\n✓ done       get_weather  180 ms  18 °C\n"
    );
}

#[test]
fn what_a_model_says_cannot_drive_the_terminal() {
    assert_eq!(check(&[delta("t", "m", "\x1b]0;owned\x07")]), "answer     \\u{1b}]0;owned\\u{7}\n");
}

#[test]
fn the_recordings_draw_without_a_gap() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/recordings/research-subagents.ndjson");
    let recording = std::fs::read_to_string(path).expect("the recording is in the repository");
    let events: Vec<Value> =
        recording.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let drawn = check(&events);
    assert!(drawn.contains("│ sub-agent  scout  Sources on meanders\n"), "{drawn}");
    assert!(drawn.contains("│ ✓ done       web_search  420 ms"), "{drawn}");
    assert!(drawn.ends_with("✓ turn done  852 tokens in, 175 out\n"), "{drawn}");
}

#[test]
fn a_failure_is_shown_whole_and_once() {
    let long = format!("there is no scenario `x`; there are: {}", "word, ".repeat(40));
    let mut renderer = Renderer::new(Style::PLAIN);
    let mut shown = String::new();
    for kind in ["model.failed", "task.failed", "turn.failed"] {
        let event = serde_json::json!({"type": kind, "turnId": "1", "taskId": "t", "payload": {"error": {"message": long, "code": "model_failed"}}});
        shown.push_str(&renderer.event(kind, &event));
    }
    assert_eq!(shown, format!("✗ model.failed  {long}\n✗ turn failed  [model_failed]\n"));
}

#[test]
fn a_line_with_its_label_fits_the_width() {
    let mut renderer = Renderer { width: 60, ..Renderer::new(Style::PLAIN) };
    let long = "x".repeat(200);
    let result = serde_json::json!({"type": "tool.result", "taskId": "c", "depth": 2, "toolCallId": "1",
        "payload": {"toolName": "search", "preview": long}});
    let steered = serde_json::json!({"type": "input.steered", "payload": {"input": long}});
    for (kind, event) in [("tool.result", result), ("input.steered", steered)] {
        assert_eq!(renderer.event(kind, &event).trim_end().chars().count(), 60, "{kind}");
    }
}

#[test]
fn a_task_that_a_caller_keeps_is_a_line_for_each_step() {
    let mut renderer = Renderer::new(Style::PLAIN);
    let mut shown = String::new();
    for (kind, payload) in [
        ("task.created", serde_json::json!({"title": "Paint"})),
        ("task.attempt.started", serde_json::json!({"attempt": 1})),
        ("task.started", serde_json::json!({})),
        ("task.progress", serde_json::json!({"message": "half"})),
        ("task.failed", serde_json::json!({"error": {"message": "no paint"}})),
    ] {
        let event = serde_json::json!({"type": kind, "taskId": "t1", "payload": payload});
        shown.push_str(&renderer.event(kind, &event));
    }
    let expected = [
        "task       t1 created  Paint",
        "task       t1 started",
        "task       t1 progress  half",
        "task       t1 failed  no paint",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_hook_that_changes_or_stops_something_has_one_line_and_others_have_none() {
    let told = |payload: Value| check(&[json!({"type": "hook.completed", "payload": payload})]);
    let rewrite = json!({"hookName": "safer", "toolName": "say", "outcome": "continue",
        "originalInput": {"x": 1}, "updatedInput": {"x": 2}, "updatedInputRef": "blob_a"});
    assert_eq!(told(rewrite), "… rewritten  safer  say  {\"x\":1} to {\"x\":2}\n");
    let block = json!({"hookName": "no", "toolName": "say", "outcome": "block", "reason": "not today"});
    assert!(told(block).ends_with(" blocked    no  say  not today\n"));
    assert_eq!(told(json!({"hookName": "calm", "outcome": "continue"})), "");
    let failed =
        json!({"type": "hook.failed", "payload": {"hookName": "slow", "error": {"message": "no answer"}}});
    assert!(check(&[failed]).ends_with(" hook failed  slow  no answer\n"));
}

fn child(task: &str, agent: &str, title: &str) -> Value {
    json!({"type": "task.created", "taskId": task, "parentTaskId": "t",
        "payload": {"agent": agent, "title": title}})
}

#[test]
fn sub_agents_that_run_at_the_same_time_are_named_when_another_speaks() {
    let events = [
        child("one", "scout", "North"),
        child("two", "scout", "South"),
        delta("one", "m", "cold"),
        delta("two", "n", "warm"),
        delta("two", "n", " and wet"),
        delta("t", "o", "so"),
        delta("two", "n", "!"),
        delta("one", "m", " and dry"),
    ];
    let shown = "│ sub-agent  scout  North\n│ sub-agent  scout  South\n│ sub-agent  scout  North\n│ answer     cold\n\
                 │ sub-agent  scout  South\n│ answer     warm and wet\nanswer     so\n│ answer     …!\n\
                 │ sub-agent  scout  North\n│ answer     … and dry\n";
    assert_eq!(check(&events), shown);
}

#[test]
fn sub_agents_with_one_name_have_their_ids() {
    let events = [
        child("one", "scout", ""),
        child("two", "scout", ""),
        delta("one", "m", "a"),
        delta("two", "n", "b"),
    ];
    let shown = "│ sub-agent  scout\n│ sub-agent  scout\n│ sub-agent  scout\n│ answer     a\n\
                 │ sub-agent  scout  two\n│ answer     b\n";
    assert_eq!(check(&events), shown);
}

#[test]
fn a_long_text_of_a_sub_agent_keeps_its_column_on_a_screen() {
    let events = [
        child("one", "scout", "North"),
        delta("one", "m", "a cold wind blows "),
        delta("one", "m", "here now"),
    ];
    let renderer = |breaks| Renderer { width: 30, breaks, ..Renderer::new(Style::PLAIN) };
    let shown = "│ sub-agent  scout  North\n│ answer     a cold wind blows\n│            here now\n";
    assert_eq!(draw(&events, renderer(true)), shown);
    let whole = "│ sub-agent  scout  North\n│ answer     a cold wind blows here now\n";
    assert_eq!(draw(&events, renderer(false)), whole);
}

#[test]
fn a_rejected_call_says_why() {
    let told = |message: Option<&str>| {
        let decided = json!({"type": "action.resolved", "toolCallId": "c",
            "payload": {"decision": "reject", "source": "person", "message": message}});
        let ended = json!({"type": "tool.cancelled", "toolCallId": "c", "payload": {"toolName": "publish", "reason": "person"}});
        check(&[decided, ended])
    };
    assert_eq!(told(Some("not today")), "✗ decided    reject by person\n■ rejected:  publish  not today\n");
    assert_eq!(told(None), "✗ decided    reject by person\n■ rejected   publish\n");
    let ended = json!({"type": "tool.cancelled", "toolCallId": "c", "payload": {"toolName": "publish", "reason": "turn"}});
    assert_eq!(check(&[ended]), "■ cancelled  publish  turn\n");
}
