//! The reader of frames as the server has it. The crate would take minutes to compile with counters.

#![allow(dead_code, reason = "not all of it is read here")]

#[path = "../../../crates/server/src/websocket/close.rs"]
pub mod close;
#[path = "../../../crates/server/src/websocket/frame.rs"]
pub mod frame;
#[path = "../../../crates/server/src/websocket/reader.rs"]
pub mod reader;
