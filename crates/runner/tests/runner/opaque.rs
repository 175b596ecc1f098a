//! What only its maker can read goes back to its maker as it came, and to nobody else.

use std::time::Duration;

use riverrun_event::RawJson;
use riverrun_provider::{
    ItemKind, ModelEvent, ModelRequest, RequestFlaw, StopReason, anthropic, chat, gemini, openai,
};
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::Approval;
use serde_json::{Value, json};

use crate::script::{Say, Script, completed, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, READ, slow_tool};

/// Characters that a careless copy would change.
const SIGNATURE: &str = "Er+/==\\ \"q\" \u{e9}\u{1f600}\u{2028}";

struct Api {
    name: &'static str,
    encode: fn(&ModelRequest, &str) -> Value,
    check: fn(&Value) -> Result<(), RequestFlaw>,
    /// What the model's thought and its call bring along.
    thought: Value,
    call: Option<Value>,
    /// What the service did itself in between.
    hosted: Vec<Value>,
}

fn apis() -> [Api; 4] {
    let own = |members: Value| Some(json!({ "script": members }));
    [
        Api {
            name: "anthropic",
            encode: anthropic::encode,
            check: anthropic::check::check,
            thought: json!({"type": "thinking", "thinking": "hm", "signature": SIGNATURE}),
            call: None,
            hosted: vec![
                json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}),
                json!({"type": "web_search_tool_result", "tool_use_id": "srv_1",
                    "content": [{"type": "web_search_result", "encrypted_content": SIGNATURE}]}),
            ],
        },
        Api {
            name: "openai",
            encode: openai::encode,
            check: openai::check::check,
            thought: json!({"type": "reasoning", "id": "rs_1", "summary": [],
                "encrypted_content": SIGNATURE}),
            call: own(json!({"id": "fc_1"})),
            hosted: vec![
                json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "q": SIGNATURE}),
            ],
        },
        Api {
            name: "chat",
            encode: chat::encode,
            check: chat::check::check,
            thought: json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": SIGNATURE}]}),
            call: None,
            hosted: Vec::new(),
        },
        Api {
            name: "gemini",
            encode: gemini::encode,
            check: gemini::check::check,
            thought: json!({"thoughtSignature": "none"}),
            call: own(json!({"thoughtSignature": SIGNATURE})),
            hosted: Vec::new(),
        },
    ]
}

/// A thought and a call, each with what belongs to it.
fn thinks(api: &Api) -> Say {
    let raw = |value: &Value| RawJson::of(value).unwrap();
    let kind = ItemKind::ToolCall { call_id: "c1".to_owned(), name: "read".to_owned() };
    let mut events = vec![
        ModelEvent::ItemStarted { index: 0, kind: ItemKind::Reasoning },
        ModelEvent::Reasoning { index: 0, summary_index: None, delta: "hm".to_owned() },
        ModelEvent::ItemDone { index: 0, opaque: Some(raw(&api.thought)) },
    ];
    for (index, object) in (10..).zip(&api.hosted) {
        let kind = object["type"].as_str().unwrap_or_default().to_owned();
        let begun = raw(&json!({"type": kind}));
        events.push(ModelEvent::ItemStarted { index, kind: ItemKind::Hosted { kind, begun } });
        events.push(ModelEvent::ItemDone { index, opaque: Some(raw(object)) });
    }
    events.extend([
        ModelEvent::ItemStarted { index: 1, kind },
        ModelEvent::Arguments { index: 1, delta: "{}".to_owned() },
        ModelEvent::ItemDone { index: 1, opaque: api.call.as_ref().map(raw) },
    ]);
    let mut say: Vec<_> = events.into_iter().map(|event| (Duration::ZERO, event)).collect();
    say.push(completed(StopReason::ToolUse));
    Say(say)
}

/// True if the value stands somewhere in the other, as it is.
fn holds(whole: &Value, part: &Value) -> bool {
    let inside = match whole {
        Value::Array(list) => list.iter().any(|value| holds(value, part)),
        Value::Object(members) => members.values().any(|value| holds(value, part)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    inside || whole == part
}

#[tokio::test(start_paused = true)]
async fn signatures_go_back_to_their_maker_alone_and_over_a_crash() {
    for api in apis() {
        let made = Calls::default();
        let tools = vec![slow_tool("read", READ, Approval::Never, &made, Duration::from_secs(5))];
        let script = Script::new(vec![thinks(&api), text("so"), text("next")]);
        let mut stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
        stage.submit("turn_1", "go").await;
        stage.until("tool.started").await;
        // The next owner knows the thought from the log alone.
        stage.take_over().await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        stage.submit("turn_2", "and now").await;
        assert_eq!(stage.ended("turn_2").await, "completed");
        let requests = stage.script.requests.lock().unwrap();
        let (ours, others) = ((api.encode)(&requests[1], "script"), (api.encode)(&requests[1], "another"));
        let signature = Value::from(SIGNATURE);
        assert!(holds(&ours, &signature), "{}: {ours:#}", api.name);
        if matches!(api.name, "anthropic" | "openai") {
            assert!(holds(&ours, &api.thought), "{}: {ours:#}", api.name);
        }
        assert!(api.hosted.iter().all(|object| holds(&ours, object)), "{}: {ours:#}", api.name);
        assert!(!others.to_string().contains("Er+/"), "{} tells another: {others:#}", api.name);
        let later = (api.encode)(&requests[2], "script");
        assert!(!later.to_string().contains("Er+/"), "{}: a turn that is over: {later:#}", api.name);
        for body in [ours, others, later] {
            assert_eq!((api.check)(&body).map_err(|refusal| refusal.to_string()), Ok(()), "{}", api.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_pauses_is_asked_to_go_on() {
    let mut paused = text("I look");
    paused.0.pop();
    // The service stops in the middle of what its own tools do.
    let search =
        RawJson::of(&json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}));
    let (kind, whole) = ("server_tool_use".to_owned(), search.unwrap());
    let begun = ItemKind::Hosted { kind, begun: whole.clone() };
    for event in [
        ModelEvent::ItemStarted { index: 1, kind: begun },
        ModelEvent::ItemDone { index: 1, opaque: Some(whole) },
    ] {
        paused.0.push((Duration::ZERO, event));
    }
    paused.0.push(completed(StopReason::Other("pause_turn".to_owned())));
    let stage = Stage::new(Script::new(vec![paused, text("It rains")]), vec![agent()]).await;
    stage.submit("turn_1", "weather?").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "It rains");
    let requests = stage.script.requests.lock().unwrap();
    let body = anthropic::encode(&requests[1], "script");
    assert_eq!(body["messages"][1]["content"][0]["text"], "I look", "{body:#}");
    assert!(anthropic::check::check(&body).is_ok());
}
