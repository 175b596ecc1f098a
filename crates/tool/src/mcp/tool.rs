//! One tool of an MCP server.

use std::sync::Arc;

use super::McpServer;
use crate::{Call, Tool, ToolDefinition, ToolFuture};

pub struct McpTool {
    pub(super) definition: ToolDefinition,
    /// What the server calls it.
    pub(super) remote: String,
    pub(super) server: Arc<McpServer>,
}

impl Tool for McpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, call: Call) -> ToolFuture<'_> {
        Box::pin(self.server.call(&self.definition, &self.remote, call))
    }
}
