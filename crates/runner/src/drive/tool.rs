//! One tool call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use riverrun_event::Part;
use riverrun_tool::{Tool, ToolError, ToolErrorKind, ToolOutput, ToolRequest};

use super::check::ask;
use super::{Report, Reporter};
use crate::agent::{Checked, Guardrail};
use crate::call_pool::Permit;

pub(crate) struct ToolRun {
    pub tool: Arc<dyn Tool>,
    pub call: ToolRequest,
    pub guardrails: Vec<Arc<dyn Guardrail>>,
}

/// Runs the tool once and reports its end, whatever happens.
pub(crate) async fn run_tool(run: ToolRun, reporter: Reporter, permit: impl Future<Output = Option<Permit>>) {
    let Some(_permit) = permit.await else { return };
    let ended = AssertUnwindSafe(guarded(run)).catch_unwind().await;
    let crashed =
        |_| Err(ToolError::new(ToolErrorKind::Crashed, "the tool's code failed; see the server's log"));
    reporter.report(Report::Tool(ended.unwrap_or_else(crashed))).await;
}

async fn guarded(run: ToolRun) -> Result<ToolOutput, ToolError> {
    let definition = run.tool.definition().clone();
    let name = definition.name.as_str();
    let refused =
        |what: &str, tripped: super::Tripped| ToolError::new(ToolErrorKind::Denied, tripped.refusal(what));
    let arguments = run.call.arguments.clone();
    ask(&run.guardrails, Checked::ToolCall { name, arguments: &arguments })
        .await
        .map_err(|tripped| refused("the call", tripped))?;
    let output = match tokio::time::timeout(definition.timeout, run.tool.call(run.call)).await {
        Ok(output) => output?,
        Err(_) => {
            let message = format!("tool `{name}` took longer than {} s", definition.timeout.as_secs_f32());
            return Err(ToolError::new(ToolErrorKind::Timeout, message));
        }
    };
    if !run.guardrails.is_empty() {
        let text: String = output.content.iter().filter_map(Part::text).collect();
        ask(&run.guardrails, Checked::ToolResult { name, text: &text })
            .await
            .map_err(|tripped| refused("the result", tripped))?;
    }
    Ok(output)
}
