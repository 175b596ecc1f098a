//! Every kind of tool, run for real: processes, sockets, servers.

mod command;
mod function;
mod http;
mod mcp;
mod support;
