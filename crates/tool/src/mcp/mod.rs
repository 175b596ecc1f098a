//! Tools of MCP servers, over standard input and output or streamable HTTP.
//!
//! The server is not trusted: its names are put under its own, its hints count only if the operator says so, what it
//! writes to standard error stays out of events, and every message has a limit. It is started when it is first needed,
//! and again after it went away.

mod content;
mod draft;
mod events;
mod handler;
mod http;
mod inventory;
mod log_line;
mod offer;
mod server;
mod session;
mod stdio;
mod tool;
mod unread;

use std::time::Duration;

use crate::{AddressGuard, Program, ValueSource};

pub use inventory::{Known, McpInventory};
pub use offer::{Offer, Refused, mcp_tool_name};
pub use server::McpServer;
pub use tool::McpTool;

#[derive(Debug, Clone)]
pub struct McpConfig {
    /// Stands before the names of its tools: `name__tool`.
    pub name: String,
    pub endpoint: Endpoint,
    /// Believe what the server says of its tools: that one only reads, or may be repeated.
    pub trust_hints: bool,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long the server may take to start and greet.
    pub start_timeout: Duration,
    /// Bytes of text of one result that are kept.
    pub output_limit: usize,
    /// Bytes of one message; a server that writes more is cut off.
    pub message_limit: usize,
}

#[derive(Debug, Clone)]
pub enum Endpoint {
    Stdio(Program),
    Http { url: String, headers: Vec<(String, ValueSource)>, outbound: AddressGuard },
}

impl McpConfig {
    /// A server that is a program with its arguments, over standard input and output.
    pub fn command(name: impl Into<String>, argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self::new(name, Endpoint::Stdio(Program { argv, ..Program::default() }))
    }

    /// A server at an address, without headers.
    pub fn url(name: impl Into<String>, url: impl Into<String>) -> Self {
        let outbound = AddressGuard::default();
        Self::new(name, Endpoint::Http { url: url.into(), headers: Vec::new(), outbound })
    }

    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            trust_hints: false,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(30),
            output_limit: 1024 * 1024,
            message_limit: 32 * 1024 * 1024,
        }
    }
}
