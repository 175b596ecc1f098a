//! Foreign clients against a real server: sockets, gateway, and refusals in each dialect's own shape.

mod a2a;
#[path = "../http/agents.rs"]
#[allow(dead_code, reason = "the agents are shared with other tests")]
mod agents;
mod blocks;
mod blocks_hosted;
mod blocks_readers;
mod conversation;
mod faithful;
mod faults;
mod gateway;
mod gemini;
#[path = "../http/harness.rs"]
#[allow(dead_code, reason = "the harness is shared with other tests")]
mod harness;
mod hosted;
mod langgraph;
mod refusals;
mod responses_socket;
mod screens;
mod socket;
mod upstream;
#[path = "../http/wire.rs"]
#[allow(dead_code, reason = "the wire is shared with other tests")]
mod wire;
