//! The transports of Riverrun: the HTTP edge, delivery and resume, ingest.
//!
//! This crate is not a store and decides nothing about events: it carries them in and out.

mod app;
mod deliver;
mod derived_ids;
pub mod edge;
mod gateway;
pub mod metrics;
pub mod openapi;
mod operations;
mod route;
mod router;
mod rpc;
mod serve;
mod websocket;

pub use app::App;
pub use riverrun_api::Agents;
pub use router::router;
pub use serve::{AdminKeyFile, Options, Ready, Reload, Reloader, StartError, serve};
