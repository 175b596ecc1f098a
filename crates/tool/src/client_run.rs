//! Tools that the caller runs.

use std::time::Duration;

use serde_json::Value;

use crate::{Flags, Runs, Tool, ToolDefinition, ToolError, ToolErrorKind, ToolFuture, ToolRequest};

/// Only the definition is known here: the runner waits for the caller's result, and never runs it.
pub struct ClientTool {
    definition: ToolDefinition,
}

impl ClientTool {
    /// What `source` says of a definition whose tool the caller runs.
    pub const SOURCE: &'static str = "client";

    /// The name by which the model calls it, what it does, and the JSON Schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self::of(ToolDefinition {
            name: name.into(),
            description: description.into(),
            parameters,
            flags: Flags::default(),
            // Nothing is measured here: an action waits as long as its agent's limits say.
            timeout: Duration::ZERO,
            source: String::new(),
            runs: Runs::default(),
        })
    }

    /// What a call may do, for those who decide about it.
    pub fn flags(mut self, flags: Flags) -> Self {
        self.definition.flags = flags;
        self
    }

    pub fn of(definition: ToolDefinition) -> Self {
        Self { definition: ToolDefinition { source: Self::SOURCE.to_owned(), ..definition } }
    }
}

impl ToolDefinition {
    pub fn is_client_run(&self) -> bool {
        self.source == ClientTool::SOURCE
    }
}

impl Tool for ClientTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, _: ToolRequest) -> ToolFuture<'_> {
        let text = format!("the tool `{}` is run by the caller, not by the server", self.definition.name);
        Box::pin(std::future::ready(Err(ToolError::new(ToolErrorKind::Denied, text))))
    }
}
