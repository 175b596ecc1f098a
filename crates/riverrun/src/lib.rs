//! Riverrun inside your program: agents whose every event is durable before you see it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), riverrun::Error> {
//! use riverrun::{Agent, run_streamed};
//!
//! let agent = Agent::new("hello").instructions("Be brief.").model("scripted/echo");
//! let run = run_streamed(agent, "Good morning").await?;
//! let mut events = run.stream_events();
//! while let Some(event) = events.next().await {
//!     print!("{}", event?.text_delta().unwrap_or_default());
//! }
//! assert!(run.final_output().await?.is_some());
//! # Ok(()) }
//! ```
//!
//! An [`Agent`] is a value; a [`Riverrun`] runs agents over a store, in memory or in a data directory; a [`RunStream`]
//! is one run: its events, its pauses, its end. This crate adds no behaviour of its own: the loop is
//! `riverrun-runner`, the store `riverrun-log`, the same as behind `riverrun serve`. It does no HTTP.

#![warn(missing_docs)]

mod embed;

pub use embed::{
    Agent, Builder, Error, EventStream, InputCheck, InputListMode, Interruption, Outcome, OutputCheck,
    ProjectedStream, Riverrun, RunEvent, RunStream, STATE_VERSION, Session, ask_when, message, run_streamed,
};
pub use riverrun_dialect::Dialect;
pub use riverrun_event::{
    Event, EventType, Input, Item, Part, Payload, Sequence, SessionId, ThreadId, TurnId, Usage,
};
pub use riverrun_provider::{
    ApiName, HistoryEntry, Price, Provider, ProviderConfig, Scenario, Scripted, SecretSource,
};
pub use riverrun_runner::agent::{
    Approval, AskedCall, Checked, Guardrail, GuardrailFuture, Limits, OnTimeout, Predicate, Rejection,
};
pub use riverrun_runner::hook::{Hook, HookDecision, HookInput, HookOutput, HookPoint, HookUse, OnFailure};
pub use riverrun_runner::reference::{Keep, ReferenceMode, References, Wrapper};
pub use riverrun_runner::{Busy, CancelMode, CommandError, Decided, Rule, Settings, Submit};
pub use riverrun_tool::{
    AddressGuard, CallProgress, ClientTool, CommandConfig, CommandTool, Endpoint, Flags, FunctionTool,
    HttpConfig, HttpTool, IntoOutput, Json, McpConfig, McpServer, Program, Tool, ToolDefinition, ToolError,
    ToolErrorKind, ToolFuture, ToolOutput, ToolRequest, ValueSource,
};
/// For the arguments of tools: derive its `JsonSchema`. What the derive writes names the crate `schemars`, so bring both:
/// `use riverrun::schemars::{self, JsonSchema};`.
pub use schemars;
