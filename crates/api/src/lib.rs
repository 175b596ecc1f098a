//! Riverrun's operations, one file each: request, response, errors, names, scope, and what they do.
//!
//! This crate is not a transport: it knows no socket, no HTTP header and no JSON-RPC envelope. A transport
//! authenticates the caller, builds the request as one JSON object and calls the operation.

mod agents;
mod append;
mod command_error;
mod context;
mod decode;
mod description;
mod error;
mod idempotency;
mod identity;
mod in_flight;
mod key_table;
mod list_page;
mod log_position;
mod member;
mod operation;
pub mod operations;
mod rates;
mod schema;
mod services;
mod tenant_meter;
mod turn_input;

pub use agents::Agents;
pub use append::append_events;
pub use context::{RequestContext, cursor_after};
pub use decode::{compact, decode, decode_text, unknown_field};
pub use description::description;
pub use error::{ApiError, invalid, not_found, quota_exceeded, session_deleted};
pub use idempotency::{KeyedRequest, Once, StoredResponse, digest, stored_answer, to_json};
pub use identity::{Identity, KeyScope, PageIdentity, Reach, needs_key};
pub use in_flight::{FlightGuard, InFlight};
pub use key_table::{IssuedKey, KeyChange, KeyRequest, KeyTable, TenantKeys};
pub use list_page::page_request;
pub use log_position::LogPosition;
pub use member::{RequestMember, ValueForm};
pub use operation::{About, HttpMethod, Operation, OperationAnswer, OperationEntry, OperationGroup, Repeats};
pub use operations::{OPERATIONS, operation};
pub use rates::TenantRates;
pub use services::{CommandLabels, RunnerCommand, Services, TenantServices};
pub use tenant_meter::{QuotaFigure, TenantFigures, TenantMeter};
pub use turn_input::{check_addresses, check_blobs, check_input, is_blank_input, settings};
