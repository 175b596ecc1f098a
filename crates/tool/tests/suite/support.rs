//! What the tests share.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use riverrun_tool::{CallProgress, Tool, ToolError, ToolErrorKind, ToolOutput, ToolRequest, ToolSet};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub fn call(arguments: Value) -> ToolRequest {
    ToolRequest {
        call_id: "call_1".to_owned(),
        arguments,
        idempotency_key: "key-1".to_owned(),
        mark: String::new(),
        session_id: "ses_1".to_owned(),
        turn_id: "turn_1".to_owned(),
        task_id: "task_1".to_owned(),
        agent: "tester".to_owned(),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        process: None,
        must_match: true,
    }
}

/// A call whose progress can be read afterwards.
pub fn watched(arguments: Value) -> (ToolRequest, Arc<Mutex<Vec<CallProgress>>>) {
    let seen: Arc<Mutex<Vec<CallProgress>>> = Arc::default();
    let sink = seen.clone();
    let progress = Arc::new(move |progress| sink.lock().unwrap().push(progress));
    (ToolRequest { progress, ..call(arguments) }, seen)
}

pub fn set(tool: impl Tool) -> ToolSet {
    let mut set = ToolSet::default();
    set.insert(Arc::new(tool)).unwrap();
    set
}

/// Runs the only tool of this kind as an agent would.
pub async fn run(tool: impl Tool, call: ToolRequest) -> Result<ToolOutput, ToolError> {
    let name = tool.definition().name.clone();
    set(tool).run(&name, call, None).await
}

pub async fn fails(tool: impl Tool, call: ToolRequest, kind: ToolErrorKind) -> String {
    let error = run(tool, call).await.expect_err("the call fails");
    assert_eq!(error.kind, kind, "{error}");
    error.message
}

pub fn text(output: &ToolOutput) -> &str {
    assert_eq!(output.content, output.block_list, "the model and the user see the same");
    output.content[0].text().unwrap()
}

/// Waits for something that takes a moment.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// True while a process with this id is there and is no zombie.
pub fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
