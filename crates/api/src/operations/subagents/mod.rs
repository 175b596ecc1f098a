//! Sub-agents: started, listed, waited for, given input, closed.

mod close;
mod input;
mod list;
mod read;
mod resume;
mod spawn;
mod wait;

pub use close::{CloseSubagent, ClosedSubagent, close_subagent};
pub use input::{SendSubagentInput, SubagentReference};
pub use list::ListSubagents;
pub use read::{SubagentList, SubagentState};
pub use resume::ResumeSubagent;
pub use spawn::{SpawnSubagent, SpawnedSubagent};
pub use wait::WaitSubagents;
