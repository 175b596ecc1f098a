//! Tools that agents call: functions, commands, HTTP, MCP.
//!
//! A tool takes arguments and gives an output or an error that the model reads. It decides nothing about approvals,
//! order or retries, and writes no log: that is the runner's part.

mod arguments;
mod call;
mod client_run;
mod command;
mod definition;
mod file;
mod function;
mod host;
mod http;
mod limits;
mod mark;
mod mcp;
mod name;
mod output;
mod placeholder;
mod process;
mod run;
mod runs;
mod schema;
mod scrub;
mod secret;
mod set;
mod starts;
mod strays;
mod supervisor;
mod tool;
mod written;

pub use self::http::{HttpConfig, HttpTool};
pub use arguments::{Arguments, MAX_ARGUMENTS};
pub use call::{CallProgress, ProgressSink, ToolRequest};
pub use client_run::ClientTool;
pub use command::{CommandConfig, CommandTool};
pub use definition::{Effect, Flags, ToolDefinition};
pub use file::{ExtractionTask, FILE_MEMORY, FetchError, Fetched, fetch, read_file, read_file_here};
pub use function::{FunctionError, FunctionTool, IntoOutput, Json};
pub use host::{
    HostFuture, HowEnded, LargeOutput, Orders, OutputPart, OutputStream, ProcessEnd, ProcessHost,
    ProcessPlan, StdinChunk, Terminate,
};
pub use limits::ProcessLimits;
pub use mark::{end_marked, end_of_call};
pub use mcp::{Endpoint, Known, McpConfig, McpInventory, McpServer, McpTool, Offer, Refused, mcp_tool_name};
pub use name::{MAX_NAME, is_valid_name};
pub use output::{ToolError, ToolErrorKind, ToolOutput};
pub use process::Program;
pub use riverrun_file::{
    FileError, FileKind, FileType, ReadFile, ReadLimits as FileLimits, detect as detect_file,
};
pub use riverrun_net::{AddressGuard, Unreachable, is_blocked};
pub use run::run;
pub use runs::Runs;
pub use schema::{Misfit, SchemaError, check_schema, check_value, find_misfit};
pub use scrub::redact_progress;
pub use secret::ValueSource;
pub use set::{Listing, SetError, ToolSet};
pub use strays::use_supervisor;
pub use supervisor::supervise;
pub use tool::{Tool, ToolFuture};
