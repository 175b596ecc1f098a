//! Processes that tools run: how they stand, what they were given, where their output is.

use riverrun_event::{BlobRef, ErrorInfo, TaskId, Timestamp, ToolCallId, TurnId};
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Processes kept; the oldest that has ended goes first, and is counted.
pub(crate) const MAX_ENDED: usize = 64;
/// Places of output that are kept of a process that has not ended; the log has them all.
pub(crate) const MAX_OUTPUT_REFS: usize = 64;

/// The processes of a session.
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

/// A program that a tool started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Process {
    /// The process.
    pub process_id: String,
    /// `cancelled` if somebody ended it, `lost` if its owner died.
    pub status: Status,
    /// The turn that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The task that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The tool call that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Its command, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_summary: Option<String>,
    /// Its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// True if it may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// True if it takes input while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How often it was given something, and how much.
    pub inputs: u64,
    /// Bytes of input so far.
    pub input_bytes: u64,
    /// How often it was told to have written something, and how much.
    pub outputs: u64,
    /// Bytes of output so far.
    pub output_bytes: u64,
    /// Its output, in blobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_refs: Vec<BlobRef>,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Who ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated_by: Option<String>,
    /// Why it was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it ran, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

impl Processes {
    /// True if no tool ran a program.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.dropped == 0
    }

    /// The process with this id, if it is in the state.
    pub fn find(&self, process: &str) -> Option<&Process> {
        self.entries.iter().find(|known| known.process_id == process)
    }

    /// Makes room for a new one.
    pub(crate) fn push(&mut self, process: Process) -> &mut Process {
        if self.entries.len() >= MAX_ENDED {
            let ended = self.entries.iter().position(|known| known.status.is_terminal());
            self.entries.remove(ended.unwrap_or(0));
            self.dropped += 1;
        }
        self.entries.push(process);
        self.entries.last_mut().expect("one was just pushed")
    }
}
