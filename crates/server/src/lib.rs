//! The transports of Riverrun: the HTTP edge, delivery and resume, ingest.
//!
//! This crate is not a store and decides nothing about events: it carries them in and out.

mod app;
mod deliver;
pub mod edge;
mod foreign;
mod job;
pub mod metrics;
pub mod openapi;
mod past;
mod retention;
mod route;
mod rpc;
mod runner;
mod serve;
pub mod session;
mod upkeep;
mod websocket;

pub use app::App;
pub use foreign::submit_of_list;
pub use route::router;
pub use runner::Agents;
pub use serve::{AdminKeyFile, Options, Ready, Reload, Reloader, StartError, serve, tend};
