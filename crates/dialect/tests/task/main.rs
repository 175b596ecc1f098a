//! The task dialect, held against a client of its own.

mod generated;
mod log;
mod resume;
mod vectors;
