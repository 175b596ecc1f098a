//! Tools that agents call: functions, commands, HTTP, MCP.
//!
//! A tool takes arguments and gives an output or an error that the model reads. It decides nothing about approvals,
//! order or retries, and writes no log: that is the runner's part.

mod call;
mod definition;
mod output;
mod tool;

pub use call::{Call, Progress, ProgressSink};
pub use definition::{Effect, Flags, ToolDefinition};
pub use output::{ToolError, ToolErrorKind, ToolOutput};
pub use tool::{Tool, ToolFuture};
