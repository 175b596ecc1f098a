//! The HTTP surface as a caller meets it: a real server, real sockets, whole answers.

mod agents;
mod backups;
mod bad_input;
mod client;
mod cursors;
mod decisions;
mod delivery;
mod filters;
mod generate;
mod harness;
mod idempotency;
mod ingest;
mod kept;
mod openapi;
mod pages;
mod queue;
mod resume;
mod retention;
mod scopes;
mod secrets;
mod stream;
mod tasks;
mod tenants;
mod transfer;
mod turns;
mod wire;
