//! The catalogue: every event type, and the form of its payload. Each is written here once; the schema, the
//! TypeScript and Python types and `spec/EVENTS.md` are generated from it.

mod benchmark;
mod block;
mod context;
mod delta;
mod envelope_members;
mod event_type;
mod file;
mod item;
mod item_event;
pub(crate) mod macros;
mod members;
mod model;
mod patch;
mod path;
mod payload;
mod permission;
mod process;
mod raw;
mod routing;
mod sample;
mod schema;
mod session;
mod shared;
mod strict;
mod subagent;
mod table;
mod task;
#[cfg(test)]
mod tests;
mod tool;

pub use benchmark::*;
pub use block::*;
pub use context::*;
pub(crate) use delta::delta;
pub use envelope_members::{ENVELOPE_MEMBERS, EnvelopeMember, MemberForm};
pub use file::*;
pub use item::*;
pub use item_event::*;
pub use members::field_names;
pub use model::*;
pub use patch::Patch;
pub use path::PayloadError;
pub use permission::*;
pub use process::*;
pub use raw::{Opaque, RawJson};
pub use routing::*;
pub use sample::sample;
pub use schema::CatalogueSchema;
pub use session::*;
pub use shared::*;
pub use strict::{LIME_SCHEMA_VERSION, RUNTIME_ID, ScopeMember, strict_type};
pub use subagent::*;
pub use table::{EventFamily, EventType, Payload};
pub use task::*;
pub use tool::*;
