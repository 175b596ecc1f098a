//! Generated from the table of operations.

#[rustfmt::skip]
mod operations;

pub use operations::*;
