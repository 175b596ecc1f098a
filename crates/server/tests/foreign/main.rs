//! Foreign clients against a real server: sockets, gateway, and refusals in each dialect's own shape.

mod blocks;
#[path = "../http/harness.rs"]
mod harness;
mod socket;
#[path = "../http/wire.rs"]
mod wire;
