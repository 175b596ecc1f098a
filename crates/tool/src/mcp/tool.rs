//! One tool of an MCP server.

use std::sync::Arc;

use super::McpServer;
use crate::{Tool, ToolDefinition, ToolFuture, ToolRequest};

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

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        Box::pin(self.server.call(&self.definition, &self.remote, call))
    }
}
