//! JSON-RPC over WebSocket as a client meets it: real sockets, whole messages.

mod bad_input;
mod control;
mod follow;
mod lifecycle;
mod methods;
mod raw;
mod support;
mod tasks;
