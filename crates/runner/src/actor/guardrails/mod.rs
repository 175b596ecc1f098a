//! Guardrails of inputs and of tool calls.

pub(super) mod calls;
pub(super) mod input;

use std::collections::HashSet;

use foldhash::HashMap;
use riverrun_event::TaskId;

/// What passed the guardrails. It is not recorded: a new owner asks them again.
#[derive(Default)]
pub(crate) struct GuardrailResults {
    /// Inputs, by task.
    pub admitted: HashMap<TaskId, Vec<String>>,
    /// Tasks with their final outputs.
    pub checked: HashSet<TaskId>,
    /// Calls that a person will be asked about.
    pub vetted: HashSet<(TaskId, String)>,
}
