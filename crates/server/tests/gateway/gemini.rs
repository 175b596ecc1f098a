//! Gemini's client: keys in its own header, and a drop that it gets over by itself.

use serde_json::{Value, json};

use crate::gateway::gateway;
use crate::harness::{JSON, Server};
use crate::socket::scripted;

const STREAM: &str = "POST /v1/models/scripted/text:streamGenerateContent?alt=sse";

fn chunks(text: &str) -> Vec<Value> {
    let data = text.split_terminator("\n\n").map(|frame| frame.strip_prefix("data: ").expect("data alone"));
    data.map(|json| serde_json::from_str(json).expect("JSON")).collect()
}

#[tokio::test]
async fn every_token_goes_on_where_it_was_given() {
    let server = scripted().await;
    let key = [JSON, ("authorization", ""), ("x-goog-api-key", server.key.as_str())];
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    let answer = server.call(STREAM, &key, body.to_string()).await;
    let all = chunks(&answer.text());
    let last = all.last().expect("chunks");
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert!(last["candidates"][0]["continuationToken"].is_null());
    let mut tokens = 0;
    for (at, chunk) in all.iter().enumerate() {
        let Some(token) = chunk["candidates"][0]["continuationToken"].as_str() else { continue };
        tokens += 1;
        let mut again = body.clone();
        again["continuationToken"] = token.into();
        let rest = chunks(&server.call(STREAM, &key, again.to_string()).await.text());
        assert_eq!(rest, all[at + 1..], "{token}");
    }
    // Words that come together on a busy machine are one chunk.
    assert!(tokens > 0);
    let whole =
        server.call("POST /v1beta/models/scripted/text:generateContent", &key, body.to_string()).await;
    let parts = whole.json()["candidates"][0]["content"]["parts"].clone();
    assert!(parts.to_string().contains("The weather in Paris"), "{parts}");
    for token in ["7.x", "nobody~7", ""] {
        let mut again = body.clone();
        again["continuationToken"] = token.into();
        let answer = server.call(STREAM, &key, again.to_string()).await;
        assert_eq!((answer.status, &answer.json()["error"]["status"]), (400, &json!("INVALID_ARGUMENT")));
    }
    let models = server.get("/v1/models/agent/text").await;
    assert_eq!(models["id"], "agent/text");
    server.stop().await;
}

fn hello() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
}

async fn ask(server: &Server, model: &str, method: &str, body: &Value) -> crate::wire::Answer {
    server.call(&format!("POST /v1beta/models/{model}:{method}"), &[JSON], body.to_string()).await
}

#[tokio::test]
async fn models_are_listed_page_by_page() {
    let server = scripted().await;
    let all = server.get("/v1beta/models?pageSize=1000").await;
    let names = |page: &Value| -> Vec<String> {
        let list = page["models"].as_array().expect("a list").iter();
        list.map(|model| model["name"].as_str().expect("a name").to_owned()).collect()
    };
    let wanted = names(&all);
    assert!(wanted.contains(&"models/agent/text".to_owned()), "{wanted:?}");
    assert!(all["nextPageToken"].is_null());
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1beta/models?pageSize=2&pageToken={token}")).await;
        seen.extend(names(&page));
        match page["nextPageToken"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, wanted);
    let google = [("x-goog-api-client", "google-genai-sdk/3.1.0")];
    let same = server.call("GET /v1/models?pageSize=1000", &google, "").await.json();
    assert_eq!(names(&same), wanted, "Google's clients ask at OpenAI's address");
    assert!(server.get("/v1/models").await["data"].is_array());
    let one = server.get("/v1beta/models/scripted/text").await;
    assert_eq!(server.call("GET /v1/models/scripted/text", &google, "").await.json(), one);
    assert_eq!(one["supportedGenerationMethods"], json!(["generateContent", "streamGenerateContent"]));
    for (path, status, word) in [
        ("/v1beta/models?pageToken=nobody", 400, "INVALID_ARGUMENT"),
        ("/v1beta/models?pageSize=0", 400, "INVALID_ARGUMENT"),
        ("/v1beta/models/nobody/knows", 404, "NOT_FOUND"),
    ] {
        let answer = server.call(&format!("GET {path}"), &[], String::new()).await;
        assert_eq!((answer.status, &answer.json()["error"]["status"]), (status, &json!(word)), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn tokens_are_counted_by_their_service_or_not_at_all() {
    let (server, upstream) = gateway().await;
    let counted = ask(&server, "gemini/plain", "countTokens", &hello()).await;
    assert_eq!((counted.status, counted.json()), (200, json!({"totalTokens": 7})));
    assert_eq!(upstream.calls(), [hello()]);
    let whole = json!({"generateContentRequest": {"model": "models/gemini/plain", "contents": []}});
    assert_eq!(ask(&server, "gemini/plain", "countTokens", &whole).await.status, 200);
    let theirs = &upstream.calls()[1]["generateContentRequest"]["model"];
    assert_eq!(theirs, "models/plain");
    for (model, body, status, word) in [
        ("gemini/limit", hello(), 429, "RESOURCE_EXHAUSTED"),
        ("gemini/plain", json!({}), 400, "INVALID_ARGUMENT"),
        ("chat/plain", hello(), 501, "UNIMPLEMENTED"),
        ("nobody/knows", hello(), 404, "NOT_FOUND"),
    ] {
        let answer = ask(&server, model, "countTokens", &body).await;
        let told = (answer.status, answer.json()["error"]["status"].clone());
        assert_eq!(told, (status, json!(word)), "{model}: {}", answer.text());
        assert_eq!(answer.header("retry-after"), (status == 429).then_some("600"), "{model}");
    }
    let models = server.get("/v1beta/models/gemini/plain").await;
    assert!(models["supportedGenerationMethods"].to_string().contains("countTokens"), "{models}");
    server.stop().await;
}

#[tokio::test]
async fn a_stream_that_the_service_refuses_is_refused() {
    let (server, _) = gateway().await;
    for (model, status) in [("auth", 401), ("limit", 429), ("bad", 400), ("missing", 404), ("plain", 200)] {
        for method in ["generateContent", "streamGenerateContent?alt=sse"] {
            let answer = ask(&server, &format!("gemini/{model}"), method, &hello()).await;
            assert_eq!(answer.status, status, "{model} {method}: {}", answer.text());
            assert_eq!(answer.header("retry-after"), (status == 429).then_some("600"), "{model} {method}");
            if status == 429 {
                assert_eq!(answer.json()["error"]["details"][0]["retryDelay"], "600s", "{method}");
            }
        }
    }
    server.stop().await;
}
