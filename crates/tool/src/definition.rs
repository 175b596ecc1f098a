//! What is known of a tool before it runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Runs;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name by which the model calls it.
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    pub flags: Flags,
    /// How long a call may take.
    pub timeout: Duration,
    /// Where the tool comes from: `function`, `command`, `http`, `mcp:SERVER`, `client`.
    pub source: String,
    /// What a call sets in motion. With the source, the name and the schema it is the identity that approvals are
    /// bound to.
    pub runs: Runs,
}

/// What a call may do to the world. Absent knowledge is the dangerous case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Flags {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self { read_only: false, destructive: true, idempotent: false, open_world: true }
    }
}

/// What a new owner may do with a call whose end nobody saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Run it again with the same key.
    Repeatable,
    /// Never run it again silently: its outcome is unknown.
    Once,
}

impl ToolDefinition {
    pub fn effect(&self) -> Effect {
        if self.flags.read_only || self.flags.idempotent { Effect::Repeatable } else { Effect::Once }
    }
}
