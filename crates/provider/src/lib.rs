//! Model APIs, each read into the same few facts.
//!
//! A provider turns a [`ModelRequest`] into bytes for its service and the service's bytes into [`ModelEvent`]s. It
//! keeps no conversation, runs no tool, writes no log and decides nothing about retries: that is the runner's part.
//! A stream that ends without its terminal event is a failure, never a short success.

mod error;
mod event;
mod provider;
mod request;
mod scripted;

pub use error::{Category, ModelError};
pub use event::{ItemKind, ModelEvent, RateLimit, StopReason};
pub use provider::{ModelStream, Provider};
pub use request::{History, ModelRequest, ToolChoice, ToolSpec};
pub use scripted::{Scenario, ScenarioError, Scripted};
