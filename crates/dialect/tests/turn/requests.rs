//! Requests of foreign clients, and what they are told when something is wrong.

use riverrun_dialect::request::{InputItem, MessageThread, ModelCall, RequestFailure, RequestedToolChoice};
use riverrun_dialect::{Dialect, anthropic, chat, gemini, responses};
use serde_json::{Value, json};

type Decode = fn(&[u8]) -> Result<ModelCall, RequestFailure>;

fn decoded(decode: Decode, body: Value) -> ModelCall {
    decode(body.to_string().as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {body}"))
}

fn items(call: &ModelCall) -> Value {
    serde_json::to_value(&call.input).expect("items serialise")
}

/// The code, the place and the words of a refusal.
fn refused(decode: Decode, body: Value) -> (String, Option<String>, String) {
    let failure = decode(body.to_string().as_bytes()).expect_err("it is refused");
    assert_eq!(failure.status, 400);
    (failure.code, failure.param, failure.message)
}

#[test]
fn a_response_request_is_read_whole() {
    let call = decoded(
        responses::request::decode,
        json!({
            "model": "agent/x", "stream": true, "background": true, "previous_response_id": "resp_t0", "instructions": "Be short.",
            "input": [
                {"role": "user", "content": "hi"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "15C"},
                {"type": "reasoning", "id": "rs", "summary": []},
                {"type": "mcp_approval_response", "approval_request_id": "a", "approve": true},
                {"type": "item_reference", "id": "z"},
            ],
            "tools": [
                {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": true},
                {"type": "mcp", "server_label": "s", "authorization": "secret", "headers": {"k": "secret"}},
            ],
            "tool_choice": {"type": "function", "name": "f"}, "max_output_tokens": 9, "include": ["x"],
        }),
    );
    assert!(call.stream && call.background);
    assert_eq!(call.previous.as_deref(), Some("resp_t0"));
    assert_eq!(call.tools.len(), 1);
    assert_eq!(call.tool_choice, RequestedToolChoice::Named("f".to_owned()));
    assert_eq!(call.extra.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["include"]);
    assert_eq!(
        items(&call),
        json!([
            {"type": "user", "parts": [{"type": "text", "text": "hi"}]},
            {"type": "assistant", "parts": [{"type": "text", "text": "yes"}]},
            {"type": "tool_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "tool_result", "call_id": "c", "parts": [{"type": "text", "text": "15C"}], "is_error": false},
            {"type": "reasoning", "opaque": {"type": "reasoning", "id": "rs", "summary": []}},
            {"type": "decision", "action_id": "a", "approve": true},
            {"type": "other", "opaque": {"type": "item_reference", "id": "z"}},
        ])
    );
    let kept = call.request.get();
    assert!(!kept.contains("secret") && !kept.contains("15C"), "neither secrets nor the input: {kept}");
    assert!(kept.contains("\"instructions\":\"Be short.\""), "{kept}");
}

#[test]
fn a_bare_string_is_one_user_message() {
    let call = decoded(responses::request::decode, json!({"model": "m", "input": "hi"}));
    assert_eq!(call.turn_input(), "hi".into());
    assert!(matches!(call.input[..], [InputItem::User { .. }]));
}

#[test]
fn a_chat_request_is_read_whole() {
    let call = decoded(
        chat::request::decode,
        json!({
            "model": "m", "max_tokens": 5, "stop": "x",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "u"}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "15C"},
            ],
            "tools": [{"type": "function", "function": {"name": "f"}}],
        }),
    );
    assert_eq!((call.max_output_tokens, call.stop.as_slice()), (Some(5), ["x".to_owned()].as_slice()));
    let kinds: Vec<Value> =
        items(&call).as_array().expect("a list").iter().map(|item| item["type"].clone()).collect();
    assert_eq!(kinds, ["system", "user", "tool_call", "tool_result"]);
}

#[test]
fn an_anthropic_request_is_read_whole() {
    let call = decoded(
        anthropic::request::decode,
        json!({
            "model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "s"}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "15C", "is_error": true}]},
            ],
            "tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        }),
    );
    assert_eq!(call.instructions.as_deref(), Some("s"));
    assert_eq!(
        (call.tool_choice.clone(), call.parallel_tool_calls),
        (RequestedToolChoice::Required, Some(false))
    );
    assert_eq!(
        items(&call),
        json!([
            {"type": "user", "parts": [{"type": "text", "text": "hi"}]},
            {"type": "reasoning", "opaque": {"type": "thinking", "thinking": "t", "signature": "s"}},
            {"type": "assistant", "parts": [{"type": "text", "text": "a"}]},
            {"type": "tool_call", "call_id": "c", "name": "f", "arguments": "{\"x\":1}"},
            {"type": "tool_result", "call_id": "c", "parts": [{"type": "text", "text": "15C"}], "is_error": true},
        ])
    );
}

#[test]
fn a_gemini_request_is_read_whole() {
    let body = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "t", "thought": true}, {"functionCall": {"name": "f", "args": {"x": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"ok": true}}}]},
        ],
        "systemInstruction": {"parts": [{"text": "s"}]}, "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {"maxOutputTokens": 5}, "continuationToken": "7.x",
    });
    let call = gemini::request::decode("m", true, body.to_string().as_bytes()).expect("it is read");
    assert_eq!((call.model.as_str(), call.stream, call.max_output_tokens), ("m", true, Some(5)));
    assert_eq!((call.instructions.as_deref(), call.continuation.as_deref()), (Some("s"), Some("7.x")));
    assert_eq!((call.tools.len(), &call.tool_choice), (1, &RequestedToolChoice::Required));
    assert_eq!(
        items(&call),
        json!([
            {"type": "user", "parts": [{"type": "text", "text": "hi"}]},
            {"type": "reasoning", "opaque": {"text": "t", "thought": true}},
            {"type": "tool_call", "call_id": "f", "name": "f", "arguments": "{\"x\":1}"},
            {"type": "tool_result", "call_id": "f", "parts": [{"type": "text", "text": "{\"ok\":true}"}], "is_error": false},
        ])
    );
}

#[test]
fn a_refusal_names_the_place_and_the_fix() {
    let cases: [(Decode, Value, &str, Option<&str>, &str); 8] = [
        (
            responses::request::decode,
            json!({"input": "x"}),
            "missing_required_parameter",
            Some("model"),
            "missing required parameter: `model`",
        ),
        (
            responses::request::decode,
            json!({"model": 1, "input": "x"}),
            "invalid_type",
            Some("model"),
            "`model` must be a string, not a number that does not fit",
        ),
        (
            responses::request::decode,
            json!({"model": "m"}),
            "missing_required_parameter",
            Some("input"),
            "missing required parameter: `input`",
        ),
        (
            responses::request::decode,
            json!({"model": "m", "input": [{"role": "robot", "content": "x"}]}),
            "invalid_value",
            Some("input[0].role"),
            "`input[0].role` must be one of `user`, `assistant`, `system`, `developer`, not `robot`",
        ),
        (
            chat::request::decode,
            json!({"model": "m", "messages": []}),
            "empty_array",
            Some("messages"),
            "`messages` must have at least one message",
        ),
        (
            chat::request::decode,
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text"}]}]}),
            "missing_required_parameter",
            Some("messages[0].content[0].text"),
            "missing required parameter: `messages[0].content[0].text`",
        ),
        (
            anthropic::request::decode,
            json!({"model": "m", "messages": []}),
            "missing_required_parameter",
            Some("max_tokens"),
            "missing required parameter: `max_tokens`",
        ),
        (anthropic::request::decode, json!([]), "invalid_type", None, "the body must be a JSON object"),
    ];
    for (decode, body, code, param, message) in cases {
        assert_eq!(refused(decode, body), (code.to_owned(), param.map(str::to_owned), message.to_owned()));
    }
    let failure = responses::request::decode(b"{").expect_err("it is no JSON");
    assert_eq!((failure.status, failure.code.as_str()), (400, "invalid_json"));
}

/// Content that is newer than this is the service's to know; everybody else says where it stands.
#[test]
fn parts_of_another_type_pass_through_unchanged() {
    let film = json!({"type": "film", "film": {"url": "https://example.com/a.mp4"}});
    let said = json!([{"role": "user", "content": [film]}]);
    let cases: [(Decode, Value, &str); 3] = [
        (chat::request::decode, json!({"model": "m", "messages": said}), "messages[0].content[0].type"),
        (responses::request::decode, json!({"model": "m", "input": said}), "input[0].content[0].type"),
        (
            anthropic::request::decode,
            json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": [film]}]}]}),
            "messages[0].content[0].content[0].type",
        ),
    ];
    for (decode, body, place) in cases {
        let call = decoded(decode, body);
        assert_eq!(items(&call)[0]["parts"], json!([film]));
        let complaint = call.unknown.first().expect("a complaint");
        assert_eq!((complaint.code.as_str(), complaint.param.as_deref()), ("invalid_value", Some(place)));
        assert!(complaint.message.ends_with("not `film`"), "{complaint}");
    }
    // A type that means something else in the log.
    let sound = json!({"type": "audio", "source": {"type": "base64", "data": "AA=="}});
    let said = json!([{"role": "user", "content": [sound]}]);
    let call = decoded(anthropic::request::decode, json!({"model": "m", "max_tokens": 1, "messages": said}));
    assert_eq!(items(&call)[0]["parts"], json!([{"type": "json", "data": sound}]));
    assert_eq!(call.unknown.len(), 1);
    let source = |source: Value| {
        let document = json!({"type": "document", "source": source});
        let said = json!([{"role": "user", "content": [document]}]);
        decoded(anthropic::request::decode, json!({"model": "m", "max_tokens": 1, "messages": said}))
    };
    let inside = source(json!({"type": "content", "content": [{"type": "text", "text": "notes"}]}));
    assert_eq!(items(&inside)[0]["parts"][0]["url"], "data:text/plain,notes");
    let newer = source(json!({"type": "drawer", "drawer": 7}));
    let place = newer.unknown.first().and_then(|failure| failure.param.as_deref());
    assert_eq!(place, Some("messages[0].content[0].source.type"));
}

#[test]
fn errors_have_the_shape_of_their_dialect() {
    let failure = RequestFailure::new(404, "not_found", "no such model").param("model");
    let body = |dialect: Dialect| {
        serde_json::from_str::<Value>(&dialect.error_body(&failure, Some("req_1")).expect("a shape"))
            .expect("JSON")
    };
    let openai = json!({"error": {"message": "no such model", "type": "invalid_request_error", "param": "model", "code": "not_found"}});
    assert_eq!((body(Dialect::Responses), body(Dialect::Chat)), (openai.clone(), openai));
    let anthropic = json!({"type": "error", "error": {"type": "not_found_error", "message": "no such model"}, "request_id": "req_1"});
    assert_eq!(body(Dialect::Anthropic), anthropic);
    let gemini = json!({"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}});
    assert_eq!(body(Dialect::Gemini), gemini);
}

#[test]
fn models_and_input_items_are_lists() {
    let model = responses::models::OpenAiModel { id: "agent/x", created: 7, owned_by: "riverrun" };
    let models: Value = serde_json::from_str(&responses::models::models(&[model])).expect("JSON");
    assert_eq!(
        models["data"][0],
        serde_json::from_str::<Value>(&responses::models::model(&model)).expect("JSON")
    );
    assert_eq!((&models["object"], &models["data"][0]["object"]), (&json!("list"), &json!("model")));
    let log = crate::log::turn("text");
    let turn = &log.state(log.len()).turns[0];
    let list = responses::input_items(turn, &responses::ItemPageQuery::default()).expect("a list");
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list["data"][0]["content"], json!([{"type": "input_text", "text": "weather?"}]));
    let id = responses::response_id(&turn.turn_id);
    assert_eq!(responses::turn_of(&id).as_ref(), Some(&turn.turn_id));
}

fn threaded(thread: Value, more: Value) -> Value {
    let mut body = json!({"model": "m", "max_tokens": 5, "messages": [], "thread": thread});
    for (name, value) in more.as_object().expect("members") {
        body[name.as_str()] = value.clone();
    }
    body
}

#[test]
fn a_continuation_takes_over_the_tools_and_the_system_prompt() {
    let tools = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    let asked = json!([{"role": "user", "content": "hi"}]);
    let first =
        threaded(json!({"type": "create"}), json!({"messages": asked, "tools": tools, "system": "s"}));
    let first = decoded(anthropic::request::decode, first);
    assert_eq!(first.thread, Some(MessageThread::Create));
    let result =
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "15C"}]}]);
    let second =
        threaded(json!({"type": "continue", "previous_message_id": "msg_1"}), json!({"messages": result}));
    let mut second = decoded(anthropic::request::decode, second);
    assert_eq!(second.thread, Some(MessageThread::Continue("msg_1".to_owned())));
    assert_eq!(second.unknown, [], "what stands before is not in the request");
    assert_eq!(anthropic::thread::inherit(&mut second, &first.request), Some(()));
    assert_eq!((second.tools.len(), second.instructions.as_deref()), (1, Some("s")));
    let third = threaded(json!({"type": "continue", "previous_message_id": "msg_2"}), json!({}));
    let mut third = decoded(anthropic::request::decode, third);
    assert_eq!(anthropic::thread::inherit(&mut third, &second.request), Some(()));
    assert_eq!((third.tools, third.instructions), (first.tools.clone(), first.instructions.clone()));
    let plain = decoded(anthropic::request::decode, threaded(Value::Null, json!({"messages": asked})));
    assert_eq!(plain.thread, None);
    assert_eq!(anthropic::thread::inherit(&mut second, &plain.request), None);
}

#[test]
fn a_thread_is_refused_with_its_place() {
    let refused = |thread: Value, more: Value| refused(anthropic::request::decode, threaded(thread, more)).1;
    let going_on = || json!({"type": "continue", "previous_message_id": "msg_1"});
    let place = |text: &str| Some(text.to_owned());
    assert_eq!(refused(json!({"type": "fork"}), json!({})), place("thread.type"));
    assert_eq!(refused(json!({"type": "continue"}), json!({})), place("thread.previous_message_id"));
    assert_eq!(refused(json!("create"), json!({})), place("thread"));
    assert_eq!(refused(going_on(), json!({"tools": []})), place("tools"));
    assert_eq!(refused(going_on(), json!({"system": "s"})), place("system"));
    assert_eq!(refused(json!({"type": "create"}), json!({})), place("messages"));
}

#[test]
fn a_result_answers_a_call_of_the_message_before_it() {
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}}]});
    let result = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]});
    let user = || json!({"role": "user", "content": "hi"});
    let orphan = |messages: Value| {
        let body = json!({"model": "m", "max_tokens": 5, "messages": messages});
        decoded(anthropic::request::decode, body).unknown.first().and_then(|failure| failure.param.clone())
    };
    let place = |text: &str| Some(text.to_owned());
    assert_eq!(orphan(json!([user(), call("a"), result("a")])), None);
    assert_eq!(orphan(json!([user(), call("a"), result("a"), call("b"), result("b")])), None);
    assert_eq!(orphan(json!([user(), call("a"), call("b"), result("a"), result("b")])), None);
    assert_eq!(orphan(json!([result("a")])), place("messages[0].content[0]"));
    assert_eq!(orphan(json!([user(), call("a"), result("b")])), place("messages[2].content[0]"));
    assert_eq!(
        orphan(json!([user(), call("a"), result("a"), call("b"), result("a")])),
        place("messages[4].content[0]")
    );
}

#[test]
fn clients_read_why_a_thread_is_refused() {
    let body = anthropic::error::body(&anthropic::thread::not_found("msg_1"), None);
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(body["error"]["type"], "not_found_error");
    assert_eq!(body["error"]["details"], json!({"error_code": "thread_not_found"}));
}
