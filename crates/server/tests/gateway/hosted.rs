//! The answers of services that run tools of their own, with what is newer than this server.

use serde_json::{Value, json};

use crate::upstream::named;

/// A picture that is larger than an event may be.
pub fn picture() -> String {
    "iVBORw0K".repeat(60_000)
}

pub fn frames(api: &str) -> Vec<String> {
    match api {
        "responses" => responses().iter().map(named).collect(),
        "messages" => messages().iter().map(named).collect(),
        _ => chat(),
    }
}

/// The items as they end, in order; the message has the service's own name.
pub fn items() -> Vec<Value> {
    vec![
        json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"}),
        json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "weather"}}),
        json!({"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": picture()}),
        json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_7",
            "name": "shout", "input": "HEY"}),
        json!({"id": "fut_1", "type": "telepathy_call", "status": "completed", "thought": {"deep": [1, null]}}),
        json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "Sunny.", "annotations": [], "logprobs": [odds("Sunny"), odds(".")]},
            {"type": "refusal", "refusal": "No more."}]}),
    ]
}

pub fn odds(token: &str) -> Value {
    json!({"token": token, "logprob": -0.25, "bytes": null, "top_logprobs": []})
}

pub fn usage() -> Value {
    json!({"input_tokens": 36, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 87,
        "output_tokens_details": {"reasoning_tokens": 64}, "total_tokens": 123})
}

/// Every event but those that open and close the response and its items, in order.
pub fn responses() -> Vec<Value> {
    let response = |status: &str, output: Value| {
        json!({"id": "r1", "object": "response", "created_at": 1, "status": status,
            "model": "gpt-5-mini-2025-08-07", "output": output, "usage": usage(), "service_tier": "priority",
            "temperature": 1.0, "moderation": {"flagged": false}})
    };
    let mut all = vec![json!({"type": "response.created", "response": response("in_progress", json!([]))})];
    for (at, item) in items().into_iter().enumerate() {
        let id = item["id"].clone();
        let mut begun = item.clone();
        begun["status"] = "in_progress".into();
        for late in ["action", "result", "thought", "content", "encrypted_content"] {
            begun.as_object_mut().expect("an object").remove(late);
        }
        all.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        let word = |kind: &str| json!({"type": kind, "item_id": id, "output_index": at});
        let with = |kind: &str, member: &str, value: Value| {
            let mut word = word(kind);
            word[member] = value;
            word
        };
        all.extend(match item["type"].as_str().unwrap_or_default() {
            "web_search_call" => vec![
                word("response.web_search_call.in_progress"),
                word("response.web_search_call.searching"),
                json!({"type": "keepalive"}),
                word("response.web_search_call.completed"),
            ],
            "image_generation_call" => vec![
                word("response.image_generation_call.generating"),
                with("response.image_generation_call.partial_image", "partial_image_b64", picture().into()),
            ],
            "custom_tool_call" => vec![
                with("response.custom_tool_call_input.delta", "delta", "HEY".into()),
                with("response.custom_tool_call_input.done", "input", "HEY".into()),
            ],
            "telepathy_call" => vec![with("response.telepathy_call.felt", "how", json!({"strong": true}))],
            "message" => {
                let mut text = with("response.output_text.delta", "delta", "Sunny.".into());
                text["logprobs"] = json!([odds("Sunny"), odds(".")]);
                text["content_index"] = 0.into();
                let mut refusal = with("response.refusal.delta", "delta", "No more.".into());
                refusal["content_index"] = 1.into();
                vec![text, refusal, with("response.mood.changed", "mood", "sunny".into())]
            }
            _ => Vec::new(),
        });
        all.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    all.push(json!({"type": "response.completed", "response": response("completed", json!(items()))}));
    for (at, event) in all.iter_mut().enumerate() {
        event["sequence_number"] = at.into();
    }
    all
}

/// A response that asks the caller to run a function.
pub fn call() -> Vec<Value> {
    let item = json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1",
        "name": "read", "arguments": "{}"});
    let response = |status: &str| json!({"id": "r1", "object": "response", "status": status, "model": "m"});
    vec![
        json!({"type": "response.created", "response": response("in_progress")}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response("completed")}),
    ]
}

/// The blocks as they end.
pub fn blocks() -> Vec<Value> {
    vec![
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
            {"type": "web_search_result", "url": "https://example.com", "title": "W",
                "encrypted_content": picture(), "page_age": null}]}),
        json!({"type": "container_upload", "file_id": "file_1"}),
        json!({"type": "text", "text": "Sunny. "}),
    ]
}

pub fn message_usage() -> Value {
    json!({"input_tokens": 25, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 100}, "output_tokens": 42,
        "server_tool_use": {"web_search_requests": 1}, "service_tier": "standard"})
}

pub fn messages() -> Vec<Value> {
    let mut usage = message_usage();
    usage["output_tokens"] = 1.into();
    let message = json!({"id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut all = vec![json!({"type": "message_start", "message": message}), json!({"type": "ping"})];
    for (at, block) in blocks().into_iter().enumerate() {
        let mut begun = block.clone();
        let mut deltas = Vec::new();
        match block["type"].as_str().unwrap_or_default() {
            "server_tool_use" => {
                begun["input"] = json!({});
                deltas.extend(
                    ["", "{\"query\":", " \"weather\"}"]
                        .map(|part| json!({"type": "input_json_delta", "partial_json": part})),
                );
            }
            "text" => {
                begun["text"] = "".into();
                deltas.push(json!({"type": "text_delta", "text": "Sunny. "}));
                deltas.push(json!({"type": "future_delta", "shade": 3}));
            }
            _ => {}
        }
        all.push(json!({"type": "content_block_start", "index": at, "content_block": begun}));
        all.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": at, "delta": delta})),
        );
        all.push(json!({"type": "content_block_stop", "index": at}));
    }
    all.push(json!({"type": "future_event", "note": "new"}));
    all.push(json!({"type": "message_delta",
        "delta": {"stop_reason": "stop_sequence", "stop_sequence": "STOP", "container": {"id": "c1"}},
        "context_management": {"applied_edits": []},
        "usage": {"output_tokens": 42, "server_tool_use": {"web_search_requests": 1}}}));
    all.push(json!({"type": "message_stop"}));
    all
}

fn chunk(delta: Value, odds: Value, finish: Value) -> Value {
    let choice = json!({"index": 0, "delta": delta, "logprobs": odds, "finish_reason": finish});
    json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4.1-2025-04-14",
        "system_fingerprint": "fp_9", "service_tier": "priority", "choices": [choice]})
}

fn data(chunks: &[Value]) -> Vec<String> {
    let mut frames: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

/// What the deltas of `custom` say, in order: a call that is no function's, one that is, and members that only the
/// service knows.
pub fn custom_deltas() -> Vec<Value> {
    vec![
        json!({"audio": {"id": "audio_1", "transcript": "Let me "}}),
        json!({"tool_calls": [{"index": 0, "id": "call_a", "type": "custom",
            "custom": {"name": "code_exec", "input": ""}}]}),
        json!({"tool_calls": [{"index": 0, "custom": {"input": "print("}}]}),
        json!({"audio": {"transcript": "see."}}),
        json!({"tool_calls": [{"index": 0, "custom": {"input": "\"hi\")"}}]}),
        json!({"tool_calls": [{"index": 1, "id": "call_b", "type": "function",
            "function": {"name": "read", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
    ]
}

pub fn custom() -> Vec<String> {
    let mut all = vec![chunk(json!({"role": "assistant", "content": null}), Value::Null, Value::Null)];
    all.extend(custom_deltas().into_iter().map(|delta| chunk(delta, Value::Null, Value::Null)));
    all.push(chunk(json!({}), Value::Null, json!("tool_calls")));
    all[3]["choices"][0]["content_filter_results"] = json!({"hate": {"filtered": false}});
    data(&all)
}

fn chat() -> Vec<String> {
    let mut last = chunk(json!({}), Value::Null, json!("stop"));
    let mut usage = last.clone();
    usage["choices"] = json!([]);
    usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 16, "audio_tokens": 0}});
    last["citations"] = json!(["https://example.com"]);
    let all = [
        chunk(json!({"role": "assistant", "content": ""}), Value::Null, Value::Null),
        chunk(json!({"content": "Sun"}), json!({"content": [odds("Sun")], "refusal": null}), Value::Null),
        chunk(json!({"content": "ny."}), json!({"content": [odds("ny.")], "refusal": null}), Value::Null),
        chunk(json!({"refusal": "No more."}), Value::Null, Value::Null),
        last,
        usage,
    ];
    data(&all)
}
