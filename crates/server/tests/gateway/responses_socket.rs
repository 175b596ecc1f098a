//! OpenAI's Responses over a WebSocket.

use serde_json::{Value, json};

use crate::socket::{Socket, scripted};

const PATH: &str = "/v1/responses";

fn ask(model: &str) -> Value {
    json!({"type": "response.create", "model": model, "input": "hi"})
}

#[tokio::test]
async fn several_responses_on_one_socket() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    socket.say(ask("scripted/text")).await;
    let first = socket.until("response.completed").await;
    assert_eq!(first[0]["type"], "response.created");
    let numbers: Vec<u64> = first.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..first.len() as u64).collect::<Vec<_>>());
    let id = first[0]["response"]["id"].clone();
    let kept = server.get(&format!("/v1/responses/{}", id.as_str().expect("an id"))).await;
    assert_eq!(kept["status"], "completed");
    let mut next = ask("scripted/text");
    next["previous_response_id"] = id;
    socket.say(next).await;
    socket.until("response.completed").await;
    server.stop().await;
}

#[tokio::test]
async fn a_lane_is_a_queue_and_lanes_go_side_by_side() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    let in_lane = |model: &str, lane: &str| {
        let mut ask = ask(model);
        ask["stream_id"] = lane.into();
        ask
    };
    socket.say(in_lane("scripted/slow", "a")).await;
    socket.say(in_lane("scripted/text", "a")).await;
    socket.say(in_lane("scripted/text", "b")).await;
    let (mut ended, mut begun) = (Vec::new(), Vec::new());
    while ended.len() < 3 {
        let event = socket.hear().await;
        let lane = event["stream_id"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("response.created") => begun.push(lane),
            Some("response.completed") => ended.push(lane),
            Some("error") => panic!("{event}"),
            _ => {}
        }
    }
    assert_eq!(begun, ["a", "b", "a"]);
    assert_eq!(ended, ["b", "a", "a"]);
    server.stop().await;
}

#[tokio::test]
async fn errors_are_nested_and_the_socket_stays() {
    let server = scripted().await;
    let mut socket = Socket::open(&server, PATH, true).await;
    let bad = [
        json!({"type": "dance"}),
        json!({"type": "response.create"}),
        ask("gpt-9"),
        json!({"type": "response.create", "model": "scripted/text", "input": "hi", "background": true}),
        json!({"type": "response.create", "model": "scripted/text", "input": "hi", "stream_id": 7}),
        json!([]),
    ];
    for message in bad {
        socket.say(message.clone()).await;
        let answer = socket.hear().await;
        assert_eq!(answer["type"], "error", "{message}: {answer}");
        assert!(answer["error"]["message"].is_string() && answer["status"].is_u64(), "{message}: {answer}");
    }
    socket.say(json!({"type": "response.steer", "previous_response_id": "resp_x", "input": "hm"})).await;
    let failed = socket.hear().await;
    assert_eq!(failed["type"], "response.steer.failed");
    assert_eq!(failed["error"]["code"], "response_not_found");
    server.stop().await;
}
