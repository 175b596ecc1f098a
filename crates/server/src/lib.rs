//! The transports of Riverrun: the HTTP edge, delivery and resume, ingest.
//!
//! This crate is not a store and decides nothing about events: it carries them in and out.

pub mod edge;
pub mod metrics;
pub mod openapi;
pub mod session;
