//! Processes that tools run: how they stand, what they were given, where their output is.

use riverrun_event::{BlobRef, ErrorInfo, TaskId, Timestamp, ToolCallId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Processes kept; the oldest that has ended goes first, and is counted.
pub(crate) const KEPT: usize = 64;
/// Places of output that are kept of a process that has not ended; the log has them all.
pub(crate) const KEPT_REFS: usize = 64;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Processes {
    /// In the order in which they were first told.
    pub entries: Vec<Process>,
    /// Entries that were dropped to keep the state small. The log still has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A process that a tool runs or ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Process {
    pub process_id: String,
    /// `cancelled` if somebody ended it, `lost` if its owner died.
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Writes to its input, and their bytes.
    pub inputs: u64,
    pub input_bytes: u64,
    /// Reports of its output, and their bytes.
    pub outputs: u64,
    pub output_bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_refs: Vec<BlobRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

impl Processes {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.dropped == 0
    }

    pub fn find(&self, process: &str) -> Option<&Process> {
        self.entries.iter().find(|known| known.process_id == process)
    }

    /// Makes room for a new one.
    pub(crate) fn push(&mut self, process: Process) -> &mut Process {
        if self.entries.len() >= KEPT {
            let ended = self.entries.iter().position(|known| known.status.is_terminal());
            self.entries.remove(ended.unwrap_or(0));
            self.dropped += 1;
        }
        self.entries.push(process);
        self.entries.last_mut().expect("one was just pushed")
    }
}
