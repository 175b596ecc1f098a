//! What every tool looks like from here.

use std::future::Future;
use std::pin::Pin;

use crate::{ToolDefinition, ToolError, ToolOutput, ToolRequest};

pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

pub trait Tool: Send + Sync + 'static {
    fn definition(&self) -> &ToolDefinition;

    /// True if a call runs a process that others see and may speak to. Such a call has a host for it.
    fn is_interactive(&self) -> bool {
        false
    }

    /// Runs the tool once. The arguments fit the schema when this is called. Cancelling the call's token, or
    /// dropping the future, stops the work and whatever it started.
    fn call(&self, call: ToolRequest) -> ToolFuture<'_>;
}
