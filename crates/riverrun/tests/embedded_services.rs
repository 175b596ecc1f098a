//! Raw events and run items of model services: those of OpenAI Responses as they came, with tools that the service runs
//! itself; those of other services rebuilt, with places and numbers that fit together.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use futures_util::StreamExt;
use riverrun::{Agent, ApiName, Dialect, Outcome, ProviderConfig, Riverrun, RunStream};
use serde_json::{Value, json};

#[path = "support/service.rs"]
mod service;

/// A run of an agent whose model service plays these bytes.
async fn run(api: ApiName, body: Vec<u8>) -> RunStream {
    let base_url = Some(service::play([body]).await);
    let provider = ProviderConfig { base_url, ..ProviderConfig::new(api) };
    let agent = Agent::new("A").model("service/m");
    let riverrun = Riverrun::builder().agent(agent).provider("service", provider).start().await.unwrap();
    riverrun.run_streamed("A", "go").await.unwrap()
}

async fn frames(run: &RunStream) -> Vec<Value> {
    run.stream_events_as(Dialect::AgentsSdk).map(|frame| frame.unwrap()).collect().await
}

fn of_kind<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

fn message() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}]})
}

/// The events inside of an item, by its type, as the service names them.
fn inside(item: &Value) -> Vec<(&'static str, Value)> {
    let none = || json!({});
    match item["type"].as_str().unwrap() {
        "web_search_call" => vec![
            ("response.web_search_call.in_progress", none()),
            ("response.web_search_call.searching", none()),
            ("response.web_search_call.completed", none()),
        ],
        "file_search_call" => vec![
            ("response.file_search_call.in_progress", none()),
            ("response.file_search_call.searching", none()),
            ("response.file_search_call.completed", none()),
        ],
        "code_interpreter_call" => vec![
            ("response.code_interpreter_call.in_progress", none()),
            ("response.code_interpreter_call_code.delta", json!({"delta": "1 + "})),
            ("response.code_interpreter_call_code.delta", json!({"delta": "1", "obfuscation": "xyz"})),
            ("response.code_interpreter_call_code.done", json!({"code": "1 + 1"})),
            ("response.code_interpreter_call.interpreting", none()),
            ("response.code_interpreter_call.completed", none()),
        ],
        "image_generation_call" => vec![
            ("response.image_generation_call.in_progress", none()),
            ("response.image_generation_call.generating", none()),
            (
                "response.image_generation_call.partial_image",
                json!({"partial_image_index": 0, "partial_image_b64": "QUJD"}),
            ),
            ("response.image_generation_call.completed", none()),
        ],
        "mcp_list_tools" => vec![
            ("response.mcp_list_tools.in_progress", none()),
            ("response.mcp_list_tools.completed", none()),
        ],
        "mcp_call" => vec![
            ("response.mcp_call.in_progress", none()),
            ("response.mcp_call_arguments.delta", json!({"delta": "{\"path\":"})),
            ("response.mcp_call_arguments.delta", json!({"delta": "\"a\"}"})),
            ("response.mcp_call_arguments.done", json!({"arguments": "{\"path\":\"a\"}"})),
            ("response.mcp_call.completed", none()),
        ],
        "custom_tool_call" => vec![
            ("response.custom_tool_call_input.delta", json!({"delta": "HEY"})),
            ("response.custom_tool_call_input.done", json!({"input": "HEY"})),
        ],
        "shell_call" => vec![
            ("response.shell_call_command.added", json!({"command_index": 0, "command": ""})),
            ("response.shell_call_command.delta", json!({"command_index": 0, "delta": "ls"})),
            ("response.shell_call_command.done", json!({"command_index": 0, "command": "ls"})),
        ],
        "telepathy_call" => vec![("response.telepathy_call.felt", json!({"how": {"strong": [true, null]}}))],
        "message" => vec![
            (
                "response.content_part.added",
                json!({"content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}}),
            ),
            ("response.output_text.delta", json!({"content_index": 0, "delta": "Do", "logprobs": []})),
            ("response.output_text.delta", json!({"content_index": 0, "delta": "ne.", "obfuscation": "aa"})),
            ("response.output_text.done", json!({"content_index": 0, "text": "Done.", "logprobs": []})),
            ("response.content_part.done", json!({"content_index": 0, "part": item["content"][0]})),
        ],
        _ => Vec::new(),
    }
}

/// A whole response with these items.
fn response(items: &[Value], end: &str, last: Value) -> Vec<Value> {
    let object = |status: &str| {
        json!({"id": "resp_68af", "object": "response", "created_at": 1756315657, "status": status,
            "model": "gpt-5.4-2026-03-05", "output": [], "parallel_tool_calls": true, "service_tier": "default",
            "usage": null, "new_in_2027": {"deep": [1, {"a": null}]}})
    };
    let mut all = vec![
        json!({"type": "response.created", "response": object("in_progress")}),
        json!({"type": "response.queued", "response": object("queued")}),
        json!({"type": "response.in_progress", "response": object("in_progress")}),
    ];
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = "in_progress".into();
        if item["type"] == "message" {
            begun["content"] = json!([]);
        }
        all.push(json!({"type": "response.output_item.added", "output_index": index, "item": begun}));
        for (kind, mut event) in inside(item) {
            event["type"] = kind.into();
            event["item_id"] = item["id"].clone();
            event["output_index"] = index.into();
            all.push(event);
        }
        all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    all.push(json!({"type": "response.weather.changed", "sky": "clear"}));
    let mut ended = object(end.trim_start_matches("response."));
    ended["output"] = items.into();
    ended["usage"] = json!({"input_tokens": 36, "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 87, "output_tokens_details": {"reasoning_tokens": 64}, "total_tokens": 123});
    for (name, value) in last.as_object().unwrap() {
        ended[name] = value.clone();
    }
    all.push(json!({"type": end, "response": ended}));
    for (number, event) in all.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    all
}

/// Each kind of item that the service makes itself, and the event of the SDK that tells it.
fn kinds() -> Vec<(Value, Option<&'static str>)> {
    let click = json!({"type": "click", "x": 1, "y": 2, "button": "left"});
    let computer = |member: &str, value: Value| {
        let mut item = json!({"id": "cu_1", "type": "computer_call", "status": "completed", "call_id": "c_1",
            "pending_safety_checks": [{"id": "sc_1", "code": "malicious", "message": "careful"}]});
        item[member] = value;
        item
    };
    let called = Some("tool_called");
    vec![
        (
            json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "x", "sources": [{"type": "url", "url": "https://example.com"}]}}),
            called,
        ),
        (
            json!({"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": ["x"],
            "results": [{"file_id": "file-1", "filename": "a.txt", "score": 0.25, "text": "t"}]}),
            called,
        ),
        (computer("action", click.clone()), called),
        (computer("actions", json!([click, {"type": "wait"}, {"type": "screenshot"}])), called),
        (
            json!({"id": "cuo_1", "type": "computer_call_output", "call_id": "c_1", "status": "completed",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}}),
            Some("tool_output"),
        ),
        (
            json!({"id": "ci_1", "type": "code_interpreter_call", "status": "completed",
            "container_id": "cntr_1", "code": "1 + 1", "outputs": [{"type": "logs", "logs": "2"}]}),
            called,
        ),
        (
            json!({"id": "ig_1", "type": "image_generation_call", "status": "completed",
            "result": "A".repeat(300_000), "revised_prompt": "a cat"}),
            called,
        ),
        (
            json!({"id": "ml_1", "type": "mcp_list_tools", "server_label": "files",
            "tools": [{"name": "read", "input_schema": {"type": "object"}, "annotations": null}]}),
            Some("mcp_list_tools"),
        ),
        (
            json!({"id": "mc_1", "type": "mcp_call", "server_label": "files", "name": "read",
            "arguments": "{\"path\":\"a\"}", "output": "x", "error": null, "status": "completed"}),
            called,
        ),
        (
            json!({"id": "ma_1", "type": "mcp_approval_request", "server_label": "files", "name": "read",
            "arguments": "{}"}),
            Some("mcp_approval_requested"),
        ),
        (
            json!({"id": "lsh_1", "type": "local_shell_call", "status": "completed", "call_id": "c_2",
            "action": {"type": "exec", "command": ["ls"], "env": {}, "timeout_ms": 1000}}),
            called,
        ),
        (
            json!({"id": "sh_1", "type": "shell_call", "status": "completed", "call_id": "c_3",
            "action": {"commands": ["ls"], "timeout_ms": 1000, "max_output_length": 100}}),
            called,
        ),
        (
            json!({"id": "sho_1", "type": "shell_call_output", "status": "completed", "call_id": "c_3",
            "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}),
            Some("tool_output"),
        ),
        (
            json!({"id": "ap_1", "type": "apply_patch_call", "status": "completed", "call_id": "c_4",
            "operation": {"type": "delete_file", "path": "a"}}),
            called,
        ),
        (
            json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "c_5",
            "name": "shout", "input": "HEY"}),
            called,
        ),
        (
            json!({"id": "ts_1", "type": "tool_search_call", "execution": "server", "status": "completed",
            "arguments": {"q": "x"}}),
            Some("tool_search_called"),
        ),
        (
            json!({"id": "to_1", "type": "tool_search_output", "execution": "server", "status": "completed",
            "tools": []}),
            Some("tool_search_output_created"),
        ),
        (
            json!({"id": "fut_1", "type": "telepathy_call", "status": "completed", "thought": {"deep": [1, null]}}),
            called,
        ),
        // The SDK has no event for what it does not know, and none for a compaction.
        (json!({"id": "fut_2", "type": "telepathy", "status": "completed"}), None),
        (json!({"id": "cmp_1", "type": "compaction", "encrypted_content": "sealed"}), None),
    ]
}

#[tokio::test]
async fn every_kind_of_hosted_tool_gives_the_run_items_of_the_sdk() {
    for (item, name) in kinds() {
        let kind = item["type"].as_str().unwrap().to_owned();
        let sent = response(&[item.clone(), message()], "response.completed", json!({}));
        let run = run(ApiName::Openai, service::sse(&sent)).await;
        let frames = frames(&run).await;
        let raw = of_kind(&frames, "raw_response_event");
        assert_eq!(
            raw.iter().map(|frame| &frame["data"]).collect::<Vec<_>>(),
            sent.iter().collect::<Vec<_>>()
        );
        assert!(raw.iter().all(|frame| frame.get("rebuilt").is_none()), "{kind}");
        let items = of_kind(&frames, "run_item_stream_event");
        let names: Vec<&str> = items.iter().map(|frame| frame["name"].as_str().unwrap()).collect();
        let expected: Vec<&str> = name.into_iter().chain(["message_output_created"]).collect();
        assert_eq!(names, expected, "{kind}");
        if name.is_some() {
            assert_eq!(items[0]["item"]["raw_item"], item, "{kind}");
        }
        assert_eq!(items.last().unwrap()["item"]["raw_item"]["content"][0]["text"], "Done.", "{kind}");
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Completed(_)), "{kind}");
        let responses = run.raw_responses().await.unwrap();
        assert_eq!(responses, [sent.last().unwrap()["response"].clone()], "{kind}");
    }
}

#[tokio::test]
async fn all_kinds_in_one_response_keep_their_order() {
    let (items, names): (Vec<Value>, Vec<_>) = kinds().into_iter().unzip();
    // Ids are unique in a response.
    let numbered = items.into_iter().enumerate().map(|(index, mut item)| {
        item["id"] = format!("{}_{index}", item["id"].as_str().unwrap()).into();
        item
    });
    let items: Vec<Value> = numbered.chain([message()]).collect();
    let sent = response(&items, "response.completed", json!({}));
    let run = run(ApiName::Openai, service::sse(&sent)).await;
    let frames = frames(&run).await;
    let raw: Vec<&Value> =
        of_kind(&frames, "raw_response_event").iter().map(|frame| &frame["data"]).collect();
    assert_eq!(raw, sent.iter().collect::<Vec<_>>());
    let run_items = of_kind(&frames, "run_item_stream_event");
    let run_items: Vec<&str> = run_items.iter().map(|frame| frame["name"].as_str().unwrap()).collect();
    let expected: Vec<&str> = names.into_iter().flatten().chain(["message_output_created"]).collect();
    assert_eq!(run_items, expected);
}

#[tokio::test]
async fn an_end_that_is_no_success_passes_as_it_came() {
    let failed = json!({"error": {"code": "invalid_prompt", "message": "no", "new": [1.5]}});
    let cut = json!({"incomplete_details": {"reason": "max_output_tokens"}});
    for (end, last) in [("response.failed", failed), ("response.incomplete", cut)] {
        let sent = response(&[message()], end, last);
        let run = run(ApiName::Openai, service::sse(&sent)).await;
        let frames = frames(&run).await;
        let raw = of_kind(&frames, "raw_response_event");
        let raw: Vec<&Value> = raw.iter().map(|frame| &frame["data"]).take(sent.len()).collect();
        assert_eq!(raw, sent.iter().collect::<Vec<_>>(), "{end}");
        match (end, run.outcome().await.unwrap()) {
            ("response.failed", Outcome::Failed(_)) => {}
            // A text that reached the limit of tokens is an answer here; the SDK raises.
            ("response.incomplete", Outcome::Completed(output)) => assert_eq!(output, "Done."),
            (_, outcome) => panic!("{end}: {outcome:?}"),
        }
    }
}

/// The streams that were recorded of services, by API.
fn recorded(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/provider").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "sse"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() > 5);
    found
}

/// What holds of every rebuilt stream: responses number their events from 0, items have places in the order in which
/// they come, and what speaks of an item names the index and the id that it has.
fn check_rebuilt(name: &str, raw: &[&Value]) {
    let (mut number, mut open) = (0, Vec::<Value>::new());
    let (mut done, mut is_open) = (Vec::<Value>::new(), false);
    for frame in raw {
        assert_eq!(frame["rebuilt"], true, "{name}: {frame}");
        let event = &frame["data"];
        let kind = event["type"].as_str().unwrap();
        if kind == "response.created" {
            (number, is_open) = (0, true);
            (open, done) = (Vec::new(), Vec::new());
        }
        assert!(is_open, "{name}: `{kind}` is outside of a response");
        assert_eq!(event["sequence_number"], number, "{name}: {event}");
        number += 1;
        match kind {
            "response.output_item.added" => {
                assert_eq!(event["output_index"], open.len(), "{name}: {event}");
                let id = event["item"]["id"].clone();
                assert!(id.is_string() && !open.contains(&id), "{name}: {event}");
                open.push(id);
            }
            "response.output_item.done" => {
                let index = usize::try_from(event["output_index"].as_u64().unwrap()).unwrap();
                assert_eq!(event["item"]["id"], open[index], "{name}: {event}");
                done.push(event["item"].clone());
            }
            "response.completed" | "response.failed" => {
                let output = event["response"]["output"].as_array().unwrap();
                if kind == "response.completed" {
                    let ids = |items: &[Value]| items.iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
                    assert_eq!(ids(output), open, "{name}: {event}");
                }
                is_open = false;
            }
            _ if event.get("item_id").is_some() => {
                let index = usize::try_from(event["output_index"].as_u64().unwrap()).unwrap();
                assert_eq!(event["item_id"], open[index], "{name}: {event}");
                let is_done = done.iter().any(|item| item["id"] == open[index]);
                assert!(!is_done, "{name}: `{kind}` comes behind the end of its item");
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn rebuilt_events_of_every_recorded_stream_fit_together() {
    let apis = [("chat", ApiName::Chat), ("anthropic", ApiName::Anthropic), ("gemini", ApiName::Gemini)];
    for (folder, api) in apis {
        for (name, body) in recorded(folder) {
            let run = run(api, body).await;
            let frames = frames(&run).await;
            check_rebuilt(&format!("{folder}/{name}"), &of_kind(&frames, "raw_response_event"));
        }
    }
}

/// The events in a recorded stream that can be read, whatever its line ends.
fn events_of(body: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\r', "\n");
    let data_of = |frame: &str| -> String {
        let lines =
            frame.trim_start_matches('\u{feff}').lines().filter_map(|line| line.strip_prefix("data:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    text.split("\n\n").filter_map(|frame| serde_json::from_str(&data_of(frame)).ok()).collect()
}

#[tokio::test]
async fn the_events_of_every_recorded_responses_stream_pass_as_they_came() {
    let mut partly: Vec<String> = Vec::new();
    // Half of a surrogate pair is no text: such deltas are written anew, with their texts joined.
    for (name, body) in recorded("openai").into_iter().filter(|(name, _)| name != "surrogates") {
        let sent = events_of(&body);
        let run = run(ApiName::Openai, body).await;
        let frames = frames(&run).await;
        let raw = of_kind(&frames, "raw_response_event");
        let original: Vec<&Value> =
            raw.iter().filter(|frame| frame.get("rebuilt").is_none()).map(|frame| &frame["data"]).collect();
        let passed: Vec<&Value> = sent.iter().take(original.len()).collect();
        assert_eq!(original, passed, "{name}");
        if original.len() < sent.len() {
            partly.push(name);
        }
    }
    // These contradict themselves, and are given up at that event.
    assert_eq!(partly, ["delta_of_unknown_item", "item_added_twice"]);
}
