//! The task dialect, held against a client of its own.

mod filter;
mod generated;
mod ingest;
mod log;
mod resume;
mod vectors;
