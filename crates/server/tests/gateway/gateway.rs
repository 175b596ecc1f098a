//! The gateway: a model of somebody else's service behind our routes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_provider::ProviderConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{JSON, Server};
use crate::upstream::{TEXT, Upstream, huge};
use crate::wire::Answer;

/// The path of each dialect, and the provider that speaks it too.
const DIALECTS: [(&str, &str); 3] =
    [("/v1/responses", "responses"), ("/v1/chat/completions", "chat"), ("/v1/messages", "anthropic")];

pub async fn gateway() -> (Server, Upstream) {
    let upstream = Upstream::start().await;
    let mut registry = riverrun_runner::Registry::default();
    let all = [("responses", "openai"), ("chat", "chat"), ("anthropic", "anthropic"), ("gemini", "gemini")];
    for (name, api) in all {
        let config = json!({"api": api, "base_url": format!("http://{}/v1", upstream.address)});
        let config: ProviderConfig = serde_json::from_value(config).expect("a configuration");
        registry.providers.insert(name.to_owned(), config.build(name).expect("a provider"));
    }
    let agents = riverrun_server::Agents { registry: Arc::new(registry), ..Default::default() };
    (Server::with_agents(agents).await, upstream)
}

pub fn body(path: &str, model: &str, stream: bool) -> Value {
    match path {
        "/v1/responses" => json!({"model": model, "input": "hi", "stream": stream}),
        _ => {
            json!({"model": model, "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}], "stream": stream})
        }
    }
}

pub async fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let headers = [&[JSON], headers].concat();
    server.call(&format!("POST {path}"), &headers, body.to_string()).await
}

fn said(path: &str, answer: &Value) -> String {
    let text = match path {
        "/v1/responses" => &answer["output"][0]["content"][0]["text"],
        "/v1/messages" => &answer["content"][0]["text"],
        _ => &answer["choices"][0]["message"]["content"],
    };
    text.as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_delta_that_fits_no_event_comes_through_whole() {
    let (server, _upstream) = gateway().await;
    for (path, provider) in DIALECTS {
        let answer = post(&server, path, &[], &body(path, &format!("{provider}/huge"), false)).await;
        assert_eq!(answer.status, 200, "{path}");
        let said = said(path, &answer.json());
        assert!(said == TEXT.replace("One ", &huge()), "{path}: {} bytes", said.len());
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_named_in_the_blob_store_reaches_every_service() {
    let (server, upstream) = gateway().await;
    let stored = server.call("PUT /v1/blobs", &[("content-type", "image/png")], "RIFF0000WEBP").await.json();
    let reference = stored["ref"].as_str().expect("a reference").to_owned();
    let pdf = server.call("PUT /v1/blobs", &[("content-type", "text/plain")], "%PDF-hi").await.json();
    let pdf = pdf["ref"].as_str().expect("a reference").to_owned();
    server.make("s").await;
    for provider in ["responses", "chat", "anthropic", "gemini"] {
        let parts = json!([{"type": "text", "text": "look"}, {"type": "image", "fileRef": reference},
            {"type": "file", "name": "a.pdf", "fileRef": pdf, "mediaType": "application/pdf"}]);
        let turn = json!({"agent": format!("{provider}/plain"), "input": parts, "turnId": provider});
        let answer = server.post("/v1/sessions/s/turns", turn).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        server.turn("s", provider).await;
        let asked = upstream.calls().pop().expect("a request").to_string();
        assert!(!asked.contains("blob_"), "{provider}: {asked}");
        // The content says what each is. Services of Chat Completions read no PDF, and this one is none that has a text.
        let file = if provider == "chat" { "could not be read" } else { "application/pdf" };
        for word in ["UklGRjAwMDBXRUJQ", "image/webp", file] {
            assert!(asked.contains(word), "{provider} is not shown {word}: {asked}");
        }
    }
    // A client of the Responses API names files by their ids.
    for (id, status) in [(reference, 200), (format!("blob_{}", "0".repeat(64)), 404)] {
        let content = json!([{"type": "input_text", "text": "look"}, {"type": "input_image", "file_id": id}]);
        let asked = json!({"model": "chat/plain", "input": [{"role": "user", "content": content}]});
        let answer = post(&server, "/v1/responses", &[], &asked).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    assert!(
        upstream
            .calls()
            .pop()
            .expect("a request")
            .to_string()
            .contains("data:image/webp;base64,UklGRjAwMDBXRUJQ")
    );
    server.stop().await;
}

#[tokio::test]
async fn a_request_does_not_say_where_it_goes() {
    let (server, upstream) = gateway().await;
    for (path, provider) in DIALECTS {
        for name in ["base_url", "api_base", "api_key", "custom_llm_provider", "extra_headers"] {
            for model in [format!("{provider}/plain"), "agent/none".to_owned()] {
                let mut asked = body(path, &model, false);
                asked[name] = json!("http://elsewhere.example");
                let answer = post(&server, path, &[], &asked).await;
                assert_eq!(answer.status, 400, "{path} {name} {model}: {}", answer.text());
                assert!(answer.text().contains(&format!("`{name}`")), "{}", answer.text());
            }
        }
    }
    assert!(upstream.calls().is_empty());
    server.stop().await;
}

#[tokio::test]
async fn every_dialect_reaches_every_service_whole_and_streamed() {
    let (server, upstream) = gateway().await;
    for (path, _) in DIALECTS {
        for (_, provider) in DIALECTS {
            let model = format!("{provider}/plain");
            let whole = post(&server, path, &[], &body(path, &model, false)).await;
            assert_eq!(whole.status, 200, "{path} {model}: {}", whole.text());
            assert_eq!(said(path, &whole.json()), TEXT, "{path} {model}: {}", whole.text());
            let streamed = post(&server, path, &[], &body(path, &model, true)).await;
            assert!(streamed.is_complete, "{path} {model}");
            let text = streamed.text();
            assert!(text.contains("eight.") && text.contains("four "), "{path} {model}: {text}");
        }
    }
    assert_eq!(upstream.calls().len(), 18);
    server.stop().await;
}

#[tokio::test]
async fn a_refusal_of_the_service_is_the_callers_refusal() {
    let (server, _) = gateway().await;
    let wanted = [
        ("auth", 401, "authentication_error", "invalid_api_key", "Incorrect API key provided"),
        ("limit", 429, "rate_limit_error", "rate_limit_exceeded", "Slow down please"),
        ("bad", 400, "invalid_request_error", "unknown_parameter", "Unknown parameter: frob"),
        ("forbidden", 403, "permission_error", "no_access", "Not for you"),
        ("unfit", 422, "invalid_request_error", "unprocessable", "Cannot be processed"),
        ("busy", 529, "overloaded_error", "overloaded", "Overloaded"),
        ("missing", 404, "not_found_error", "model_not_found", "No such model"),
        ("long", 400, "invalid_request_error", "context_length_exceeded", "prompt is too long"),
        ("broken", 500, "api_error", "server_error", "The server had an error"),
    ];
    for (path, provider) in DIALECTS {
        for (model, status, kind, code, message) in wanted {
            let model = format!("{provider}/{model}");
            let answer = post(&server, path, &[], &body(path, &model, false)).await;
            let text = answer.text();
            assert_eq!(answer.status, status, "{path} {model}: {text}");
            let wait = answer.header("retry-after");
            assert_eq!(wait, (status == 429).then_some("600"), "{path} {model}: {text}");
            let error = answer.json()["error"].clone();
            assert!(
                error["message"].as_str().expect("a message").contains(message),
                "{path} {model}: {text}"
            );
            match path {
                "/v1/messages" => assert_eq!(error["type"], kind, "{text}"),
                _ => assert_eq!(error["code"], code, "{text}"),
            }
            // A stream that has said nothing yet is refused alike.
            let streamed = post(&server, path, &[], &body(path, &model, true)).await;
            assert_eq!((streamed.status, streamed.header("retry-after")), (status, wait), "{path} {model}");
            let named = streamed.json()["error"].clone();
            assert_eq!(named, error, "{path} {model}");
            let is_named = streamed.header("request-id").is_some();
            assert_eq!(is_named, path == "/v1/messages", "{path} {model}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_service_that_breaks_off_is_told_as_a_failure() {
    let (server, upstream) = gateway().await;
    for (path, provider) in DIALECTS {
        let model = format!("{provider}/cut");
        let answer = post(&server, path, &[], &body(path, &model, true)).await;
        let text = answer.text();
        let marker = match path {
            "/v1/responses" => "event: response.failed",
            "/v1/messages" => "event: error",
            _ => "data: {\"error\":",
        };
        assert!(text.contains(marker), "{path}: {text}");
    }
    assert!(upstream.calls().len() >= 3);
    server.stop().await;
}

#[tokio::test]
async fn unknown_members_reach_the_service() {
    let (server, upstream) = gateway().await;
    for (path, provider) in DIALECTS {
        let mut body = body(path, &format!("{provider}/plain"), false);
        body["frobnicate"] = json!({"level": 7});
        assert_eq!(post(&server, path, &[], &body).await.status, 200);
        assert_eq!(upstream.calls().last().expect("a call")["frobnicate"], json!({"level": 7}), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn members_of_another_dialect_are_translated_or_left_out() {
    let (server, upstream) = gateway().await;
    let schema = json!({"type": "object"});
    let chat = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}},
        "reasoning_effort": "low", "seed": 7, "stream_options": {"include_usage": true}});
    let responses = json!({"text": {"format": {"type": "json_schema", "name": "a", "schema": schema}},
        "reasoning": {"effort": "low"}, "truncation": "auto"});
    for (path, own, extra) in
        [("/v1/chat/completions", "chat", &chat), ("/v1/responses", "responses", &responses)]
    {
        for (_, provider) in DIALECTS.iter().filter(|(_, provider)| *provider != own) {
            let mut asked = body(path, &format!("{provider}/plain"), true);
            asked.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            assert_eq!(post(&server, path, &[], &asked).await.status, 200);
            let came = upstream.calls().last().expect("a call").clone();
            for foreign in ["seed", "truncation"] {
                assert!(came[foreign].is_null(), "{path} {provider}: {came}");
            }
            let (format, effort) = match *provider {
                "chat" => (&came["response_format"]["json_schema"]["schema"], &came["reasoning_effort"]),
                "responses" => (&came["text"]["format"]["schema"], &came["reasoning"]["effort"]),
                _ => (&came["output_config"]["format"]["schema"], &came["thinking"]["type"]),
            };
            assert_eq!(format, &schema, "{path} {provider}: {came}");
            assert!(effort.is_string(), "{path} {provider}: {came}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_service_of_the_callers_dialect_gets_the_callers_own_words() {
    let (server, upstream) = gateway().await;
    let asked = json!({"model": "anthropic/plain", "max_tokens": 50, "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"},
                "citations": {"enabled": true}},
            {"type": "image", "source": {"type": "file", "file_id": "file_9"}}]}]});
    check_verbatim(&server, &upstream, "/v1/messages", asked, &["stream"]).await;
    let asked = json!({"model": "chat/plain", "max_completion_tokens": 9, "metadata": {"a": "b"},
        "tools": [{"type": "custom", "custom": {"name": "c"}}],
        "messages": [{"role": "user", "name": "ann", "content": [
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
            {"role": "developer", "content": "now briefly"}]});
    check_verbatim(&server, &upstream, "/v1/chat/completions", asked, &["stream", "stream_options"]).await;
    let asked = json!({"model": "responses/plain", "metadata": {"a": "b"}, "tools": [{"type": "web_search"}],
        "input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1", "detail": "low"}]}]});
    check_verbatim(&server, &upstream, "/v1/responses", asked, &["stream", "store", "include"]).await;
    server.stop().await;
}

/// The service gets what the caller wrote, but for the model's name and the members that are set on the way.
async fn check_verbatim(server: &Server, upstream: &Upstream, path: &str, asked: Value, set: &[&str]) {
    let answer = post(server, path, &[], &asked).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let mut came = upstream.calls().last().expect("a call").clone();
    let mut wanted = asked;
    wanted["model"] = json!("plain");
    set.iter().for_each(|name| drop(came.as_object_mut().expect("an object").remove(*name)));
    assert_eq!(came, wanted, "{path}");
}

#[tokio::test]
async fn a_tool_that_the_service_cannot_have_is_refused_by_its_type() {
    let (server, upstream) = gateway().await;
    let mut asked = body("/v1/responses", "chat/plain", false);
    asked["tools"] = json!([{"type": "web_search"}]);
    let answer = post(&server, "/v1/responses", &[], &asked).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("`web_search`"), "{}", answer.text());
    asked["model"] = json!("responses/plain");
    asked["tools"] = json!([{"type": "mcp", "server_label": "a", "authorization": "secret"}]);
    let answer = post(&server, "/v1/responses", &[], &asked).await;
    assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!("tools[0].authorization")));
    assert!(upstream.calls().is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_pause_of_the_service_is_the_callers_to_end() {
    let (server, upstream) = gateway().await;
    let answer = post(&server, "/v1/messages", &[], &body("/v1/messages", "anthropic/pause", false)).await;
    assert_eq!(answer.json()["stop_reason"], "pause_turn", "{}", answer.text());
    assert_eq!(upstream.calls().len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn the_same_idempotency_key_is_one_call_and_none_are_two() {
    let (server, upstream) = gateway().await;
    for (path, provider) in DIALECTS {
        let body = body(path, &format!("{provider}/plain"), false);
        let before = upstream.calls().len();
        let key = [("idempotency-key", "k1")];
        let first = post(&server, path, &key, &body).await.json();
        let second = post(&server, path, &key, &body).await.json();
        assert_eq!((&first["id"], said(path, &first)), (&second["id"], said(path, &second)), "{path}");
        assert_eq!(upstream.calls().len() - before, 1, "{path}");
        let third = post(&server, path, &[], &body).await.json();
        let fourth = post(&server, path, &[], &body).await.json();
        assert_ne!(third["id"], fourth["id"]);
        assert_eq!(upstream.calls().len() - before, 3, "{path}");
    }
    server.stop().await;
}

/// The first bytes of a streamed answer, on a connection that is then closed.
async fn begin_and_leave(server: &Server, path: &str, body: &Value) -> String {
    let mut stream = server.connect().await;
    let request = server.request(&format!("POST {path}"), &[JSON], body.to_string().as_bytes());
    stream.write_all(&request).await.expect("the server reads");
    let mut seen = String::new();
    while !seen.contains("One ") {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.expect("the server answers");
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&part[..count]));
    }
    seen
}

async fn soon(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it did not happen: {what}");
}

#[tokio::test]
async fn a_reader_that_leaves_stops_nothing_and_a_cancel_stops_the_service() {
    let (server, upstream) = gateway().await;
    for (path, provider) in DIALECTS {
        begin_and_leave(&server, path, &body(path, &format!("{provider}/slow"), true)).await;
    }
    soon("all three are kept to the end", || upstream.finished.load(Ordering::SeqCst) == 3).await;
    assert_eq!(upstream.dropped.load(Ordering::SeqCst), 0);

    let seen =
        begin_and_leave(&server, "/v1/responses", &body("/v1/responses", "responses/slow", true)).await;
    let at = seen.find("resp_").expect("the response has an id");
    let id: String = seen[at..].chars().take_while(|c| c.is_alphanumeric() || "_-".contains(*c)).collect();
    let cancelled = post(&server, &format!("/v1/responses/{id}/cancel"), &[], &json!({})).await;
    assert_eq!(cancelled.json()["status"], "cancelled", "{}", cancelled.text());
    soon("the connection is closed", || upstream.dropped.load(Ordering::SeqCst) == 1).await;

    // What was streamed is in the log: the same frames again, from any place.
    let whole = server.call(&format!("GET /v1/responses/{id}?stream=true"), &[], "").await.text();
    let all: Vec<&str> = whole.split_terminator("\n\n").collect();
    let tail =
        server.call(&format!("GET /v1/responses/{id}?stream=true&starting_after=3"), &[], "").await.text();
    let tail: Vec<&str> = tail.split_terminator("\n\n").collect();
    assert_eq!(tail, all[4..]);
    server.stop().await;
}
