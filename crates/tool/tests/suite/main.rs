//! Every kind of tool, run for real: processes, sockets, servers.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod command;
mod documented;
mod function;
mod http;
mod interactive;
mod inventory;
mod limits;
mod mcp;
mod secrets;
mod support;
