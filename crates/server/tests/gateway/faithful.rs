//! A service of the caller's dialect is heard in its own words: tools of its own, what is newer than this server, and
//! what it says of its answer.

use serde_json::{Value, json};

use crate::gateway::{body, gateway, post};
use crate::harness::Server;
use crate::hosted;

/// The frames of an SSE body.
fn frames(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

fn without(mut value: Value, names: &[&str]) -> Value {
    names.iter().for_each(|name| drop(value.as_object_mut().expect("an object").remove(*name)));
    value
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|frame| frame["type"].as_str()).collect()
}

#[tokio::test]
async fn items_of_a_service_come_as_they_are_and_go_back() {
    let (server, upstream) = gateway().await;
    let mut asked = body("/v1/responses", "responses/hosted", true);
    asked["service_tier"] = "auto".into();
    let streamed = post(&server, "/v1/responses", &[], &asked).await;
    let got = frames(&streamed.text());

    // Every word about the items that only the service knows, in its place.
    let of_service = |frames: &[Value]| -> Vec<Value> {
        let is_word = |frame: &&Value| {
            let kind = frame["type"].as_str().unwrap_or_default();
            kind.contains("_call") || kind.contains("mood")
        };
        frames
            .iter()
            .filter(is_word)
            .map(|frame| without(frame.clone(), &["sequence_number", "item_id"]))
            .collect()
    };
    assert_eq!(of_service(&got), of_service(&hosted::responses()));
    for (at, frame) in got.iter().enumerate() {
        assert_eq!(frame["sequence_number"], at, "numbers are dense");
    }
    let response = got.last().expect("a terminal event")["response"].clone();
    assert_eq!(response["status"], "completed");
    let output = response["output"].as_array().expect("a list").clone();
    assert_eq!(output.len(), hosted::items().len());
    let told = |items: &[Value]| items[1..5].to_vec();
    assert_eq!(told(&output), told(&hosted::items()));
    assert_eq!(output[5]["content"], hosted::items()[5]["content"]);
    let mood = got.iter().find(|frame| frame["type"] == "response.mood.changed").expect("the new word");
    assert_eq!(mood["item_id"], output[5]["id"], "it speaks of the message by our name");

    // What the service says of its answer.
    assert_eq!(response["usage"], hosted::usage());
    assert_eq!(response["service_tier"], "priority");
    assert_eq!(response["moderation"], json!({"flagged": false}));
    assert_eq!(
        (&response["model"], &response["riverrun_model"]),
        (&json!("responses/hosted"), &json!("gpt-5-mini-2025-08-07"))
    );

    // The same again, whole and from any place.
    let id = response["id"].as_str().expect("an id").to_owned();
    let whole = server.call(&format!("GET /v1/responses/{id}"), &[], "").await.json();
    assert_eq!(whole, response);
    let again = server.call(&format!("GET /v1/responses/{id}?stream=true"), &[], "").await.text();
    let again: Vec<&str> = again.split_terminator("\n\n").collect();
    let first = streamed.text();
    assert_eq!(again, first.split_terminator("\n\n").collect::<Vec<_>>());
    for after in [0, 3, 8, 12, 20] {
        let tail = format!("GET /v1/responses/{id}?stream=true&starting_after={after}");
        let tail = server.call(&tail, &[], "").await.text();
        assert_eq!(tail.split_terminator("\n\n").collect::<Vec<_>>(), again[after + 1..], "after {after}");
    }

    // The next call has all of it before the caller's own words.
    let output = json!({"type": "custom_tool_call_output", "call_id": "call_7", "output": "HO"});
    let next = json!({"model": "responses/plain", "previous_response_id": id, "metadata": {"a": "b"},
        "frobnicate": 7, "input": [output, {"role": "user", "content": [
            {"type": "input_file", "file_id": "file-1"}, {"type": "input_image", "file_id": "file-2", "detail": "low"}]}]});
    let answer = post(&server, "/v1/responses", &[], &next).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let came = upstream.calls().last().expect("a call").clone();
    let sent = came["input"].as_array().expect("a list");
    assert_eq!(sent[0], json!({"role": "user", "content": "hi"}), "{}", sent[0]);
    assert_eq!(
        sent[1..6],
        hosted::items()[..5],
        "what the service did itself, with the thought that led to it"
    );
    let said = json!({"role": "assistant", "content": [
        {"type": "output_text", "text": "Sunny."}, {"type": "refusal", "refusal": "No more."}]});
    assert_eq!(sent[6], said);
    assert_eq!(sent[7..], *next["input"].as_array().expect("a list"));
    assert_eq!((&came["metadata"], &came["frobnicate"]), (&json!({"a": "b"}), &json!(7)));
    assert!(came["previous_response_id"].is_null() && came["store"] == false, "nothing is stored there");
    riverrun_provider::openai::check::check(&came).expect("the service takes it");
    server.stop().await;
}

#[tokio::test]
async fn the_result_of_a_function_goes_on_in_the_callers_own_words() {
    let (server, upstream) = gateway().await;
    let mut asked = body("/v1/responses", "responses/call", false);
    asked["tools"] = json!([{"type": "function", "name": "read", "parameters": {"type": "object"}}]);
    let first = post(&server, "/v1/responses", &[], &asked).await.json();
    assert_eq!(first["output"][0]["type"], "function_call", "{first}");
    let output = json!({"type": "function_call_output", "call_id": "call_1", "newer": 7,
        "output": [{"type": "input_image", "file_id": "file-1"}]});
    let next = json!({"model": "responses/plain", "previous_response_id": first["id"], "input": [output]});
    let second = post(&server, "/v1/responses", &[], &next).await.json();
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"});
    let said = json!([{"role": "user", "content": "hi"}, call, output]);
    let came = upstream.calls().last().expect("a call").clone();
    assert_eq!(came["input"], said);
    riverrun_provider::openai::check::check(&came).expect("the service takes it");

    // A function that the request does not have is the caller's too.
    let before = upstream.calls().len();
    let bare =
        post(&server, "/v1/responses", &[], &body("/v1/responses", "responses/call", false)).await.json();
    assert_eq!(
        (&bare["status"], &bare["output"][0]["name"]),
        (&json!("completed"), &json!("read")),
        "{bare}"
    );
    assert_eq!((bare["output"].as_array().map(Vec::len), upstream.calls().len() - before), (Some(1), 1));

    // And once more behind that.
    let third = json!({"model": "responses/plain", "previous_response_id": second["id"], "input": "and?"});
    assert_eq!(post(&server, "/v1/responses", &[], &third).await.status, 200);
    let came = upstream.calls().last().expect("a call").clone();
    let sent = came["input"].as_array().expect("a list");
    assert_eq!(json!(sent[..3]), said);
    assert_eq!((sent.len(), &sent[4]), (5, &json!({"role": "user", "content": "and?"})));
    server.stop().await;
}

#[tokio::test]
async fn blocks_of_a_service_come_as_they_are() {
    let (server, upstream) = gateway().await;
    let mut asked = body("/v1/messages", "anthropic/hosted", true);
    asked["tools"] = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let beta = [("anthropic-beta", "code-execution-2025-08-25,files-api-2025-04-14")];
    let streamed = post(&server, "/v1/messages", &beta, &asked).await;
    let got = frames(&streamed.text());
    let head = upstream.heads.lock().expect("no test panics").last().expect("a call").clone();
    assert!(
        head.contains("\r\nanthropic-beta: code-execution-2025-08-25,files-api-2025-04-14\r\n"),
        "{head}"
    );

    let service = hosted::messages();
    let is_told = |kind: &&str| *kind != "ping";
    let wanted: Vec<&str> = kinds(&service).into_iter().filter(is_told).collect();
    assert_eq!(kinds(&got).into_iter().filter(is_told).collect::<Vec<_>>(), wanted);
    let between = |frames: &[Value]| -> Vec<Value> {
        let is_block = |frame: &&Value| {
            let kind = frame["type"].as_str().unwrap_or_default();
            kind.starts_with("content_block") || kind == "future_event"
        };
        frames.iter().filter(is_block).cloned().collect()
    };
    assert_eq!(between(&got), between(&service));
    let end = &got[got.len() - 2];
    let delta = json!({"stop_reason": "stop_sequence", "stop_sequence": "STOP", "container": {"id": "c1"}});
    assert_eq!(without(end["delta"].clone(), &["riverrun_model"]), delta);
    assert_eq!(end["usage"], hosted::message_usage());
    assert_eq!(end["context_management"], json!({"applied_edits": []}));

    asked["stream"] = false.into();
    let whole = post(&server, "/v1/messages", &[], &asked).await.json();
    assert_eq!(whole["content"], json!(hosted::blocks()));
    assert_eq!((&whole["stop_reason"], &whole["stop_sequence"]), (&json!("stop_sequence"), &json!("STOP")));
    assert_eq!(whole["usage"], hosted::message_usage());
    assert_eq!(
        (&whole["model"], &whole["riverrun_model"]),
        (&json!("anthropic/hosted"), &json!("claude-sonnet-4-5-20250929"))
    );
    server.stop().await;
}

#[tokio::test]
async fn a_completion_has_what_the_service_says_of_it() {
    let (server, _) = gateway().await;
    let path = "/v1/chat/completions";
    let whole = post(&server, path, &[], &body(path, "chat/hosted", false)).await.json();
    let choice = &whole["choices"][0];
    assert_eq!(choice["message"], json!({"role": "assistant", "content": "Sunny.", "refusal": "No more."}));
    let odds = json!({"content": [hosted::odds("Sun"), hosted::odds("ny.")], "refusal": null});
    assert_eq!(choice["logprobs"], odds);
    assert_eq!((&whole["system_fingerprint"], &whole["service_tier"]), (&json!("fp_9"), &json!("priority")));
    assert_eq!(whole["citations"], json!(["https://example.com"]));
    assert_eq!(whole["usage"]["prompt_tokens_details"], json!({"cached_tokens": 16, "audio_tokens": 0}));

    let mut asked = body(path, "chat/hosted", true);
    asked["stream_options"] = json!({"include_usage": true});
    let chunks = frames(&post(&server, path, &[], &asked).await.text());
    let deltas: Vec<Value> = chunks.iter().map(|chunk| chunk["choices"][0].clone()).collect();
    let of = |content: &str, token: &str| {
        json!({"index": 0, "delta": {"content": content}, "finish_reason": null,
            "logprobs": {"content": [hosted::odds(token)], "refusal": null}})
    };
    assert_eq!(deltas[1..3], [of("Sun", "Sun"), of("ny.", "ny.")]);
    assert_eq!(deltas[3]["delta"], json!({"refusal": "No more."}));
    let last = chunks.last().expect("the usage");
    assert_eq!((&last["usage"], &last["system_fingerprint"]), (&whole["usage"], &json!("fp_9")));
    server.stop().await;
}

/// Calls of other types than functions, and what stands in members that nobody here knows.
#[tokio::test]
async fn a_completion_has_calls_and_members_of_any_kind() {
    let (server, upstream) = gateway().await;
    let path = "/v1/chat/completions";
    let mut asked = body(path, "chat/custom", false);
    asked["tools"] = json!([{"type": "custom", "custom": {"name": "code_exec", "format": {"type": "text"}}},
        {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]);
    let whole = post(&server, path, &[], &asked).await.json();
    let choice = &whole["choices"][0];
    let calls = json!([
        {"id": "call_a", "type": "custom", "custom": {"name": "code_exec", "input": "print(\"hi\")"}},
        {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": "{}"}}]);
    assert_eq!(choice["message"]["tool_calls"], calls, "{whole}");
    assert_eq!(choice["message"]["audio"], json!({"id": "audio_1", "transcript": "Let me see."}));
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["content_filter_results"], json!({"hate": {"filtered": false}}));
    assert_eq!(upstream.calls().last().expect("a call")["tools"], asked["tools"]);

    asked["stream"] = true.into();
    let chunks = frames(&post(&server, path, &[], &asked).await.text());
    let of = |member: &str, deltas: Vec<Value>| -> Vec<Value> {
        deltas.into_iter().filter(|delta| !delta[member].is_null()).collect()
    };
    let deltas: Vec<Value> = chunks.iter().map(|chunk| chunk["choices"][0]["delta"].clone()).collect();
    for member in ["audio", "tool_calls"] {
        assert_eq!(of(member, deltas.clone()), of(member, hosted::custom_deltas()), "{member}");
    }
    let last = &chunks.last().expect("the end")["choices"][0];
    assert_eq!(
        (&last["finish_reason"], last["content_filter_results"].is_object()),
        (&json!("tool_calls"), true)
    );

    // And back again, with what the caller made of the calls.
    let mut said = choice["message"].clone();
    said.as_object_mut().expect("an object").remove("refusal");
    let next = json!({"model": "chat/plain", "tools": asked["tools"], "messages": [
        {"role": "user", "content": "hi"}, said,
        {"role": "tool", "tool_call_id": "call_a", "content": "hi"},
        {"role": "tool", "tool_call_id": "call_b", "content": "read"}]});
    let answered = post(&server, path, &[], &next).await;
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(upstream.calls().last().expect("a call")["messages"], next["messages"]);
    server.stop().await;
}

/// Content of a type that is not known here goes to a service of the caller's dialect as it is, now and with the next
/// response; everybody else says where it stands.
#[tokio::test]
async fn content_of_any_type_goes_to_the_service_that_knows_it() {
    let (server, upstream) = gateway().await;
    let film = json!({"type": "film", "film": {"url": "https://example.com/a.mp4"}});
    for (path, model, place) in [
        ("/v1/chat/completions", "chat/plain", "messages"),
        ("/v1/responses", "responses/plain", "input"),
        ("/v1/messages", "anthropic/plain", "messages"),
    ] {
        let mut asked = body(path, model, false);
        asked[place] = json!([{"role": "user", "content": [film]}]);
        let answer = post(&server, path, &[], &asked).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(upstream.calls().last().expect("a call")[place], asked[place], "{path}");
        if path == "/v1/responses" {
            let id = answer.json()["id"].as_str().expect("an id").to_owned();
            let listed = server.get(&format!("/v1/responses/{id}/input_items")).await;
            assert_eq!(listed["data"][0]["content"], json!([film]), "{listed}");
            let next = json!({"model": model, "input": "and then?", "previous_response_id": id});
            assert_eq!(post(&server, path, &[], &next).await.status, 200);
            let call = upstream.calls().last().expect("a call").clone();
            assert_eq!(call[place][0]["content"], json!([film]), "{call}");
        }
        let others = if path == "/v1/messages" { "chat/plain" } else { "anthropic/plain" };
        for model in [others, "demo"] {
            asked["model"] = model.into();
            let refused = post(&server, path, &[], &asked).await;
            assert_eq!(refused.status, 400, "{path} to {model}: {}", refused.text());
            assert!(refused.text().contains("not `film`"), "{path} to {model}: {}", refused.text());
        }
    }
    server.stop().await;
}

/// Others see what they have words for, and the tokens counted their way.
#[tokio::test]
async fn other_dialects_leave_out_what_they_have_no_words_for() {
    let (server, _) = gateway().await;
    let check =
        async |path: &str, model: &str| post(&server, path, &[], &body(path, model, false)).await.json();
    let whole = check("/v1/chat/completions", "responses/hosted").await;
    assert_eq!(whole["choices"][0]["message"]["content"], "Sunny.");
    let counted = json!({"prompt_tokens": 36, "completion_tokens": 87, "total_tokens": 123,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 64}});
    assert_eq!(whole["usage"], counted);
    assert!(whole["service_tier"].is_null());
    let whole = check("/v1/messages", "responses/hosted").await;
    assert_eq!(whole["content"].as_array().map(Vec::len), Some(2), "{}", whole["content"]);
    assert_eq!(
        whole["usage"],
        json!({"input_tokens": 32, "cache_read_input_tokens": 4, "output_tokens": 87})
    );
    let whole = check("/v1/responses", "anthropic/hosted").await;
    assert_eq!(whole["output"].as_array().map(Vec::len), Some(1), "{}", whole["output"]);
    let counted = json!({"input_tokens": 425, "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 100},
        "output_tokens": 42, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 467});
    assert_eq!(whole["usage"], counted);
    let whole = check("/v1/messages", "chat/hosted").await;
    assert_eq!(whole["usage"], json!({"input_tokens": 4, "cache_read_input_tokens": 16, "output_tokens": 9}));
    server.stop().await;
}

#[tokio::test]
async fn tokens_are_counted_by_the_service_or_not_at_all() {
    let (server, upstream) = gateway().await;
    let path = "/v1/messages/count_tokens";
    let asked = json!({"model": "anthropic/claude", "messages": [{"role": "user", "content": "hi"}],
        "system": "be brief", "frobnicate": 7});
    let counted = post(&server, path, &[("anthropic-beta", "b-1")], &asked).await;
    assert_eq!(counted.status, 200, "{}", counted.text());
    assert_eq!(
        counted.json(),
        json!({"input_tokens": 14, "context_management": {"original_input_tokens": 70}})
    );
    let mut sent = asked.clone();
    sent["model"] = "claude".into();
    assert_eq!(upstream.calls(), [sent]);
    let head = upstream.heads.lock().expect("no test panics")[0].clone();
    assert!(head.starts_with("post /v1/messages/count_tokens "), "{head}");
    assert!(head.contains("\r\nanthropic-beta: b-1\r\n"), "{head}");

    let refused = async |model: &str, status: u16, kind: &str, says: &str| {
        let mut asked = asked.clone();
        asked["model"] = model.into();
        let answer = post(&server, path, &[], &asked).await;
        let error = answer.json()["error"].clone();
        assert_eq!(
            (answer.status, error["type"].as_str()),
            (status, Some(kind)),
            "{model}: {}",
            answer.text()
        );
        assert!(error["message"].as_str().is_some_and(|said| said.contains(says)), "{model}: {error}");
    };
    refused("anthropic/limit", 429, "rate_limit_error", "Slow down").await;
    refused("anthropic/auth", 401, "authentication_error", "Incorrect API key").await;
    refused("chat/plain", 400, "invalid_request_error", "cannot be counted").await;
    refused("nobody/x", 404, "not_found_error", "nothing here is named").await;
    let empty = post(&server, path, &[], &json!({"model": "anthropic/claude"})).await;
    assert_eq!((empty.status, &empty.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    server.stop().await;
}

async fn listed(server: &Server, query: &str) -> Value {
    let headers = [("anthropic-version", "2023-06-01")];
    server.call(&format!("GET /v1/models{query}"), &headers, "").await.json()
}

#[tokio::test]
async fn anthropics_clients_get_models_in_their_own_form() {
    let server = crate::agents::server().await;
    let all = listed(&server, "").await;
    let first = all["data"][0].clone();
    assert_eq!(first["type"], "model", "{all}");
    assert_eq!(first["created_at"], "1970-01-01T00:00:00Z");
    assert_eq!((&all["first_id"], &first["display_name"]), (&first["id"], &first["id"]));
    let page = listed(&server, "?limit=1").await;
    assert_eq!((&page["has_more"], &page["last_id"]), (&json!(true), &first["id"]));
    let next = listed(&server, &format!("?limit=1&after_id={}", first["id"].as_str().expect("an id"))).await;
    assert_eq!(next["data"][0], all["data"][1]);
    let one = listed(&server, &format!("/{}", first["id"].as_str().expect("an id"))).await;
    assert_eq!(one, first);
    let absent = listed(&server, "/nobody").await;
    assert_eq!((&absent["type"], &absent["error"]["type"]), (&json!("error"), &json!("not_found_error")));
    let openai = server.call("GET /v1/models", &[], "").await.json();
    assert_eq!(openai["object"], "list");
    server.stop().await;
}
