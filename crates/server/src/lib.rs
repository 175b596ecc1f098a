//! The transports of Riverrun: the HTTP edge, delivery and resume, ingest.
//!
//! This crate is not a store and decides nothing about events: it carries them in and out.

mod app;
mod deliver;
pub mod edge;
mod foreign;
pub mod metrics;
pub mod openapi;
mod route;
mod rpc;
mod runner;
mod serve;
mod websocket;

pub use app::App;
pub use route::router;
pub use runner::Agents;
pub use serve::{AdminKeyFile, Options, Ready, Reload, Reloader, StartError, serve};
