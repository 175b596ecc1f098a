//! What the services are sent: one conversation as each API wants it, and any conversation as none refuses it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use proptest::prelude::*;
use riverrun_event::{Part, RawJson};
use riverrun_provider::{
    HistoryEntry, ModelRequest, RequestFlaw, ToolChoice, ToolSpec, anthropic, chat, gemini, openai,
};
use serde_json::{Value, json};

type Encode = fn(&ModelRequest, &str) -> Value;
type Check = fn(&Value) -> Result<(), RequestFlaw>;

const APIS: [(&str, Encode, Check); 4] = [
    ("openai", openai::encode, openai::check::check),
    ("chat", chat::encode, chat::check::check),
    ("anthropic", anthropic::encode, anthropic::check::check),
    ("gemini", gemini::encode, gemini::check::check),
];

fn raw(value: Value) -> Option<RawJson> {
    Some(RawJson::of(&value).unwrap())
}

fn user(text: &str) -> HistoryEntry {
    HistoryEntry::User { parts: vec![Part::plain(text)] }
}

fn said(text: &str) -> HistoryEntry {
    HistoryEntry::Assistant { parts: vec![Part::plain(text)], opaque: None }
}

fn call(id: &str, name: &str) -> HistoryEntry {
    let arguments = r#"{"city":"Paris"}"#.to_owned();
    HistoryEntry::ToolCall { call_id: id.to_owned(), name: name.to_owned(), arguments, opaque: None }
}

fn result(id: &str, text: &str, is_error: bool) -> HistoryEntry {
    HistoryEntry::ToolResult {
        call_id: id.to_owned(),
        name: "get_weather".to_owned(),
        parts: vec![Part::plain(text)],
        is_error,
    }
}

fn picture() -> Part {
    serde_json::from_value(json!({"type": "image", "imageUrl": {"url": "data:image/png;base64,aGk="}}))
        .unwrap()
}

/// A result that is a picture and no text.
fn shown(id: &str) -> HistoryEntry {
    let parts = vec![picture()];
    HistoryEntry::ToolResult {
        call_id: id.to_owned(),
        name: "get_weather".to_owned(),
        parts,
        is_error: false,
    }
}

/// What each provider wants back of its own reasoning.
fn thought(provider: &str) -> HistoryEntry {
    let opaque = match provider {
        "openai" => {
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "own-openai"})
        }
        "anthropic" => json!({"type": "thinking", "thinking": "Hm.", "signature": "own-anthropic"}),
        "chat" => json!({"reasoning_details": [{"type": "reasoning.text", "text": "own-chat"}]}),
        _ => json!({"thoughtSignature": "own-gemini"}),
    };
    HistoryEntry::Reasoning {
        summary: vec!["Hm.".to_owned()],
        text: None,
        provider: provider.to_owned(),
        opaque: raw(opaque),
    }
}

fn conversation() -> ModelRequest {
    let mut signed = call("call_1", "get_weather");
    if let HistoryEntry::ToolCall { opaque, .. } = &mut signed {
        *opaque =
            raw(json!({"gemini": {"thoughtSignature": "own-gemini"}, "openai": {"namespace": "own-openai"}}));
    }
    let mut history = vec![HistoryEntry::User { parts: vec![Part::plain("What is this?"), picture()] }];
    history.extend(APIS.map(|(api, ..)| thought(api)));
    history.extend([said("Let me look."), signed, call("call.2|x", "get_time")]);
    history.extend([result("call.2|x", "no clock", true), result("call_1", r#"{"temp":15}"#, false)]);
    history.extend([
        user("Hurry."),
        said("Sunny."),
        HistoryEntry::System { text: "Be brief.".to_owned() },
        user("Thanks."),
    ]);
    ModelRequest {
        model: "model-1".to_owned(),
        instructions: Some("You know the weather.".to_owned()),
        history,
        tools: vec![ToolSpec {
            name: "get_weather".to_owned(),
            description: "The weather".to_owned(),
            parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
            strict: true,
        }],
        tool_choice: ToolChoice::Named("get_weather".to_owned()),
        parallel_tool_calls: Some(false),
        output_schema: Some(json!({"type": "object"})),
        max_output_tokens: Some(1000),
        temperature: Some(0.5),
        top_p: Some(0.9),
        stop: vec!["END".to_owned()],
        reasoning_effort: Some("low".to_owned()),
        extra: json!({"metadata": {"a": "b"}}).as_object().unwrap().clone(),
        verbatim: None,
        idempotency_key: None,
        keep_raw: false,
        keep_events: false,
    }
}

#[test]
fn one_conversation_is_written_as_in_each_vector() {
    for (api, encode, check) in APIS {
        let body = encode(&conversation(), api);
        assert_eq!(check(&body), Ok(()), "{api}");
        for (other, ..) in APIS.iter().filter(|(other, ..)| *other != api) {
            assert!(
                !body.to_string().contains(&format!("own-{other}")),
                "{api} is sent what {other} made: {body:#}"
            );
        }
        let path = format!("{}/../../spec/vectors/provider/{api}/request.json", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("RIVERRUN_BLESS").is_some() {
            std::fs::write(&path, format!("{body:#}\n")).unwrap();
        }
        let expected: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(body, expected, "{api}");
    }
}

#[test]
fn what_a_model_drew_goes_back_to_its_maker_and_no_service_refuses_it() {
    let sound = json!({"type": "audio", "data": "AAE=", "mediaType": "audio/wav"});
    let parts = vec![Part::plain("Here:"), picture(), serde_json::from_value(sound).unwrap()];
    let signed =
        json!({"gemini": {"thoughtSignatures": {"0": "own-0", "1": "own-1"}, "thoughtSignature": "own-2"}});
    let history = vec![user("Draw."), HistoryEntry::Assistant { parts, opaque: raw(signed) }, user("More.")];
    let request = ModelRequest { model: "m".to_owned(), history, ..ModelRequest::default() };
    for (api, encode, check) in APIS {
        let body = encode(&request, api);
        assert_eq!(check(&body), Ok(()), "{api}");
        assert!(body.to_string().contains("Here:"), "{api}: {body:#}");
        assert_eq!(body.to_string().contains("own-"), api == "gemini", "{api}: {body:#}");
    }
    let parts = json!([
        {"text": "Here:", "thoughtSignature": "own-0"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "own-1"},
        {"inlineData": {"mimeType": "audio/wav", "data": "AAE="}, "thoughtSignature": "own-2"},
    ]);
    assert_eq!(gemini::encode(&request, "gemini")["contents"][1]["parts"], parts);
}

/// A step of a conversation as the runner keeps it: every call has its result, whatever else was cut.
fn step() -> impl Strategy<Value = Vec<HistoryEntry>> {
    let maker = prop_oneof![Just("openai"), Just("chat"), Just("anthropic"), Just("gemini")];
    let text = prop_oneof![Just(""), Just(" "), Just("Yes."), Just("你😀")];
    let calls = proptest::collection::vec((any::<bool>(), any::<bool>()), 0..4);
    (any::<bool>(), maker, text, calls, any::<bool>(), any::<bool>()).prop_map(
        |(thinks, maker, text, calls, text_first, reversed)| {
            let mut step = Vec::new();
            step.extend(thinks.then(|| thought(maker)));
            let text = (!text.is_empty()).then(|| said(text));
            step.extend(text.clone().filter(|_| text_first));
            let ids: Vec<String> = (0..calls.len()).map(|at| format!("CALL{at}")).collect();
            step.extend(ids.iter().map(|id| call(id, "get_weather")));
            step.extend(text.filter(|_| !text_first));
            let answers = ids.iter().zip(&calls);
            let answers = answers.map(|(id, (is_error, empty))| match (*is_error, *empty) {
                (false, true) => shown(id),
                (is_error, empty) => result(id, if empty { "" } else { "15C" }, is_error),
            });
            let mut answers: Vec<HistoryEntry> = answers.collect();
            if reversed {
                answers.reverse();
            }
            step.extend(answers);
            step
        },
    )
}

/// Makes the ids of calls unique over the whole history.
fn number_calls(history: &mut [HistoryEntry], at: usize) {
    for entry in history {
        if let HistoryEntry::ToolCall { call_id, .. } | HistoryEntry::ToolResult { call_id, .. } = entry {
            *call_id = format!("{call_id}_{at}");
        }
    }
}

fn histories() -> impl Strategy<Value = Vec<HistoryEntry>> {
    let turn = (any::<bool>(), proptest::collection::vec(step(), 0..4), any::<bool>());
    proptest::collection::vec(turn, 1..5).prop_map(|turns| {
        let mut history = Vec::new();
        for (number, (is_empty, steps, steered)) in turns.into_iter().enumerate() {
            history.push(user(if is_empty { "" } else { "Go on." }));
            for (at, mut step) in steps.into_iter().enumerate() {
                number_calls(&mut step, number * 10 + at);
                history.extend(step);
                history.extend(steered.then(|| user("Hurry.")));
            }
        }
        // What a new turn asks of the model.
        history.push(user("And now?"));
        history
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_service_refuses_what_the_runner_keeps(history in histories(), effort in any::<bool>(), ends_in_tools in any::<bool>()) {
        let mut history = history;
        if ends_in_tools {
            history.extend([call("LAST", "get_weather"), result("LAST", "15C", false)]);
        }
        let request = ModelRequest {
            model: "m".to_owned(),
            history,
            reasoning_effort: effort.then(|| "high".to_owned()),
            ..ModelRequest::default()
        };
        for (api, encode, check) in APIS {
            let body = encode(&request, api);
            prop_assert_eq!(check(&body), Ok(()), "{}: {:#}", api, body);
        }
    }
}

#[test]
fn a_picture_of_a_tool_reaches_every_service() {
    let history =
        vec![user("Look."), call("a", "look"), call("b", "look"), shown("a"), result("b", "15C", false)];
    let request = ModelRequest { model: "m".to_owned(), history, ..ModelRequest::default() };
    for (api, encode, check) in APIS {
        let body = encode(&request, api);
        assert_eq!(check(&body), Ok(()), "{api}");
        assert_eq!(body.to_string().matches("aGk=").count(), 1, "{api}: {body:#}");
    }
}

#[test]
fn thoughts_go_back_to_a_chat_service_under_the_name_that_they_came_under() {
    let thought = |text: &str, opaque: Value| HistoryEntry::Reasoning {
        summary: Vec::new(),
        text: Some(text.to_owned()),
        provider: "chat".to_owned(),
        opaque: raw(opaque),
    };
    let block = |signature: &str| json!({"thinking_blocks": [{"type": "thinking", "signature": signature}]});
    let history = vec![
        user("Look."),
        thought("Hm. ", json!({"sent_as": "reasoning_content"})),
        thought("So.", json!({"sent_as": "reasoning_content"})),
        thought("not sent back", block("a")),
        thought("nor this", block("b")),
        call("c", "look"),
        result("c", "15C", false),
    ];
    let request = ModelRequest { model: "m".to_owned(), history, ..ModelRequest::default() };
    let body = chat::encode(&request, "chat");
    let message = &body["messages"][1];
    assert_eq!(message["reasoning_content"], "Hm. So.");
    assert_eq!(message["thinking_blocks"].as_array().map(Vec::len), Some(2), "{message:#}");
    assert!(!body.to_string().contains("sent_as"));
    assert!(!chat::encode(&request, "other").to_string().contains("Hm."), "it is of no use to others");
}

#[test]
fn each_checker_refuses_what_its_service_refuses() {
    let refused = |check: Check, body: Value, reason: &str| {
        let found = check(&body).expect_err(&format!("accepted: {body}")).to_string();
        assert!(found.contains(reason), "{found}");
    };
    let openai = |input: Value| json!({"model": "m", "input": input});
    let fc = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let out = json!({"type": "function_call_output", "call_id": "a", "output": "1"});
    let rs = json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"});
    let check = openai::check::check;
    refused(check, openai(json!([])), "must not be empty");
    refused(check, openai(json!([fc])), "no tool output found for function call `a`");
    refused(check, openai(json!([out, fc])), "no function call before it has call_id `a`");
    refused(check, openai(json!([fc, out, out])), "two outputs");
    refused(check, openai(json!([fc, fc, out])), "used twice");
    refused(check, openai(json!([rs, {"role": "user", "content": "x"}])), "required following item");
    refused(check, openai(json!([{"role": "user", "content": []}])), "content must not be empty");

    let chat = |messages: Value| json!({"model": "m", "messages": messages});
    let ask = json!({"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let tool = json!({"role": "tool", "tool_call_id": "a", "content": "1"});
    let hi = json!({"role": "user", "content": "x"});
    let check = chat::check::check;
    refused(check, chat(json!([hi, ask, hi])), "not followed by its tool message");
    refused(check, chat(json!([hi, ask])), "not followed by its tool message");
    refused(check, chat(json!([hi, tool])), "must answer a preceding call");
    refused(check, chat(json!([hi, ask, tool, tool])), "must answer a preceding call");
    refused(check, chat(json!([{"role": "user", "content": ""}])), "content must not be empty");
    refused(check, chat(json!([hi, {"role": "assistant", "content": "It"}])), "must not end with");

    let claude = |messages: Value| json!({"model": "m", "max_tokens": 9, "messages": messages});
    let text = |role: &str| json!({"role": role, "content": [{"type": "text", "text": "x"}]});
    let ask =
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]});
    let answer =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]});
    let late = json!({"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "a"}]});
    let check = anthropic::check::check;
    refused(check, claude(json!([text("assistant")])), "must be `user`");
    refused(check, claude(json!([text("user"), text("user")])), "must be `assistant`");
    refused(
        check,
        claude(json!([{"role": "user", "content": [{"type": "text", "text": " "}]}])),
        "white space",
    );
    refused(check, claude(json!([text("user"), ask])), "no tool_result directly after it");
    refused(check, claude(json!([text("user"), ask, text("user")])), "no tool_result directly after it");
    refused(check, claude(json!([text("user"), ask, late])), "must come first");
    refused(check, claude(json!([answer])), "has no tool_use in the message before");
    refused(check, claude(json!([text("user"), ask, answer, ask, answer])), "must be unique");
    refused(check, claude(json!([text("user"), text("assistant")])), "must end with a user message");
    let mut thinking = claude(json!([text("user"), ask, answer]));
    thinking["max_tokens"] = json!(9000);
    thinking["thinking"] = json!({"type": "enabled", "budget_tokens": 2048});
    refused(check, thinking.clone(), "must start with it");
    thinking["max_tokens"] = json!(100);
    refused(check, thinking, "less than max_tokens");

    let google = |contents: Value| json!({"contents": contents});
    let text = |role: &str| json!({"role": role, "parts": [{"text": "x"}]});
    let ask = json!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]});
    let answer = json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]});
    let check = gemini::check::check;
    refused(check, google(json!([text("model")])), "must be `user`");
    refused(check, google(json!([text("user"), ask, text("user")])), "must be those of the function calls");
    refused(check, google(json!([answer])), "must be those of the function calls");
    refused(check, google(json!([text("user"), ask])), "has no function response");
    refused(check, google(json!([text("user"), text("model")])), "must end with a user turn");
    refused(check, google(json!([{"role": "user", "parts": []}])), "must not be empty");
    refused(check, google(json!([{"role": "user", "parts": [{"text": ""}]}])), "must not be empty");
}
