//! Model APIs, each read into the same few facts.
//!
//! A provider turns a [`ModelRequest`] into bytes for its service and the service's bytes into [`ModelEvent`]s. It
//! keeps no conversation, runs no tool, writes no log and decides nothing about retries: that is the runner's part.
//! A stream that ends without its terminal event is a failure, never a short success.
//!
//! ```text
//! ModelRequest ─ encode ─▶ HTTP ─▶ service ─▶ bytes ─ decoder ─▶ ModelEvent …  Completed | Failed
//!                (pure)   (http/)                     (pure)
//! ```
//!
//! Each API has a folder: `encode` (request → JSON), `decode` (bytes → events) and `check` (what the service refuses).
//! [`Scripted`] plays scenarios and needs no key. [`ProviderConfig`] is a provider as the configuration names it.
//!
//! What every decoder promises, at every cut and every split of its bytes:
//! - the last event is `Completed` or `Failed`, once;
//! - an unfinished tool call never becomes `ItemDone`;
//! - text that came is given on; halves of a character are joined;
//! - what has no place here is kept as `Vendor`, not dropped.
//!
//! Keys come from the environment or a file, go into one header, and into nothing that can be printed.

mod accept;
pub mod anthropic;
mod api;
pub mod chat;
mod check;
mod config;
mod error;
mod event;
mod failure;
mod fnv;
pub mod gemini;
mod http;
pub mod openai;
mod part;
mod price;
mod provider;
mod request;
mod scripted;
mod secret;
mod stream;
mod turns;

pub use accept::accepts_file;
pub use check::RequestFlaw;
pub use config::{ApiName, ConfigError, ProviderConfig};
pub use error::{Category, ModelError};
pub use event::{ItemKind, ModelEvent, RateLimit, StopReason};
pub use price::{Price, cost};
pub use provider::{Counting, ModelStream, Probe, Provider};
pub use request::{HistoryEntry, ModelRequest, ToolChoice, ToolSpec};
pub use scripted::{Scenario, ScenarioError, Scripted};
pub use secret::{ProviderKey, SecretSource};
pub use stream::Decoder;
