//! Bad requests: each dialect answers in its own shape, and never as if the server were at fault.

use serde_json::{Value, json};

use crate::harness::JSON;
use crate::socket::scripted;

/// What an error of the dialect looks like: the message is where its clients read it.
fn message(dialect: &str, body: &Value) -> Option<String> {
    let at = match dialect {
        "gemini" if body["error"]["status"].is_string() && body["error"]["code"].is_u64() => {
            &body["error"]["message"]
        }
        "anthropic" if body["type"] == "error" && body["error"]["type"].is_string() => {
            &body["error"]["message"]
        }
        "openai" if body["error"]["type"].is_string() => &body["error"]["message"],
        "ours" if body["code"].is_string() && body["error"].is_object() => &body["error"]["message"],
        _ => &Value::Null,
    };
    at.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[tokio::test]
async fn a_path_that_is_not_there_is_told_in_the_shape_of_its_dialect() {
    let server = scripted().await;
    for (path, dialect) in [
        ("/v1/responses/r/nothing", "openai"),
        ("/v1/chat/nothing", "openai"),
        ("/v1/messages/nothing", "anthropic"),
        ("/v1beta/nothing", "gemini"),
        ("/v1/nothing", "ours"),
        ("/v1/messagesnothing", "ours"),
    ] {
        let answer = server.call(&format!("GET {path}"), &[], "").await;
        let told = message(dialect, &answer.json()).unwrap_or_default();
        assert!(answer.status == 404 && told.contains("no such path"), "{path}: {}", answer.text());
        let is_ours = answer.header("content-type") == Some("application/problem+json");
        assert_eq!(is_ours, dialect == "ours", "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn every_bad_body_is_refused_in_the_dialects_shape() {
    let server = scripted().await;
    let routes = [
        ("/v1/responses", "openai", json!({"model": "scripted/text", "input": "hi"})),
        (
            "/v1/chat/completions",
            "openai",
            json!({"model": "scripted/text", "messages": [{"role": "user", "content": "hi"}]}),
        ),
        (
            "/v1/messages",
            "anthropic",
            json!({"model": "scripted/text", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}),
        ),
        (
            "/v1/models/scripted/text:generateContent",
            "gemini",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
        ),
        (
            "/v1beta/models/scripted/text:streamGenerateContent?alt=sse",
            "gemini",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
        ),
        (
            "/ag-ui",
            "ours",
            json!({"threadId": "t1", "runId": "r1", "state": {}, "messages": [{"id": "1", "role": "user", "content": "hi"}], "tools": [], "context": [], "forwardedProps": {"agent": "text"}}),
        ),
        (
            "/api/chat",
            "ours",
            json!({"id": "c1", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}], "agent": "text"}),
        ),
    ];
    for (path, dialect, good) in routes {
        let line = format!("POST {path}");
        let answer = server.call(&line, &[JSON], good.to_string()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let mut bad: Vec<(String, Vec<u8>)> = vec![
            ("nothing".to_owned(), Vec::new()),
            ("no JSON".to_owned(), b"{".to_vec()),
            ("no object".to_owned(), b"[]".to_vec()),
            ("no UTF-8".to_owned(), vec![b'"', 0xff, b'"']),
            ("a key twice".to_owned(), b"{\"model\":\"a\",\"model\":\"b\"}".to_vec()),
            ("too deep".to_owned(), "[".repeat(5000).into_bytes()),
            ("an empty object".to_owned(), b"{}".to_vec()),
        ];
        let members = good.as_object().expect("an object");
        for name in ["model", "input", "messages", "contents", "max_tokens", "threadId", "id"] {
            if members.contains_key(name) {
                for wrong in [json!(7.5), json!({"a": {}}), json!([7]), Value::Null] {
                    let mut body = good.clone();
                    body[name] = wrong.clone();
                    bad.push((format!("{name} is {wrong}"), body.to_string().into_bytes()));
                }
            }
        }
        for (what, body) in bad {
            let answer = server.call(&line, &[JSON], &body).await;
            let text = answer.text();
            assert!((400..500).contains(&answer.status), "{path}, {what}: {} {text}", answer.status);
            let told = serde_json::from_str(&text).ok().and_then(|body| message(dialect, &body));
            assert!(told.is_some(), "{path}, {what}: {text}");
        }
        let stranger =
            server.call(&line, &[JSON, ("authorization", "Bearer rr_wrong")], good.to_string()).await;
        assert_eq!(stranger.status, 401);
        assert!(message(dialect, &stranger.json()).is_some(), "{path}: {}", stranger.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_model_lists_what_there_is() {
    let server = scripted().await;
    let messages = json!([{"role": "user", "content": "hi"}]);
    let asked = [
        ("/v1/responses", json!({"model": "gpt-9", "input": "hi"})),
        ("/v1/chat/completions", json!({"model": "gpt-9", "messages": messages})),
        ("/v1/messages", json!({"model": "gpt-9", "max_tokens": 5, "messages": messages})),
        ("/v1/models/gpt-9:generateContent", json!({"contents": [{"parts": [{"text": "hi"}]}]})),
        (
            "/ag-ui",
            json!({"threadId": "t1", "runId": "r1", "messages": [{"id": "1", "role": "user", "content": "hi"}], "forwardedProps": {"agent": "gpt-9"}}),
        ),
        (
            "/api/chat",
            json!({"id": "c1", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}], "agent": "gpt-9"}),
        ),
    ];
    for (path, body) in asked {
        let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
        let text = answer.text();
        assert_eq!(answer.status, 404, "{path}: {text}");
        assert!(text.contains("approval") || text.contains("did you mean"), "{path}: {text}");
    }
    server.stop().await;
}

/// The same fault has the same name wherever the protocol has a place for one.
#[tokio::test]
async fn a_fault_has_one_name_in_every_dialect() {
    let server = scripted().await;
    let faults = [
        ("{", "invalid_json"),
        ("{\"a\":1,\"a\":2}", "invalid_json"),
        ("[]", "invalid_type"),
        ("{}", "missing_required_parameter"),
    ];
    for path in ["/v1/responses", "/v1/chat/completions", "/ag-ui", "/api/chat"] {
        for (body, code) in faults {
            let answer = server.call(&format!("POST {path}"), &[JSON], body).await;
            assert_eq!(answer.status, 400, "{path}, {body}: {}", answer.text());
            assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
            assert_eq!(answer.json()["error"]["code"], code, "{path}, {body}: {}", answer.text());
        }
    }
    server.stop().await;
}

/// A request of each dialect that sends somebody to this address, where the member at fault stands, and the shape.
fn requests_with(url: &str) -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let name = url.len();
    let part = json!({"type": "image_url", "image_url": {"url": url}});
    let source = json!({"type": "image", "source": {"type": "url", "url": url}});
    let file = json!({"type": "file", "mediaType": "image/png", "url": url});
    let image = json!({"type": "input_image", "image_url": url});
    let binary = json!({"type": "image", "source": {"type": "url", "value": url, "mimeType": "image/png"}});
    let user = |content: Value| json!([{"id": "1", "role": "user", "content": [content]}]);
    let file_data = json!({"fileData": {"fileUri": url, "mimeType": "image/png"}});
    vec![
        (
            "/v1/responses",
            "openai",
            "input",
            json!({"model": "scripted/text", "input": [{"role": "user", "content": [image]}]}),
        ),
        (
            "/v1/chat/completions",
            "openai",
            "messages",
            json!({"model": "scripted/text", "messages": user(part)}),
        ),
        (
            "/v1/messages",
            "anthropic",
            "",
            json!({"model": "scripted/text", "max_tokens": 5, "messages": user(source)}),
        ),
        (
            "/v1/models/scripted/text:generateContent",
            "gemini",
            "contents",
            json!({"contents": [{"parts": [file_data]}]}),
        ),
        (
            "/ag-ui",
            "ours",
            "messages",
            json!({"threadId": format!("t{name}"), "runId": format!("r{name}"), "messages": user(binary), "forwardedProps": {"agent": "text"}}),
        ),
        (
            "/api/chat",
            "ours",
            "messages",
            json!({"id": format!("c{name}"), "messages": [{"id": "1", "role": "user", "parts": [file]}], "agent": "text"}),
        ),
        ("/v1/conversations", "openai", "input", json!({"items": [{"role": "user", "content": [image]}]})),
    ]
}

#[tokio::test]
async fn nobody_is_sent_into_the_servers_own_network() {
    let server = scripted().await;
    for url in ["http://169.254.169.254/latest", "http://127.0.0.1/x.png", "file:///etc/passwd"] {
        for (path, dialect, param, body) in requests_with(url) {
            let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
            let text = answer.text();
            assert_eq!(answer.status, 422, "{path} {url}: {text}");
            let told = message(dialect, &answer.json());
            assert!(told.is_some_and(|told| told.contains(url) && told.contains("data:")), "{path}: {text}");
            assert!(text.contains(&format!("\"{param}\"")) || param.is_empty(), "{path}: {text}");
        }
    }
    for url in ["https://files.invalid/x.png", "data:image/png;base64,AA=="] {
        for (path, _, _, body) in requests_with(url) {
            let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
            assert_eq!(answer.status, 200, "{path} {url}: {}", answer.text());
        }
    }
    let parts = json!([{"url": "http://10.0.0.1/x", "mediaType": "image/png"}]);
    let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}).to_string();
    let refused = server.call("POST /a2a", &[JSON], call).await.json();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|told| told.contains("10.0.0.1")), "{refused}");
    server.stop().await;
}

/// Each definition leads to the one before it four times: a kilobyte that is asked about until the end of time.
fn fan() -> Value {
    let mut defs = serde_json::Map::from_iter([("a0".to_owned(), json!({"type": "integer"}))]);
    for level in 1..=31 {
        let before = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        defs.insert(format!("a{level}"), json!({"allOf": [before, before, before, before]}));
    }
    json!({"type": "object", "$defs": defs, "properties": {"a": {"$ref": "#/$defs/a31"}}})
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_is_refused_at_the_door() {
    let server = scripted().await;
    let messages = json!([{"role": "user", "content": "hi"}]);
    let asked = |schema: &Value| {
        let chat = json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema}});
        let format = json!({"type": "json_schema", "name": "a", "schema": schema});
        [
            (
                "/v1/chat/completions",
                "response_format.json_schema.schema",
                json!({"model": "agent/text", "messages": messages, "response_format": chat}),
            ),
            (
                "/v1/responses",
                "text.format.schema",
                json!({"model": "agent/text", "input": "hi", "text": {"format": format}}),
            ),
            (
                "/v1/messages",
                "output_config.format.schema",
                json!({"model": "agent/text", "max_tokens": 5, "messages": messages, "output_config": {"format": format}}),
            ),
        ]
    };
    for schema in [json!({"type": "objet"}), json!({"$ref": "https://a.test/s.json"}), json!(5), fan()] {
        for (path, place, body) in asked(&schema) {
            let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
            let text = answer.text();
            assert_eq!(answer.status, 400, "{path}, {schema}: {text}");
            let dialect = if path == "/v1/messages" { "anthropic" } else { "openai" };
            let told = message(dialect, &answer.json()).expect("an error of the dialect");
            assert!(told.contains(place), "{path}, {schema}: {text}");
            if dialect == "openai" {
                assert_eq!(answer.json()["error"]["param"], place, "{text}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_tool_of_the_callers_whose_schema_never_ends_is_refused_for_every_model() {
    let server = scripted().await;
    let messages = json!([{"role": "user", "content": "hi"}]);
    let function = json!({"name": "f", "description": "", "parameters": fan()});
    for model in ["agent/text", "scripted/text"] {
        for (path, body) in [
            (
                "/v1/chat/completions",
                json!({"model": model, "messages": messages, "tools": [{"type": "function", "function": function}]}),
            ),
            (
                "/v1/messages",
                json!({"model": model, "max_tokens": 5, "messages": messages, "tools": [{"name": "f", "input_schema": fan()}]}),
            ),
            (
                "/ag-ui",
                json!({"threadId": "t1", "runId": "r1", "messages": [{"id": "1", "role": "user", "content": "hi"}],
                    "tools": [function], "context": [], "forwardedProps": {"agent": model}}),
            ),
        ] {
            let answer = server.call(&format!("POST {path}"), &[JSON], body.to_string()).await;
            let text = answer.text();
            assert_eq!(answer.status, 400, "{path}: {text}");
            assert!(text.contains("tools[0]") && text.contains("the tool `f`"), "{path}: {text}");
        }
    }
    server.stop().await;
}
