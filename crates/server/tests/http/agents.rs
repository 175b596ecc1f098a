//! Agents for tests: scripted models, and tools whose effects can be counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use riverrun_provider::{Provider, Scenario, Scripted};
use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_runner::{AgentSpec, Registry};
use riverrun_server::Agents;
use riverrun_tool::{Flags, Runs, Tool, ToolDefinition, ToolFuture, ToolOutput, ToolRequest};
use serde_json::{Value, json};

use crate::harness::{Api, JSON, Server};
use crate::wire::Answer;

/// Deletes nothing, and counts how often.
pub struct DeleteFile {
    definition: ToolDefinition,
    pub runs: Arc<AtomicUsize>,
}

impl DeleteFile {
    fn new(runs: Arc<AtomicUsize>) -> Self {
        let definition = ToolDefinition {
            name: "delete_file".to_owned(),
            description: "Deletes a file.".to_owned(),
            parameters: json!({
                "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
                "additionalProperties": false,
            }),
            flags: Flags::default(),
            timeout: Duration::from_secs(5),
            source: "function".to_owned(),
            runs: Runs::default(),
        };
        Self { definition, runs }
    }
}

impl Tool for DeleteFile {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(ToolOutput::text(format!("deleted {}", call.arguments["path"]))) })
    }
}

/// Two calls in one step, then text.
pub const TWO_CALLS: &str = r#"
about = "two calls that a person must allow, then text"
[[step]]
when = { results = 2 }
play = [ { text = { pieces = ["done"] } } ]
[[step]]
play = [
  { call = { name = "delete_file", arguments = ['{"path":"a"}'] } },
  { call = { name = "delete_file", arguments = ['{"path":"b"}'] } },
]
"#;

/// `writer` says something, `slow` says it slowly, `deleter` asks before it deletes, `twice` asks for two at once.
pub fn agents(runs: &Arc<AtomicUsize>) -> Agents {
    let mut registry = Registry::default();
    let two = Scenario::parse("two.toml", TWO_CALLS).expect("a scenario");
    let scripted: Arc<dyn Provider> = Arc::new(Scripted::new().with("two", two));
    registry.providers.insert("scripted".to_owned(), scripted);
    let delete = ToolUse { tool: Arc::new(DeleteFile::new(runs.clone())), approval: Approval::Always };
    for (name, model, tools) in [
        ("writer", "scripted/text", Vec::new()),
        ("slow", "scripted/slow", Vec::new()),
        ("deleter", "scripted/approval", vec![delete.clone()]),
        ("twice", "scripted/two", vec![delete]),
    ] {
        let models = vec![model.to_owned()];
        let agent = AgentSpec { name: name.to_owned(), models, tools, ..AgentSpec::default() };
        registry.agents.insert(name.to_owned(), Arc::new(agent));
    }
    registry.default_agent = Some("writer".to_owned());
    Agents { registry: Arc::new(registry), ..Agents::default() }
}

/// The same, but `deleter` waits hardly a moment for a decision.
pub fn hurried() -> Agents {
    let mut agents = agents(&Arc::default());
    let registry = Arc::get_mut(&mut agents.registry).expect("nobody else has it yet");
    let deleter = registry.agents.get_mut("deleter").and_then(Arc::get_mut).expect("an agent");
    deleter.limits.action_timeout = Duration::from_millis(20);
    agents
}

pub async fn server() -> Server {
    Server::with_agents(agents(&Arc::default())).await
}

impl Api {
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(&format!("POST {path}"), &[JSON], body.to_string()).await
    }

    /// Submits a turn that must be taken.
    pub async fn submit(&self, session: &str, body: Value) -> Value {
        let answer = self.post(&format!("/v1/sessions/{session}/turns"), body).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.json()
    }

    /// The events of a turn, to its end.
    pub async fn turn(&self, session: &str, turn: &str) -> Vec<Value> {
        let line = format!("GET /v1/sessions/{session}/events?turn={turn}");
        let answer = self.call(&line, &[("accept", "application/x-ndjson")], "").await;
        assert!(answer.is_complete, "the stream of a turn ends by itself");
        events(&answer.text())
    }

    /// Waits for the action of a session and answers it.
    pub async fn action(&self, session: &str) -> Value {
        for _ in 0..500 {
            let found = self.get(&format!("/v1/sessions/{session}/actions")).await;
            if let Some(action) = found["actions"].get(0) {
                return action.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no action in session {session}");
    }
}

/// The events among lines, without the words about the stream.
pub fn events(lines: &str) -> Vec<Value> {
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    lines
        .filter(|line: &Value| !line["type"].as_str().is_some_and(|kind| kind.starts_with("stream.")))
        .collect()
}

pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}
