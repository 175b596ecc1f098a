//! Sub-agents: tasks that a model or a caller started under another task.

pub(super) mod called;
pub(super) mod control;
pub(super) mod spawned;
