//! The bad input of services, as `reliability.md` §5 numbers it: each line for each API, with its exact code.
//!
//! Line 50, a call of a tool that is not there, is the runner's: `a_call_of_what_an_agent_without_tools_does_not_have_is_told_so`.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;

use futures_util::StreamExt;
use riverrun_provider::{ApiName, ModelEvent, ModelRequest, ProviderConfig};
use serde_json::{Value, json};
use support::{APIS, MakeDecoder};
use tokio_util::sync::CancellationToken;

/// How one API says what the lines need.
struct Words {
    name: &'static str,
    decoder: MakeDecoder,
    api: ApiName,
    /// Opens a text.
    open: fn() -> Vec<Value>,
    text: fn(&str) -> Value,
    /// Ends a text well, with a count of tokens.
    finish: fn(Value) -> Vec<Value>,
    /// A call whose arguments are these and no more, and then a good end.
    call: fn(&str) -> Vec<Value>,
    /// What comes in an order that the protocol does not have.
    disorder: fn() -> Vec<(&'static str, Vec<Value>)>,
}

fn words() -> [Words; 4] {
    let decoder = |name: &str| APIS.iter().find(|(known, _)| *known == name).unwrap().1;
    [
        Words {
            name: "openai",
            decoder: decoder("openai"),
            api: ApiName::Openai,
            open: || vec![openai_item(json!({"type": "message"}))],
            text: |text| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
            finish: openai_end,
            call: |arguments| {
                let item = json!({"type": "function_call", "call_id": "c", "name": "write"});
                let mut done = item.clone();
                done["arguments"] = json!(arguments);
                let delta = json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments});
                let done = json!({"type": "response.output_item.done", "output_index": 0, "item": done});
                [vec![openai_item(item), delta, done], openai_end(json!(1))].concat()
            },
            disorder: || {
                let delta = json!({"type": "response.output_text.delta", "output_index": 7, "delta": "x"});
                let item = openai_item(json!({"type": "message"}));
                vec![("a delta of no item", vec![delta]), ("two starts", vec![item.clone(), item])]
            },
        },
        Words {
            name: "chat",
            decoder: decoder("chat"),
            api: ApiName::Chat,
            open: Vec::new,
            text: |text| json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
            finish: |tokens| {
                let usage = json!({"prompt_tokens": 1, "completion_tokens": tokens});
                vec![json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})]
            },
            call: |arguments| {
                let function = json!({"name": "write", "arguments": arguments});
                let delta = json!({"tool_calls": [{"index": 0, "id": "c", "function": function}]});
                let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
                vec![json!({"choices": [{"index": 0, "delta": delta}]}), end]
            },
            // Its calls open with their first piece, so only a call without a name is out of order.
            disorder: || {
                let delta = json!({"tool_calls": [{"index": 3, "function": {"arguments": "{}"}}]});
                let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
                let nameless = vec![json!({"choices": [{"index": 0, "delta": delta}]}), end];
                vec![("arguments of no call", nameless)]
            },
        },
        Words {
            name: "anthropic",
            decoder: decoder("anthropic"),
            api: ApiName::Anthropic,
            open: || vec![anthropic_block(json!({"type": "text", "text": ""}))],
            text: |text| anthropic_delta(json!({"type": "text_delta", "text": text})),
            finish: |tokens| anthropic_end("end_turn", tokens),
            call: |arguments| {
                let block =
                    anthropic_block(json!({"type": "tool_use", "id": "c", "name": "write", "input": {}}));
                let delta = anthropic_delta(json!({"type": "input_json_delta", "partial_json": arguments}));
                [vec![block, delta], anthropic_end("tool_use", json!(1))].concat()
            },
            disorder: || {
                let block = anthropic_block(json!({"type": "text", "text": ""}));
                let delta = anthropic_delta(json!({"type": "text_delta", "text": "x"}));
                vec![("a delta of no block", vec![delta]), ("two starts", vec![block.clone(), block])]
            },
        },
        Words {
            name: "gemini",
            decoder: decoder("gemini"),
            api: ApiName::Gemini,
            open: Vec::new,
            text: |text| json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}),
            finish: |tokens| {
                let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": tokens});
                vec![json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage})]
            },
            // Its arguments are an object and come whole; parts of them have a name of their own.
            call: |arguments| {
                let call = json!({"name": "write", "partialArgs": [arguments], "willContinue": true});
                vec![
                    json!({"candidates": [{"content": {"parts": [{"functionCall": call}]}, "finishReason": "STOP"}]}),
                ]
            },
            disorder: || {
                let part = json!({"functionCall": {"args": {}}});
                vec![("a call of no function", vec![json!({"candidates": [{"content": {"parts": [part]}}]})])]
            },
        },
    ]
}

fn openai_item(item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": 0, "item": item})
}

fn openai_end(tokens: Value) -> Vec<Value> {
    let usage = json!({"input_tokens": 1, "output_tokens": tokens});
    vec![json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}})]
}

fn anthropic_block(block: Value) -> Value {
    json!({"type": "content_block_start", "index": 0, "content_block": block})
}

fn anthropic_delta(delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": 0, "delta": delta})
}

fn anthropic_end(reason: &str, tokens: Value) -> Vec<Value> {
    vec![
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens}}),
        json!({"type": "message_stop"}),
    ]
}

impl Words {
    fn whole(&self, texts: &[&str]) -> Vec<Value> {
        let texts = texts.iter().map(|text| (self.text)(text)).collect();
        [(self.open)(), texts, (self.finish)(json!(1))].concat()
    }

    fn read<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelEvent> {
        let mut decoder = (self.decoder)(self.name, "seed");
        let mut events: Vec<ModelEvent> = pieces.into_iter().flat_map(|piece| decoder.push(piece)).collect();
        events.extend(decoder.end());
        events
    }

    #[track_caller]
    fn check(&self, line: &str, bytes: &[u8], text: &str, ended: Result<(), &str>, told: &[&str]) {
        for events in [self.read([bytes]), self.read(bytes.chunks(1))] {
            let place = format!("line {line}, {}: {events:?}", self.name);
            assert_eq!(said(&events), text, "{place}");
            assert_eq!(code(&events), ended.map_err(str::to_owned), "{place}");
            assert_eq!(warnings(&events), told, "{place}");
            let is_done = |event: &ModelEvent| matches!(event, ModelEvent::ItemDone { .. });
            assert!(ended.is_ok() || !events.iter().any(is_done), "{place}");
        }
    }
}

fn sse(frames: &[Value]) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

fn said(events: &[ModelEvent]) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::Text { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// The code that `model.failed` has.
fn code(events: &[ModelEvent]) -> Result<(), String> {
    match events.last().unwrap() {
        ModelEvent::Completed { .. } => Ok(()),
        ModelEvent::Failed(error) => Err(error.info().code.unwrap()),
        other => panic!("no end: {other:?}"),
    }
}

fn warnings(events: &[ModelEvent]) -> Vec<&str> {
    let code = |event| match event {
        &ModelEvent::Warning { code, .. } => Some(code),
        _ => None,
    };
    events.iter().filter_map(code).collect()
}

const NO_TERMINAL: Result<(), &str> = Err("no_terminal");
const DISORDER: Result<(), &str> = Err("provider_protocol_error");

#[test]
fn what_services_send_wrongly_has_the_code_of_the_catalogue() {
    for api in words() {
        let whole = sse(&api.whole(&["你", "好"]));
        api.check("41", whole.as_bytes(), "你好", Ok(()), &[]);

        let half = |unit: &str, text: &str| text.replace("HALF", unit);
        let joined = half("\\ud83d", &sse(&api.whole(&["aHALF", "OTHERb"]))).replace("OTHER", "\\ude00");
        api.check("42 joined", joined.as_bytes(), "a😀b", Ok(()), &[]);
        let lone = half("\\ud83d", &sse(&api.whole(&["aHALF"])));
        api.check("42 alone", lone.as_bytes(), "a\u{fffd}", Ok(()), &["text_repaired"]);

        for (ends, line) in [("\r", "43 CR"), ("\r\n", "43 CRLF")] {
            let framed = format!("\u{feff}: a comment\n{}", whole.replace("data: ", "data:"));
            api.check(line, framed.replace('\n', ends).as_bytes(), "你好", Ok(()), &[]);
        }

        let texts = [(api.open)(), vec![(api.text)("x")]].concat();
        let cut = sse(&texts) + sse(&(api.finish)(json!(1))).trim_end();
        // All but the last frame of the end may have come.
        let until = cut.rfind("data: ").unwrap();
        assert_eq!(code(&api.read([cut.as_bytes()])), NO_TERMINAL.map_err(str::to_owned), "44 {}", api.name);
        assert_eq!(
            code(&api.read([&cut.as_bytes()[..until]])),
            NO_TERMINAL.map_err(str::to_owned),
            "44 {}",
            api.name
        );

        let done = sse(&texts) + "data: [DONE]\n\n";
        api.check("45", done.as_bytes(), "x", NO_TERMINAL, &[]);

        let broken = sse(&(api.call)(r#"{"path":"/tm"#));
        let ended = if api.api == ApiName::Gemini { DISORDER } else { Err("unfinished_arguments") };
        api.check("46", broken.as_bytes(), "", ended, &[]);

        for (what, frames) in (api.disorder)() {
            api.check(&format!("47 {what}"), sse(&frames).as_bytes(), "", DISORDER, &[]);
        }

        for wrong in [json!(-5), json!(1e30), json!("many")] {
            let counted = sse(&[texts.clone(), (api.finish)(wrong)].concat());
            api.check("49", counted.as_bytes(), "x", Ok(()), &["usage_ignored"]);
        }
    }
}

#[tokio::test]
async fn a_page_in_place_of_a_stream_has_the_code_of_the_catalogue() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 64 << 10]);
            let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x";
            let _ = socket.write_all(page.as_bytes());
        }
    });
    for api in words() {
        let mut config = ProviderConfig::new(api.api);
        config.base_url = Some(format!("http://127.0.0.1:{port}"));
        let request = ModelRequest { model: "m".to_owned(), ..ModelRequest::default() };
        let provider = config.build(api.name).unwrap();
        let events: Vec<ModelEvent> = provider.call(request, CancellationToken::new()).collect().await;
        assert_eq!(code(&events), Err("provider_bad_content_type".to_owned()), "line 48, {}", api.name);
    }
}
