//! What `riverrun.toml` declares: agents, tools, MCP servers, providers, routes, policy, scripts.
//!
//! The tables in `catalogue.rs` say what there is; the reader, the schema and the complaints come from them.

mod catalogue;
mod fits;
mod guardrail;
mod hook;
mod node;
mod reach;
mod read;
mod references;
mod route;
mod service;
mod shape;
mod texts;
mod tool;
mod types;
mod values;

pub use catalogue::DECLARED;
pub use node::Node;
pub use read::read;
pub use references::callable;
#[cfg(test)]
pub use shape::{Field, Section, Shape};
pub use shape::{Form, schema};
pub use types::{
    Agent, Approval, Declared, Guardrail, Hook, LimitsDeclared, Mcp, Name, Policy, ProcessLimitsDeclared,
    ProviderTable, ReferencesDeclared, SecretText, Source, ToolKind, ToolTable,
};

#[cfg(test)]
mod tests;
