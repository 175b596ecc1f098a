//! Hooks that are asked as tools are called: a program, or an HTTP request.

use std::sync::Arc;

use riverrun_event::Part;
use riverrun_tool::{Tool, ToolOutput, ToolRequest};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Hook, HookFuture, HookInput, HookOutput};

/// The tool's arguments are the hook's input, and its output is the answer as JSON. All walls of the tool hold: no
/// shell, its own process group, limits of time and output, hosts that may be reached.
pub struct ToolHook(Arc<dyn Tool>);

impl ToolHook {
    pub fn new(tool: Arc<dyn Tool>) -> Self {
        Self(tool)
    }

    /// A question that belongs to no call: what a guardrail of the configuration is asked.
    pub async fn question(&self, agent: &str, question: Value) -> Result<HookOutput, String> {
        self.call(ToolRequest {
            call_id: String::new(),
            arguments: question,
            idempotency_key: String::new(),
            mark: String::new(),
            session_id: String::new(),
            turn_id: String::new(),
            task_id: String::new(),
            agent: agent.to_owned(),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            process: None,
            must_match: true,
        })
        .await
    }

    /// Dropping the call, as a timeout does, cancels it.
    async fn call(&self, call: ToolRequest) -> Result<HookOutput, String> {
        let _end = call.cancel.clone().drop_guard();
        let output = self.0.call(call).await.map_err(|error| error.message)?;
        HookOutput::parse(&text(&output))
    }
}

impl Hook for ToolHook {
    fn ask(&self, input: HookInput) -> HookFuture<'_> {
        Box::pin(async move {
            let arguments = serde_json::to_value(&input)
                .map_err(|error| format!("what it is asked is not JSON: {error}"))?;
            self.call(ToolRequest {
                call_id: input.tool_call_id.unwrap_or_default(),
                arguments,
                idempotency_key: input.idempotency_key,
                mark: String::new(),
                session_id: input.session_id,
                turn_id: input.turn_id,
                task_id: input.task_id,
                agent: input.agent,
                cancel: CancellationToken::new(),
                progress: Arc::new(|_| {}),
                process: None,
                must_match: true,
            })
            .await
        })
    }
}

fn text(output: &ToolOutput) -> String {
    output.content.iter().filter_map(Part::text).collect()
}
