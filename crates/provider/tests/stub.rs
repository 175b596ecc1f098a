//! Against a server that somebody else wrote: the stub that official clients were judged with.
//!
//! It stands in `../shared/judges` beside the repository, or where `RIVERRUN_SHARED` says; without it the tests say so
//! and pass.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use riverrun_event::Part;
use riverrun_provider::{
    ApiName, Category, HistoryEntry, ItemKind, ModelEvent, ModelRequest, ProviderConfig, StopReason,
};
use tokio_util::sync::CancellationToken;

const WEATHER: &str = "The weather in Paris is sunny and 15°C.";

struct Stub {
    process: Child,
    port: u16,
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn stub() -> Option<Stub> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("RIVERRUN_SHARED").map_or(beside, PathBuf::from);
    let script = shared.join("judges/stub.py");
    if !script.exists() {
        eprintln!("skipped: there is no {}; set RIVERRUN_SHARED", script.display());
        return None;
    }
    // The port is free now, and nobody else asks for it in the next moment.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("python3");
    command.arg(&script).arg(port.to_string()).stdout(Stdio::null()).env("PYTHONDONTWRITEBYTECODE", "1");
    let stub = Stub { process: command.spawn().unwrap(), port };
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the stub does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(stub)
}

impl Stub {
    async fn call(
        &self,
        api: ApiName,
        model: &str,
        fault: &str,
        history: Vec<HistoryEntry>,
    ) -> Vec<ModelEvent> {
        let path = match api {
            ApiName::Openai | ApiName::Chat | ApiName::Anthropic => "/v1",
            ApiName::Gemini => "/v1beta",
        };
        let mut config = ProviderConfig::new(api);
        config.base_url = Some(format!("http://127.0.0.1:{}{path}", self.port));
        if !fault.is_empty() {
            config.headers.insert("x-riverrun-fault".to_owned(), fault.to_owned());
        }
        let request = ModelRequest { model: model.to_owned(), history, ..ModelRequest::default() };
        config.build("stub").unwrap().call(request, CancellationToken::new()).collect().await
    }
}

fn asked() -> Vec<HistoryEntry> {
    vec![HistoryEntry::User { parts: vec![Part::plain("weather?")] }]
}

fn text(events: &[ModelEvent]) -> String {
    let delta = |event: &ModelEvent| match event {
        ModelEvent::Text { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

fn call_of(events: &[ModelEvent]) -> Option<(String, String, String)> {
    let mut found: Option<(String, String, String)> = None;
    for event in events {
        match event {
            ModelEvent::ItemStarted { kind: ItemKind::ToolCall { call_id, name }, .. } => {
                found = Some((call_id.clone(), name.clone(), String::new()));
            }
            ModelEvent::Arguments { delta, .. } => found.as_mut().unwrap().2.push_str(delta),
            _ => {}
        }
    }
    found
}

const APIS: [ApiName; 3] = [ApiName::Openai, ApiName::Chat, ApiName::Anthropic];

#[tokio::test]
async fn text_and_tools_come_through_each_api() {
    let Some(stub) = stub() else { return };
    for api in APIS {
        let events = stub.call(api, "scripted/text", "", asked()).await;
        assert_eq!(text(&events), WEATHER, "{api:?}: {events:?}");
        assert!(
            matches!(events.last(), Some(ModelEvent::Completed { stop: StopReason::End, .. })),
            "{events:?}"
        );

        let events = stub.call(api, "scripted/tool", "", asked()).await;
        assert!(
            matches!(events.last(), Some(ModelEvent::Completed { stop: StopReason::ToolUse, .. })),
            "{events:?}"
        );
        let (call_id, name, arguments) = call_of(&events).unwrap();
        assert_eq!((name.as_str(), arguments.as_str()), ("get_weather", r#"{"city":"Paris"}"#), "{api:?}");

        let mut history = asked();
        history.push(HistoryEntry::ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            arguments,
            opaque: None,
        });
        history.push(HistoryEntry::ToolResult {
            call_id,
            name,
            parts: vec![Part::plain("15C")],
            is_error: false,
        });
        assert_eq!(text(&stub.call(api, "scripted/tool", "", history).await), WEATHER, "{api:?}");
    }
    let events = stub.call(ApiName::Gemini, "stub", "", asked()).await;
    assert_eq!(text(&events), WEATHER, "{events:?}");
    assert_eq!(call_of(&events).unwrap().2, r#"{"city":"Paris"}"#);
    assert!(
        matches!(events.last(), Some(ModelEvent::Completed { stop: StopReason::ToolUse, .. })),
        "{events:?}"
    );
}

#[tokio::test]
async fn every_way_of_breaking_off_is_a_failure() {
    let Some(stub) = stub() else { return };
    for api in APIS.into_iter().chain([ApiName::Gemini]) {
        for (fault, category) in [
            ("end-after=6", Category::Truncated),
            ("drop-after=6", Category::Connection),
            ("reset-after=6", Category::Connection),
        ] {
            let events = stub
                .call(api, if api == ApiName::Gemini { "stub" } else { "scripted/text" }, fault, asked())
                .await;
            let Some(ModelEvent::Failed(error)) = events.last() else {
                panic!("{api:?} {fault}: {events:?}")
            };
            assert_eq!(error.category, category, "{api:?} {fault}");
        }
    }
}

#[tokio::test]
async fn failures_of_the_service_are_classified() {
    let Some(stub) = stub() else { return };
    let events = stub.call(ApiName::Openai, "scripted/error", "", asked()).await;
    let Some(ModelEvent::Failed(error)) = events.last() else { panic!("{events:?}") };
    assert_eq!((error.category, text(&events).as_str()), (Category::Server, "The weather in Paris "));
    let events = stub.call(ApiName::Anthropic, "scripted/error", "", asked()).await;
    let Some(ModelEvent::Failed(error)) = events.last() else { panic!("{events:?}") };
    assert_eq!(error.category, Category::Overloaded);
    let events = stub.call(ApiName::Openai, "quirk/problem-both", "", asked()).await;
    let Some(ModelEvent::Failed(error)) = events.last() else { panic!("{events:?}") };
    assert_eq!((error.status, error.code.as_deref()), (Some(404), Some("unknown_agent")));
}
