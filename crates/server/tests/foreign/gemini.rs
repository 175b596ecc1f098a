//! Gemini's client: keys in its own header, and a drop that it gets over by itself.

use serde_json::{Value, json};

use crate::harness::JSON;
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
    assert!(tokens > 3);
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
