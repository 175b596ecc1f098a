//! One call, so that whatever happens in it ends as something the model can read.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use crate::{Arguments, Tool, ToolError, ToolErrorKind, ToolOutput, ToolRequest};

/// Checks the arguments, then runs the tool until it ends, its time is up or the call is cancelled. Without a
/// timeout the tool's own holds.
pub async fn run(
    tool: &dyn Tool,
    arguments: &Arguments,
    call: ToolRequest,
    timeout: Option<Duration>,
) -> Result<ToolOutput, ToolError> {
    arguments.check(&call.arguments)?;
    let name = tool.definition().name.as_str();
    let timeout = timeout.unwrap_or(tool.definition().timeout);
    let cancel = call.cancel.clone();
    let work = caught(name, async { tool.call(call).await });
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled(name)),
        done = tokio::time::timeout(timeout, work) => match done {
            Ok(result) => result,
            Err(_) => Err(timed_out(name, timeout)),
        },
    }
}

/// What was in the panic stays in the server's log: it may hold anything.
pub(crate) async fn caught(
    name: &str,
    work: impl Future<Output = Result<ToolOutput, ToolError>>,
) -> Result<ToolOutput, ToolError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            tracing::error!(tool = name, panic = message(panic.as_ref()), "a tool panicked");
            let text =
                format!("the tool `{name}` broke down while it ran; it may have done part of its work");
            Err(ToolError::new(ToolErrorKind::Failed, text))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("")
}

pub(crate) fn cancelled(name: &str) -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, format!("the call of `{name}` was cancelled"))
}

pub(crate) fn timed_out(name: &str, timeout: Duration) -> ToolError {
    let text = format!("the tool `{name}` did not end within {} ms and was stopped", timeout.as_millis());
    ToolError::new(ToolErrorKind::Timeout, text)
}
