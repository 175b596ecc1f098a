//! Generated from the table of operations.

mod operations;

pub use operations::*;
