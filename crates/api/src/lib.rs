//! Riverrun's operations, one file each: request, response, errors, names, scope, and what they do.
//!
//! This crate is not a transport: it knows no socket, no HTTP header and no JSON-RPC envelope. A transport
//! authenticates the caller, builds the request as one JSON object and calls the operation.

mod agents;
mod command_error;
mod context;
mod decode;
mod description;
mod error;
mod idempotency;
mod identity;
mod in_flight;
mod member;
mod operation;
pub mod operations;
mod schema;
mod services;
mod turn_input;

pub use agents::Agents;
pub use context::{Context, cursor_after};
pub use decode::{compact, decode, decode_text, unknown_field};
pub use description::description;
pub use error::{ApiError, invalid, not_found, quota_exceeded, session_deleted};
pub use idempotency::{Attempt, Once, StoredResponse, digest, stored_answer, to_json};
pub use identity::{Identity, PageIdentity, Reach, Scope, needs_key};
pub use in_flight::{FlightGuard, InFlight};
pub use member::{Form, Member};
pub use operation::{About, Answer, Entry, Group, Method, Operation, Repeats};
pub use operations::{OPERATIONS, operation};
pub use services::{CommandLabels, RunnerCommand, Services};
pub use turn_input::{check_addresses, check_blobs, check_input, says_nothing, settings};
